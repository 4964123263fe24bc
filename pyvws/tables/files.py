"""Tables on disk: csv, parquet and Arrow, typed for modelling and as they stand for the release."""

from __future__ import annotations

import codecs
import csv
import io
import os
import stat
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl

from pyvws._base.checks import positions
from pyvws.errors import InputError
from pyvws.tables.column_files import (
    COLUMN_SUFFIXES,
    UNREADABLE,
    file_digest,
    folder_kind,
    refuse_damaged,
    scan_columns,
)
from pyvws.tables.headers import placed
from pyvws.tables.hidden_values import without_hidden

__all__ = [
    "CSV_NULLS",
    "FORMATS",
    "TableFile",
    "csv_header",
    "file_kind",
    "read_table",
    "refuse_uneven_rows",
    "unreadable",
    "write_table",
]

CSV_NULLS: Final = ["", "NA"]
FORMATS: Final = ("csv", "parquet", "arrow")
_CSV_RULE = "It must be UTF-8 with commas and a header."
_PARTS_RULE = (
    "Its parts need the same columns, each whole: name one file, or a folder of one table's parts."
)
_OTHER_SEPARATORS = (";", "\t", "|")
_SUFFIXES = {".csv": "csv", **COLUMN_SUFFIXES}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table read from a file.

    `frame` has inferred types; `as_written` holds the same rows with csv cells as the text they
    were, so that a column passed through keeps its zeros and spelling. `format` is one of
    `FORMATS`, `sha256` the digest of the file, or of a folder as `file_digest` takes it.
    """

    frame: pl.DataFrame
    as_written: pl.DataFrame
    format: str
    sha256: str


def read_table(path: Path) -> TableFile:
    """Read a csv (UTF-8, comma, header), parquet or Arrow IPC file, or a folder of such parts.

    Raises InputError if that fails. A folder's parts are parquet or Arrow IPC, and follow each
    other by their names.
    """
    kind = file_kind(path)
    try:
        digest = file_digest(path)
        content = path.read_bytes() if kind == "csv" else b""
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}). Check its name and its rights."
        ) from None
    try:
        if kind == "csv":
            records = refuse_uneven_rows(io.BytesIO(content), path.name)
            as_written = pl.read_csv(content, infer_schema=False)
            frame = pl.read_csv(content, infer_schema_length=None, null_values=CSV_NULLS)
        else:
            refuse_damaged(path, kind)
            frame = as_written = scan_columns(path, kind).collect()
            records = frame.height
    except InputError:
        raise
    except (*UNREADABLE, csv.Error) as error:
        raise unreadable(path, kind, error) from None
    if not frame.height == as_written.height == records:
        raise InputError(
            f"{path.name}: rows cannot be told apart. Check its quotes and its line ends."
        )
    return TableFile(frame, as_written, kind, digest)


def unreadable(path: Path, kind: str, error: BaseException) -> InputError:
    """The error for a file or folder that cannot be parsed, without what its reader says of it."""
    rule = _CSV_RULE if kind == "csv" else _PARTS_RULE if path.is_dir() else "Write it again."
    if isinstance(error, UnicodeDecodeError):
        rule += " An older encoding is turned by iconv -f ISO-8859-1 -t UTF-8."
    return InputError(f"{path.name}: not a readable {kind} file ({type(error).__name__}). {rule}")


def write_table(frame: Any, path: Path | BinaryIO, *, format: str) -> None:
    """Write a polars frame in one of `FORMATS`: its cells, and nothing else of its memory."""
    if format == "csv":
        frame.write_csv(path)
    elif format == "parquet":
        without_hidden(frame).write_parquet(path)
    else:
        bare = without_hidden(frame)
        bare.write_ipc(path, compression="zstd", compat_level=pl.CompatLevel.oldest())


def file_kind(path: Path) -> str:
    """One of `FORMATS`, by the file's name; InputError for another one, or where no file is.

    A folder has the kind of its parts.
    """
    kind = _SUFFIXES.get(path.suffix.lower())
    if os.path.isdir(path) and kind != "csv":
        return folder_kind(path)
    try:
        mode = path.stat().st_mode
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}). Check its name and its rights."
        ) from None
    if not stat.S_ISREG(mode):
        raise InputError(f"{path}: is a folder or a pipe. Name a file.")
    if kind is None:
        raise InputError(
            f"{path.name}: the name must end in .csv, .parquet, .arrow or .feather. Save other "
            "formats as one of these, or read them with pandas or R and call vws.synthesize."
        )
    return kind


def csv_header(file: BinaryIO) -> list[str]:
    """The first row that is not empty; the file is left after its first lines."""
    return next(filter(None, csv.reader(line.decode("utf-8-sig") for line in file)), [])


def refuse_uneven_rows(file: BinaryIO, name: str) -> int:
    """polars renames a repeated header and fills short rows silently; a release needs neither.

    Returns the number of records.
    """
    _refuse_utf16(file, name)
    text = io.TextIOWrapper(file, "utf-8-sig", newline="")
    try:
        rows = csv.reader(text)
        header = next(filter(None, rows), [])
        # An empty line is an empty cell where there is one column, a short row elsewhere.
        uneven = np.array([max(len(row), 1) != len(header) for row in rows], dtype=np.bool_)
    finally:
        text.detach()  # The caller closes the file.
    twice = [column for column, times in sorted(Counter(header).items()) if times > 1]
    if twice:
        raise InputError(
            f"{name}: column names must differ. Some are given twice: {placed(twice, header)}. "
            "Rename them, or add the header."
        )
    if header and uneven.any():
        if len(header) == 1 and any(mark in header[0] for mark in _OTHER_SEPARATORS):
            raise InputError(
                f"{name}: its header has no comma. A csv needs commas between cells and points in "
                "numbers: read it with read.csv2 in R or pandas.read_csv(sep=';', decimal=','), "
                "and write it again."
            )
        raise InputError(
            f"{name}: every row needs {len(header)} cells, as the header has. "
            f"Rows with another number: {positions(uneven)}. Check its commas and quotes."
        )
    return len(uneven)


def _refuse_utf16(file: BinaryIO, name: str) -> None:
    """InputError where a csv starts as UTF-16 does: with its mark, or with an ASCII letter."""
    start = file.read(4)
    file.seek(0)
    halves = {start[::2], start[1::2]}
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (b"\0\0" in halves and len(halves) == 2):
        raise InputError(
            f"{name}: is UTF-16, as Excel writes Unicode text. {_CSV_RULE} Save it as CSV UTF-8, "
            "or run iconv -f UTF-16 -t UTF-8."
        )
