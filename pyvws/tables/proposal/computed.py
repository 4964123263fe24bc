"""Propose computed columns: copies, sums and other forms of numbers, and bands of one.

Each is proposed where all records have it, ten different values or more show it, and each band has
several units. The records chose it, so it stands in `review`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.headers import named
from pyvws.tables.proposal.forms import LEAST_DIFFERENT, VARIED, Forms, with_values
from pyvws.tables.proposal.numbers import rounded_outwards
from pyvws.tables.proposal.often import Often
from pyvws.tables.proposal.spelling import (
    condition_on,
    formatted_name,
    formatted_value,
    number_between,
)
from pyvws.tables.proposal.sums import by_rule, fitting, is_kept, summed
from pyvws.tables.schema.column import Column

Values = Mapping[str, Floats]

_UNITS_A_BAND: Final = 5
_SOME: Final = 200  # So many records refuse most bands.
_UNITS_OF_A_COPY: Final = 10.0  # That do not have its most frequent level.
_PAIR: Final = 3  # Numbers of the sum of a pair.
_NEARLY: Final = 0.9  # Times the largest deviation of a sum's numbers, and one is as wide.
_MAKES_UP: Final = (
    "{} give it in all records, and no rule computes it: of parts that are drawn apart it would "
    "vary far more. Write the rule where records must add up"
)


def computed_columns(
    columns: Mapping[str, Column], values: Values, often: Often
) -> dict[str, Column]:
    """The proposed columns, with rules in the place of families where others compute a column.

    What is computed stands below what it follows from, which may be another order than the table's.
    `values` (N,) by name are the records as `Schema.coded` gives them; `often` has
    the unit of each record.
    """
    ordered = _below(columns, values, often)
    computed = _by_earlier(ordered, values, often)
    order, drawn = _solved(computed, columns, values)
    if order == list(computed) and not drawn:
        return computed
    other = _below({name: columns[name] for name in order}, values, often)
    solved = _by_earlier(other, values, often, drawn)
    ruled, of_solved = (sum(bool(x.rule) for x in y.values()) for y in (computed, solved))
    return computed if of_solved + len(drawn) < ruled else solved


def _solved(
    computed: Mapping[str, Column], columns: Mapping[str, Column], values: Values
) -> tuple[list[str], dict[str, str]]:
    """The columns in an order where each sum computes one of its widest numbers, and what none may.

    A sum can be solved for any of its numbers. What counts tell of the others blurs the one that is
    computed. So a narrow one, as a change with most records at 0, is better drawn, and the rule
    then keeps it. Of those nearly as wide as the widest the total of numbers that are never below 0
    is computed, else the number that stands last, else any total.

    Synthetic parts are not as near each other as the records'. So where one of many parts has to
    make up for all others, as the last share of 1, none is computed: it would vary far more.
    """
    order, settled, drawn = list(computed), set[str](), dict[str, str]()
    for name, column in computed.items():
        if column.categorical or not column.is_computed:
            continue
        of = [name, *column.rules[0].columns]
        free = [x for x in of[1:] if x not in settled and not _is_settled(computed[x])]
        known = {**computed, name: columns[name]}
        made = {x: summed(x, [y for y in of if y != x], known, values) for x in free}
        solved = {name: column} | {x: one for x, one in made.items() if one is not None}
        many = len(of) > _PAIR
        if len(of) < _PAIR or not (many or len(solved) > 1):
            continue
        chosen = _widest(solved, columns, values)
        settled |= {*of}
        spread = {x: float(np.nanvar(values[x])) for x in of}
        if many and spread[chosen] < VARIED * (sum(spread.values()) - spread[chosen]):
            drawn[name] = _MAKES_UP.format(named(of[1:], [*columns]))
        elif chosen != name:
            order.remove(chosen)
            order.insert(order.index(name) + 1, chosen)
    return order, drawn


def _is_settled(column: Column) -> bool:
    return column.is_computed or column.categorical


def _widest(solved: Mapping[str, Column], columns: Mapping[str, Column], values: Values) -> str:
    """Which of a sum's numbers, each as the sum is `solved` for it, is computed.

    The first of `solved` is the one that stands last.
    """
    spread = {name: float(np.nanstd(values[name])) for name in solved}
    widest = max(spread, key=lambda name: spread[name])
    near = [name for name in solved if spread[name] >= _NEARLY * spread[widest]]
    totals = [name for name in near if _is_total(solved[name])]
    above = [
        name
        for name in totals
        if all((columns[x].range or (-1.0,))[0] >= 0.0 for x in solved[name].rules[0].columns)
    ]
    last = [name for name in near if name == next(iter(solved))]
    return [*above, *last, *totals, widest][0]


def _is_total(column: Column) -> bool:
    """Whether a number is a sum of others without a sign or a constant."""
    names = map(formatted_name, column.rules[0].columns)
    return column.rule == f"= {' + '.join(names)}"


def _by_earlier(
    columns: Mapping[str, Column],
    values: Values,
    often: Often,
    drawn: Mapping[str, str] | None = None,
) -> dict[str, Column]:
    """The columns, in their order, with rules by which earlier ones compute some.

    No sum computes the columns `drawn`, which get a note.
    """
    proposed, forms = dict(columns), Forms(columns, values)
    numbers: list[str] = []
    categories: list[str] = []
    earlier: list[str] = []
    for name, column in columns.items():
        if column.role != "synthesize":
            continue
        if column.categorical:
            if copied := _copy(name, categories, columns, values, often):
                proposed[name] = copied
                continue
            categories.append(name)
            for other in numbers:
                rules = _bands(name, other, columns, values, often)
                banded = _by_text(column, rules) if rules else None
                if banded is not None and is_kept(name, banded, columns, values):
                    proposed[name] = banded
                    break
            continue
        if note := (drawn or {}).get(name):
            proposed[name] = replace(column, note=column.note or note)
            numbers.append(name)
        elif made := summed(name, numbers, proposed, values):
            proposed[name] = made
        else:
            numbers.append(name)
            proposed |= _formed(name, earlier, forms, proposed, values)
        earlier.append(name)
    return proposed


def _formed(
    name: str, earlier: list[str], forms: Forms, columns: Mapping[str, Column], values: Values
) -> dict[str, Column]:
    """A number that is a multiple, a power, a logarithm, a product or a ratio of earlier numbers.

    The columns that it follows from stand beside it, where their ranges change; none without it.
    """
    column = columns[name]
    for text in forms.rules_of(name, fitting(column, earlier, columns), columns, values):
        found = with_values(text, columns, values)
        if found is None:
            continue
        rule, parts = found
        low, high = rule.arithmetic.range_in(parts)
        own = column.range or (low, high)
        ends = rounded_outwards(min(low, own[0]), max(high, own[1]))
        made = by_rule(column, text, range=ends)
        if made is not None and is_kept(name, made, {**columns, **parts}, values):
            return {**parts, name: made}
    return {}


def _below(columns: Mapping[str, Column], values: Values, often: Often) -> dict[str, Column]:
    """The columns in an order where what one number gives stands below the number.

    A file may have ageGroup or the square of age before age. Rules then compute it, and no record
    contradicts itself. Of two numbers that give each other the one of more values goes below.
    """
    order, forms = list(columns), Forms(columns, values)
    drawn = [name for name, column in columns.items() if column.role == "synthesize"]
    for place, name in enumerate(drawn):
        if columns[name].is_constant:
            continue
        later = drawn[place + 1 :]
        giving = forms.giving(name, later, columns, values)
        for other in later:
            if columns[other].categorical:
                continue
            if columns[name].categorical:
                below = _may_be_bands(values[name], values[other]) and bool(
                    _bands(name, other, columns, values, often)
                )
            else:
                below = other in giving and (
                    _numbers_in(columns[other]) < _numbers_in(columns[name])
                    or not forms.giving(other, [name], columns, values)
                )
            if below:
                order.remove(name)
                order.insert(order.index(other) + 1, name)
                break
    return {name: columns[name] for name in order}


def _numbers_in(column: Column) -> float:
    """How many numbers a column's range has at its decimals."""
    low, high = column.range or (0.0, math.inf)
    return (high - low) / column.step if column.step else math.inf


def _may_be_bands(codes: Floats, x: Floats) -> bool:
    """Whether some codes (N,) change as seldom along the numbers (N,) as intervals of these do."""
    some = np.linspace(0, len(x) - 1, min(len(x), _SOME)).astype(np.intp)
    some = some[~np.isnan(x[some])]
    along = codes[some][np.argsort(x[some], kind="stable")]
    return int(np.count_nonzero(np.diff(along))) < len(np.unique(codes))


def _by_text(column: Column, rules: tuple[str, ...]) -> Column | None:
    """The column with rules; None where a rule cannot spell a name or a level."""
    try:
        return replace(column, rule=rules, review=(*column.review, "rule"))
    except InputError:
        return None


def _copy(
    name: str, others: list[str], columns: Mapping[str, Column], values: Values, often: Often
) -> Column | None:
    """A category with the labels of an earlier one in all records, of which several units tell."""
    column = columns[name]
    for other in others:
        levels = columns[other].coded_levels
        if column.is_constant or {*levels} - {*column.coded_levels}:
            continue
        codes = np.array([column.code_of(label) for label in levels])
        own = values[name]
        units = np.bincount(own.astype(np.intp), often.each)
        if (codes[values[other].astype(np.intp) - 1] != own).any():
            continue
        if units.sum() - units.max() < _UNITS_OF_A_COPY:
            continue
        copied = by_rule(column, f"= {formatted_name(other)}")
        if copied is not None and is_kept(name, copied, columns, values):
            return copied
    return None


def _bands(
    name: str, other: str, columns: Mapping[str, Column], values: Values, often: Often
) -> tuple[str, ...]:
    """The rules of a category whose levels are intervals of a number; none where they are not."""
    column, number = columns[name], columns[other]
    codes, x = values[name].astype(np.intp) - 1, values[other]
    there = ~np.isnan(x)
    known, first = np.unique(x[there], return_index=True)
    of_known = codes[there][first]
    steps = np.flatnonzero(np.diff(of_known))
    used = len(np.unique(of_known))
    if used < 2 or len(steps) != used - 1 or len(known) < max(LEAST_DIFFERENT, 2 * used):
        return ()
    if (of_known[np.searchsorted(known, x[there])] != codes[there]).any():
        return ()
    if not often.codes(np.where(there, codes, -1), int(codes.max()) + 1)[of_known].all():
        return ()
    units = np.bincount(codes[there], often.each[there])
    if (units[of_known] < _UNITS_A_BAND).any():
        return ()
    rules = []
    gone = np.unique(codes[~there])
    if len(gone) > 1 or (len(gone) and len(number.missing_codes) > 1):
        return ()
    labels = column.coded_levels
    if len(gone):
        rules.append(f"{formatted_value(labels[gone[0]])} where {formatted_name(other)} == missing")
    for place in steps:
        cut = number_between(float(known[place]), float(known[place + 1]))
        level = formatted_value(labels[of_known[place]])
        rules.append(f"{level} where {condition_on(other, number, '<', cut)}")
    last = formatted_value(labels[of_known[-1]])
    rules.append(f"{last} where {condition_on(other, number, '>=', cut)}")
    return tuple(rules)
