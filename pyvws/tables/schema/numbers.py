"""Numbers with missing values: cells that are empty or hold a code, apart from those that count."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.dates import as_days, dates_like, days_of, holds_dates, iso_of
from pyvws.tables.files.frame import floats_of, holds_numbers
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.levels import distinct, has_labels, how_many, type_of_levels, whole_numbers


def has_words(column: Column) -> bool:
    """Whether a code of the column's missing values is no number, such as N."""
    return any(as_number(code) is None for code in column.missing_codes if code is not None)


def released_type(
    column: Column, values: nw.Series[Any], *, by_schema: bool = False
) -> nw.Series[Any]:
    """A column of the type that synthetic values come out in: that of `values`, or by the schema.

    A missing code that is a word makes text of numbers, whether a record has it or not.
    """
    dates = column.days_since is not None
    no_dates = dates and not (holds_dates(values) or has_labels(values))  # All cells are empty.
    if by_schema or no_dates or (not column.categorical and not dates and has_words(column)):
        return _type_by_schema(column, values)
    return values


def _type_by_schema(column: Column, values: nw.Series[Any]) -> nw.Series[Any]:
    """A column of the type that a schema gives synthetic values, of a kind and name as `values`.

    The types that a reader gives a table follow from its cells: one cell with a fraction, or an
    empty one, makes floats of whole numbers, and one code such as N makes text of them.
    """
    if column.categorical:
        return type_of_levels(column.coded_levels, values)
    if column.days_since is not None or has_words(column):
        return nw.new_series(values.name, ["1"], nw.String, backend=values.implementation)
    kind = nw.Int64 if column.is_whole else nw.Float64
    return nw.new_series(values.name, [1], kind, backend=values.implementation)


def numbers_and_codes(
    column: nw.Series[Any],
    missing: Sequence[str | None],
    name: str,
    counts: Floats | None = None,
    *,
    start: str | None = None,
) -> tuple[Floats, Floats]:
    """Numbers (N,), NaN where missing, and codes (N,): 1 for a number, 2 on for codes of `missing`.

    None among the codes stands for an empty cell. Text may spell the numbers. With a `start` the
    cells are dates, as text or of a type of dates, and the numbers are days since then. Raises
    InputError, which counts the cells and names none, for an empty cell without such a code and for
    text that is neither number (or date) nor code. A row counts as `counts` (N,) cells, or as one.
    """
    codes = {code: place for place, code in enumerate(missing, start=2)}
    read = as_number if start is None else partial(as_days, start=start)
    if column.null_count() == len(column):  # A reader gives such a column any type.
        numbers = np.full(len(column), np.nan)
        found = np.full(len(column), float(codes.get(None, -1)))
    elif has_labels(column):
        numbers, found = _spelled(column, codes, read)
    elif start is not None and holds_dates(column):
        numbers, found = _coded(days_of(column, start, name), codes, read)
    elif start is None and holds_numbers(column):
        numbers, found = _coded(floats_of(column), codes, read)
    else:
        kind = str(column.dtype).partition("(")[0]
        what = "number" if start is None else "date"
        hint = " Dates need days_since." if start is None and holds_dates(column) else ""
        raise InputError(
            f"Column {name!r} is no {what} (its type is {kind}). Give its levels in the "
            f"schema, or convert the column.{hint}"
        )
    if bad := how_many(found == 0.0, counts):
        what = "numbers" if start is None else "dates such as 2000-12-31"
        raise InputError(
            f"Column {name!r} has {bad} cells that are no {what} and no missing codes of the "
            "schema. Give their code as missing, or levels if the column holds categories."
        )
    if empty := how_many(found < 0.0, counts):
        raise InputError(
            f"Column {name!r} has {empty} missing or infinite values. Add missing = true to the "
            "column in the schema, or remove these records."
        )
    return np.where(found > 1.0, np.nan, numbers), found


def _spelled(
    column: nw.Series[Any], codes: dict[str | None, int], read: Callable[[str], float | None]
) -> tuple[Floats, Floats]:
    """Numbers and codes of text: 0 for a cell that is neither, -1 for an empty one."""
    places, labels = distinct(column)
    spelled = [read(label) for label in labels]
    numbers = np.array([*(np.nan if x is None else x for x in spelled), np.nan])
    of_label = [
        codes.get(label, 0 if x is None else 1) for label, x in zip(labels, spelled, strict=True)
    ]
    found = np.array([*of_label, codes.get(None, -1)], dtype=np.float64)
    return np.asarray(numbers[places]), np.asarray(found[places])


def _coded(
    numbers: Floats, codes: dict[str | None, int], read: Callable[[str], float | None]
) -> tuple[Floats, Floats]:
    """The numbers (N,), and their codes: -1 for a cell that is empty or infinite."""
    found = np.ones(len(numbers))
    for code, place in codes.items():
        value = None if code is None else read(code)
        if value is not None:
            found[numbers == value] = place
    found[np.isnan(numbers)] = codes.get(None, -1)
    found[np.isinf(numbers)] = -1.0
    return numbers, found


def numbers_with_codes(
    numbers: Floats,
    codes: Sequence[str | None],
    name: str,
    like: nw.Series[Any],
    *,
    whole: bool,
    start: str | None = None,
) -> nw.Series[Any]:
    """Numbers (M,), those that are NaN as their codes, as a column of the kind of `like`.

    `codes` are those of the missing cells in their order, None for an empty cell. With a `start`
    the numbers are days since then, and the column holds dates.
    """
    missing = np.isnan(numbers)
    spell = label_of if start is None else partial(iso_of, start=start)
    if has_labels(like):
        cells: list[Any] = [spell(x) for x in numbers[~missing]]
        return _filled(cells, list(codes), missing, name, nw.String, like)
    if start is not None:
        of_codes = [None if code is None else as_days(code, start) for code in codes]
        days = numbers.copy()
        days[missing] = np.array([np.nan if x is None else x for x in of_codes])
        return dates_like(days, start, name, like)
    values = [None if code is None else as_number(code) for code in codes]
    if whole and like.dtype.is_integer():
        known = np.array([0.0 if x is None else x for x in values])
        of_all = np.zeros(len(numbers))
        of_all[~missing], of_all[missing] = np.rint(numbers[~missing]), known
        made = whole_numbers(of_all, name, like)
        if None not in values:
            return made
        cells = [int(x) for x in of_all[~missing]]
        spelled = [None if x is None else int(x) for x in values]
        return _filled(cells, spelled, missing, name, made.dtype, like)
    kind = nw.Float32 if like.dtype == nw.Float32 else nw.Float64
    return _filled(numbers[~missing].tolist(), values, missing, name, kind, like)


def _filled(
    cells: list[Any],
    codes: list[Any],
    missing: Any,
    name: str,
    kind: Any,
    like: nw.Series[Any],
) -> nw.Series[Any]:
    """The cells, and the codes where missing, as a column of a kind; None is an empty cell."""
    found = np.empty(len(missing), dtype=object)
    found[~missing], found[missing] = cells, codes
    if not like.implementation.is_pandas():
        return nw.new_series(name, found.tolist(), kind, backend=like.implementation)
    import pandas as pd

    native = like.to_native().dtype
    if kind.is_integer():
        native = "Int64"
    elif isinstance(native, pd.CategoricalDtype):
        native = object
    return nw.from_native(pd.Series(found, dtype=native, name=name), series_only=True)
