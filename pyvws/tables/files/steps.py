"""Tables that are too large to hold in memory: tally their records once, then read them in steps.

The package reads a csv as text, so that a column passed through keeps its spelling. A column's type
is the type that the whole file allows. An engine of its own (DuckDB, Dask, Spark, Ibis) promises no
order of rows. Such an engine groups its table, and the package reads only the tally. The records
are then the records of the sorted tally.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.tables.files.csv_lines import csv_header, csv_layout, in_lines, separator_of
from pyvws.tables.files.frame import MODELLED, narwhal_view
from pyvws.tables.files.headers import named
from pyvws.tables.files.read import (
    CSV_NULLS,
    OTHER_CELLS,
    UNREADABLE,
    csv_types,
    file_digest,
    file_kind,
    keep_codes,
    readable,
    refuse_damaged,
    rows_and_columns,
    scan_columns,
)

COUNT = "records of this kind in the table"  # The tally's own column.
_BYTES_A_CELL = 50  # In memory, with the copies that reading makes.
_BYTES_A_USED_CELL = 150  # More for a modelled or released column: design, cells, bounds.
_BYTES_A_VALUE = 8


@dataclass(frozen=True, slots=True)
class CountedRows:
    """Rows of a table by some columns, each for `times` records, or for one.

    `groups` are the places of the groups of columns that the rows are all or a part of.
    """

    rows: pl.DataFrame
    groups: Sequence[int]
    times: NDArray[np.int64] | None = None

    @property
    def records(self) -> int:
        """The number of records that the rows stand for."""
        return self.rows.height if self.times is None else int(self.times.sum())


@dataclass(frozen=True, slots=True)
class LargeTable:
    """A plan to read a table that keeps the order of its rows.

    `written` gives the cells as they stand (text for csv), and `schema` the types for modelling.
    `format` is the format of the datasets. `name` is the table's name in messages. `path` is the
    place of the file, or None for a plan that is no file.
    """

    written: pl.LazyFrame
    schema: pl.Schema
    format: str
    name: str
    path: Path | None

    @property
    def columns(self) -> list[str]:
        """Names of all columns, in their order."""
        return self.schema.names()

    def digest(self) -> str | None:
        """sha256 of the file as `file_digest` gives it; None where there is no file."""
        return None if self.path is None else file_digest(self.path)

    def tally(
        self, columns: Sequence[str], *, by_schema: bool = False, by_cell: Sequence[str] = ()
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The distinct rows of some columns in rising order, once as written and once typed.

        Both tables have the column `COUNT`, the number of records that a row stands for. The method
        raises InputError where one of the columns has missing values; `by_schema` leaves them to a
        schema, and codes of a csv keep the zeros in front of them. The columns `by_cell` may have
        any cell, and stay as written.
        """
        with named_errors(self.name, columns, self.columns):
            rows = (
                self.written.group_by(columns)
                .agg(pl.len().alias(COUNT))
                .collect(engine="streaming")
                .sort(columns)
            )
            kept = [name for name in columns if name in by_cell]
            typed = rows if len(kept) == len(columns) else self._typed(rows.drop(COUNT, *kept))
            typed = typed.with_columns(rows[[*kept, COUNT]]).select(rows.columns)
        if by_schema:
            return rows, typed if kept else keep_codes(typed, rows)
        refuse_missing(typed, [name for name in columns if name not in kept], f"{MODELLED}.")
        return rows, typed

    def number(self) -> int:
        """The number of records."""
        with named_errors(self.name):
            return int(self.written.select(pl.len()).collect(engine="streaming").item())

    def every(self, step: int, columns: Sequence[str]) -> pl.DataFrame:
        """Each record whose place is a multiple of `step`, as written."""
        with named_errors(self.name, columns, self.columns):
            return self.written.select(columns).gather_every(step).collect(engine="streaming")

    def grouped(self, groups: Sequence[Sequence[str]], size: int) -> Iterator[CountedRows]:
        """The records, `size` at a time, of all groups of columns together."""
        columns = list(dict.fromkeys(name for group in groups for name in group))
        for batch in self.batches(columns, size):
            yield CountedRows(batch, range(len(groups)))

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """The rows of some columns as written, in order, `size` at a time."""
        with named_errors(self.name, columns, self.columns):
            yield from in_steps(self.written.select(columns).collect_batches(chunk_size=size), size)

    def _typed(self, rows: pl.DataFrame) -> pl.DataFrame:
        if self.format != "csv":
            return rows
        plain = _plain_names(rows.columns)
        types = {alias: self.schema[name] for alias, name in plain.items()}
        text = io.BytesIO()
        rows.rename({name: alias for alias, name in plain.items()}).write_csv(text)
        text.seek(0)
        return pl.read_csv(text, schema=types, null_values=CSV_NULLS).rename(plain)


def _plain_names(columns: Sequence[str]) -> dict[str, str]:
    """The columns' names by names that every engine takes: a.b is b of a to DuckDB, for example."""
    return {f"c{place}": name for place, name in enumerate(columns)}


def in_steps(pieces: Iterable[pl.DataFrame], size: int) -> Iterator[pl.DataFrame]:
    """The rows of some tables one after the other, `size` at a time."""
    kept: list[pl.DataFrame] = []
    held = 0
    for piece in pieces:
        kept.append(piece)
        held += piece.height
        while held >= size:
            joined = pl.concat(kept)
            yield joined.head(size)
            kept, held = [joined.slice(size)], held - size
    if held:
        yield pl.concat(kept)


def refuse_missing(tally: pl.DataFrame, columns: Sequence[str], way_out: str = "") -> None:
    """Raise InputError for columns of a tally with missing or infinite values."""
    for column in columns:
        values = tally[column]
        missing = values.is_null()
        if values.dtype.is_float():
            missing = missing | ~values.is_finite().fill_null(False)
        if missing.any():
            raise InputError.by(
                "column-missing-in-records",
                column=column,
                tally=tally[COUNT].filter(missing).sum(),
                way_out=way_out,
            )


@contextmanager
def named_errors(
    name: str, columns: Sequence[str] = (), header: Sequence[str] = ()
) -> Iterator[None]:
    """Turn an engine's errors into InputError without their words, which can hold a cell's value.

    `header` has all columns.
    """
    try:
        yield
    except (InputError, MemoryError):
        raise
    except (Exception, pl.exceptions.PanicException) as error:  # any engine's own
        raise InputError.by(
            "file-cells-unread",
            name=name,
            columns=named(columns, header) or "the table",
            kind=type(error).__name__,
        ) from None


def open_large(path: Path, *, every_line: bool = False) -> LargeTable:
    """A plan to read a file or folder as `read_table` does; InputError if that fails."""
    kind = file_kind(path)
    with readable(path, kind):
        if kind != "csv":
            refuse_damaged(path, kind)
            written = scan_columns(path, kind)
            return LargeTable(written, written.collect_schema(), kind, path.name, path)
        with path.open("rb") as file:
            given, uneven = csv_layout(file, path.name, every_line=every_line)
        written = pl.scan_csv(path, infer_schema=False, **given)
        if uneven.any():
            written = written.with_columns(in_lines(uneven, pl.all(), OTHER_CELLS))
        return LargeTable(written, csv_types(path, given), kind, path.name, path)


def run_bytes(path: Path, *, used: int | None, datasets: int, draws: int) -> int:
    """A rough size of a whole run in memory, in bytes: inputs, draws and datasets.

    `used` is the number of columns that the run models or releases; None stands for all columns.
    The size lies a tenth above the measured peaks of runs of 10^6 records. The size leaves out the
    memory that a run takes without any table.
    """
    records, columns = rough_size(path)
    modelled = columns if used is None else min(used, columns)
    table = columns * _BYTES_A_CELL + modelled * _BYTES_A_USED_CELL + datasets * _BYTES_A_VALUE
    return records * table + draws * (1 + modelled) * _BYTES_A_VALUE


def rough_size(path: Path) -> tuple[int, int]:
    """Rough numbers of records and columns without reading the table; 0 if it cannot be read."""
    kind = file_kind(path)
    if kind != "csv":
        try:
            return rows_and_columns(path, kind)
        except UNREADABLE:
            return 0, 0
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            width = max(1, len(csv_header(file, separator_of(file, path.name))))
            sample = file.read(1 << 16)
    except (OSError, UnicodeDecodeError, csv.Error, InputError):
        return 0, 0
    lines = max(1, sample.count(b"\n"))
    return int(size / (len(sample) / lines or 1.0)) if sample else 0, width


@dataclass(frozen=True, slots=True)
class LazyTable:
    """A lazy frame of an engine that keeps no order of rows; `name` is its name in messages."""

    frame: nw.LazyFrame[Any]
    columns: list[str]
    name: str
    format: str = "parquet"

    def digest(self) -> None:
        """None, since there is no file."""
        return

    def number(self) -> int:
        """The number of records, which the engine counts."""
        with named_errors(self.name):
            counted = self.frame.select(self.columns[:1]).select(nw.len().alias(COUNT))
            return int(counted.collect(backend="polars").item())

    def every(self, step: int, columns: Sequence[str]) -> pl.DataFrame:
        """No record, since an engine without an order has no places."""
        with named_errors(self.name, columns, self.columns):
            return self.frame.select(columns).head(0).collect(backend="polars").to_native()

    def grouped(self, groups: Sequence[Sequence[str]], size: int) -> Iterator[CountedRows]:
        """The distinct rows of each group of columns, which the engine counts one by one."""
        for place, columns in enumerate(groups):
            rows = self.tallied(columns, ()).rows
            yield CountedRows(rows.drop(COUNT), [place], rows[COUNT].to_numpy())

    def tallied(self, modelled: Sequence[str], public: Sequence[str]) -> TalliedTable:
        """Count the distinct rows of the public and the modelled columns, on the engine."""
        columns = list(dict.fromkeys([*public, *modelled]))
        plain = _plain_names(columns)
        with named_errors(self.name, columns, self.columns):
            chosen = self.frame.select(nw.col(name).alias(alias) for alias, name in plain.items())
            counted = chosen.group_by(*plain).agg(nw.len().alias(COUNT)).collect(backend="polars")
            rows = counted.to_native().rename(plain)
            rows = rows.with_columns(pl.col(COUNT).cast(pl.Int64)).sort(columns)
        return TalliedTable(rows, self.columns, self.name)


@dataclass(frozen=True, slots=True)
class TalliedTable:
    """A table as its distinct rows and their counts, sorted by the public columns first.

    A `TalliedTable` has the methods of `LargeTable`.
    """

    rows: pl.DataFrame
    columns: list[str]
    name: str
    format: str = "parquet"

    def digest(self) -> None:
        """None, since there is no file."""
        return

    def tally(
        self, columns: Sequence[str], *, by_schema: bool = False, by_cell: Sequence[str] = ()
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The tally as `LargeTable.tally` gives it; the two tables are the same here."""
        with named_errors(self.name, columns, self.columns):
            rows = self.rows.group_by(columns).agg(pl.col(COUNT).sum()).sort(columns)
        if not by_schema:
            refuse_missing(rows, [x for x in columns if x not in by_cell], f"{MODELLED}.")
        return rows, rows

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """The records in the order of the tally, `size` at a time."""
        rows = self.rows.select(columns)
        ends = np.cumsum(self.rows[COUNT].to_numpy())
        for start in range(0, int(ends[-1]) if len(ends) else 0, size):
            records = np.arange(start, min(start + size, ends[-1]))
            yield rows[np.searchsorted(ends, records, side="right")]


def open_lazy(table: IntoFrame, *, keep_order: bool = False) -> LargeTable | LazyTable:
    """A plan to read a lazy frame that narwhals accepts, without running it.

    A polars plan keeps the order of its rows, so the package reads it like a file. The function
    raises InputError for another kind of table, for repeated names, and with `keep_order` for an
    engine without an order of rows.
    """
    with named_errors("the lazy frame"):
        frame = narwhal_view(table)
        if not isinstance(frame, nw.LazyFrame):
            raise InputError.by("table-in-memory", kind=type(table).__name__)
        return lazy_source(frame, keep_order=keep_order)


def lazy_source(frame: nw.LazyFrame[Any], *, keep_order: bool) -> LargeTable | LazyTable:
    """A plan to read a lazy frame; InputError for an order that its engine does not keep."""
    name = f"the {frame.implementation.name.lower()} frame"
    if frame.implementation.is_polars():
        plan = frame.to_native()
        return LargeTable(plan, plan.collect_schema(), "parquet", name, None)
    if keep_order:
        raise InputError.by("keep-order-of-no-order", name=name)
    return LazyTable(frame, list(frame.columns), name)
