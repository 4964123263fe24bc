"""The reader of a column's values: categories as codes 1 to L, numbers and dates as floats.

Levels are compared as text: the integer 1, the text "1" and 1.0 of a column of floats are one
level, and so are true, "true" and "True" for a column of truth values. A cell that is spelled as
no level or code is taken by what it is `meant` for. A type in which two levels may have become one
value is refused. So a record never changes the value of another by the type that it gives the
column. Messages count cells and name no value: a row counts as
`counts` (N,) cells, or as one.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Bools, Floats
from pyvws.errors import InputError
from pyvws.tables.files.frame import Frame, plain_columns, refuse_lost_digits
from pyvws.tables.files.kinds import (
    days_of,
    distinct,
    floats_of,
    has_labels,
    holds_dates,
    holds_numbers,
)
from pyvws.tables.files.labels import (
    as_days,
    as_digit,
    as_number,
    by_meaning,
    label_of,
    meant,
    reads_as_date,
    reads_as_truth,
    spells_empty,
)
from pyvws.tables.schema.arithmetic import SINGLE
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.factors import factor_values, make_factor
from pyvws.tables.schema.groups import group_codes, group_of
from pyvws.tables.schema.write_values import (
    cells_of_levels,
    dates_like,
    native_levels,
    released_type,
)

Unknown = dict[str, Bools]
"""Which records (N,) have a value that the schema does not know, by column."""


def coded_columns(
    columns: Mapping[str, Column],
    table: Frame,
    *,
    counts: Floats | None,
    by_schema: Collection[str],
    unknown: Unknown | None = None,
) -> dict[str, Floats]:
    """As `Schema.coded`, of the columns by name."""
    coded: dict[str, Floats] = {}
    strict = unknown is not None
    for name, column in columns.items():
        source = table[name]
        like = released_type(column, source, by_schema=name in by_schema)
        if column.categorical:
            levels, place = column.coded_levels, column.place_outside
            codes = level_codes(source, levels, counts, like, place, strict=strict)
            if unknown is not None:
                unknown[name] = codes < 1.0
                codes = np.maximum(codes, 1.0)
            coded[name] = codes
            if column.group_by is not None:
                coded[group_of(name)] = group_codes(column)[coded[name].astype(np.intp) - 1]
            continue
        numbers, missing = numbers_and_codes(
            source,
            column.missing_codes,
            counts,
            start=column.days_since,
            place_outside=column.place_outside,
            strict=strict,
        )
        numbers = column.within(at_decimals(column, numbers))
        low, high = column.range or (-np.inf, np.inf)
        outside = (numbers < low) | (numbers > high)
        if unknown is not None:
            unknown[name] = outside | (missing < 1.0)
            numbers = np.where(unknown[name], np.clip(0.0, low, high), numbers)
            missing = np.where(unknown[name], 1.0, missing)
        elif beyond := how_many(outside, counts):
            raise InputError.by("cells-outside-range", name=name, beyond=beyond)
        if column.days_since is not None and not has_labels(like):  # Can they come out?
            days = map(column.number_of, filter(None, column.missing_codes))
            ends = [*(column.range or ()), *(day for day in days if day is not None)]
            dates_like(np.array(ends), column.days_since, name, like)
        coded[name] = numbers
        if column.parts:
            part = np.where(missing > 1.0, missing + len(column.mass), 1.0)
            for code, point in enumerate(column.mass, start=2):
                part[numbers == point] = code
            coded[part_of(name)] = part
    return coded


def at_decimals(column: Column, numbers: Floats | float) -> Floats:
    """Numbers (N,) at the column's decimals where single precision alone keeps them from these.

    A program that keeps 6.2 in four bytes writes 6.19999980926514. Others stay as they are.
    """
    with np.errstate(over="ignore", invalid="ignore"):  # Infinite ones are near none.
        rounded = column.rounded(numbers)
        near = np.abs(rounded - numbers) <= SINGLE * np.abs(numbers)
    return np.where(near, rounded, numbers)


def numbers_and_codes(
    column: nw.Series[Any],
    missing: Sequence[str | None],
    counts: Floats | None = None,
    *,
    start: str | None = None,
    strict: bool = False,
    place_outside: Callable[[str], int | None] = lambda _: None,
) -> tuple[Floats, Floats]:
    """Numbers (N,), NaN where missing, and codes (N,): 1 for a number, 2 on for codes of `missing`.

    None among the codes stands for an empty cell. Text may spell the numbers. `place_outside` gives
    the place among the codes that other text has, if any. With a `start` the
    cells are dates, as text or of a type of dates, and the numbers are days since then. Raises
    InputError for an empty cell without such a code, and for text that is neither number (or date)
    nor code. A `strict` reading gives these cells the code 0 and raises nothing, whatever the type.
    """
    if not strict:
        refuse_other_readings(column, missing)
    name, codes = column.name, {code: place for place, code in enumerate(missing, start=2)}
    read = as_number if start is None else partial(as_days, start=start)
    if column.null_count() == len(column):  # A reader gives such a column any type.
        numbers, parts = np.full(len(column), np.nan), np.full(len(column), codes.get(None, -1))
    elif strict or has_labels(column):
        places, labels = distinct(column, any_cell=strict)
        if strict:
            labels = [x if x in codes else as_digit(x) for x in labels]
        numbers_of_labels = [read(label) for label in labels]
        numbers = np.array([*numbers_of_labels, None], np.float64)[places]  # None becomes NaN.
        of_number = {read(code): place for code, place in codes.items() if code is not None}
        of_label = [
            codes[label]
            if label in codes
            else of_number.get(number, 1)
            if number is not None
            else codes.get(None, -1)
            if spells_empty(label)
            else _coded(place_outside(label), first=2, unknown=0)
            for label, number in zip(labels, numbers_of_labels, strict=True)
        ]
        parts = np.array([*of_label, codes.get(None, -1)])[places]
    elif holds_dates(column) if start is not None else holds_numbers(column):
        numbers = floats_of(column) if start is None else days_of(column, start)
        parts = np.ones(len(numbers), dtype=np.intp)
        for code, place in codes.items():
            if code is not None and (value := read(code)) is not None:
                parts[numbers == value] = place
        parts[np.isnan(numbers)] = codes.get(None, -1)
        parts[np.isinf(numbers)] = -1
    else:
        kind = str(column.dtype).partition("(")[0]
        what = "number" if start is None else "date"
        hint = " Dates need days_since." if start is None and holds_dates(column) else ""
        raise InputError.by("column-of-other-type", name=name, what=what, kind=kind, hint=hint)
    if strict:
        parts = np.maximum(parts, 0)
    elif bad := how_many(parts == 0, counts):
        what = "numbers" if start is None else "dates such as 2000-12-31"
        raise InputError.by("cells-no-code", name=name, bad=bad, what=what)
    if empty := how_many(parts < 0, counts):
        raise InputError.by("column-missing-or-infinite", name=name, empty=empty)
    return np.where(parts > 1, np.nan, numbers), np.asarray(parts, dtype=np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories.

    - `codes` (N,): Each record's level, as whole numbers from 1 to L.
    - `values` (narwhals Series of length L): The levels in the column's own type; a category has
      these levels and no others.
    """

    codes: Floats
    values: nw.Series[Any]


def coded_column(
    frame: Frame,
    name: str,
    labels: Sequence[str] = (),
    *,
    role: str,
    counts: Floats | None = None,
    like: nw.Series[Any] | None = None,
) -> CodedColumn:
    """Code a column of text, categories, booleans or numbers by its levels.

    With `labels` the codes follow their order, so codes tell nothing of other records, and the
    values have the type of `like`, or else of the column. Without labels the levels are those that
    occur, as R's ``as.character`` gives them: "1" for 1, "TRUE" for true; categories in their own
    order, text by code point, numbers by size.

    Raises InputError for missing values, dates, labels that the column's type cannot have, and
    values that are not among the labels.
    """
    column = plain_columns(frame, [name], role=role)[name]
    source = frame[name]
    if not labels:
        factor = make_factor(factor_values(source, column, role=role))
        unused = set(factor.unused())
        labels, like = [label for label in factor.levels if label not in unused], None
    like = source if like is None else like
    return CodedColumn(level_codes(source, labels, counts, like), native_levels(labels, like))


def level_codes(
    column: nw.Series[Any],
    levels: Sequence[str | None],
    counts: Floats | None,
    like: nw.Series[Any],
    place_outside: Callable[[str], int | None] = lambda _: None,
    *,
    strict: bool = False,
) -> Floats:
    """Codes 1 to L of a column (N,) by the levels, None for empty cells.

    `place_outside` gives the place of the level that an unknown label counts as, if any.

    The levels are read as values of the column's type; where they come out in the type of `like`,
    a level that the column's type cannot hold is in none of its cells.

    Raises InputError for a cell with none of the levels, and for a level that the type they come
    out in cannot hold. A `strict` reading takes levels as text and gives these cells the code 0.
    """
    native_levels(levels, like)  # Refuses those of another type.
    if strict:
        return _codes_by_text(column, levels, place_outside)
    refuse_lost_digits(column)
    refuse_other_readings(column, levels)
    codes = {_read_as(column, x): code for code, x in enumerate(levels, 1) if x is not None}
    places, labels = distinct(column)
    empty = 1 + list(levels).index(None) if None in levels else 0
    others_by_meaning = by_meaning(levels)
    of_label = [
        codes[x]
        if x in codes
        else 1 + others_by_meaning[meant(x)]
        if meant(x) in others_by_meaning
        else _coded(place_outside(x), first=1, unknown=-1)
        for x in labels
    ]
    coded = np.array([*of_label, empty], np.float64)[places]
    if empty_cells := how_many(coded == 0, counts):
        raise InputError.by("cells-empty", column=column.name, empty_cells=empty_cells)
    if others := how_many(coded < 0, counts):
        raise InputError.by("cells-unknown-levels", column=column.name, others=others)
    return np.asarray(coded)


def _codes_by_text(
    column: nw.Series[Any], levels: Sequence[str | None], place_outside: Callable[[str], int | None]
) -> Floats:
    """The codes (N,) of the levels that cells are spelled as, or meant for; 0 for none of them."""
    places, labels = distinct(column, any_cell=True)
    exact = {level: code for code, level in enumerate(levels, 1)}
    meanings = {own: place + 1 for own, place in by_meaning(levels).items()}

    def code_of(label: str | None) -> int:
        if label is None or (spells_empty(label) and label not in exact):
            return exact.get(None, 0)
        digit = meanings.get(meant(as_digit(label)), 0)
        code = exact.get(label, meanings.get(meant(label), digit))
        return code or _coded(place_outside(label), first=1, unknown=0)

    return np.array([code_of(label) for label in (*labels, None)], np.float64)[places]


def _coded(place: int | None, *, first: int, unknown: int) -> int:
    """The code of a place, where codes begin with `first`; `unknown` without one."""
    return unknown if place is None else first + place


def refuse_other_readings(column: nw.Series[Any], levels: Sequence[str | None]) -> None:
    """Raise InputError where a column's type may be what its reader made of another level's text.

    Arrow reads 1 as true where another record has true, and polars 30/06/2001 as 2001-06-30 where
    no record has a word. A record would then have another level by what others have.
    """
    if column.dtype == nw.Boolean:
        taken, what = any(map(reads_as_truth, levels)), "truth values"
    else:
        taken, what = holds_dates(column) and any(map(reads_as_date, levels)), "dates"
    if taken:
        raise InputError.by("labels-of-a-reader", column=column.name, what=what)


def _read_as(column: nw.Series[Any], level: str) -> str:
    """The label of a level read as a value of the column's type, or the level where it is none."""
    try:
        (value,) = cells_of_levels([level], column)
    except InputError:
        return level
    return label_of(value)


def how_many(rows: Bools, counts: Floats | None) -> int:
    """The number of records in the true `rows` (N,), which stand for `counts` (N,) or one each."""
    return int(rows.sum() if counts is None else counts[rows].sum())
