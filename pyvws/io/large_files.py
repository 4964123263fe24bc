"""Tables on disk that are never held whole: tallied once, then read in steps.

A csv is handled as the text it holds, so that a column passed through keeps its spelling; types are
those that the whole file allows.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pyvws.errors import InputError
from pyvws.io.files import CSV_NULLS, csv_header, file_kind, refuse_uneven_rows

__all__ = ["COUNT", "LargeTable", "open_large", "table_bytes"]

COUNT = "records of this kind in the table"  # The tally's own column, beside the table's.
_HASHED_AT_ONCE = 1 << 24
_BYTES_A_CELL = 50  # In memory, as text or numbers with the copies that a run makes of them.


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A csv or parquet file as a plan to read it.

    `written` gives its cells as they stand (text for csv), `schema` the types for modelling,
    `format` is "csv" or "parquet", `name` the file's.
    """

    written: pl.LazyFrame
    schema: pl.Schema
    format: str
    path: Path

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in their order."""
        return self.schema.names()

    def digest(self) -> str:
        """sha256 of the file."""
        made = hashlib.sha256()
        with self.path.open("rb") as file:
            while part := file.read(_HASHED_AT_ONCE):
                made.update(part)
        return made.hexdigest()

    def tally(self, columns: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The distinct rows of some columns in rising order, as written and typed.

        Both have the column `COUNT`: how many records a row stands for. Raises InputError where
        one of these columns has missing values.
        """
        with self._readable():
            rows = (
                self.written.group_by(columns)
                .agg(pl.len().alias(COUNT))
                .collect(engine="streaming")
                .sort(columns)
            )
            typed = self._typed(rows.drop(COUNT)).with_columns(rows[COUNT])
        for column in columns:
            values = typed[column]
            missing = values.is_null()
            if values.dtype.is_float():
                missing = missing | ~values.is_finite().fill_null(False)
            if missing.any():
                raise InputError(
                    f"Column {column!r} has missing or infinite values in "
                    f"{typed[COUNT].filter(missing).sum()} records. Remove or impute these "
                    "records first."
                )
        return rows, typed

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """The rows of some columns as written, in order, `size` at a time."""
        kept: list[pl.DataFrame] = []
        held = 0
        with self._readable():
            for batch in self.written.select(columns).collect_batches(chunk_size=size):
                kept.append(batch)
                held += batch.height
                while held >= size:
                    joined = pl.concat(kept)
                    yield joined.head(size)
                    kept, held = [joined.slice(size)], held - size
        if held:
            yield pl.concat(kept)

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """InputError without what polars says, which can hold a cell."""
        try:
            yield
        except pl.exceptions.PolarsError as error:
            raise InputError(
                f"{self.path.name}: its cells cannot be read ({type(error).__name__}). Check that "
                "each column holds numbers of a usual size, or text."
            ) from None

    def _typed(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.format == "parquet":
            return rows
        types = {name: self.schema[name] for name in rows.columns}
        text = io.BytesIO()
        rows.write_csv(text)
        text.seek(0)
        return pl.read_csv(text, schema=types, null_values=CSV_NULLS)


def open_large(path: Path) -> LargeTable:
    """A plan to read a csv (UTF-8, comma, header) or parquet file; InputError if that fails."""
    kind = file_kind(path)
    try:
        if kind == "parquet":
            written = pl.scan_parquet(path)
            return LargeTable(written, written.collect_schema(), kind, path)
        with path.open("rb") as file:
            refuse_uneven_rows(file, path.name)
        typed = pl.scan_csv(path, infer_schema_length=None, null_values=CSV_NULLS)
        written = pl.scan_csv(path, infer_schema=False)
        return LargeTable(written, typed.collect_schema(), kind, path)
    except InputError:
        raise
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from None
    except (pl.exceptions.PolarsError, csv.Error, ValueError) as error:
        raise InputError(
            f"{path.name}: not a readable {kind} file ({type(error).__name__})."
        ) from None


def table_bytes(path: Path) -> int:
    """A rough size of the table in memory, in bytes, without reading it."""
    if file_kind(path) == "parquet":
        try:
            scan = pl.scan_parquet(path)
            rows = int(scan.select(pl.len()).collect().item())
            return rows * len(scan.collect_schema()) * _BYTES_A_CELL
        except (pl.exceptions.PolarsError, OSError):
            return 0  # Reading it says what is wrong.
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            width = max(1, len(csv_header(file)))
            sample = file.read(1 << 16)
    except (OSError, UnicodeDecodeError, csv.Error):
        return 0  # Reading it says what is wrong.
    lines = max(1, sample.count(b"\n"))
    return int(size / (len(sample) / lines or 1.0) * width * _BYTES_A_CELL) if sample else 0
