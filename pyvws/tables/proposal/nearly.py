"""Rules that all records of a table keep but for a few: how many break them, a line a column.

At most 1 % of the records break such a rule. It may be one of the questionnaire, with mistakes in
the table, so it is told and not proposed. No line has a value of a record, so that it can stand on
a terminal. A count of records is confidential, as the proposal is. No rule comes from one unit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.tables.files.frame import open_frame
from pyvws.tables.proposal.codes import units_of_records
from pyvws.tables.proposal.forms import LEAST_DIFFERENT, Forms
from pyvws.tables.proposal.often import Bools, CodedRecords, Codes
from pyvws.tables.proposal.rules import Told, coded_parts
from pyvws.tables.proposal.sums import sums_of
from pyvws.tables.schema.schema import Schema

_BROKEN: Final = 0.01  # At most such a share of the records that a rule is about breaks it.
_WRONG: Final = 10.0  # Records that keep a rule, and are worth one that breaks it, where it ends.
_CHANCE: Final = float(np.log(1e6))  # Nats.
_CROSSED: Final = 0.1  # Of pairs of two records' numbers, so many are in the other order.
_MOST_NUMBERS: Final = 40  # Numbers before a column, of which it may follow.
_UNITS_A_LEVEL: Final = 10.0  # Of what a lookup or bands tell.


class _Nearly(NamedTuple):
    """A kind of rule by a column, or by several, that so many records break."""

    told: float
    kind: str
    columns: tuple[str, ...]
    broken: int


def _few(each: Floats, broken: Bools, of: float) -> bool:
    """Whether some records (N,) break a rule about `of` units, but no more than so few."""
    return 0.0 < float(each[broken].sum()) <= _BROKEN * of


@dataclass(frozen=True, slots=True, eq=False)
class _Told(Told):
    """What records tell of chance; rules that all of them keep say so of those that are `fixed`."""

    fixed: Bools

    def is_told(self, code: int, holds: Bools) -> bool:
        """Whether chance would hardly give a code where a condition holds, mostly not `fixed`."""
        units, new = (float(self.each[x].sum()) for x in (holds, holds & ~self.fixed))
        sure = units * self.nats(code, ~holds) >= _CHANCE and self.apart(code, holds)
        return sure and new >= _UNITS_A_LEVEL


def broken_rules(schema: Schema, frame: IntoFrame, shown: Mapping[str, str]) -> list[str]:
    """A line for each column with a rule of any kind that a few records break: confidential.

    An order of two numbers is told where no record breaks it too, as no proposal has one.

    `shown` is what each column is called.
    """
    table = open_frame(frame, least=1)
    often = units_of_records(table, schema.columns)
    records = CodedRecords(schema.columns, schema.coded(table), often)
    forms = Forms(records)
    lines, earlier = [], list[str]()
    for name in schema.synthesized:
        column = schema.columns[name]
        if name in schema.computed:
            continue
        nearly = list(_by_numbers(name, earlier, records, forms)) if not column.categorical else []
        nearly = nearly or list(_by_codes(name, earlier, records))
        if nearly:
            best = max(nearly)
            by = " and ".join(shown[other] for other in best.columns)
            but = f"but for {counted(best.broken, 'record')}" if best.broken else "in all records"
            lines.append(f"{shown[name]}: {best.kind} by {by} holds {but}.")
        earlier.append(name)
    return lines


def _by_numbers(
    name: str, earlier: list[str], records: CodedRecords, forms: Forms
) -> Iterator[_Nearly]:
    """The sum, the formula or else the order by earlier numbers that nearly all records keep."""
    columns, own = records.columns, records.values[name]
    others = [x for x in earlier if not columns[x].categorical][-_MOST_NUMBERS:]
    n, each = float(records.often.each.sum()), records.often.each
    alike = [x for x in others if columns[x].days_since is None]
    if columns[name].days_since is None and len(np.unique(own)) >= LEAST_DIFFERENT:
        for found in sums_of(name, alike, records):
            broken = found.broken | found.blank
            if _few(each, broken, n):
                yield _Nearly(n, "a sum", found.parts, int(broken.sum()))
                return
        for parts, broken in forms.nearly(name, alike, columns[name]):
            if _few(each, broken, n):
                yield _Nearly(n, "a formula", parts, int(broken.sum()))
                return
    if any(rule.bounds for rule in columns[name].rules):
        return
    for other in others:
        x = records.values[other]
        there = ~np.isnan(own) & ~np.isnan(x)
        if columns[other].days_since != columns[name].days_since or there.sum() < LEAST_DIFFERENT:
            continue
        risen, units = np.sort(x[there]), float(each[there].sum())
        for sign in (1.0, -1.0):
            broken = there & (sign * (own - x) < 0.0)
            below = np.searchsorted(risen, own[there], side="right").mean() / len(risen)
            above = 1.0 - np.searchsorted(risen, own[there], side="left").mean() / len(risen)
            crossed = 1.0 - below if sign > 0.0 else 1.0 - above
            sure = crossed >= _CROSSED and -units * np.log1p(-min(crossed, 0.999)) >= _CHANCE
            if sure and float(each[broken].sum()) <= _BROKEN * units:
                yield _Nearly(crossed, "an order", (other,), int(broken.sum()))


def _by_codes(name: str, earlier: list[str], records: CodedRecords) -> Iterator[_Nearly]:
    """Lookups, bands, fixed values and bars by one earlier column that nearly all records keep."""
    columns, coded = records.columns, coded_parts(name, records)
    if coded is None:
        return
    codes, fixed = coded[0], np.zeros(len(coded[0]), dtype=np.bool_)
    for rule in columns[name].rules:
        holds, _ = rule.judged(name, codes.astype(np.float64) + 1.0, records.values, columns)
        fixed |= holds
    told = _Told(codes, records.often, fixed)
    for other in earlier:
        column, x = columns[other], records.values[other]
        if not column.categorical:
            yield from _bands(other, told, x)
            yield from _by_size(other, told, x)
        if (parts := coded_parts(other, records)) is not None:
            if columns[name].categorical:
                yield from _lookup(other, told, parts[0])
            yield from _by_levels(other, told, parts[0])


def _lookup(other: str, told: _Told, own: Codes) -> Iterator[_Nearly]:
    """Whether each level (N,) of another column nearly has one code (N,)."""
    codes, each, n = told.codes, told.each, float(told.each.sum())
    L, G = int(codes.max()) + 1, int(own.max()) + 1
    table = np.bincount(own * L + codes, minlength=G * L).reshape(G, L)
    of_level = table.sum(axis=1)
    likeliest = table.argmax(axis=1)
    broken = likeliest[own] != codes
    rarer = n - np.bincount(own, each).max()
    used = int((of_level > 0).sum())
    if (
        _few(each, broken, n)
        and rarer >= _UNITS_A_LEVEL * (used - 1)
        and len(np.unique(likeliest[of_level > 0])) > 1
        and n - np.bincount(codes, each).max() >= _UNITS_A_LEVEL
    ):
        yield _Nearly(n, "a lookup", (other,), int(broken.sum()))


def _by_size(other: str, told: _Told, x: Floats) -> Iterator[_Nearly]:
    """Whether nearly all records with small, or with large, numbers (N,) have one code."""
    there = np.flatnonzero(~np.isnan(x))
    for sign in (1.0, -1.0):
        order = there[np.argsort(sign * x[there], kind="stable")]
        ends = np.append(np.flatnonzero(np.diff(x[order])), len(order) - 1)
        for code in np.unique(told.codes[order[: int(_UNITS_A_LEVEL)]]).tolist():
            wrong = np.cumsum(told.codes[order] != code)[ends]
            at = int((ends + 1.0 - _WRONG * wrong).argmax())
            if not 0 < wrong[at] <= _BROKEN * (ends[at] + 1.0) or at == len(ends) - 1:
                continue
            holds = np.zeros(len(x), dtype=np.bool_)
            holds[order[: ends[at] + 1]] = True
            if told.is_told(code, holds):
                units = float(told.each[holds].sum())
                yield _Nearly(units, "a rule", (other,), int(wrong[at]))


def _by_levels(other: str, told: _Told, own: Codes) -> Iterator[_Nearly]:
    """Codes that nearly all records with some levels or parts (N,) of another one have, or lack."""
    codes = told.codes
    L, G = int(codes.max()) + 1, int(own.max()) + 1
    table = np.bincount(own * L + codes, minlength=G * L).reshape(G, L)
    of_level = table.sum(axis=1)
    for code in range(L):
        wrong = of_level - table[:, code]
        whole = (of_level > 0) & (wrong <= _BROKEN * of_level)
        holds = whole[own]
        if not wrong[whole].any() or whole[of_level > 0].all():
            continue
        if told.is_told(code, holds):
            units = float(told.each[holds].sum())
            yield _Nearly(units, "a rule", (other,), int(wrong[whole].sum()))
    expected = np.outer(of_level, table.sum(axis=0)) / len(codes)
    seldom = (table > 0) & (table <= _BROKEN * expected)
    if seldom.any():
        yield _Nearly(0.0, "a bar of levels", (other,), int(table[seldom].sum()))


def _bands(other: str, told: _Told, x: Floats) -> Iterator[_Nearly]:
    """Whether codes (N,) are nearly the intervals of a number (N,): cut where fewest are wrong."""
    there = np.flatnonzero(~np.isnan(x))
    order = there[np.argsort(x[there], kind="stable")]
    along, number = told.codes[order], x[order]
    used = np.flatnonzero(np.bincount(along) >= _UNITS_A_LEVEL)
    if len(used) < 2 or len(np.unique(number)) < LEAST_DIFFERENT:
        return
    rank = sorted(used.tolist(), key=lambda code: float(np.median(number[along == code])))
    ends = np.append(np.flatnonzero(np.diff(number)), len(number) - 1)
    band = np.zeros(len(along), dtype=np.intp)
    for first, second in pairwise(rank):
        wrong = np.cumsum(along == second) - np.cumsum(along == first)
        band[ends[int(wrong[ends].argmin())] + 1 :] += 1
    broken = np.zeros(len(x), dtype=np.bool_)
    broken[order] = np.array(rank)[band] != along
    units = float(told.each[order].sum())
    if _few(told.each, broken, units):
        yield _Nearly(units, "a rule", (other,), int(broken.sum()))
