"""Read and write tables on disk: csv, parquet and Arrow files, and folders of such parts."""

from __future__ import annotations

import csv
import hashlib
import io
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final
from urllib.parse import unquote

import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.tables.files.csv_lines import CSV_RULE, csv_layout, in_lines
from pyvws.tables.files.hidden_values import without_hidden

if TYPE_CHECKING:
    import pyarrow as pa

# The errors that a damaged file raises. A panic of polars is no Exception.
UNREADABLE: Final = (pl.exceptions.PolarsError, pl.exceptions.PanicException, ValueError, OSError)

COLUMN_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_BYTES_STORED = 8  # A rough size of one cell in a file.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_LONG = "[0-9]{39}"  # Digits of a number that 128 bits may not hold.
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
CSV_NULLS: Final = ["", "NA"]
FORMATS: Final = ("csv", "parquet", "arrow")
_PARTS_RULE = (
    "The parts of a folder need the same columns, and each part must be whole. Name one file, or a "
    "folder of one table's parts."
)
OTHER_CELLS = "\ufffd of a line with another number of cells"  # No level is spelled so.
_SUFFIXES = {".csv": "csv", ".txt": "csv", ".tsv": "csv", **COLUMN_SUFFIXES}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table read from a file.

    `frame` has inferred types. `as_written` holds the same rows with csv cells as text, so that a
    column passed through keeps its zeros and spelling. `format` is one of `FORMATS`. `sha256` is
    the digest that `file_digest` gives for the file or folder. `row_names` says that row names, as
    R and pandas write them below an empty name in the header, are left out.
    """

    frame: pl.DataFrame
    as_written: pl.DataFrame
    format: str
    sha256: str
    row_names: bool = False

    def by_cell(self, names: Collection[str]) -> pl.DataFrame:
        """`frame` with the columns `names` as written: no record decides how others are read."""
        return self.frame.with_columns(self.as_written[name] for name in names)

    @property
    def with_codes(self) -> pl.DataFrame:
        """`frame` with whole numbers as text where some cell is more than its number, as 007 is.

        So a code keeps the zeros in front of it.
        """
        return keep_codes(self.frame, self.as_written)

    @property
    def as_spelled(self) -> pl.DataFrame:
        """`with_codes` with truth values as text where a csv has other words than true and false.

        So a schema lists these words, such as R's TRUE and FALSE, and a release has them again.
        """
        written = [
            self.as_written[n] for n, kind in self.frame.schema.items() if kind == pl.Boolean
        ]
        words = [x for x in written if x.dtype == pl.String]
        others = [x for x in words if not x.is_in([*CSV_NULLS, "true", "false"]).all()]
        empty = [x.set(x.is_in(CSV_NULLS).fill_null(True), None) for x in others]
        return self.with_codes.with_columns(empty)

    def with_levels(self, levels: Mapping[str, Collection[str | None]]) -> pl.DataFrame:
        """`with_codes`, with what a csv's reader takes for empty cells where these are `levels`."""
        kept = []
        for name, own in levels.items():
            text = self.as_written[name] if name in self.as_written.columns else None
            if self.format == "csv" and text is not None and {*CSV_NULLS} & {*own}:
                gone = [cell for cell in CSV_NULLS if cell not in own]
                kept.append(text.set(text.is_in(gone).fill_null(True), None))
        return self.with_codes.with_columns(kept)


def keep_codes(
    frame: pl.DataFrame, written: pl.DataFrame, as_text: Collection[str] = ()
) -> pl.DataFrame:
    """A frame with whole numbers as they are `written`, where a cell is more than its number.

    Those of the columns `as_text` are always text, if they are written as text.
    """
    kept = []
    for name in frame.columns:
        number, text = frame[name], written[name]
        if number.dtype.is_integer() and text.dtype == pl.String:
            text = text.set(number.is_null(), None)
            if name in as_text or not text.equals(number.cast(pl.String)):
                kept.append(text)
    return frame.with_columns(kept)


def read_table(path: Path, *, every_line: bool = False) -> TableFile:
    """Read a csv (UTF-8, comma, header), parquet or Arrow IPC file, or a folder of such parts.

    Cells of a .txt or .tsv stand between commas, tabs or single spaces, as R's write.table leaves
    them; the header shows which. A folder's parts are parquet or Arrow IPC files, in the order of
    their names. With `every_line` a line with too few or too many cells is a record without values.
    The function raises InputError if the file or folder cannot be read.
    """
    kind = file_kind(path)
    uneven = np.zeros(0, dtype=np.bool_)
    with readable(path, kind):
        digest = file_digest(path)
        if kind == "csv":
            content = path.read_bytes()
            given, uneven = csv_layout(io.BytesIO(content), path.name, every_line=every_line)
            records = given["n_rows"]
            as_written = pl.read_csv(content, infer_schema=False, **given)
            frame = _typed(content, path, given)
        else:
            refuse_damaged(path, kind)
            frame = as_written = scan_columns(path, kind).collect()
            records = frame.height
    if not frame.height == as_written.height == records:
        raise InputError.by("rows-run-together", path=path.name)
    if uneven.any():
        as_written = as_written.with_columns(in_lines(uneven, pl.all(), OTHER_CELLS))
        frame = frame.with_columns(in_lines(uneven, pl.all(), None))
    unnamed = kind == "csv" and frame.width > 1 and frame.columns[0] == ""
    if row_names := unnamed and (every_line or _numbers_rows(frame.to_series(0))):
        frame, as_written = frame[:, 1:], as_written[:, 1:]
    return TableFile(frame, as_written, kind, digest, row_names)


def _typed(content: bytes, path: Path, given: dict[str, Any]) -> pl.DataFrame:
    """A csv with inferred types."""
    try:
        return pl.read_csv(content, infer_schema_length=None, null_values=CSV_NULLS, **given)
    except pl.exceptions.ComputeError:
        layout = {name: value for name, value in given.items() if name != "new_columns"}
        types = csv_types(path, given)
        layout["null_values"] = CSV_NULLS
        for name, kind in types.items():  # polars takes a digit of any script for a number.
            try:
                pl.read_csv(content, schema=types, columns=[name], **layout)
            except pl.exceptions.ComputeError:
                if kind == pl.String:
                    raise
                types[name] = pl.String()
        return pl.read_csv(content, schema=types, **layout)


def csv_types(path: Path, given: dict[str, Any]) -> pl.Schema:
    """The types of a csv's columns; text where a whole number is too long for any type.

    So one such cell, as a damaged id is, keeps nobody from reading the others.
    """
    plan = pl.scan_csv(path, infer_schema_length=None, null_values=CSV_NULLS, **given)
    types = plan.collect_schema()
    wide = [name for name, kind in types.items() if kind == pl.Int128]
    if wide:
        cells = pl.scan_csv(path, infer_schema=False, **given).select(wide)
        long = cells.select(pl.all().str.contains(_LONG).any()).collect().row(0, named=True)
        types = pl.Schema({**types, **{name: pl.String() for name in wide if long[name]}})
    return types


def _numbers_rows(own: pl.Series) -> bool:
    """Whether a column numbers the rows from 1, or from 0 as pandas."""
    rows = (pl.Series(range(k, k + len(own)), dtype=own.dtype) for k in (0, 1))
    return own.dtype.is_integer() and any(map(own.equals, rows))


@contextmanager
def readable(path: Path, kind: str) -> Iterator[None]:
    """Turn the errors of a missing or damaged file into InputError, without its reader's words."""
    try:
        yield
    except InputError:
        raise
    except (*UNREADABLE, csv.Error) as error:
        if isinstance(error, OSError) and error.strerror:
            raise _out_of_reach(path, error) from None
        rule = (
            CSV_RULE if kind == "csv" else _PARTS_RULE if path.is_dir() else "Write the file again."
        )
        if isinstance(error, UnicodeDecodeError):
            rule += " iconv -f ISO-8859-1 -t UTF-8 turns an older encoding into UTF-8."
        raised = type(error).__name__
        raise InputError.by(
            "table-file-unreadable", path=path.name, kind=kind, error=raised, rule=rule
        ) from None


def _out_of_reach(path: Path, error: OSError) -> InputError:
    return InputError.by("file-cannot-be-read", path=path, strerror=error.strerror)


def write_table(frame: pl.DataFrame, path: Path | BinaryIO, *, format: str) -> None:
    """Write a polars frame in one of `FORMATS`: the cells, and nothing else that memory holds."""
    if format == "csv":
        frame.write_csv(path)
    elif format == "parquet":
        without_hidden(frame).write_parquet(path)
    else:
        bare = without_hidden(frame)
        bare.write_ipc(path, compression="zstd", compat_level=pl.CompatLevel.oldest())


def file_kind(path: Path) -> str:
    """The format of a file, one of `FORMATS`, by its name; a folder has the format of its parts.

    The function raises InputError for another format, or where there is no file.
    """
    kind = _SUFFIXES.get(path.suffix.lower())
    if os.path.isdir(path) and kind != "csv":
        return folder_kind(path)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise _out_of_reach(path, error) from None
    if not stat.S_ISREG(mode):
        raise InputError.by("not-a-plain-file", path=path)
    if kind is None:
        raise InputError.by("file-suffix", path=path.name)
    return kind


def scan_columns(path: Path, kind: str) -> pl.LazyFrame:
    """A plan to read a parquet or arrow file, or a folder's parts in the order of their names.

    Inner folders named key=value, as Hive and Spark write them, make a column: of whole numbers
    where all values are whole numbers, of text otherwise. The function raises one of `UNREADABLE`
    where parts have unlike columns. polars alone would find unlike columns only while reading.
    """
    parts = table_parts(path)
    scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
    schemas = [dict(scan(part, glob=False).collect_schema()) for part in parts]
    if any(schema != schemas[0] for schema in schemas):
        raise pl.exceptions.SchemaError("the parts have other columns")
    keyed: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for part in parts:
        named = (name.partition("=") for name in part.relative_to(path).parts[:-1] if "=" in name)
        keyed.setdefault(tuple((key, unquote(value)) for key, _, value in named), []).append(part)
    values = {pair for pairs in keyed for pair in pairs if pair[1] != _HIVE_NULL}
    text = {key for key, value in values if not _WHOLE.fullmatch(value)}
    plans = []
    for pairs, files in keyed.items():
        plan = scan(files, glob=False, hive_partitioning=False)
        columns = [
            pl.lit(None if value == _HIVE_NULL else value, pl.String)
            .cast(pl.String if key in text else pl.Int64)
            .alias(key)
            for key, value in pairs
        ]
        plans.append(plan.with_columns(columns) if columns else plan)
    return pl.concat(plans)


def refuse_damaged(path: Path, kind: str) -> None:
    """Read a file or a folder's parts once in steps, and raise one of `UNREADABLE` for damage.

    pyarrow reads the parts, because polars panics on some damaged files and prints what its threads
    were doing. The function skips a part with a type that pyarrow does not know.
    """
    import pyarrow as pa
    from pyarrow import ipc, parquet

    for part in table_parts(path):
        try:
            if kind == "parquet":
                with parquet.ParquetFile(part) as columns:
                    _refuse_schema(columns.schema_arrow)
                    rows = sum(batch.num_rows for batch in columns.iter_batches())
                    if rows != columns.metadata.num_rows:
                        raise ValueError("rows are missing")
            else:
                with pa.OSFile(str(part)) as file, ipc.open_file(file) as batches:
                    _refuse_schema(batches.schema)
                    for place in range(batches.num_record_batches):
                        batches.get_batch(place).validate(full=True)
        except pa.ArrowNotImplementedError:
            continue  # The part has a type that only polars reads.
        except pa.ArrowException as error:
            raise ValueError(type(error).__name__) from None


def rows_and_columns(path: Path, kind: str) -> tuple[int, int]:
    """Numbers of rows and columns from the parts' own notes; one of `UNREADABLE` if that fails.

    Columns made of folders' names do not count. For a part with a type that pyarrow does not know,
    the size on disk gives a rough number of cells, which count as rows of one column.
    """
    import pyarrow as pa
    from pyarrow import ipc, parquet

    rows, width, first_column = 0, 1, ipc.IpcReadOptions(included_fields=[0])
    for part in table_parts(path):
        try:
            if kind == "parquet":
                with parquet.ParquetFile(part) as columns:
                    rows += max(0, columns.metadata.num_rows)
                    width = max(width, columns.metadata.num_columns)
            else:
                with pa.memory_map(str(part)) as file:
                    width = max(width, len(ipc.open_file(file).schema))
                    batches = ipc.open_file(file, options=first_column)
                    places = range(batches.num_record_batches)
                    rows += sum(batches.get_batch(place).num_rows for place in places)
        except pa.ArrowNotImplementedError:  # A type that only polars reads.
            rows += part.stat().st_size // _BYTES_STORED
        except pa.ArrowException as error:
            raise ValueError(type(error).__name__) from None
    return rows, width


def _refuse_schema(schema: pa.Schema) -> None:
    """Raise ValueError for a repeated column name, or a type that no table of records has."""
    from pyarrow import types

    strange = types.is_run_end_encoded, types.is_union, types.is_decimal256
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("names are given twice")
    for kind in (field.type for field in schema):  # pyarrow has no name for two interval types.
        if str(kind).endswith("interval") or any(is_one(kind) for is_one in strange):
            raise ValueError("a type is not supported")


def folder_kind(path: Path) -> str:
    """The kind of a folder's parts, "parquet" or "arrow"; InputError unless all have one kind."""
    kinds = sorted({COLUMN_SUFFIXES[part.suffix.lower()] for part in table_parts(path)})
    if len(kinds) != 1:
        raise InputError.by(
            "folder-of-several-kinds", path=path.name, kinds=" and ".join(kinds) or "none"
        )
    return kinds[0]


def file_digest(path: Path) -> str:
    """sha256 of a file. For a folder: sha256 of the lines that sha256sum prints for its parts."""
    if path.is_dir():
        lines = (f"{file_digest(part)}  {part.relative_to(path)}\n" for part in table_parts(path))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def table_parts(path: Path) -> list[Path]:
    """The parts of a table: the file itself, or a folder's parquet and Arrow files not hidden."""
    if not path.is_dir():
        return [path]
    inside = sorted(part for part in path.rglob("*") if part.is_file())
    return [
        part
        for part in inside
        if part.suffix.lower() in COLUMN_SUFFIXES
        and not any(name[0] in "._" for name in part.relative_to(path).parts)
    ]
