"""Propose what might be public of each column, from kinds, counts and the values themselves.

Such a proposal has looked at the records. So each entry that comes from them stands in the column's
`review` until somebody says that the entry is public.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final
from unicodedata import category

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.frame import Frame
from pyvws.tables.files.kinds import (
    days_of,
    distinct,
    ends_of_type,
    floats_of,
    has_labels,
    holds_dates,
    holds_numbers,
)
from pyvws.tables.files.labels import EPOCH, as_days, as_number, days_or_number, iso_of, label_of
from pyvws.tables.proposal import notes
from pyvws.tables.proposal.codes import (
    FEW,
    OF_NUMBERS,
    are_survey_weights,
    digits_of_numbered,
    ids_of_units,
    look_like_codes,
    may_number_records,
    named_as_codes,
    named_as_ids,
    numbers_records,
    proposed_unit,
    units_of_records,
)
from pyvws.tables.proposal.numbers import (
    MOST_CODES,
    around,
    frequent,
    number_column,
    reviewed,
    rising,
)
from pyvws.tables.proposal.often import Bools, Codes, Often
from pyvws.tables.schema.column import Column, Columns
from pyvws.tables.schema.families import MOST_LEVELS
from pyvws.tables.schema.write_values import native_levels

_RECORDS_A_CODE: Final = 2  # A code has at least so many records on average.
_EXACT: Final = 2.0**53  # Floats tell no larger whole numbers apart.
_READ: Final = 1000  # Labels that tell how text spells numbers.
_TRUTH: Final = (("false", "true"), ("FALSE", "TRUE"), ("False", "True"))
_DIGITS_OF_IDS: Final = 4  # Fewer may be of areas or other codes.
_OTHERS: Final = "other"
_YEARS: Final = ("0001-01-01", "9999-12-31")
_NANOSECONDS: Final = ("1677-09-22", "2262-04-11")  # Moments in them reach from here to there.
_MOMENT: Final = re.compile(
    r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]+)?)?"
    r"(Z|[+-][0-9]{2}:?[0-9]{2})?|[0-9]{1,2}:[0-9]{2}(:[0-9]{2})?"
)
_MONTH: Final = r"[^\W\d_]{3,9}\.?"
_DATE: Final = re.compile(
    r"([0-9]{1,2}([./-])[0-9]{1,2}\2([0-9]{2}|[0-9]{4})|[0-9]{4}([./])[0-9]{1,2}\4[0-9]{1,2}"
    rf"|[0-9]{{1,2}}[. -]+{_MONTH}[ -]?[0-9]{{2,4}}|{_MONTH} [0-9]{{1,2}}, ?[0-9]{{4}})"
    r"([ T][0-9]{1,2}:[0-9]{2}(:[0-9]{2})?( ?[AaPp][Mm])?)?"
)
_YEARS_OF_DATES: Final = (18000101.0, 21001231.0)
_RECORDS_A_RATE: Final = 50  # Of more reals each level has so many on average,
_GAPS: Final = 4.0  # and the mean gap is so many times the least, as on no scale of steps.
_RECORDS_A_REAL: Final = 10  # A real number that is a level has at least so many on average.
_MOST_REALS: Final = 100  # Of at most so many reals half have as many,
_OFTEN: Final = 15.0  # each has so many on average,
_UNEVEN: Final = 2.0  # and the median gap is so many times the least.
_BLANKS: Final = re.compile(r"[\s'\u2019]")
_AMOUNT: Final = re.compile(r"[-+]?(?!0[0-9])([0-9]+|[0-9]{1,3}([.,][0-9]{3})+)([.,][0-9]+)?")
_GROUPS: Final = re.compile(r"[-+]?[0-9]{1,3}([.,\s'\u2019][0-9]{3})+([.,][0-9]+)?")


def _dropped(note: str, *review: str) -> Column:
    return Column(role="drop", note=note, review=review)


def proposed_columns(frame: Frame) -> dict[str, Column]:
    """A column of the schema for each column of a table, in the table's order."""
    alone = Often.of(np.arange(len(frame)))
    proposed = {name: _proposed(frame[name], alone) for name in frame.columns}
    weights = {name for name in frame.columns if are_survey_weights(frame[name])}
    proposed |= {name: _dropped(notes.WEIGHTS, "role") for name in weights}
    held = ids_of_units(frame, proposed, larger=True)
    proposed |= {name: _dropped(notes.UNIT, "role") for name in ids_of_units(frame, proposed)}
    often = units_of_records(frame, proposed)
    if (often.each < 1.0).any():  # Rare is now what few units have.
        drawn = [name for name, column in proposed.items() if column.role != "drop"]
        proposed |= {name: _proposed(frame[name], often) for name in drawn}
    if (unit := proposed_unit(frame, proposed)) is not None:
        proposed |= _codes_by_unit(frame, proposed, distinct(frame[unit])[0])
    held = [name for name in held if proposed[name].note != notes.UNIT]
    return proposed | {name: _dropped(notes.HELD, "role") for name in held}


def _codes_by_unit(frame: Frame, proposed: Columns, units: Codes) -> dict[str, Column]:
    """The columns whose numbers look like codes or rates by record alone, and not by unit (N,).

    A height that is the same in all records of a person has as many records as the person.
    """
    found: dict[str, Column] = {}
    for name, column in proposed.items():
        rates = len(column.levels or ()) > FEW and frame[name].dtype.is_float()
        if rates or column.note == notes.CODE:
            pairs = np.column_stack([units, distinct(frame[name])[0]])
            first = np.unique(pairs, axis=0, return_index=True)[1]
            alone = Often.of(np.arange(len(first)))
            by_unit = _proposed(frame[name][np.sort(first).tolist()], alone)
            if by_unit.model in OF_NUMBERS:
                found[name] = by_unit
    return found


def _proposed(column: nw.Series[Any], often: Often) -> Column:
    if holds_numbers(column):
        return _number(column, often)
    if holds_dates(column):
        try:
            days = days_of(column, EPOCH)
        except InputError:
            return _dropped(notes.TIMES)
        short = getattr(column.dtype, "time_unit", None) == "ns"
        missing = {"missing": True} if np.isnan(days).any() else {}
        return _dates(days, missing, often, _NANOSECONDS if short else _YEARS)
    if column.dtype == nw.Boolean or has_labels(column):
        with suppress(InputError):  # No text can have the labels, or no category of this type.
            return _category(column, often)
    return _dropped(notes.OTHER)


def _category(column: nw.Series[Any], often: Often) -> Column:
    """Nominal with the levels found, ordinal if pandas orders them; an identifier is dropped.

    Levels that a category declares stand in no record, so they are listed however rare they are.
    """
    places, labels = distinct(column)
    empty, filled = bool((places < 0).any()), int((places >= 0).sum())
    missing: dict[str, Any] = {"missing": True} if empty else {}
    if not labels:
        return reviewed({"levels": (), **missing})
    for words in _TRUTH:
        of_words = not isinstance(column.dtype, nw.Enum) and {*labels} <= {*words}
        if column.dtype == nw.Boolean or of_words:
            return Column(model="nominal", levels=words, **missing, review=tuple(missing))
    most, declared = MOST_LEVELS, isinstance(column.dtype, nw.Enum)  # pandas' are ordered then.
    if isinstance(column.dtype, nw.Enum):
        levels = tuple(label_of(level) for level in column.dtype.categories)
    else:
        levels = tuple(sorted({*labels}, key=rising))  # Objects may hold both 1 and "1".
        usual = min(FEW, filled // _RECORDS_A_CODE) if empty else FEW  # Notes would be levels.
        rarer = filled - int(np.bincount(places[places >= 0]).max(initial=0))
        most = min(most, max(usual, 1 + rarer // _RECORDS_A_CODE))
    differ = not declared and len(labels) == filled
    if len(levels) < 2:
        return _of_one_value(levels, missing, places >= 0, often)
    dates = _coded_dates(places, labels, often)
    if sum(map(bool, map(_MOMENT.fullmatch, labels))) > len(labels) / 2:
        return _dropped(notes.TIMES, "role")
    few, spelled = len(levels) <= most and not differ, None
    if dates and not (few and len(levels) <= FEW):
        return dates
    if len(levels) > FEW:
        spelled = _spelling(labels)
        numbers = None if spelled else _coded_numbers(column.name, places, labels, often)
        if numbers and not (few and declared):
            return numbers
    if differ:
        return _dropped(spelled or notes.ID, "role")
    if len(levels) > most:
        return _dropped(spelled or notes.TEXT, "role")
    many = len(levels) > FEW and not declared
    digits = digits_of_numbered(labels) if many else 0
    if many and (named_as_ids(column.name) or digits >= _DIGITS_OF_IDS):
        return _dropped(notes.NAMED_ID if named_as_ids(column.name) else notes.NUMBERED, "role")
    outside: dict[str, Any] = {}
    if not declared:
        levels, outside = _without_rare(levels, labels, places, often)
        if not levels:
            return _dropped(spelled or notes.RARE, "role")
        if len(levels) < 2 and not empty:
            return reviewed({"levels": levels, **outside})
    native_levels(levels, column)  # Refuses categories such as intervals.
    values = [number for number in map(as_number, levels) if number is not None]
    alike = notes.ALIKE if len({*values}) < len(values) else None
    ordered = declared and column.implementation.is_pandas() and not empty
    return Column(
        model="ordinal" if ordered else "nominal",
        levels=levels,
        **missing,
        **outside,
        note=spelled or alike or (notes.NUMBERED_CODES if digits else None),
        review=("levels", *missing, *outside),
    )


def _without_rare(
    levels: tuple[str, ...], labels: Sequence[str], places: Codes, often: Often
) -> tuple[tuple[str, ...], dict[str, Any]]:
    """The levels that enough records have, and what the others count as, as entries.

    `places` (N,) say which of the labels a record has, -1 none. Of numbers the others count as the
    nearest level. Else they are the level "other", or the most frequent
    level where too few records have them for a level of their own.
    """
    kept = often.codes(places, len(labels))
    if kept.all():
        return levels, {}
    known = {label for label, own in zip(labels, kept, strict=True) if own}
    listed = tuple(level for level in levels if level in known)
    if not listed:
        return (), {}
    if all(as_number(label) is not None for label in labels):
        return listed, {"outside": True}
    rare = (places >= 0) & ~np.append(kept, False)[places]
    if not often.enough(rare):
        counts = np.bincount(places[places >= 0], minlength=len(labels))
        return listed, {"outside": labels[int(np.argmax(counts))]}
    other = next((level for level in listed if level.lower() == _OTHERS), _OTHERS)
    return (listed if other in listed else (*listed, other)), {"outside": other}


def _spelling(labels: Sequence[str]) -> str | None:
    """A note on what keeps labels from being numbers or dates; None for other text."""
    if sum(map(bool, map(_DATE.fullmatch, labels))) > len(labels) / 2:
        return notes.OTHER_DATES
    others = [label for label in labels if as_number(label) is None][:_READ]
    signs = {x for text in others for x in text if x == "%" or category(x) == "Sc"}
    bare = ["".join(x for x in text if x not in signs).strip() for text in others]
    amounts = [text for text in bare if _AMOUNT.fullmatch(_BLANKS.sub("", text))]
    words = len(others) - len(amounts)
    if not amounts or words > min(MOST_CODES, len(labels) / 2):
        return None
    in_groups = [text for text in amounts if _GROUPS.fullmatch(text)]
    causes = {
        "signs such as $ or %": bool(signs),
        "decimal commas": any("," in text for text in {*amounts} - {*in_groups}),
        "separators of thousands": bool(in_groups),
    }
    return notes.SPELLED.format(" and ".join(cause for cause, there in causes.items() if there))


def _number(column: nw.Series[Any], often: Often) -> Column:
    floats = floats_of(column)
    values = floats[~np.isnan(floats)]
    missing: dict[str, Any] = {"missing": True} if len(values) < len(floats) else {}
    if np.isinf(values).any():
        return _dropped(notes.INFINITE, "role")
    known = np.unique(values)
    if not len(known):
        return reviewed({"levels": (), **missing})
    whole = bool((known == np.floor(known)).all())
    integer = whole and not column.dtype.is_float()
    large = integer and bool((np.abs(known) >= _EXACT).any())
    exact = distinct(column)[1] if large else known
    of_code = _RECORDS_A_CODE if whole else _RECORDS_A_REAL
    codes = len(exact) <= min(FEW, len(values) / of_code) or _lie_apart(values)
    labelled = column.dtype != nw.Object and not column.dtype.is_decimal()
    rounded = column.dtype.is_float() and bool((np.abs(known) >= _EXACT).any())
    if rounded and (codes or len(known) < 2):
        return _dropped(notes.LARGE, "role")
    labelled &= not rounded
    if len(exact) < 2 and labelled:
        return _of_one_value((label_of(exact[0]),), missing, ~np.isnan(floats), often)
    if codes and labelled:
        return _numbers_as_levels(column, None if integer else floats, missing, often)
    if large:
        return _dropped(notes.LARGE, "role")
    if whole and _look_like_dates(known):
        return _dropped(notes.CALENDAR, "role")
    if integer and numbers_records(values):
        rows = len(values) == len(floats) and bool((np.diff(values) == 1.0).all())
        return _dropped(notes.ROWS if rows else notes.ID_OR_AMOUNT, "role")
    if named_as_ids(column.name):
        return _dropped(notes.NAMED_ID, "role")
    named = len(known) <= len(values) / of_code and named_as_codes(column.name, known)
    if labelled and whole and (named or look_like_codes(values)):
        if len(known) > MOST_LEVELS:
            return _dropped(notes.MANY_CODES, "role")
        why = notes.NAMED if named else notes.CODE
        return _numbers_as_levels(column, floats, missing, often, note=why)
    note = notes.AMOUNT_OR_ID if integer and may_number_records(values) else None
    own = often.among(~np.isnan(floats))
    words = [True] if missing else []
    return number_column(values, words, own, note=note, limits=ends_of_type(column))


def _numbers_as_levels(
    column: nw.Series[Any],
    floats: Floats | None,
    missing: Mapping[str, Any],
    often: Often,
    *,
    note: str | None = None,
) -> Column:
    """The category of numbers, those of `floats` (N,) if given; rare ones count as the nearest."""
    if floats is None:
        places, labels = distinct(column)
        kept = often.codes(places, len(labels))
        listed = [label for label, own in zip(labels, kept, strict=True) if own]
        several = len(labels)
    else:
        listed = [label_of(x) for x in often.numbers(floats)]
        several = len(np.unique(floats[~np.isnan(floats)]))
    if not listed:
        return _dropped(notes.RARE, "role")
    outside = {"outside": True} if len(listed) < several else {}
    family = {} if len(listed) < 2 and not missing else {"model": "nominal"}
    levels = tuple(sorted(listed, key=rising))
    return reviewed({**family, "levels": levels, **missing, **outside}, note=note)


def _lie_apart(values: Floats) -> bool:
    """Whether reals (n,) are few, as rates by region are: many records each, and gaps between."""
    known, counts = np.unique(values, return_counts=True)
    each = len(values) / max(len(known), 1)
    if each < _OFTEN or not 2 <= len(known) <= MOST_LEVELS or (known == np.floor(known)).all():
        return False
    gaps = np.diff(known / len(known))  # Their sum is a float, however far the numbers reach.
    if gaps.mean() / _GAPS <= gaps.min():
        return False
    often = len(known) <= _MOST_REALS and np.median(counts) >= _RECORDS_A_REAL
    return bool(each >= _RECORDS_A_RATE or (often and np.median(gaps) / _UNEVEN > gaps.min()))


def _of_one_value(
    levels: tuple[str, ...], missing: Mapping[str, Any], there: Bools, often: Often
) -> Column:
    """A column that has one value: a constant, or a value or none. `there` (N,) says who has it."""
    if not often.enough(there):
        return _dropped(notes.RARE, "role")
    entries: dict[str, Any] = {"model": "nominal"} if missing else {}
    return reviewed({**entries, "levels": levels, **missing})


def _look_like_dates(known: Floats) -> bool:
    """Whether whole numbers (n,) that differ are all dates of a calendar, such as 20001231."""
    if not _YEARS_OF_DATES[0] <= known[0] <= known[-1] <= _YEARS_OF_DATES[1]:
        return False
    texts = (f"{int(x):d}" for x in known)
    return all(as_days(f"{x[:4]}-{x[4:6]}-{x[6:]}", EPOCH) is not None for x in texts)


def _coded_numbers(name: str, places: Codes, labels: list[str], often: Often) -> Column | None:
    """The column of text that is numbers but for a few codes, such as N; None for other text.

    Text such as 00512 is a code, as of postal areas: a number would lose its zeros. Other whole
    numbers are codes as numbers without words are. `places` (N,) say which label each cell has, -1
    if it is empty.
    """
    numbers = [as_number(label) for label in labels]
    codes: list[Any] = sorted(label for label in labels if as_number(label) is None)
    if any(text.startswith("0") and text[1:].isdecimal() for text in labels):
        return None
    if len(codes) > MOST_CODES or len({number for number in numbers if number is not None}) < 2:
        return None
    words = len(codes)
    codes, rare = _often_codes(codes, places, labels, often)
    spelled = np.array([*(np.nan if number is None else number for number in numbers), np.nan])
    values = spelled[places]
    own = often.among(~np.isnan(values))
    values = values[~np.isnan(values)]
    whole = bool((values == np.floor(values)).all())
    ids = whole and numbers_records(values)
    if (ids and not words) or (whole and np.abs(values).max() >= _EXACT):
        return None
    known = np.unique(values)
    if whole and _look_like_dates(known):
        return _dropped(notes.CALENDAR, "role")
    if whole and (named_as_codes(name, known) or look_like_codes(values)):
        return None
    note = notes.AMOUNT_OR_ID if ids or (whole and may_number_records(values)) else None
    return number_column(values, codes, own, labels, note=note, outside=rare)


def _often_codes(
    codes: list[Any], places: Codes, labels: list[str], often: Often
) -> tuple[list[Any], bool]:
    """The words among `codes` that enough records have, True for empty cells, and if others lack.

    Other words count as an empty cell. `places` (N,) say which label each record has.
    """
    kept = often.codes(places, len(labels))
    listed = [code for code in codes if kept[labels.index(code)]]
    rare = len(listed) < len(codes)
    return [*listed, *([True] if rare or (places < 0).any() else [])], rare


def _coded_dates(places: Codes, labels: list[str], often: Often) -> Column | None:
    """The column of text that is dates but for one code; None for other text."""
    days = [as_days(label, EPOCH) for label in labels]
    codes: list[Any] = [label for label, day in zip(labels, days, strict=True) if day is None]
    if len(codes) > 1 or len(days) - len(codes) < 2:
        return None
    codes, rare = _often_codes(codes, places, labels, often)
    cells = np.array([*(np.nan if day is None else day for day in days), np.nan])[places]
    return _dates(cells, {"missing": tuple(codes)} if codes else {}, often, outside=rare)


def _dates(
    days: Floats,
    missing: dict[str, Any],
    often: Often,
    within: tuple[str, str] = _YEARS,
    *,
    outside: bool = False,
) -> Column:
    """A column of dates, given as days (N,) since 1970, over whole years `within` two dates.

    All proposed dates have one start, so that a rule can compare them.
    """
    known = days[~np.isnan(days)]
    if len(known) < 2 or known.min() == known.max():
        return _dropped(notes.ONE, "role")
    of_known = often.among(~np.isnan(days))
    inner = of_known.innermost(known)
    if inner is None:
        return _dropped(notes.RARE, "role")
    first, last = sorted(iso_of(day, EPOCH)[:4] for day in inner)
    ends = max(f"{first}-01-01", within[0]), min(f"{last}-12-31", within[1])
    low, high = (days_or_number(end, EPOCH, "range") for end in ends)
    entries: dict[str, Any] = {"days_since": EPOCH, "range": ends, **around((low, high)), **missing}
    if len(points := np.intersect1d(frequent(known), of_known.numbers(known))):
        entries["mass"] = tuple(iso_of(day, EPOCH) for day in points)
    if outside or known.min() < low or known.max() > high:
        entries["outside"] = True
    return reviewed({"model": "normal", **entries})
