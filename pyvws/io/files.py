"""Tables on disk: csv and parquet, typed for modelling and as they stand for the release."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pyvws.errors import InputError

__all__ = ["TableFile", "read_table", "write_table"]

_SUFFIXES = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}


@dataclass(frozen=True, slots=True)
class TableFile:
    """A table read from a file.

    `frame` has inferred types; `as_written` holds the same rows with csv cells as the text they
    were, so that a column passed through keeps its zeros and spelling. `format` is "csv" or
    "parquet", `sha256` the file's digest.
    """

    frame: pl.DataFrame
    as_written: pl.DataFrame
    format: str
    sha256: str


def read_table(path: Path) -> TableFile:
    """Read a csv (UTF-8, comma, header) or parquet file; raise InputError if that fails."""
    kind = _SUFFIXES.get(path.suffix.lower())
    if kind is None:
        raise InputError(f"{path.name}: the name must end in .csv or .parquet.")
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}).") from None
    try:
        if kind == "csv":
            _refuse_repeated_header(content, path.name)
            as_written = pl.read_csv(content, infer_schema=False)
            frame = pl.read_csv(content, infer_schema_length=None, null_values=["", "NA"])
        else:
            frame = as_written = pl.read_parquet(content)
    except (pl.exceptions.PolarsError, ValueError, OSError) as error:
        raise InputError(
            f"{path.name}: not a readable {kind} file ({type(error).__name__}). A csv must be "
            "UTF-8 with commas, a header and as many cells in every row."
        ) from None
    if frame.height != as_written.height:
        raise InputError(f"{path.name}: rows cannot be told apart. Check its quotes.")
    return TableFile(frame, as_written, kind, hashlib.sha256(content).hexdigest())


def write_table(frame: Any, path: Path, *, format: str) -> None:
    """Write a polars frame as csv or parquet."""
    if format == "csv":
        frame.write_csv(path)
    else:
        frame.write_parquet(path)


def _refuse_repeated_header(content: bytes, name: str) -> None:
    """polars renames a repeated header silently; a release must not rest on that."""
    import csv

    head = content[: content.find(b"\n") + 1 or len(content)].decode("utf-8-sig")
    names = next(csv.reader([head]), [])
    twice = sorted({column for column in names if names.count(column) > 1})
    if twice:
        raise InputError(f"{name}: column names must differ. Given twice: {', '.join(twice)}.")
