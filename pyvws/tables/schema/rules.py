"""Rules of a schema: public facts by which a value follows from other columns of its record.

"missing where age < 15" and "0 where owner == 'no'" fix the value where their condition holds;
"missing only where age < 15" says besides that the value is there everywhere else, and "N only
where age < 15" that the code N, one of several, is nowhere else. ">= wages", "<= assets" and
"> begin" bound a number by another one. "= wages + pensions" and "= log(wage)" compute a column,
"= area" copies a category, and a lookup lets another column decide it. "= wages + pensions or
missing" leaves a missing value free, and "= 100 - work within 0.2" is kept by numbers that rounding
put so far off. "never married, widowed
where age < 15" bars levels of a category, one of which the value has elsewhere. Conditions read as
`pyvws.tables.schema.conditions` says, and arithmetic as `pyvws.tables.schema.arithmetic` says.

Each kind of rule is a class here. It says which columns it fits, which records break it, and what
it makes of drawn values.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar, Final

import numpy as np

from pyvws._base.checks import Bools, Floats, Values
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.schema.arithmetic import (
    EXACT,
    HELP,
    Arithmetic,
    Coded,
    precision,
    read_arithmetic,
)
from pyvws.tables.schema.conditions import MISSING, Condition, is_missing, read_condition

_FIXED: Final = re.compile(r"(?P<value>.+?)\s+(?P<only>only\s+)?where\s+(?P<condition>.+)", re.S)
_NEVER: Final = re.compile(
    r"(?P<said>never\s+(?P<values>(?!only\s+where\b).+?))\s+where\s+(?P<condition>.+)", re.S
)
_COMPUTED: Final = re.compile(
    r"=(?P<of>.*?)(\s+within\s+(?P<within>[\d.]+))?(?P<blank>\s+or\s+missing)?\s*", re.S
)
_LISTED: Final = re.compile(r"""\s*('[^']*'|"[^"]*"|[^,'"]+?)\s*(?:,|$)""")


Columns = Mapping[str, Coded]
Numbers = Floats | float
Judged = tuple[Bools, Bools]
"""Where a condition fixes the value (n,), and which records break the rule (n,)."""
Settled = tuple[Bools, Numbers]
"""Which rows (n,) the rule gives a value, and these values in the table's coding."""


class Rule:
    """What any rule answers, unless its kind answers otherwise."""

    __slots__ = ()

    computes: ClassVar[bool] = False
    """Whether the rule gives every value, so that the column has no family."""
    bounds: ClassVar[bool] = False
    """Whether another number of its record bounds the value."""
    bars: ClassVar[bool] = False
    """Whether the rule bars levels of a category, and gives none."""

    @property
    def frees_missing(self) -> bool:
        """Whether the value may be missing where the rule gives one."""
        return False

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that the rule reads."""
        raise NotImplementedError

    @property
    def fixes(self) -> tuple[str | None, ...]:
        """The labels that the rule gives as they are, None for missing."""
        return ()

    def check(self, column: Coded) -> None:
        """Raise InputError where the column itself cannot follow the rule."""
        raise NotImplementedError

    def check_among(self, name: str, columns: Columns) -> None:
        """Raise InputError where column `name` cannot follow the rule by the columns it reads."""
        raise NotImplementedError

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        """What the rule says of records; `part` has the codes of a number's parts."""
        raise NotImplementedError

    def narrowed(self, low: Numbers, high: Numbers, values: Values) -> tuple[Any, Any]:
        """The lowest and the highest number, by row, that the rule leaves of `low` and `high`."""
        return low, high

    def left(self, name: str, left: Bools, values: Values, columns: Columns) -> Bools:
        """Which coded levels (n, L) of a category the rule leaves, by row, of those `left`."""
        return left

    def settled(self, name: str, values: Values, columns: Columns, *, of_part: bool) -> Settled:
        """The values that the rule gives; with `of_part` codes of a number's parts."""
        return np.zeros(1, dtype=np.bool_), 0.0


@dataclass(frozen=True, slots=True)
class Fixed(Rule):
    """The value is `value`, None for missing, where the condition holds; `only` there."""

    value: str | None
    condition: Condition
    only: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return self.condition.columns

    @property
    def fixes(self) -> tuple[str | None, ...]:
        return (self.value,)

    def check(self, column: Coded) -> None:
        if self.value is not None:
            _check_fixed(self.value, column)
        elif not column.missing_codes:
            raise InputError.by("rule-says-missing")
        if self.only and self.value not in (None, *column.missing_codes):
            raise InputError.by("only-without-missing")

    def check_among(self, name: str, columns: Columns) -> None:
        self.condition.holds({other: np.ones(1) for other in self.columns}, columns)

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        column, own = columns[name], values[name]
        if self.value is None:
            agrees = is_missing(column, own)
        elif part is not None and self.value in column.missing_codes:
            agrees = part == column.part_code_of(self.value)
        else:
            agrees = own == column.code_of(self.value)
        holds = self.condition.holds(values, columns)
        return holds, np.asarray(agrees != holds if self.only else holds & ~agrees)

    def settled(self, name: str, values: Values, columns: Columns, *, of_part: bool) -> Settled:
        code = columns[name].part_code_of if of_part else columns[name].code_of
        return self.condition.holds(values, columns), code(self.value)


@dataclass(frozen=True, slots=True)
class Never(Rule):
    """The category has none of the `barred` levels where the condition holds.

    None among them stands for every missing code. `said` is the text before "where".
    """

    barred: tuple[str | None, ...]
    condition: Condition
    said: str = field(default="", compare=False)
    bars = True

    @property
    def columns(self) -> tuple[str, ...]:
        return self.condition.columns

    def check(self, column: Coded) -> None:
        if not column.categorical:
            raise InputError.by("never-of-number")
        if column.group_by is not None:
            raise InputError.by("never-of-grouped-levels")
        if self.said in (" ".join((level or "").split()) for level in column.coded_levels):
            raise InputError.by("never-ambiguous")
        if None in self.barred and not column.missing_codes:
            raise InputError.by("rule-says-missing")
        if {*self.barred} - {None, *column.coded_levels}:
            raise InputError.by("never-of-unknown-level")

    def check_among(self, name: str, columns: Columns) -> None:
        self.condition.holds({other: np.ones(1) for other in self.columns}, columns)

    def _barred(self, column: Coded) -> Bools:
        """Which coded levels (L,) the rule bars where its condition holds."""
        gone = column.missing_codes if None in self.barred else ()
        return np.array([level in (*self.barred, *gone) for level in column.coded_levels])

    def left(self, name: str, left: Bools, values: Values, columns: Columns) -> Bools:
        holds = self.condition.holds(values, columns)
        return left & ~(holds[:, None] & self._barred(columns[name]))

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        own = self._barred(columns[name])[values[name].astype(np.intp) - 1]
        return np.zeros(len(own), dtype=np.bool_), own & self.condition.holds(values, columns)


@dataclass(frozen=True, slots=True)
class Bound(Rule):
    """The number is at least (`lower`), or at most, another column's; if `strict` not equal."""

    other: str
    lower: bool
    strict: bool = False
    bounds = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.other,)

    def check(self, column: Coded) -> None:
        _check_number(column)

    def check_among(self, name: str, columns: Columns) -> None:
        if columns[self.other].categorical:
            raise InputError.by("rule-of-levels", other=self.other)
        dated = columns[self.other].days_since is not None
        _check_dates(int(dated), (name, self.other), columns)

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        own, other = values[name], values[self.other]
        broken = own < other if self.lower else own > other  # A missing number breaks no bound.
        return np.zeros(len(own), dtype=np.bool_), broken | (self.strict & (own == other))

    def narrowed(self, low: Numbers, high: Numbers, values: Values) -> tuple[Any, Any]:
        other = values[self.other]  # A missing number bounds nothing.
        if self.strict:
            other = np.nextafter(other, np.inf if self.lower else -np.inf)
        return (np.fmax(low, other), high) if self.lower else (low, np.fmin(high, other))


@dataclass(frozen=True, slots=True)
class Computed(Rule):
    """The number follows from other columns by arithmetic, rounded to its column's decimals.

    A category is another one: both have the same labels in each record. A record keeps the rule
    where its number is `within` so much of what is computed, and with `blank` where it has none.
    """

    arithmetic: Arithmetic
    within: float = 0.0
    blank: bool = False
    computes = True

    @property
    def frees_missing(self) -> bool:
        return self.blank

    @property
    def columns(self) -> tuple[str, ...]:
        return self.arithmetic.columns

    def check(self, column: Coded) -> None:
        if self.arithmetic.column is None or self.within or self.blank:
            _check_number(column)
        if self.blank and not column.missing_codes:
            raise InputError.by("rule-says-missing")

    def check_among(self, name: str, columns: Columns) -> None:
        if columns[name].categorical:
            of_other, own = columns[self.columns[0]], columns[name].coded_levels
            if not of_other.categorical or {*of_other.coded_levels} - {*own}:
                raise InputError.by("equal-categories-differ", columns=self.columns[0])
            return
        for other in self.columns:
            if columns[other].missing_codes and not columns[name].missing_codes:
                raise InputError.by("computed-may-be-missing", other=other)
        _check_dates(self.arithmetic.dates(columns), (name, *self.columns), columns)
        self.arithmetic.range_in(columns)

    def _copied(self, name: str, values: Values, columns: Columns) -> Floats:
        """The codes (n,) of a category that equals another one."""
        (other,) = self.columns
        levels = columns[name].coded_levels
        codes = [levels.index(label) + 1.0 for label in columns[other].coded_levels]
        return np.array(codes)[values[other].astype(np.intp) - 1]

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        own, fixed = values[name], np.zeros(len(values[name]), dtype=np.bool_)
        if columns[name].categorical:
            return fixed, own != self._copied(name, values, columns)
        decimals = columns[name].decimals
        share = precision(own) if decimals is None else EXACT
        half = self.within + (0.0 if decimals is None else 0.5 * 10.0**-decimals)
        low, high = self.arithmetic.between(values, columns, share)
        room = half + share * np.abs(own)
        near = (own >= low - room) & (own <= high + room)
        if self.blank:  # Its part is drawn, but where a part of the sum is missing.
            fixed = np.isnan(low)
        return fixed, np.asarray(~(near | (np.isnan(own) & (np.isnan(low) | self.blank))))

    def settled(self, name: str, values: Values, columns: Columns, *, of_part: bool) -> Settled:
        if columns[name].categorical:
            return np.ones(1, dtype=np.bool_), self._copied(name, values, columns)
        made = self.arithmetic.of(values, columns)
        if of_part:
            gone = np.isnan(made)
            return gone | (not self.blank), np.where(gone, 2.0, 1.0)
        return np.ones(1, dtype=np.bool_), columns[name].rounded(made)


@dataclass(frozen=True, slots=True)
class Lookup(Rule):
    """The value follows from another column's by a table: `value_of` maps labels to labels."""

    other: str
    value_of: Mapping[str, str]
    computes = True

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.other,)

    @property
    def fixes(self) -> tuple[str | None, ...]:
        return tuple(self.value_of.values())

    def check(self, column: Coded) -> None:
        for value in self.value_of.values():
            _check_fixed(value, column)

    def check_among(self, name: str, columns: Columns) -> None:
        if not columns[self.other].categorical:
            raise InputError.by("lookup-without-levels", other=self.other)
        if set(self.value_of) != set(map(looked_up_by, columns[self.other].coded_levels)):
            raise InputError.by("lookup-incomplete", other=self.other)

    def _of(self, name: str, values: Values, columns: Columns) -> Floats:
        levels = map(looked_up_by, columns[self.other].coded_levels)
        of_code = np.array([columns[name].code_of(self.value_of[level]) for level in levels])
        return np.asarray(of_code[values[self.other].astype(np.intp) - 1], dtype=np.float64)

    def judged(self, name: str, part: Floats | None, values: Values, columns: Columns) -> Judged:
        broken = np.asarray(values[name] != self._of(name, values, columns))
        return np.zeros(len(broken), dtype=np.bool_), broken

    def settled(self, name: str, values: Values, columns: Columns, *, of_part: bool) -> Settled:
        return np.ones(1, dtype=np.bool_), self._of(name, values, columns)


def _check_fixed(value: str, column: Coded) -> None:
    if not column.takes(value):
        raise InputError.by("rule-value-impossible")


def _check_number(column: Coded) -> None:
    if column.categorical:
        raise InputError.by("rule-of-numbers")


def _check_dates(dates: int, names: Sequence[str], columns: Columns) -> None:
    """Raise InputError for days since unlike starts, or a column that takes days of another kind.

    The first of the names has a rule with so many `dates`: 1 makes a date, and 0 a number. The days
    of dates with one start may be subtracted, which gives a number, and a number of days may be
    added.
    """
    starts = {columns[name].days_since for name in names} - {None}
    if dates != (columns[names[0]].days_since is not None) or len(starts) > 1:
        raise InputError.by("rule-takes-dates-of-other-days")


def read_lookup(value: object) -> dict[str, dict[str, str]] | None:
    """A lookup with its labels and values as text; None for none."""
    if value is None:
        return None
    if not isinstance(value, Mapping) or len(value) != 1:
        raise InputError.by("lookup-shape")
    ((other, inner),) = value.items()
    if not isinstance(inner, Mapping):
        raise InputError.by("lookup-shape")
    return {other: {label_of(label): label_of(given) for label, given in inner.items()}}


def looked_up_by(level: str | None) -> str:
    """What a lookup calls a level of the other column: its label, or "missing" if it is empty."""
    return MISSING if level is None else level


@lru_cache(maxsize=1024)
def read_rule(text: str) -> Rule:
    """The rule that a text states; InputError in one line for other text."""
    stated = text.strip()
    if stated[:1] in (">", "<"):
        strict = stated[1:2] != "="
        other = read_arithmetic(stated[2 - strict :], text).column
        if other is None:
            raise InputError.by("rule-bounds-by-more", text=text, help=HELP)
        return Bound(other, stated[0] == ">", strict)
    if (computed := _COMPUTED.fullmatch(stated)) is not None:
        within = as_number(computed["within"] or "0")
        if within is None:
            raise InputError.by("rule-unreadable", text=text, help=HELP)
        arithmetic = read_arithmetic(computed["of"], text)
        return Computed(arithmetic, within, computed["blank"] is not None)
    if (never := _NEVER.fullmatch(stated)) is not None:
        listed = _LISTED.findall(never["values"])
        if not listed or _LISTED.sub("", never["values"]):
            raise InputError.by("rule-list-unreadable", text=text, help=HELP)
        condition = read_condition(never["condition"], text)
        return Never(tuple(map(_label, listed)), condition, " ".join(never["said"].split()))
    fixed = _FIXED.fullmatch(stated)
    if fixed is None:
        raise InputError.by("rule-unreadable", text=text, help=HELP)
    condition = read_condition(fixed["condition"], text)
    return Fixed(_label(fixed["value"].strip()), condition, fixed["only"] is not None)


def _label(spelled: str) -> str | None:
    """The label that a rule spells, with or without quotes; None for missing."""
    if spelled == MISSING:
        return None
    quoted = len(spelled) > 1 and spelled[0] == spelled[-1] in "'\""
    number = None if quoted else as_number(spelled)
    return label_of(spelled[1:-1] if quoted else spelled if number is None else number)
