"""Propose rules with "never": levels of a category that no record has under a level of another one.

A cell of two categories is barred where it has no record though chance would fill it: were the
columns independent, some such cell would be empty less than once in a million tables, by the units
with the one level and by those with the other. Records of one household count as one, so no rule
comes from one. A column gets at most three such rules, first those that independent columns would
break most often. The records chose the rules, so they stand in `review`.
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
from pyvws.tables.proposal.rules import among, coded_parts
from pyvws.tables.proposal.spelling import formatted_name, formatted_value
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.decided import is_decided
from pyvws.tables.schema.rules import Fixed, Never, read_rule

Bools = NDArray[np.bool_]
Values = Mapping[str, Floats]

_CHANCE: Final = math.log(1e6)  # Nats.
_MOST_RULES: Final = 3  # Of a column.
_MOST_KNOWN: Final = 0.5  # Of what a rule bars, such a share is barred by others at most.
_MOST_CASES: Final = 200_000  # Of the columns that rules of one column read, as counts cross them.
_CELLS: Final = 100  # Of a number without cuts.
_MOST_NAMED: Final = 8  # Levels that a rule names on each side; of more it is no longer read.


@dataclass(frozen=True, slots=True, eq=False)
class _Exclusion:
    """Levels `barred` (L,) of a column under a `condition` on an `other` one, as text.

    `expected` are the units that independent columns would have there.
    """

    other: str
    condition: str
    barred: Bools
    expected: float


def proposed_exclusions(
    proposed: Mapping[str, Column], columns: Mapping[str, Column], values: Values, often: Often
) -> dict[str, Column]:
    """The columns of a proposal, with the rules with "never" that all records keep.

    `values` (N,) by name are the records as `Schema.coded` gives them for `columns`, of which
    `proposed` may have made other models. `often` has the unit of each record.
    """
    barred, earlier = dict(proposed), list[str]()
    for name, column in proposed.items():
        if column.role != "synthesize" or is_decided(column, proposed):
            continue
        if columns[name].categorical:
            rules = _rules(name, earlier, barred, columns, values, often)
            barred[name] = _with(column, rules)
        earlier.append(name)
    return barred


def _with(column: Column, rules: list[str]) -> Column:
    """The column with further rules; as it is where it cannot have them, as odd labels can."""
    if not rules:
        return column
    own = (column.rule,) if isinstance(column.rule, str) else column.rule or ()
    every: Any = (*own, *rules)
    review = dict.fromkeys((*column.review, "rule"))
    try:
        return replace(column, rule=every if len(every) > 1 else every[0], review=tuple(review))
    except InputError:
        return column


def _rules(
    name: str,
    earlier: list[str],
    proposed: Mapping[str, Column],
    columns: Mapping[str, Column],
    values: Values,
    often: Often,
) -> list[str]:
    """The rules of a category. A level that no rule bars is left, so that they cannot clash."""
    column = proposed[name]
    fixes = [rule for rule in column.rules if isinstance(rule, Fixed)]
    labels = columns[name].coded_levels
    given = {*column.ruled_codes, *(rule.value for rule in fixes)}
    named = np.array([label not in given for label in labels])
    if len(column.missing_codes) > 1 or None in given:  # An empty cell has no name, or a rule.
        named &= np.array([label not in (None, *column.missing_codes) for label in labels])
    free = np.ones(len(often.units), dtype=np.bool_)
    for rule in fixes:
        free &= ~rule.condition.holds(values, columns)
    codes = values[name].astype(np.intp) - 1
    found = [
        exclusion
        for other in earlier
        for exclusion in _exclusions(other, codes, named, free, columns, values, often)
    ]
    rules, gone = list[str](), np.zeros((len(often.units), len(labels)), dtype=np.bool_)
    read = {other for rule in fixes for other in rule.columns}
    for exclusion in sorted(found, key=lambda one: -one.expected):
        after = gone.any(axis=0) | exclusion.barred
        cases = math.prod(_cases(proposed[other]) for other in {*read, exclusion.other})
        if len(rules) == _MOST_RULES or after[named].all() or cases > _MOST_CASES:
            continue
        text = _spelled(name, exclusion, columns)
        holds = _where(text, name, exclusion, columns, values)
        if holds is None or not holds.any():  # Odd labels read otherwise have no record.
            continue
        if gone[np.ix_(holds, exclusion.barred)].mean() < _MOST_KNOWN:
            rules.append(text)
            read.add(exclusion.other)
            gone[np.ix_(holds, exclusion.barred)] = True
    return rules


def _exclusions(
    other: str,
    codes: NDArray[np.intp],
    named: Bools,
    free: Bools,
    columns: Mapping[str, Column],
    values: Values,
    often: Often,
) -> Iterator[_Exclusion]:
    """For each set of levels of another column what it bars, of codes (N,) from 0.

    Only `named` codes (L,) are barred, by the records that are `free` (N,).
    """
    coded = coded_parts(other, columns[other], values)
    if coded is None:
        return
    own, L, G = coded[0], len(named), len(coded[1])
    column = columns[other]
    place = own[free] * L + codes[free]
    units = np.bincount(place, often.each[free], G * L).reshape(G, L)
    of_level, of_code = units.sum(axis=1)[:, None], units.sum(axis=0)
    n = float(units.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        without = (n - of_level - of_code + 1.0) / (n - of_level + 2.0)
        nats = np.minimum(-of_level * np.log(without), -of_code * np.log(1.0 - of_level / n))
    empty = (units == 0.0) & named & (nats >= _CHANCE + math.log(G * L))
    empty &= often.codes(own, G)[:, None] & often.codes(codes, L)
    if not column.categorical:
        empty[0] = False  # Any value: no condition says that.
        gone = slice(1 + len(column.mass), None)
        empty[gone] &= empty[gone].all(axis=0)  # Only all missing codes have a name.
    by_given: dict[bytes, list[int]] = {}
    for code in np.flatnonzero(empty.any(axis=0)).tolist():
        by_given.setdefault(_most(empty[:, code], of_level[:, 0]).tobytes(), []).append(code)
    for key, some in by_given.items():
        given, barred = np.frombuffer(key, dtype=np.bool_), np.zeros(L, dtype=np.bool_)
        barred[some] = True
        barred = _most(barred, of_code)
        text = among(formatted_name(other), column, coded[1], given, of_level[:, 0] > 0)
        yield _Exclusion(
            other, text, barred, float(of_level[given].sum() * of_code[barred].sum() / n)
        )


def _cases(column: Column) -> int:
    """How many levels or cells a column has, about, where conditions read it."""
    cells = len(column.cuts) + 1 if column.cuts else _CELLS
    return len(column.coded_levels) if column.categorical else len(column.parts) + cells


def _most(chosen: Bools, units: Floats) -> Bools:
    """The levels that most units have, of those that are chosen, as many as a rule names."""
    order = np.argsort(-np.where(chosen, units, 0.0), kind="stable")[:_MOST_NAMED]
    kept = np.zeros(len(chosen), dtype=np.bool_)
    kept[order] = True
    return kept & chosen


def _spelled(name: str, exclusion: _Exclusion, columns: Mapping[str, Column]) -> str:
    labels = (columns[name].coded_levels[code] for code in np.flatnonzero(exclusion.barred))
    barred = ", ".join(formatted_value(label, quoted=True) for label in labels)
    return f"never {barred} where {exclusion.condition}"


def _where(
    rule: str, name: str, exclusion: _Exclusion, columns: Mapping[str, Column], values: Values
) -> Bools | None:
    """Where the condition of a rule holds (N,), read again; None for another rule or a broken one.

    Labels can be odd.
    """
    try:
        read = read_rule(rule)
        labels = tuple(
            columns[name].coded_levels[code] for code in np.flatnonzero(exclusion.barred)
        )
        if not isinstance(read, Never) or read.barred != labels:
            return None
        broken = read.judged(name, None, values, columns)[1]
        return None if broken.any() else read.condition.holds(values, columns)
    except InputError:
        return None
