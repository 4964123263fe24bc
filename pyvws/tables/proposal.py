"""Propose what might be public of each column, from kinds, counts and the values themselves.

Such a proposal has looked at the records. So each entry that comes from them stands in the column's
`review` until somebody says that the entry is public. Levels are values of records; a range is
rounded outwards, so that its ends are none.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

import narwhals as nw
import numpy as np
from scipy.special import ndtr

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.column import ENTRIES, MOST_LEVELS, Column
from pyvws.tables.dates import EPOCH, as_days, days_of, holds_dates, iso_of
from pyvws.tables.levels import as_number, distinct, has_labels, label_of

__all__ = ["proposed_columns"]

_FEW: Final = 20  # Whole numbers with at most so many values are codes.
_RECORDS_A_CODE: Final = 2  # A code has at least so many records on average.
_COUNT: Final = 1000  # The largest number of a count.
_MODERATE: Final = 100.0  # The largest size of a number that needs no logarithm.
_MOST_DECIMALS: Final = 6
_POINT: Final = 0.1  # The share of records at one value that makes it a point of mass.
_POINT_AT_0: Final = 0.01  # The same of 0.
_OFTEN: Final = 10.0  # It occurs so many times as often as most values.
_PAIRS: Final = 5.0  # So many pairs of alike numbers were to be expected of no ids.
_DIGITS: Final = 6
_MOST_CODES: Final = 10  # A number has at most so many codes of missing values.
_MOST_NEGATIVE: Final = 5  # So many of them are negative.
_LEAST_CODE: Final = -100.0
_RECORDS_OF_A_CODE: Final = 10  # So many records have each,
_CODES_SPAN: Final = 20.0  # or one that is no further from it.
_PAIRS_APART: Final = 10.0  # So many pairs of records would differ if no unit held them together.
_MOST_MEMBERS: Final = 30  # A unit has at most so many records on average.
_OF_NUMBERS: Final = ("negative-binomial", "normal", "truncated-normal")
_SHARE_BELOW_0: Final = 0.01  # A normal may differ so much from the numbers in the share below 0,
_BY_CHANCE: Final = 2.0  # or by so many standard errors.
_STEPS: Final = 5  # A range has at least so many steps of a round number.
_UNITS: Final = 4  # And at least so many units of the outcome.


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
_CODES: Final = (
    "missing has numbers that stand apart from all others; a top code is no missing value, and "
    "stands under mass"
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
    they were any records.
    """
    shared: list[str] = []
    for name, column in found.items():
        kind = column.model in _OF_NUMBERS and frame[name].dtype.is_integer()
        if not (kind or (has_labels(frame[name]) and column.note in (None, _TEXT))):
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
            if (codes[1:] == codes[:-1])[alike].all() and (
                alike.sum() * (1.0 - (shares**2).sum()) >= _PAIRS_APART
            ):
                shared.append(name)
                break
    return shared


def _proposed(column: nw.Series[Any]) -> Column:
    kind = column.dtype
    if kind.is_numeric():
        return _number(column)
    if holds_dates(column):
        try:
            days = days_of(column, EPOCH, column.name)
        except InputError:
            return _dropped(_TIMES)
        return _dates(days, {"missing": True} if np.isnan(days).any() else {})
    return _category(column) if kind == nw.Boolean or has_labels(column) else _dropped(_OTHER)


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
        levels, ordered = tuple(sorted(labels, key=_rising)), False
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


def _rising(label: str) -> tuple[float, str]:
    """Numbers first, by size, then text."""
    number = as_number(label)
    return (np.inf, label) if number is None else (number, label)


def _number(column: nw.Series[Any]) -> Column:
    values = column.cast(nw.Float64).fill_null(float("nan")).to_numpy()
    found = np.asarray(values, dtype=np.float64)
    finite = found[np.isfinite(found)]
    known = np.unique(finite)
    whole = bool((known == np.floor(known)).all())
    empty = bool(np.isnan(found).any())
    missing: dict[str, Any] = {"missing": True} if empty else {}
    if len(known) < 2:
        return _dropped(_ONE, "role")
    if column.dtype.is_integer() and _numbers_records(finite, known):
        return _dropped(_ID, "role")
    if whole and len(known) <= min(_FEW, len(finite) / _RECORDS_A_CODE):
        exact = distinct(column)[1] if column.dtype.is_integer() else map(label_of, known)
        levels = tuple(sorted(exact, key=_rising))  # A float would round integers beyond 2^53.
        reviewed = ("model", "levels", *missing)
        return Column(model="nominal", levels=levels, **missing, review=reviewed)
    return _family(finite, [True] if empty else [])


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
    if len(codes) > _MOST_CODES or len({one for one in numbers if one is not None}) < 2:
        return None
    codes += [True] if (places < 0).any() else []
    spelled = np.array([*(np.nan if number is None else number for number in numbers), np.nan])
    found = spelled[places]
    return _family(found[~np.isnan(found)], codes, labels)


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
        "outcome_unit": _step(365.0 * (last - first + 1) / _UNITS),
        **missing,
    }
    if len(points := _points(found)):
        entries["mass"] = tuple(iso_of(day, EPOCH) for day in points)
    return _column({"model": "normal", **entries})


def _column(entries: Mapping[str, Any], note: str | None = None) -> Column:
    """A column of entries, each of which is to be reviewed."""
    fields = {name: value for name, value in entries.items() if name in ENTRIES}
    settings = {name: value for name, value in entries.items() if name not in ENTRIES}
    return Column(**fields, settings=settings, note=note, review=tuple(entries))


def _points(values: Floats) -> Floats:
    """The values among (n,) that a tenth of them have, or 0 a hundredth, far more than most."""
    known, counts = np.unique(values, return_counts=True)
    share = np.where(known == 0.0, _POINT_AT_0, _POINT)
    often = np.maximum(share * len(values), _OFTEN * float(np.median(counts)))
    return np.asarray(known[counts >= often])


def _codes_apart(values: Floats) -> Floats:
    """The codes of missing values among numbers (n,): whole, few, and far from all others.

    They begin with 7, 8 or 9 and lie further above the others than these spread; or no other
    number is below 0. Each has ten records or more, or is near one that has.
    """
    known, counts = np.unique(values, return_counts=True)
    whole, often = known == np.floor(known), counts >= _RECORDS_OF_A_CODE
    below = int((known < 0).sum())
    if below > _MOST_NEGATIVE or not (whole & often & (known > _LEAST_CODE))[:below].all():
        below = 0
    for above in range(_MOST_CODES, 0, -1):
        rest, top = known[below:-above], known[-above:]
        if len(rest) < _MOST_CODES or top[0] - rest[-1] <= rest[-1] - rest[0]:
            continue
        near = np.abs(top[:, None] - top[often[-above:]]) <= _CODES_SPAN
        if (whole[-above:] & near.any(axis=1)).all() and {label_of(x)[0] for x in top} <= {*"789"}:
            return np.concatenate([known[:below], top])
    return known[:below] if len(known) - below >= _MOST_CODES else np.empty(0)


def _family(values: Floats, words: list[Any], labels: list[str] | None = None) -> Column:
    """A column of numbers (n,), of which two differ at least, beside `words` as missing codes.

    `labels` are all of a column of text, which may spell a number in several ways.
    """
    apart = _codes_apart(values)
    values = values[~np.isin(values, apart)]
    spelled = list(map(label_of, apart))
    if labels is not None:
        spelled = sorted((one for one in labels if as_number(one) in apart), key=_rising)
    missing = {"missing": (*spelled, *words)} if spelled or words else {}
    known = np.unique(values)
    low, high = float(known[0]), float(known[-1])
    decimals = next(
        (d for d in range(_MOST_DECIMALS + 1) if (np.round(known, d) == known).all()), None
    )
    points = _points(values)
    count = decimals == 0 and low >= 0 and high <= _COUNT
    if count:
        points = points[[_towers(x, values) for x in points]]
    elif low == 0 and high > _MODERATE:  # The scale log has no 0.
        points = np.union1d(points, [0.0])
    ends = _rounded(low, high)
    if len(points) and points[-1] == high:  # A top code ends the range.
        ends = ends[0], high
    others = values[~np.isin(values, points)]
    if not count:
        model, scale = "normal", _scale(others, ends)
    elif len(np.unique(others)) < 2 or _is_count(others):
        model, scale = "negative-binomial", {}
    else:
        model, scale = "truncated-normal", _around(ends)
    entries: dict[str, Any] = {
        "model": model,
        "range": ends,
        "decimals": decimals,
        **missing,
        "mass": tuple(points.tolist()),
        **scale,
    }
    given = {name: value for name, value in entries.items() if value not in (None, ())}
    return _column(given, note=_CODES if spelled else None)


def _is_count(values: Floats) -> bool:
    """Whether whole numbers (n,) from 0 on lean to the right, as counts do and ages do not.

    A negative binomial (or a Poisson) law of mean m and variance v has the skewness
    (2 v - m) / (m v^(1/2)). Counts have half of it or more.
    """
    m = float(values.mean())
    v = max(float(values.var()), m)
    leaning = float(((values - m) ** 3).mean()) / float(values.std()) ** 3
    return leaning >= (v - m / 2) / (m * math.sqrt(v))


def _around(ends: tuple[float, float]) -> dict[str, Any]:
    """The settings that bring numbers within `ends` to where a normal family's priors are."""
    centre, width = (ends[0] + ends[1]) / 2, ends[1] - ends[0]
    return {"outcome_centre": centre, "outcome_unit": _step(width / _UNITS)}


def _scale(values: Floats, ends: tuple[float, float]) -> dict[str, Any]:
    """The same for a normal family of numbers (n,) of any size, by a logarithm of large ones."""
    low, high = values.min(initial=np.inf), values.max(initial=-np.inf)
    if max(-low, high) <= _MODERATE or low > high / 2:
        return _around(ends)
    if low > 0:
        return {"outcome_scale": "log", "outcome_unit": _step(float(np.median(values)))}
    unit = _signed_unit(values)
    if unit is None:
        return _around(ends)
    return {"outcome_scale": "signed-log", "outcome_unit": unit}


def _signed_unit(values: Floats) -> float | None:
    """The unit of the scale signed-log under which a normal follows numbers (n,) best.

    Of the powers of ten under which a normal has nearly as many values below 0 as the numbers, it
    is that of the largest likelihood; None where the numbers as they are have a larger one.
    """
    size, share = np.abs(values), float((values < 0).mean())
    near = max(_SHARE_BELOW_0, _BY_CHANCE * math.sqrt(share * (1.0 - share) / len(values)))
    units = [10.0**power for power in range(math.ceil(math.log10(size.max())))]
    found = []
    for unit in (None, *units):
        if unit is None:
            v, slopes = values / size.max(), 1.0 / size.max()
        else:
            v, slopes = np.sign(values) * np.log1p(size / unit), 1.0 / (unit + size)
        below = float(ndtr(-v.mean() / v.std()))
        log_density = float(np.log(slopes).mean()) - math.log(float(v.std()))
        found.append((-max(abs(below - share), near), log_density, unit))
    return max(found, key=lambda one: one[:2])[2]


def _towers(point: float, values: Floats) -> bool:
    """Whether far more of the counts (n,) are at a point than beside it, as in no smooth family."""
    beside = max(int((values == point - 1).sum()), int((values == point + 1).sum()))
    return int((values == point).sum()) >= _OFTEN * beside


def _rounded(low: float, high: float) -> tuple[float, float]:
    """A range of round numbers around the lowest and highest, which are values of records."""
    step = _step((high - low) / _STEPS)
    digits = max(0, -math.floor(math.log10(step)))
    below = round(math.floor(low / step + 1e-9) * step, digits)
    above = round(math.ceil(high / step - 1e-9) * step, digits)
    return min(low, below), max(high, above)


def _step(most: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not above `most`."""
    power = math.floor(math.log10(most))
    largest = max(unit for unit in (1, 2, 5) if unit * 10.0**power <= most)
    return largest * 10.0**power if power >= 0 else largest / 10.0**-power
