"""Propose rules: an earlier column decides that a value is missing, a point of mass or a level.

A rule is proposed where all records with some levels of an earlier column, or with small or large
numbers in it, have one value, most other records have another, and chance would hardly do so: were
the value as frequent there as elsewhere, so many records would all have it less than once in a
million tables; nor would all records without it lie elsewhere. Records of one household count as
one, so no rule comes from one. The records chose the rule, so it stands in `review`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.proposal.often import Often
from pyvws.tables.proposal.spelling import (
    condition_on,
    formatted_name,
    formatted_value,
    number_between,
)
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.decided import is_decided
from pyvws.tables.schema.rules import Fixed, read_rule

Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]
Values = Mapping[str, Floats]

_CHANCE: Final = math.log(1e6)  # Nats.
_MOST_ELSEWHERE: Final = 0.5
_MOST_CONDITIONS: Final = 3  # Of one rule.


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on one column, as text, and the records (N,) where it holds."""

    text: str
    holds: Bools


def proposed_rules(
    proposed: Mapping[str, Column],
    columns: Mapping[str, Column],
    values: Values,
    often: Often,
) -> dict[str, Column]:
    """The columns `made` of a proposal, with the rules that the records keep.

    `values` (N,) by name are the records as `Schema.coded` gives them for `columns`, which `made`
    may have changed to other models and to lookups. `often` has the unit of each record.
    """
    ruled, earlier = dict(proposed), list[str]()
    used = {name: column for name, column in columns.items() if column.role != "drop"}
    for name in used:
        before = proposed[name]
        if before.is_computed or before.rule or before.is_constant:  # Bands have rules.
            continue
        drawn = before.role == "synthesize"
        rules = tuple(_rules(name, earlier, used, values, often)) if drawn else ()
        if rules:
            rule: Any = rules if len(rules) > 1 else rules[0]
            ruled[name] = replace(before, rule=rule, review=(*before.review, "rule"))
        if not is_decided(ruled[name], ruled):
            earlier.append(name)
    return ruled


def _rules(
    name: str, earlier: list[str], columns: Mapping[str, Column], values: Values, often: Often
) -> Iterator[str]:
    """The rules of a column: of its missing codes and points of mass, or of its likeliest level."""
    column = columns[name]
    coded = coded_parts(name, column, values)
    if coded is None:
        return
    codes, labels = coded
    counts = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    conditions: dict[int, list[_Condition]] = {}
    told = Told(codes, often)
    for other in earlier:
        of_other = other, columns[other], values, codes, told
        for code, condition in (*_by_level(*of_other), *_by_size(*of_other)):
            if often.enough(condition.holds):
                conditions.setdefault(code, []).append(condition)
    by_code = ((code, _chosen(candidates, told, code)) for code, candidates in conditions.items())
    chosen = {code: condition for code, condition in by_code if condition is not None}
    levels = len(column.levels or ())
    if column.categorical:
        most = max(
            (code for code in chosen if code < levels),
            key=lambda code: int(chosen[code].holds.sum()),
            default=None,
        )
        chosen = {code: joined for code, joined in chosen.items() if code >= levels or code == most}
    for code in sorted(chosen, reverse=True):  # Missing codes first.
        condition = chosen[code]
        missing = code >= levels if column.categorical else code > len(column.mass)
        if (not column.categorical and code == 0) or (
            labels[code] is None and len(column.missing_codes) > 1  # It has no name.
        ):
            continue
        only = " only" if missing and condition.holds.sum() == counts[code] else ""
        rule = f"{formatted_value(labels[code])}{only} where {condition.text}"
        if _is_kept(rule, labels[code], condition.holds, columns, values):
            yield rule


def coded_parts(
    name: str, column: Column, values: Values
) -> tuple[Codes, tuple[str | None, ...]] | None:
    """Codes (N,) from 0 of a category's levels or of a number's parts, and what these are.

    None for a number that has a value in every record.
    """
    if column.categorical:
        return values[name].astype(np.intp) - 1, column.coded_levels
    if not column.parts:
        return None
    labels = ("value", *map(column.label_of_number, column.mass), *column.missing_codes)
    return values[part_of(name)].astype(np.intp) - 1, labels


def _by_level(
    name: str, column: Column, values: Values, codes: Codes, told: Told
) -> Iterator[tuple[int, _Condition]]:
    """For each code that all records with some levels of a column have, the condition on it."""
    coded = coded_parts(name, column, values)
    if coded is None:
        return
    own, labels = coded
    L, G = int(codes.max()) + 1, len(labels)
    table = np.bincount(own * L + codes, minlength=G * L).reshape(G, L)
    of_level = table.sum(axis=1)
    units = np.bincount(own, told.each, minlength=G)
    for code in np.flatnonzero(table.any(axis=0)).tolist():
        whole = (table[:, code] == of_level) & (of_level > 0)
        if not column.categorical:
            whole[0] = False  # Any value: no condition says that.
            gone = slice(1 + len(column.mass), None)
            if (table[gone, code] < of_level[gone]).any():
                whole[gone] = False  # Only all missing codes have a name.
        whole &= told.often.codes(own, G)
        whole &= units * told.nats(code, ~whole[own]) >= _CHANCE
        holds = whole[own]
        if whole.any() and not whole[of_level > 0].all() and told.apart(code, holds):
            text = among(formatted_name(name), column, labels, whole, of_level > 0)
            yield code, _Condition(text, holds)


def _by_size(
    name: str, column: Column, values: Values, codes: Codes, told: Told
) -> Iterator[tuple[int, _Condition]]:
    """For each code that all records with small, or large, numbers have, the condition on them."""
    if column.categorical:
        return
    there = ~np.isnan(values[name])
    for sign, order in ((1.0, "<"), (-1.0, ">")):
        y = np.where(there, sign * values[name], np.inf)
        code = int(codes[y.argmin()])
        bound = float(y[codes != code].min(initial=np.inf))
        holds = y < bound
        if np.isfinite(bound) and told.is_no_chance(code, holds):
            cut = sign * number_between(float(y[holds].max()), bound)
            yield code, _Condition(condition_on(name, column, order, cut), holds)


@dataclass(frozen=True, slots=True, eq=False)
class Told:
    """What records tell of chance: the codes (N,) of a column, and what each record counts (N,)."""

    codes: Codes
    often: Often

    @property
    def each(self) -> Floats:
        return self.often.each

    def nats(self, code: int, others: Bools) -> float:
        """-log of the share of `others` with the code, with one more that has it and one not.

        0 where most of them have it: that all of some records do too is then no rule.
        """
        having = float(self.each[others & (self.codes == code)].sum())
        share = (having + 1.0) / (float(self.each[others].sum()) + 2.0)
        return -math.log(share) if share <= _MOST_ELSEWHERE else 0.0

    def apart(self, code: int, holds: Bools) -> bool:
        """Whether records without the code would hardly all lie outside the condition by chance."""
        without = float(self.each[self.codes != code].sum())
        outside = float(self.each[~holds].sum()) / float(self.each.sum())
        return -without * math.log(outside) >= _CHANCE if outside else False

    def is_no_chance(self, code: int, holds: Bools) -> bool:
        """Whether all records of a condition have the code, and hardly by chance."""
        n = float(self.each[holds].sum())
        return n * self.nats(code, ~holds) >= _CHANCE and self.apart(code, holds)


def _chosen(conditions: list[_Condition], told: Told, code: int) -> _Condition | None:
    """The conditions under which most records have a value, joined by "or".

    None where what lies outside tells too little.
    """
    taken: list[str] = []
    holds = np.zeros(len(told.codes), dtype=bool)
    while len(taken) < _MOST_CONDITIONS:
        new = [float(told.each[condition.holds & ~holds].sum()) for condition in conditions]
        best = int(np.argmax(new))
        left = holds | conditions[best].holds
        if new[best] * told.nats(code, ~left) < _CHANCE:
            break
        taken.append(conditions[best].text)
        holds = left
    return _Condition(" or ".join(taken), holds) if taken else None


def among(
    name: str, column: Column, labels: tuple[str | None, ...], whole: Bools, used: Bools
) -> str:
    """The condition that a column has one of the levels `whole` (G,), of those in use."""
    others = np.flatnonzero(used & ~whole)
    if column.categorical and len(others) == 1 and whole.sum() > 1 and labels[others[0]]:
        return f"{name} != {formatted_value(labels[others[0]], quoted=True)}"
    chosen = [labels[g] for g in np.flatnonzero(whole)]
    missing = {None} if column.categorical else {*column.missing_codes}
    named = [formatted_value(label, quoted=True) for label in chosen if label not in missing]
    parts = []
    if named:
        several = f"in [{', '.join(named)}]" if len(named) > 1 else f"== {named[0]}"
        parts.append(f"{name} {several}")
    if len(named) < len(chosen):
        parts.append(f"{name} == missing")
    return " or ".join(parts)


def _is_kept(
    rule: str, label: str | None, holds: Bools, columns: Mapping[str, Column], values: Values
) -> bool:
    """Whether a rule, read again, gives the value where the condition holds: labels can be odd."""
    try:
        read = read_rule(rule)
    except InputError:
        return False
    return (
        isinstance(read, Fixed)
        and read.value == label
        and bool((read.condition.holds(values, columns) == holds).all())
    )
