"""Propose rules that all records keep, and spell them.

An earlier column may decide that a value is missing, a point of mass or a level. Such a rule is
proposed where all records with some levels of the column, or with small or large numbers in it,
have one value, most other records have another, and chance would hardly do so: were the value as
frequent there as elsewhere, so many records would all have it less than once in a million tables;
nor would all records without it lie elsewhere.

"never" bars levels of a category that no record has under a level of another one. A cell of the two
is barred where it has no record though chance would fill it: were the columns independent, some
such cell would be empty less than once in a million tables, by the units with the one level and by
those with the other. A column gets at most three such rules, first those that independent columns
would break most often.

Records of one household count as one, so no rule comes from one. The records chose the rules, so
they stand in `review`.
"""

from __future__ import annotations

import keyword
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.labels import as_number, label_of
from pyvws.tables.proposal.often import Bools, CodedRecords, Codes, Often
from pyvws.tables.schema.column import Column, Columns, part_of
from pyvws.tables.schema.decided import is_decided
from pyvws.tables.schema.rules import Fixed, Never, read_rule

_DIGITS: Final = range(-9, 10)  # Decimals of a number between two others.
_CHANCE: Final = math.log(1e6)  # Nats.
_MOST_ELSEWHERE: Final = 0.5
_MOST_CONDITIONS: Final = 3  # Of one rule.
_MOST_RULES: Final = 3  # Of a column.
_MOST_KNOWN: Final = 0.5  # Of what a rule bars, such a share is barred by others at most.
_MOST_CASES: Final = 200_000  # Of the columns that rules of one column read, as counts cross them.
_CELLS: Final = 100  # Of a number without cuts.
_MOST_NAMED: Final = 8  # Levels that a rule names on each side; of more it is no longer read.


def number_between(below: float, bound: float) -> float:
    """The number of fewest digits above `below` and at most `bound`."""
    for digits in _DIGITS:
        cut = math.floor(bound * 10.0**digits) / 10.0**digits
        if below < cut <= bound:
            return round(cut, max(0, digits))
    return bound


def condition_on(name: str, column: Column, order: str, number: float) -> str:
    """The condition that compares a number or a date of a column by `order`."""
    label = column.label_of_number(number)
    spelled = label if column.days_since is None else repr(label)
    return f"{formatted_name(name)} {order} {spelled}"


def formatted_name(name: str) -> str:
    """The name of a column as a rule spells it: in backquotes where it is no plain name."""
    plain = name.isidentifier() and not keyword.iskeyword(name) and name != "missing"
    return name if plain else f"`{name}`"


def formatted_value(label: str | None, *, quoted: bool = False) -> str:
    """A label as a rule spells it; text has quotes in a condition, and where it has blanks."""
    if label is None:
        return "missing"
    number = as_number(label)
    plain = number is not None and label_of(number) == label
    return label if plain or (not quoted and label.isidentifier()) else repr(label)


@dataclass(frozen=True, slots=True)
class _Condition:
    """A condition on one column, as text, and the records (N,) where it holds."""

    text: str
    holds: Bools


def proposed_rules(proposed: Columns, records: CodedRecords) -> dict[str, Column]:
    """The columns of a proposal, with the rules that the records keep.

    `proposed` may have changed the records' columns to other models and to lookups.
    """
    ruled, earlier = dict(proposed), list[str]()
    used = {name: column for name, column in records.columns.items() if column.role != "drop"}
    records = replace(records, columns=used)
    for name in used:
        before = proposed[name]
        if before.is_computed or before.rule or before.is_constant:  # Bands have rules.
            if before.rules and all(rule.bars for rule in before.rules):
                earlier.append(name)
            continue
        drawn = before.role == "synthesize"
        if drawn:
            ruled[name] = _with(before, list(_rules(name, earlier, records)))
        if not is_decided(ruled[name], ruled):
            earlier.append(name)
    return ruled


def _rules(name: str, earlier: list[str], records: CodedRecords) -> Iterator[str]:
    """The rules of a column: of its missing codes and points of mass, or of its likeliest level."""
    column, coded = records.columns[name], coded_parts(name, records)
    if coded is None:
        return
    codes, labels = coded
    counts = np.bincount(codes, minlength=len(labels)).astype(np.float64)
    conditions: dict[int, list[_Condition]] = {}
    told = Told(codes, records.often)
    for other in earlier:
        of_other = other, records, told
        for code, condition in (*_by_level(*of_other), *_by_size(*of_other)):
            if records.often.enough(condition.holds):
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
        if _is_kept(rule, labels[code], condition.holds, records):
            yield rule


def coded_parts(name: str, records: CodedRecords) -> tuple[Codes, tuple[str | None, ...]] | None:
    """Codes (N,) from 0 of a category's levels or of a number's parts, and what these are.

    None for a number that has a value in every record.
    """
    column, values = records.columns[name], records.values
    if column.categorical:
        return values[name].astype(np.intp) - 1, column.coded_levels
    if not column.parts:
        return None
    labels = ("value", *map(column.label_of_number, column.mass), *column.missing_codes)
    return values[part_of(name)].astype(np.intp) - 1, labels


def _by_level(name: str, records: CodedRecords, told: Told) -> Iterator[tuple[int, _Condition]]:
    """For each code that all records with some levels of a column have, the condition on it."""
    column, coded, codes = records.columns[name], coded_parts(name, records), told.codes
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


def _by_size(name: str, records: CodedRecords, told: Told) -> Iterator[tuple[int, _Condition]]:
    """For each code that all records with small, or large, numbers have, the condition on them."""
    column, x, codes = records.columns[name], records.values[name], told.codes
    if column.categorical:
        return
    for sign, order in ((1.0, "<"), (-1.0, ">")):
        y = np.where(np.isnan(x), np.inf, sign * x)
        code = int(codes[y.argmin()])
        bound = float(y[codes != code].min(initial=np.inf))
        holds = y < bound
        n = float(told.each[holds].sum())
        sure = np.isfinite(bound) and n * told.nats(code, ~holds) >= _CHANCE
        if sure and told.apart(code, holds):
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


def _is_kept(rule: str, label: str | None, holds: Bools, records: CodedRecords) -> bool:
    """Whether a rule, read again, gives the value where the condition holds: labels can be odd."""
    try:
        read = read_rule(rule)
    except InputError:
        return False
    return (
        isinstance(read, Fixed)
        and read.value == label
        and bool((read.condition.holds(records.values, records.columns) == holds).all())
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Exclusion:
    """Levels `barred` (L,) of a column under a `condition` on an `other` one, as text.

    `expected` are the units that independent columns would have there.
    """

    other: str
    condition: str
    barred: Bools
    expected: float


def proposed_exclusions(proposed: Columns, records: CodedRecords) -> dict[str, Column]:
    """The columns of a proposal, with the rules with "never" that all records keep.

    `proposed` may have made other models of the records' columns.
    """
    barred, earlier = dict(proposed), list[str]()
    for name, column in proposed.items():
        if column.role != "synthesize" or is_decided(column, proposed):
            continue
        if records.columns[name].categorical:
            barred[name] = _with(column, _nevers(name, earlier, barred, records))
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


def _nevers(name: str, earlier: list[str], proposed: Columns, records: CodedRecords) -> list[str]:
    """The rules of a category. A level that no rule bars is left, so that they cannot clash."""
    column, columns, values = proposed[name], records.columns, records.values
    fixes = [rule for rule in column.rules if isinstance(rule, Fixed)]
    labels = columns[name].coded_levels
    given = {*column.ruled_codes, *(rule.value for rule in fixes)}
    named = np.array([label not in given for label in labels])
    if len(column.missing_codes) > 1 or None in given:  # An empty cell has no name, or a rule.
        named &= np.array([label not in (None, *column.missing_codes) for label in labels])
    codes = values[name].astype(np.intp) - 1
    free = np.ones(len(codes), dtype=np.bool_)
    for rule in fixes:
        free &= ~rule.condition.holds(values, columns)
    found = [x for other in earlier for x in _exclusions(other, codes, named, free, records)]
    rules, gone = list[str](), np.zeros((len(codes), len(labels)), dtype=np.bool_)
    read = {other for rule in fixes for other in rule.columns}
    for exclusion in sorted(found, key=lambda one: -one.expected):
        after = gone.any(axis=0) | exclusion.barred
        cases = math.prod(_cases(proposed[other]) for other in {*read, exclusion.other})
        if len(rules) == _MOST_RULES or after[named].all() or cases > _MOST_CASES:
            continue
        never = _never(name, exclusion, records)
        if never is None or not never.holds.any():  # Odd labels read otherwise have no record.
            continue
        barred = np.ix_(never.holds, exclusion.barred)
        if gone[barred].mean() < _MOST_KNOWN:
            rules.append(never.text)
            read.add(exclusion.other)
            gone[barred] = True
    return rules


def _exclusions(
    other: str, codes: Codes, named: Bools, free: Bools, records: CodedRecords
) -> Iterator[_Exclusion]:
    """For each set of levels of another column what it bars, of codes (N,) from 0.

    Only `named` codes (L,) are barred, by the records that are `free` (N,).
    """
    coded = coded_parts(other, records)
    if coded is None:
        return
    (own, labels), L, G = coded, len(named), len(coded[1])
    column, often = records.columns[other], records.often
    units = np.bincount(own[free] * L + codes[free], often.each[free], G * L).reshape(G, L)
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
        text = among(formatted_name(other), column, labels, given, of_level[:, 0] > 0)
        expected = float(of_level[given].sum() * of_code[barred].sum() / n)
        yield _Exclusion(other, text, barred, expected)


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


def _never(name: str, exclusion: _Exclusion, records: CodedRecords) -> _Condition | None:
    """The text of a rule, and where it holds, read again; None for another rule or a broken one.

    Labels can be odd.
    """
    columns, values = records.columns, records.values
    labels = tuple(columns[name].coded_levels[code] for code in np.flatnonzero(exclusion.barred))
    barred = ", ".join(formatted_value(label, quoted=True) for label in labels)
    text = f"never {barred} where {exclusion.condition}"
    try:
        read = read_rule(text)
        if not isinstance(read, Never) or read.barred != labels:
            return None
        broken = read.judged(name, None, values, columns)[1]
        return None if broken.any() else _Condition(text, read.condition.holds(values, columns))
    except InputError:
        return None
