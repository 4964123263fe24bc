"""What is counted of a column that is found under noise, and what follows of the answers.

A record is in one public cell of a column, or has one value that is no cell, so it moves one count
by 1. Public cells are empty cells, missing codes, numbers in bins between powers of 2 by their
decimals, small whole numbers by themselves, and dates by decade. Of other values those alone are
sold whose noisy count reaches a threshold.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Bools
from pyvws.privacy.seller import CountedValues
from pyvws.tables.files.kinds import distinct
from pyvws.tables.files.labels import EPOCH, as_days, as_number, iso_of, meant, spells_empty
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.families import MOST_LEVELS

OTHER: Final = "(other)"
"""The level of all values that are not sold. A value that is spelled so is never sold."""


_FIRST, _LAST = -20, 60  # Powers of 2 that bins of numbers begin with, from the first one on.
_BINS: Final = 2 * (_LAST - _FIRST) + 1
_ZERO: Final = _BINS // 2
_UNITS: Final = 32  # Whole numbers from 0 on that have a cell each in the place of their bins.
_MOST_DECIMALS: Final = 4  # More count as these, and a column that has them has no decimals.
_DECADES: Final = (190, 209)  # Of dates that nobody said are dates; others count as the ends.
_ALL_DECADES: Final = (0, 999)
_START: Final = "2000-01-01"
_DECIMALS_SURE: Final = 1.5  # Times the count: by chance decimals would make codes a number.
_MOST_WHOLE: Final = 40  # Whole numbers that are levels; more are a number.
_MOST_CODES: Final = 5  # Values beside numbers that are missing codes.
_WIDE: Final = 16.0  # The largest number over the smallest one from which on scales are log.
_HEAP: Final = 0.03  # The share of numbers that are 0 from which on 0 is a point of mass.
_NO_VALUE: Final = ("\0", "\ufffd")  # What readers put in the place of cells that are no value.
_PADDED: Final = re.compile(r"\s*[-+]?0[0-9]")  # 007 is a code.


@dataclass(frozen=True)
class ColumnCells:
    """The public cells of a column: empty, missing codes, bins of numbers by decimals, decades.

    A column of private levels alone has no bins, and one of a private range alone has no values
    besides. One of both has all.
    """

    column: Column

    @property
    def has_values(self) -> bool:
        return "levels" in self.column.private

    @cached_property
    def codes(self) -> tuple[str, ...]:
        """The missing codes besides empty cells."""
        return tuple(code for code in self.column.missing_codes if code is not None)

    @property
    def groups(self) -> int:
        """How many kinds of decimals are apart."""
        if "range" not in self.column.private or self.column.days_since is not None:
            return 0
        return 1 + _MOST_DECIMALS if self.has_values else 1

    @property
    def decades(self) -> tuple[int, int] | None:
        """The first and the last decade that dates are counted by; None without dates."""
        if self.column.days_since is not None:
            return _ALL_DECADES
        return _DECADES if self.groups and self.has_values else None

    @property
    def units(self) -> int:
        """How many whole numbers from 0 on have a cell each: where nobody said what it holds."""
        return _UNITS if self.groups > 1 else 0

    @property
    def _units(self) -> int:
        return 1 + len(self.codes)

    @property
    def _numbers(self) -> int:
        return self._units + self.units

    @property
    def _dates(self) -> int:
        return self._numbers + self.groups * _BINS

    @property
    def size(self) -> int:
        """How many cells there are."""
        return self._dates + (0 if self.decades is None else self.decades[1] - self.decades[0] + 1)

    def place(self, label: str) -> int | None:
        """The cell of a value by its text; -1 for none, None for a value that is no public cell."""
        if label in self.codes:
            return 1 + self.codes.index(label)
        if spells_empty(label):
            return 0
        by_meaning = [meant(code) for code in self.codes]
        if meant(label) in by_meaning:
            return 1 + by_meaning.index(meant(label))
        number = None if self.has_values and _PADDED.match(label) else as_number(label)
        if number is not None and number.is_integer() and 0 <= number < self.units:
            return self._units + int(number)
        if self.groups and number is not None:
            group = min(_decimals(label), self.groups - 1)
            return self._numbers + group * _BINS + _bin_of(number)
        if self.decades is not None and (days := as_days(label, EPOCH)) is not None:
            first, last = self.decades
            return self._dates + min(max(int(iso_of(days, EPOCH)[:3]), first), last) - first
        hidden = not self.has_values or label == OTHER or label[:1] in _NO_VALUE
        return -1 if hidden else None

    def counted(self, cells: nw.Series[Any]) -> CountedValues:
        """How many cells (N,) of a column there are in each public cell, and of other values."""
        places, labels = distinct(cells, any_cell=True)
        times = np.bincount(places[places >= 0], minlength=len(labels)).tolist()
        counts, values = np.zeros(self.size, dtype=np.int64), dict[str, int]()
        counts[0] = int((places < 0).sum())
        for label, number in zip((str(x).strip() for x in labels), times, strict=True):
            place = self.place(label)
            if place is None:
                values[label] = values.get(label, 0) + number
            elif place >= 0:
                counts[place] += number
        return CountedValues(counts, values)

    def found(
        self, sold: CountedValues, *, least: int, apart: int, zero: int, beside: int, last: int
    ) -> FoundValues:
        """What noisy counts tell: bins and decades of at least a count, and those `beside` them.

        A bin of small whole numbers also stands out where one of its numbers does. These go from
        the first to the last of at least the count `apart`, and on to neighbours of the count
        `last`. 0 stands out from the count `zero` on.
        """
        cells, units = sold.cells, sold.cells[self._units : self._numbers]
        bins = cells[self._numbers : self._dates].reshape(self.groups, _BINS).copy()
        noises = np.ones(bins.shape)  # The noise of each, in that of a cell.
        tall = np.zeros(_BINS, dtype=np.int64)  # The largest count of a number in each bin.
        for place in {_bin_of(float(number)) for number in range(len(units))}:
            low, high = (int(end) for end in _ends((place, place), whole=True))
            bins[0, place] = units[low : high + 1].sum()
            noises[0, place] = math.sqrt(high + 1 - low)
            tall[place] = units[low : high + 1].max()
        stand = bins >= least * noises
        stand[1:] &= bins[1:] >= _DECIMALS_SURE * least
        if self.groups:
            stand[0] |= tall >= least
        kept = np.flatnonzero(stand.any(axis=1))
        noise = np.sqrt((noises[kept] ** 2).sum(axis=0))
        of_bins = bins[kept].sum(axis=0)
        of_kept = stand[kept].any(axis=0) | ((of_bins >= least * noise) & (noise > 0.0))
        of_kept[_ZERO] |= len(kept) > 0 and of_bins[_ZERO] >= zero * noise[_ZERO]
        found, in_bins = _hull(of_bins, of_kept, of_bins >= beside * noise)
        of_dates = cells[self._dates :]
        decades, in_decades = _hull(of_dates, of_dates >= least, of_dates >= beside)
        first = 0 if self.decades is None else self.decades[0]
        return FoundValues(
            levels=tuple(sold.values),
            of_levels=sum(sold.values.values()),
            empty=bool(cells[0] >= least),
            bins=found,
            of_bins=in_bins,
            zeros=int(of_bins[_ZERO]) if len(kept) else 0,
            units=_hull(units, units >= apart, units >= last)[0],
            decimals=int(kept.max()) if len(kept) else 0,
            decades=None if decades is None else (first + decades[0], first + decades[1]),
            of_decades=in_decades,
        )


def _hull(
    counts: NDArray[np.int64], kept: Bools, beside: Bools
) -> tuple[tuple[int, int] | None, int]:
    """The first and the last cell (n,) that is `kept`, or `beside` these; the count in between."""
    if not kept.any():
        return None, 0
    low, high = (int(end) for end in np.flatnonzero(kept)[[0, -1]])
    while low > 0 and beside[low - 1]:
        low -= 1
    while high < len(counts) - 1 and beside[high + 1]:
        high += 1
    return (low, high), int(counts[low : high + 1].sum())


def _bin_of(number: float) -> int:
    """The bin of a number: zero in the middle, and one for each power of 2 on both sides."""
    power = min(math.frexp(number)[1] - 1, _LAST - 1) if number else _FIRST - 1
    if power < _FIRST:
        return _ZERO
    return _ZERO + (1 if number > 0 else -1) * (power - _FIRST + 1)


def _ends(bins: tuple[int, int], *, whole: bool) -> tuple[float, float]:
    """The lowest and the highest number of bins."""
    low, high = (place - _ZERO for place in bins)
    step = 1.0 if whole else 0.0

    def begin(place: int) -> float:  # Of a bin of positive numbers.
        return 2.0 ** (_FIRST + place - 1)

    def end(place: int) -> float:
        return max(2.0 ** (_FIRST + place) - step, begin(place))

    first = 0.0 if low == 0 else begin(low) if low > 0 else -end(-low)
    last = 0.0 if high == 0 else end(high) if high > 0 else -begin(-high)
    if whole:
        first, last = math.floor(first), math.ceil(last)
    return float(first), float(last)


def _decimals(spelled: str) -> int:
    """How many decimals a number is spelled with, without zeros at its end."""
    _, _, digits = spelled.partition(".")
    return _MOST_DECIMALS if "e" in spelled.lower() else len(digits.strip().rstrip("0"))


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundValues:
    """What the noisy counts of a column tell: values that were sold, bins, decimals and decades.

    Each kind has its noisy count beside it. `empty` says that empty cells stand out, and `units`
    has the first and the last small whole number that do.
    """

    levels: tuple[str, ...] = ()
    of_levels: int = 0
    empty: bool = False
    bins: tuple[int, int] | None = None
    of_bins: int = 0
    zeros: int = 0
    units: tuple[int, int] | None = None
    decimals: int = 0
    decades: tuple[int, int] | None = None
    of_decades: int = 0

    @property
    def whole_numbers(self) -> tuple[str, ...]:
        """The whole numbers of the bins, where they are few and there are no decimals."""
        if self.bins is None or self.decimals:
            return ()
        low, high = map(int, _ends(self.bins, whole=True))
        if self.units is not None:
            low = self.units[0] if 0 <= low < _UNITS else low
            high = self.units[1] if 0 <= high < _UNITS else high
        return tuple(map(str, range(low, high + 1))) if high - low < _MOST_WHOLE else ()


def with_answers(column: Column, found: FoundValues | None) -> Column:
    """A column with what was bought; `found` is None before the purchase, to check the rest.

    Private cuts are left private. Entries that were given stay as they are.
    """
    left = tuple(name for name in column.private if name == "cuts")
    given = {n: x for n, x in column.given.items() if n not in (*column.private, *column.settings)}
    given |= {"settings": column.settings}
    if {"levels", "range"} <= {*column.private}:
        made = _of_any_kind(found or FoundValues(), column.missing is None)
    elif "levels" in column.private:
        levels = _in_order(found.levels if found else ())
        made = {**_category(levels), "levels": (*levels, OTHER), "outside": OTHER}
    else:
        made = {"model": "normal", "outside": True, "range": _range_of(column, found)}
    if "levels" in made or made.get("role") == "drop":
        left = ()
    return Column(**{**made, **given, "private": left})


def _range_of(column: Column, found: FoundValues | None) -> tuple[Any, Any]:
    """The range of a number or of dates; where nothing stands out, one that knows nothing.

    It holds the points of mass and the values of rules that were given.
    """
    if column.days_since is not None:
        decades = None if found is None else found.decades
        return _dates(decades or _DECADES)
    bins = None if found is None else found.bins
    low, high = (0.0, 1.0) if bins is None else _ends(bins, whole=column.is_whole)
    fixed = [as_number(x) for rule in column.rules for x in rule.fixes if x is not None]
    given = [x for x in (*column.mass, *fixed) if x is not None]
    return _rising((min([low, *given]), max([high, *given])))


def _of_any_kind(found: FoundValues, codes_are_found: bool) -> dict[str, Any]:
    """The entries of a column of which nobody said what it holds.

    Its missing codes are among the answers if `codes_are_found`, or else were said.
    """
    codes = _in_order(found.levels)
    empty: Any = {"missing": (True,)} if found.empty and codes_are_found else {}
    if found.of_decades > max(found.of_bins, found.of_levels) and found.decades is not None:
        given = {"days_since": _START, "range": _dates(found.decades), "outside": True}
        return {"model": "normal", **given, **empty}
    if found.whole_numbers:
        levels = (*found.whole_numbers, *codes)
        return {**_category(levels), "levels": levels, "outside": True, **empty}
    few = codes_are_found and len(codes) <= _MOST_CODES
    if found.bins is not None and (found.of_bins >= found.of_levels or few):
        low, high = _rising(_ends(found.bins, whole=not found.decimals))
        mass = (0.0,) if low <= 0.0 <= high and found.zeros > _HEAP * found.of_bins else ()
        made: dict[str, Any] = {"model": "normal", "range": (low, high), "mass": mass}
        if found.decimals < _MOST_DECIMALS:
            made["decimals"] = found.decimals
        if max(abs(low), abs(high)) >= _WIDE * max(abs(low), 1.0):
            made["outcome_scale"] = "log" if low > 0.0 or (low == 0.0 and mass) else "signed-log"
        if codes_are_found:  # Empty cells too: other text is one, however few there are.
            made["missing"] = (*codes, True)
        return {**made, "outside": True}
    if codes or empty or not codes_are_found:
        return {**_category(codes), "levels": (*codes, OTHER), "outside": OTHER, **empty}
    return {"role": "drop", "note": "no value stands out of the noise that was paid for"}


def _category(levels: Sequence[str]) -> dict[str, Any]:
    """The family of a category: of many levels the one that has no limit."""
    many = len(levels) >= MOST_LEVELS - 1  # Besides them there are the others, and empty cells.
    return {"model": "table", "predictors": ()} if many else {"model": "nominal"}


def _in_order(levels: Sequence[str]) -> tuple[str, ...]:
    """Levels with numbers by size, then the others by code point: an order that they tell alone."""
    return tuple(sorted(levels, key=lambda x: (as_number(x) is None, as_number(x) or 0.0, x)))


def _rising(ends: tuple[float, float]) -> tuple[float, float]:
    """Ends of a range that rises."""
    return ends if ends[0] < ends[1] else (ends[0], ends[0] + 1.0)


def _dates(decades: tuple[int, int]) -> tuple[str, str]:
    """The first and the last date of decades; no date is before the year 1."""
    first, last = decades
    return date(max(10 * first, 1), 1, 1).isoformat(), date(10 * last + 9, 12, 31).isoformat()
