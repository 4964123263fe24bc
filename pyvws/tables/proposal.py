"""Propose what might be public of each column, from kinds, counts and the values themselves.

Such a proposal has looked at the records. So each entry that comes from them stands in the column's
`review` until somebody says that the entry is public.
"""

from __future__ import annotations

from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.column import MOST_LEVELS, Column
from pyvws.tables.dates import EPOCH, as_days, days_of, holds_dates, iso_of
from pyvws.tables.frame import floats_of, holds_numbers
from pyvws.tables.levels import as_number, distinct, has_labels, label_of
from pyvws.tables.proposed_numbers import (
    MOST_CODES,
    around,
    frequent,
    number_column,
    reviewed,
    rising,
)

__all__ = ["proposed_columns"]

_FEW: Final = 20  # Whole numbers with at most so many values are codes.
_RECORDS_A_CODE: Final = 2  # A code has at least so many records on average.
_PAIRS: Final = 5.0  # So many pairs of alike numbers were to be expected of no ids.
_DIGITS: Final = 6
_PAIRS_APART: Final = 10.0  # So many pairs of records would differ if no unit held them together.
_MOST_MEMBERS: Final = 30  # A unit has at most so many records on average.
_OF_NUMBERS: Final = ("negative-binomial", "normal", "truncated-normal")

_ONE: Final = "one value in all records"
_ID: Final = (
    'every value differs, as in an id or free text; the role "id" numbers the synthetic records'
)
_TEXT: Final = (
    "free text, or a code of very many levels; a code takes its levels and group_by, and ids that "
    "several records share stand as unit above the columns"
)
_UNIT: Final = (
    "several records share an id, as those of a household or of one person do; unit, above the "
    "columns, makes them one unit of privacy"
)
_TIMES: Final = "times of the day; make dates of them, or numbers such as seconds"
_OTHER: Final = "neither numbers, dates, text, truth values nor categories"


def _dropped(note: str, *review: str) -> Column:
    return Column(role="drop", note=note, review=review)


def proposed_columns(frame: nw.DataFrame[Any]) -> dict[str, Column]:
    """A column of the schema for each column of a table, in the table's order."""
    found = {name: _proposed(frame[name]) for name in frame.columns}
    return found | {name: _dropped(_UNIT, "role") for name in _ids_of_units(frame, found)}


def _ids_of_units(frame: nw.DataFrame[Any], found: dict[str, Column]) -> list[str]:
    """Columns of text or whole numbers whose values stand together, as households' ids do.

    In some other column neighbours in a unit are alike, of which 10 pairs or more would differ if
    they were any records. A column whose values stand together themselves tells of no units: a
    table sorted by age has age groups so.
    """
    shared: list[str] = []
    for name, column in found.items():
        kind = column.model in _OF_NUMBERS and frame[name].dtype.is_integer()
        text = has_labels(frame[name]) and column.note in (None, _TEXT)
        if not (kind or text) or column.days_since is not None:
            continue
        own = distinct(frame[name])[0]
        alike = own[1:] == own[:-1]
        number = len(own) - int(alike.sum())
        if len(np.unique(own)) < number or not _FEW < number < len(own) <= _MOST_MEMBERS * number:
            continue
        for other in frame.columns:
            if other == name or found[other].note in (_ONE, _OTHER, _ID):
                continue
            codes = distinct(frame[other])[0]
            shares = np.unique(codes, return_counts=True)[1] / len(codes)
            apart = codes[1:] != codes[:-1]
            if (
                not apart[alike].any()
                and apart.sum() >= len(shares)
                and alike.sum() * (1.0 - (shares**2).sum()) >= _PAIRS_APART
            ):
                shared.append(name)
                break
    return shared


def _proposed(column: nw.Series[Any]) -> Column:
    if holds_numbers(column):
        return _number(column)
    if holds_dates(column):
        try:
            days = days_of(column, EPOCH, column.name)
        except InputError:
            return _dropped(_TIMES)
        return _dates(days, {"missing": True} if np.isnan(days).any() else {})
    return (
        _category(column) if column.dtype == nw.Boolean or has_labels(column) else _dropped(_OTHER)
    )


def _category(column: nw.Series[Any]) -> Column:
    """Nominal with the levels found, ordinal if pandas orders them; an identifier is dropped."""
    places, labels = distinct(column)
    empty, filled = bool((places < 0).any()), int((places >= 0).sum())
    missing: dict[str, Any] = {"missing": True} if empty else {}
    if column.dtype == nw.Boolean:
        return Column(model="nominal", levels=("false", "true"), **missing, review=tuple(missing))
    most = MOST_LEVELS
    if isinstance(column.dtype, nw.Enum):  # Its levels are declared, and pandas' ones ordered.
        levels = tuple(label_of(level) for level in column.dtype.categories)
        ordered = column.implementation.is_pandas() and not empty
    else:
        levels, ordered = tuple(sorted(labels, key=rising)), False
        most = min(most, max(_FEW, filled // _RECORDS_A_CODE))
        if len(labels) == filled and not _coded_dates(places, labels):
            return _dropped(_ID if len(labels) > 1 else _ONE, "role")
    if len(levels) > _FEW and (dates := _coded_dates(places, labels)):
        return dates
    if len(levels) > most:
        return _coded_numbers(places, labels) or _dropped(_TEXT, "role")
    if len(levels) < 2:
        return _dropped(_ONE, "role")
    return Column(
        model="ordinal" if ordered else "nominal",
        levels=levels,
        **missing,
        review=("levels", *missing),
    )


def _number(column: nw.Series[Any]) -> Column:
    found = floats_of(column)
    finite = found[np.isfinite(found)]
    known = np.unique(finite)
    whole = bool((known == np.floor(known)).all())
    empty = bool(np.isnan(found).any())
    missing: dict[str, Any] = {"missing": True} if empty else {}
    if len(known) < 2:
        return _dropped(_ONE, "role")
    if column.dtype.is_integer() and _numbers_records(finite, known):
        return _dropped(_ID, "role")
    codes = len(known) <= min(_FEW, len(finite) / _RECORDS_A_CODE)
    if whole and codes and column.dtype != nw.Object:  # Python's decimals are no labels.
        exact = map(label_of, known) if column.dtype.is_float() else distinct(column)[1]
        levels = tuple(sorted(exact, key=rising))  # A float would round integers beyond 2^53.
        return reviewed({"model": "nominal", "levels": levels, **missing})
    return number_column(finite, [True] if empty else [])


def _numbers_records(values: Floats, known: Floats) -> bool:
    """Whether whole numbers (n,) with the sorted distinct values (m,) look like ids of records.

    All differ, and so they hardly would by chance: drawn from as many numbers as their span has,
    several pairs would be alike; or they have six digits or more, each as many.
    """
    if len(known) < len(values) or len(known) <= _FEW:
        return False
    low, high = float(known[0]), float(known[-1])
    pairs_alike = 0.5 * len(values) ** 2 / (high - low + 1.0)
    digits = {len(label_of(abs(end))) for end in (low, high)}
    return pairs_alike >= _PAIRS or (low > 0 and len(digits) == 1 and min(digits) >= _DIGITS)


def _coded_numbers(places: Any, labels: list[str]) -> Column | None:
    """The column of text that is numbers but for a few codes, such as N; None for other text.

    Text such as 00512 is a code, as of postal areas: a number would lose its zeros. `places` (N,)
    say which label each cell has, -1 if it is empty.
    """
    numbers = [as_number(label) for label in labels]
    codes: list[Any] = sorted(label for label in labels if as_number(label) is None)
    if any(one.startswith("0") and one[1:].isdecimal() for one in labels):
        return None
    if len(codes) > MOST_CODES or len({one for one in numbers if one is not None}) < 2:
        return None
    codes += [True] if (places < 0).any() else []
    spelled = np.array([*(np.nan if number is None else number for number in numbers), np.nan])
    found = spelled[places]
    return number_column(found[~np.isnan(found)], codes, labels)


def _coded_dates(places: Any, labels: list[str]) -> Column | None:
    """The column of text that is dates but for one code; None for other text."""
    days = [as_days(label, EPOCH) for label in labels]
    codes: list[Any] = [label for label, day in zip(labels, days, strict=True) if day is None]
    if len(codes) > 1 or len(days) - len(codes) < 2:
        return None
    codes += [True] if (places < 0).any() else []
    found = np.array([*(np.nan if day is None else day for day in days), np.nan])[places]
    return _dates(found, {"missing": tuple(codes)} if codes else {})


def _dates(days: Floats, missing: dict[str, Any]) -> Column:
    """A column of dates, given as days (N,) since 1970, over whole years."""
    found = days[~np.isnan(days)]
    if len(found) < 2 or found.min() == found.max():
        return _dropped(_ONE, "role")
    first, last = (int(iso_of(day, EPOCH)[:4]) for day in (found.min(), found.max()))
    ends = f"{first:04}-01-01", f"{last:04}-12-31"
    entries: dict[str, Any] = {
        "days_since": f"{(first + last + 1) // 2:04}-01-01",  # Priors expect days around 0.
        "range": ends,
        "outcome_unit": around((0.0, 365.0 * (last - first + 1)))["outcome_unit"],
        **missing,
    }
    if len(points := frequent(found)):
        entries["mass"] = tuple(iso_of(day, EPOCH) for day in points)
    return reviewed({"model": "normal", **entries})
