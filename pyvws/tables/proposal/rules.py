"""Propose rules: an earlier column decides that a value is missing, a point of mass or a level.

A rule is proposed where all records with some levels of an earlier column, or with small or large
numbers in it, have one value, most other records have another, and chance would hardly do so: were
the value as frequent there as elsewhere, so many records would all have it less than once in a
million tables. The records chose the rule, so it stands in `review`.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.rules import Fixed, read_rule

Bools = NDArray[np.bool_]
Codes = NDArray[np.intp]
Values = Mapping[str, Floats]

_CHANCE: Final = math.log(1e6)  # Nats.
_MOST_ELSEWHERE: Final = 0.5
_MOST_CONDITIONS: Final = 3  # Of one rule.
_DIGITS: Final = range(-9, 10)  # Decimals of a number between two others.


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on one column, as text, and the records (N,) where it holds."""

    text: str
    holds: Bools


def proposed_rules(
    proposed: Mapping[str, Column], columns: Mapping[str, Column], values: Values
) -> dict[str, Column]:
    """The columns `made` of a proposal, with the rules that the records keep.

    `values` (N,) by name are the records as `Schema.coded` gives them for `columns`, which `made`
    may have changed to other models and to lookups.
    """
    ruled = dict(proposed)
    used = {name: column for name, column in columns.items() if column.role != "drop"}
    for place, name in enumerate(used):
        if proposed[name].role != "synthesize" or proposed[name].is_computed:
            continue
        earlier = list(used)[:place]
        if rules := tuple(_rules(name, earlier, used, values)):
            rule: Any = rules if len(rules) > 1 else rules[0]
            before = proposed[name]
            ruled[name] = replace(before, rule=rule, review=(*before.review, "rule"))
    return ruled


def _rules(
    name: str, earlier: list[str], columns: Mapping[str, Column], values: Values
) -> Iterator[str]:
    """The rules of a column: of its missing codes and points of mass, or of its likeliest level."""
    column = columns[name]
    coded = _coded(name, column, values)
    if coded is None:
        return
    codes, labels = coded
    counts = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    conditions: dict[int, list[_Condition]] = {}
    for other in earlier:
        of_other = other, columns[other], values, codes, counts
        for code, condition in (*_by_level(*of_other), *_by_size(*of_other)):
            conditions.setdefault(code, []).append(condition)
    found = ((code, _chosen(of, codes == code)) for code, of in conditions.items())
    chosen = {code: condition for code, condition in found if condition is not None}
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
        rule = f"{_value(labels[code])}{only} where {condition.text}"
        if _is_kept(rule, labels[code], condition.holds, columns, values):
            yield rule


def _coded(
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
    name: str, column: Column, values: Values, codes: Codes, counts: Floats
) -> Iterator[tuple[int, _Condition]]:
    """For each code that all records with some levels of a column have, the condition on it."""
    coded = _coded(name, column, values)
    if coded is None:
        return
    own, labels = coded
    L, G = len(counts), len(labels)
    table = np.bincount(own * L + codes, minlength=G * L).reshape(G, L)
    of_level = table.sum(axis=1)
    for code in np.flatnonzero(counts):
        whole = (table[:, code] == of_level) & (of_level > 0)
        if not column.categorical:
            whole[0] = False  # Any value: no condition says that.
            gone = slice(1 + len(column.mass), None)
            if (table[gone, code] < of_level[gone]).any():
                whole[gone] = False  # Only all missing codes have a name.
        rest = counts[code] - table[whole, code].sum(), of_level[~whole].sum()
        whole &= of_level * _nats(*rest) >= _CHANCE
        if whole.any() and not whole[of_level > 0].all():
            text = _among(_name(name), column, labels, whole, of_level > 0)
            yield int(code), _Condition(text, whole[own])


def _by_size(
    name: str, column: Column, values: Values, codes: Codes, counts: Floats
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
        n = int(holds.sum())
        if np.isfinite(bound) and n * _nats(counts[code] - n, len(codes) - n) >= _CHANCE:
            cut = column.label_of_number(sign * _between(float(y[holds].max()), bound))
            spelled = cut if column.days_since is None else repr(cut)
            yield code, _Condition(f"{_name(name)} {order} {spelled}", holds)


def _nats(having: float, among: float) -> float:
    """-log of the share of other records that have a value, with one more that has it and one not.

    0 where most of them have it: that all of some records do too is then no rule.
    """
    share = (having + 1.0) / (among + 2.0)
    return -math.log(share) if share <= _MOST_ELSEWHERE else 0.0


def _chosen(conditions: list[_Condition], there: Bools) -> _Condition | None:
    """The conditions under which most records have a value, joined by "or"; `there` have it.

    None where what lies outside tells too little.
    """
    taken: list[str] = []
    holds = np.zeros(len(there), dtype=bool)
    while len(taken) < _MOST_CONDITIONS:
        new = [int((condition.holds & ~holds).sum()) for condition in conditions]
        best = int(np.argmax(new))
        left = holds | conditions[best].holds
        if new[best] * _nats((there & ~left).sum(), (~left).sum()) < _CHANCE:
            break
        taken.append(conditions[best].text)
        holds = left
    return _Condition(" or ".join(taken), holds) if taken else None


def _between(below: float, bound: float) -> float:
    """The number of fewest digits above `below` and at most `bound`."""
    for digits in _DIGITS:
        cut = math.floor(bound * 10.0**digits) / 10.0**digits
        if below < cut <= bound:
            return round(cut, max(0, digits))
    return bound


def _among(
    name: str, column: Column, labels: tuple[str | None, ...], whole: Bools, used: Bools
) -> str:
    """The condition that a column has one of the levels `whole` (G,), of those in use."""
    others = np.flatnonzero(used & ~whole)
    if column.categorical and len(others) == 1 and whole.sum() > 1 and labels[others[0]]:
        return f"{name} != {_value(labels[others[0]], quoted=True)}"
    chosen = [labels[g] for g in np.flatnonzero(whole)]
    missing = {None} if column.categorical else {*column.missing_codes}
    named = [_value(label, quoted=True) for label in chosen if label not in missing]
    parts = []
    if named:
        several = f"in [{', '.join(named)}]" if len(named) > 1 else f"== {named[0]}"
        parts.append(f"{name} {several}")
    if len(named) < len(chosen):
        parts.append(f"{name} == missing")
    return " or ".join(parts)


def _name(name: str) -> str:
    plain = name.isidentifier() and not keyword.iskeyword(name) and name != "missing"
    return name if plain else f"`{name}`"


def _value(label: str | None, *, quoted: bool = False) -> str:
    """A label as a rule spells it; text has quotes in a condition, and where it has blanks."""
    if label is None:
        return "missing"
    number = as_number(label)
    plain = number is not None and label_of(number) == label
    return label if plain or (not quoted and label.isidentifier()) else repr(label)


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
