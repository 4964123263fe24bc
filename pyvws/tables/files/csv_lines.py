"""The lines of a csv: its separator, its header, and which of its lines have other cells."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from typing import Any, BinaryIO, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Bools, positions
from pyvws.errors import InputError
from pyvws.tables.files.headers import placed

CSV_RULE: Final = "A csv must be UTF-8 with commas, a header and quotes around whole cells."
_OTHER_SEPARATORS = (";", "\t", "|")
_MARKS = {",": "commas", "\t": "tabs, row names", " ": "spaces, row names"}


def csv_layout(
    file: BinaryIO, name: str, *, every_line: bool = False
) -> tuple[dict[str, Any], Bools]:
    """How polars reads a csv: by the names of its header, the character between cells, its records.

    The second is which records (N,) have another number of cells than the header. The function
    raises InputError as `separator_of` and `uneven_rows` do.
    """
    mark = separator_of(file, name)
    uneven = uneven_rows(file, name, mark, every_line=every_line)
    file.seek(0)
    layout = {"new_columns": csv_header(file, mark), "separator": mark, "n_rows": len(uneven)}
    if every_line:
        layout |= {"truncate_ragged_lines": True, "encoding": "utf8-lossy"}
    return layout, uneven


def in_lines(uneven: Bools, cells: pl.Expr, written: str | None) -> pl.Expr:
    """The cells of a table, those of its `uneven` lines (N,) replaced."""
    lines = pl.Series(np.flatnonzero(uneven), dtype=pl.Int64)
    place = pl.int_range(pl.len(), dtype=pl.Int64)
    return pl.when(place.is_in(lines.implode())).then(pl.lit(written)).otherwise(cells).name.keep()


def separator_of(file: BinaryIO, name: str) -> str:
    """The character between the cells of a text file; the call goes back to the file's start.

    In a .csv it is a comma, else the one of comma, tab and space that makes most of the header.
    Raises InputError where neither commas nor tabs part the header, and another character does, and
    where the file starts as UTF-16: with its mark or a two-byte ASCII letter.
    """
    start = file.read(4)
    file.seek(0)
    halves = {start[::2], start[1::2]}  # Of two-byte ASCII letters one is of zeros.
    marked = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    if marked or (b"\0\0" in halves and len(halves) == 2):
        raise InputError.by("file-utf-16", name=name, csv_rule=CSV_RULE)

    def cells(mark: str) -> int:
        width = len(csv_header(file, mark))
        file.seek(0)
        return width

    read = [","] if name.lower().endswith(".csv") else list(_MARKS)
    if max(cells(mark) for mark in read if mark != " ") > 1:
        return max(read, key=cells)
    other = max((mark for mark in _OTHER_SEPARATORS if mark not in read), key=cells)
    if cells(other) > 1:
        spelling = "a tab" if other == "\t" else f"{other!r}"
        raise InputError.by("file-separator", name=name, spelling=spelling, other=other)
    return max(read, key=cells)


def csv_header(file: BinaryIO, separator: str = ",") -> list[str]:
    """The first row of a csv that is not empty; the call reads the file up to this row.

    polars would leave each quote within a name doubled.
    """
    lines = (line.decode("utf-8-sig") for line in file)
    return next(filter(None, csv.reader(lines, delimiter=separator)), [])


def uneven_rows(
    file: BinaryIO, name: str, separator: str = ",", *, every_line: bool = False
) -> Bools:
    """Which records (N,) of a csv have another number of cells than its header.

    Raises InputError for a repeated header, and unless `every_line` is a record for uneven rows.
    polars would silently rename a repeated header and fill short rows. Empty lines at the end of a
    table of several columns are no records.
    """
    how: Any = {"errors": "replace", "newline": "\n"} if every_line else {"newline": ""}
    text = io.TextIOWrapper(file, "utf-8-sig", **how)
    longest = csv.field_size_limit(2**31 - 1 if every_line else csv.field_size_limit())
    try:
        lines = (line.rstrip("\r\n").replace("\r", " ") + "\n" for line in text)
        rows = csv.reader(lines if every_line else text, delimiter=separator)
        header = next(filter(None, rows), [])
        # An empty line is an empty cell in a table of one column, and a short row in others.
        cells = np.array([len(row) for row in rows], dtype=np.intp)
    finally:
        csv.field_size_limit(longest)
        text.detach()  # The caller closes the file.
    twice = [column for column, times in sorted(Counter(header).items()) if times > 1]
    if twice:
        raise InputError.by("header-names-twice", name=name, twice=placed(twice, header))
    if len(header) > 1:
        cells = cells[: len(np.trim_zeros(cells, "b"))]
    uneven = np.maximum(cells, 1) != len(header)
    if header and uneven.any() and not every_line:
        raise InputError.by(
            "rows-of-other-length",
            name=name,
            header=len(header),
            uneven=positions(uneven),
            marks=_MARKS[separator],
        )
    return uneven
