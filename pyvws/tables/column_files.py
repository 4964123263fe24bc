"""Files that hold columns, parquet and Arrow IPC, and folders of such files as one table."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

import polars as pl

from pyvws.errors import InputError

__all__ = [
    "COLUMN_SUFFIXES",
    "UNREADABLE",
    "file_digest",
    "folder_kind",
    "refuse_damaged",
    "rows_and_columns",
    "scan_columns",
    "table_parts",
]

# What a damaged file raises. A panic of polars is no Exception.
UNREADABLE: Final = (
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
    ValueError,
    OSError,
)

COLUMN_SUFFIXES: Final = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
_BYTES_STORED = 8  # Of a cell in a file, roughly.
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")
_HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"


def scan_columns(path: Path, kind: str) -> pl.LazyFrame:
    """A plan to read a file of that kind, parquet or arrow, or a folder's parts by their names.

    Folders named key=value inside a folder make a column, as Hive and Spark write them: of whole
    numbers where all values are, of text otherwise. One of `UNREADABLE` where parts have unlike
    columns, which polars would find out only when it reads them.
    """
    parts = table_parts(path)
    scan = pl.scan_parquet if kind == "parquet" else pl.scan_ipc
    schemas = [dict(scan(part, glob=False).collect_schema()) for part in parts]
    if any(schema != schemas[0] for schema in schemas):
        raise pl.exceptions.SchemaError("the parts have other columns")
    keyed: dict[tuple[tuple[str, str], ...], list[Path]] = {}
    for part in parts:
        folders = part.relative_to(path).parts[:-1]
        named = (name.partition("=") for name in folders if "=" in name)
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
    """Read a file, or a folder's parts, once in steps; one of `UNREADABLE` where a part is damaged.

    polars panics on some damaged files, as on types that it does not know, and prints what its
    threads were at. A part with a type that pyarrow does not know is left to polars, unread.
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
            continue  # A type that only polars reads.
        except pa.ArrowException as error:
            raise ValueError(type(error).__name__) from None


def rows_and_columns(path: Path, kind: str) -> tuple[int, int]:
    """Numbers that the parts say of themselves; one of `UNREADABLE` if that fails.

    Columns made of folders' names are not counted. Of a part with a type that pyarrow does not know
    the size on disk gives a rough number of cells, as rows of one column.
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


def _refuse_schema(schema: Any) -> None:
    """ValueError for names given twice, or a type that no table of records has."""
    from pyarrow import types

    strange = types.is_run_end_encoded, types.is_union, types.is_decimal256, _is_interval
    if len(set(schema.names)) < len(schema.names):
        raise ValueError("names are given twice")
    if any(is_one(field.type) for field in schema for is_one in strange):
        raise ValueError("a type is not supported")


def _is_interval(kind: Any) -> bool:
    return str(kind).endswith("interval")  # pyarrow has no name for two of the three.


def folder_kind(path: Path) -> str:
    """ "parquet" or "arrow", the kind of a folder's parts; InputError unless all have one."""
    kinds = sorted({COLUMN_SUFFIXES[part.suffix.lower()] for part in table_parts(path)})
    if len(kinds) != 1:
        raise InputError(
            f"{path.name}: a folder needs parts of one kind, all .parquet or all .arrow. It has "
            f"{' and '.join(kinds) or 'none'}."
        )
    return kinds[0]


def file_digest(path: Path) -> str:
    """sha256 of a file; of a folder, that of the lines that sha256sum prints for its parts."""
    if path.is_dir():
        lines = (f"{file_digest(part)}  {part.relative_to(path)}\n" for part in table_parts(path))
        return hashlib.sha256("".join(lines).encode()).hexdigest()
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def table_parts(path: Path) -> list[Path]:
    """The file itself; of a folder its parquet and Arrow files that are not hidden."""
    if not path.is_dir():
        return [path]
    inside = sorted(part for part in path.rglob("*") if part.is_file())
    return [
        part
        for part in inside
        if part.suffix.lower() in COLUMN_SUFFIXES
        and not any(name[0] in "._" for name in part.relative_to(path).parts)
    ]
