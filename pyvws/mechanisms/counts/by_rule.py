"""What is counted in the place of a number that rules leave only a part of its freedom.

The rule "> begin" of a column end makes that number lie beyond another one of its record. What is
counted in its place is "end - begin", in public cells that are narrow near 0, and the records get
the number as begin and the difference. So every record keeps the order, however wide the cells of
begin are. Equal numbers, points of mass and missing codes have codes of their own. Where the number
that bounds is missing, the number itself is counted, in cells beyond those of differences. A record
that breaks the rule has no code.

Of the rule "= wages + pensions or missing" it is counted whether the number is missing. Each code
is a function of the record and the schema alone.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.coding import (
    MONEY,
    Codes,
    CountedColumn,
    counted_column,
    money_cuts,
    rule_cuts,
)
from pyvws.mechanisms.counts.differences import OfTwo, narrow_cuts
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.conditions import Bools
from pyvws.tables.schema.rules import Bound
from pyvws.tables.schema.schema import Schema

_CELLS: Final = 6  # Of a number whose bound is missing, unless it is an amount.


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class BoundedColumn(OfTwo):
    """How far a later number lies beyond the earlier one that bounds it.

    - `of`: What the schema says of the later number, whose `later` has its fixed numbers as points
      too.
    - `lower`: Whether the earlier number is the least that the later one can be, or the largest.
    - `strict`: Whether they differ; else the last of the parts is that they are equal.
    - `far`: Where the cells of the later number itself begin, from the least that it can be.
    """

    of: Column
    lower: bool
    strict: bool
    far: float

    @property
    def _sign(self) -> float:
        return 1.0 if self.lower else -1.0

    @property
    def labels(self) -> list[str]:
        """Each code in words, of (L,); cells of the later number itself begin with its name."""
        low, cells = (self.of.range or (0.0,))[0], list(pairwise(self.edges.tolist()))
        shown = self.column.label_of_number
        words = [f"{shown(a)} to {shown(b)}" for a, b in cells if a < self.far]
        for a, b in (pair for pair in cells if pair[0] >= self.far):
            ends = (self.of.label_of_number(low + x - self.far) for x in (a, b))
            words.append(f"{self.later.name} {' to '.join(ends)}")
        return [*("empty" if part is None else part for part in self.parts), *words]

    def numbers_of(self, values: Mapping[str, Floats]) -> Floats:
        later, earlier = values[self.later.name], values[self.earlier.name]
        alone = self.far + later - (self.of.range or (0.0,))[0]
        return np.where(np.isnan(earlier), alone, self._sign * (later - earlier))

    def codes_of(self, codes: Mapping[str, Codes], values: Mapping[str, Floats]) -> Codes:
        later, earlier = (codes[one.name] for one in (self.later, self.earlier))
        gap, edges = self.numbers_of(values), self.edges
        there = ~np.isnan(values[self.earlier.name])
        if self.column.step is not None:  # 0.3 - 0.1 is not quite 0.2.
            gap, edges = np.rint(gap / self.column.step), np.rint(edges / self.column.step)
        cell = np.clip(np.searchsorted(edges, gap, side="right") - 1, 0, len(edges) - 2)
        equal = (gap == 0.0) & there
        found = np.where(equal & (not self.strict), len(self.parts) - 1, len(self.parts) + cell)
        found = np.where(later < len(self.later.parts), later, found)
        broken = there & ((gap < 0.0) | (equal & self.strict))
        return np.where((later < 0) | (earlier < 0) | broken, -1, found).astype(np.int32)

    def code_of(self, label: str | None) -> int:
        return self.later.code_of(label)

    def left(self, missing: Bools) -> Bools:
        """Which codes (n, L) records may have, by whether the earlier number is missing (n,)."""
        number = np.append(np.full(len(self.parts), -1.0), self.edges[:-1])
        number[len(self.later.parts) : len(self.parts)] = 0.0  # They are equal.
        return (number < 0.0) | ((number >= self.far) == missing[:, None])

    @property
    def ends(self) -> tuple[Floats, Floats]:
        """The least and the largest value (L,) of the later number: any in a cell."""
        low, high = self.of.range or (-np.inf, np.inf)
        points = self.later.ends[0][: len(self.later.parts)]
        rest = np.ones(self.size - len(points))
        return np.append(points, low * rest), np.append(points, high * rest)

    @property
    def apart(self) -> list[float]:
        """No difference stands apart: points and codes are of the later number."""
        return []

    def values(
        self, codes: Codes, rng: np.random.Generator, drawn: Floats | None = None
    ) -> dict[str, Floats]:
        """The differences (M,), 0 of parts."""
        made = CountedColumn.values(self, codes, rng, drawn)[self.name]
        return {self.name: np.where(codes < len(self.parts), 0.0, made)}

    def later_values(self, codes: Codes, values: Mapping[str, Floats]) -> dict[str, Floats]:
        """The later number (M,), with its parts, by the earlier one and the differences (M,)."""
        gap, earlier = values[self.name], values[self.earlier.name]
        low, high = self.of.range or (-np.inf, np.inf)
        alone = np.clip(low + np.where(gap < self.far, gap, gap - self.far), low, high)
        nearer = ~np.isnan(earlier) & (gap < self.far)
        own = self.of.rounded(np.where(nearer, earlier + self._sign * gap, alone))
        away = np.where(nearer, self._sign, np.where(own < high, 1.0, -1.0))
        for number in self.later.apart * 2:  # What stands apart is no number beyond the bound.
            step = self.of.step or np.spacing(abs(number)) * 2.0
            own = np.where(own == number, self.of.rounded(number + away * step), own)
        parts = np.ones(len(codes))
        for code, label in enumerate(self.later.parts):
            own[codes == code] = self.of.code_of(label)
            parts[codes == code] = self.of.part_code_of(label)
        return {
            self.later.name: own,
            **({part_of(self.later.name): parts} if self.of.parts else {}),
        }


@dataclass(frozen=True, slots=True, eq=False)
class BlankColumn(CountedColumn):
    """A computed number of which nothing but a missing value is free: its one cell has all numbers.

    The numbers themselves are computed of the other columns of a record.
    """

    @property
    def labels(self) -> list[str]:
        return [*("empty" if part is None else part for part in self.parts), "computed"]

    def values(
        self, codes: Codes, rng: np.random.Generator, drawn: Floats | None = None
    ) -> dict[str, Floats]:
        """The codes (M,) of the number's parts: it has a value, or is missing."""
        return {part_of(self.name): np.where(codes < len(self.parts), 2.0 + codes, 1.0)}


def counted_columns(schema: Schema) -> dict[str, CountedColumn]:
    """The columns that are counted, in the order of the schema: those that nothing computes.

    A number with a bound is counted under the name of its difference. Raises InputError for a
    column without levels, range or cuts.
    """
    begins = rule_cuts(schema)
    bounded = {one.later.name: one for one in bounded_columns(schema).values()}
    columns: list[CountedColumn] = []
    for name in schema.synthesized:
        own = schema.columns[name]
        if own.frees_missing:
            anything = np.array([-np.inf, np.inf])
            columns.append(BlankColumn(name, own, own.missing_codes, anything))
        elif name not in schema.computed:
            begun = sorted(begins.get(name, ()))
            columns.append(bounded.get(name) or counted_column(name, own, begun))
    return {column.name: column for column in columns}


def counted_names(columns: Mapping[str, CountedColumn]) -> dict[str, str]:
    """The name under which a column of the schema is counted, by its own name."""
    return {
        one.later.name if isinstance(one, BoundedColumn) else name: name
        for name, one in columns.items()
    }


def bounded_columns(schema: Schema) -> dict[str, BoundedColumn]:
    """The numbers that others bound, by the name of what is counted in their place."""
    found: dict[str, BoundedColumn] = {}
    for name in schema.synthesized:
        rule = next((x for x in schema.columns[name].rules if isinstance(x, Bound)), None)
        if rule is not None:
            own = _bounded(name, rule, schema)
            found[own.name] = own
    return found


def _bounded(name: str, rule: Bound, schema: Schema) -> BoundedColumn:
    of, other = schema.columns[name], schema.columns[rule.other]
    labels = (x for own in of.rules for x in own.fixes if x and x not in of.missing_codes)
    fixed = [x for x in map(of.number_of, labels) if x is not None]
    points = dict.fromkeys((*of.mass, *fixed))
    of_points = replace(of, mass=tuple(points), rule=None, review=())
    later, earlier = counted_column(name, of_points), counted_column(rule.other, other)
    assert of.range is not None
    assert other.range is not None
    (low, high), (other_low, other_high) = of.range, other.range
    decimals = [0 if one.is_whole else one.decimals for one in (of, other)]
    known = [one for one in decimals if one is not None]
    step = 10.0 ** -max(known) if len(known) == len(decimals) else 0.0
    first, second = (name, rule.other) if rule.lower else (rule.other, name)
    largest = high - other_low if rule.lower else other_high - low
    largest = max(largest, step or 1.0)
    amount = of.days_since is None and (of.outcome_scale == "log" or largest >= MONEY)
    far = largest + (step or 1e-6 * largest)
    column = Column(
        model="normal",
        range=(0.0, far + high - low),
        decimals=max(known) if step else None,
        missing=of.missing,
    )
    cuts = money_cuts(0.0, largest) if amount else narrow_cuts(largest, step or None)
    edges = [step, *(x for x in cuts if step < x < largest), far]
    if other.missing_codes:
        alone = money_cuts(low, high) if amount else np.linspace(low, high, _CELLS + 1)[1:-1]
        alone = of.rounded(np.asarray(alone, dtype=np.float64))
        edges = [*edges, *(far + x - low for x in sorted({*alone.tolist()}) if low < x < high)]
        edges += [far + high - low + (high == low)]
    equal = () if rule.strict else (f"= {rule.other}",)
    counted = f"{first} - {second}"
    if counted in schema.columns:
        raise InputError.by("sets-of-one-name", repeated=counted)
    return BoundedColumn(
        *(counted, column, (*later.parts, *equal), np.array(edges)),
        later=later,
        earlier=earlier,
        of=of,
        lower=rule.lower,
        strict=rule.strict,
        far=far,
    )


def finer(
    column: BoundedColumn, begins: Collection[float], alone: Collection[float]
) -> BoundedColumn:
    """The same in finer cells, which begin at more differences, and at more numbers `alone`."""
    low = (column.of.range or (0.0,))[0]
    own = {*column.edges[1:-1].tolist(), *(x for x in begins if x < column.far)}
    if column.edges[-1] > column.far:
        own |= {column.far + x - low for x in alone}
    kept = sorted(x for x in own if column.edges[0] < x < column.edges[-1])
    return replace(column, edges=np.array([column.edges[0], *kept, column.edges[-1]]))
