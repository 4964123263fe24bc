"""Propose computed columns: copies, sums and other forms of numbers, and bands of one.

Each is proposed where all records have it, ten different values or more show it, and each band has
several units. The records chose it, so it stands in `review`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.labels import label_of
from pyvws.tables.proposal.forms import LEAST_DIFFERENT, Forms, with_values
from pyvws.tables.proposal.numbers import rounded_outwards
from pyvws.tables.proposal.spelling import (
    condition_on,
    formatted_name,
    formatted_value,
    number_between,
)
from pyvws.tables.schema.column import Column

Values = Mapping[str, Floats]

_UNITS_A_BAND: Final = 5
_MOST_NUMBERS: Final = 40  # Numbers before a column, of whose pairs it may be a sum.
_SOME: Final = 200  # So many records refuse most pairs.
_EXACT: Final = 1e-9
_MOST_DECIMALS: Final = 6
_MANY: Final = 3
_RECORDS_A_TERM: Final = 20
_UNITS_OF_A_COPY: Final = 10.0  # That do not have its most frequent level.


def computed_columns(
    columns: Mapping[str, Column], values: Values, each: Floats
) -> dict[str, Column]:
    """The proposed columns, with rules in the place of families where others compute a column.

    `values` (N,) by name are the records as `Schema.coded` gives them; a record counts as `each`
    (N,) of a unit.
    """
    proposed, forms = dict(columns), Forms(columns, values)
    numbers: list[str] = []
    categories: list[str] = []
    earlier: list[str] = []
    for name, column in columns.items():
        if column.role != "synthesize":
            continue
        if column.categorical:
            if copied := _copy(name, categories, columns, values, each):
                proposed[name] = copied
                continue
            categories.append(name)
            for other in numbers:
                rules = _bands(name, other, columns, values, each)
                banded = _by_text(column, rules) if rules else None
                if banded is not None and _is_kept(name, banded, columns, values):
                    proposed[name] = banded
                    break
            continue
        if made := _summed(name, numbers, proposed, values):
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
    for text in forms.rules_of(name, _fitting(column, earlier, columns), columns, values):
        found = with_values(text, columns, values)
        if found is None:
            continue
        rule, parts = found
        low, high = rule.arithmetic.range_in(parts)
        own = column.range or (low, high)
        ends = rounded_outwards(min(low, own[0]), max(high, own[1]))
        made = _by_rule(column, text, range=ends)
        if made is not None and _is_kept(name, made, {**columns, **parts}, values):
            return {**parts, name: made}
    return {}


def computed_below(
    columns: Mapping[str, Column], values: Values, each: Floats
) -> dict[str, Column]:
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
                    _bands(name, other, columns, values, each)
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


def _is_kept(name: str, column: Column, columns: Mapping[str, Column], values: Values) -> bool:
    """Whether rules, read again, hold in all records: names and labels can be odd."""
    try:
        judged = [
            rule.judged(name, None, values, {**columns, name: column}) for rule in column.rules
        ]
    except (InputError, KeyError):
        return False
    fixed = np.zeros(len(values[name]), dtype=np.bool_)
    for holds, broken in judged:
        if (broken & ~(holds & fixed)).any():
            return False
        fixed |= holds
    return bool(fixed.all()) or column.is_computed


def _by_rule(column: Column, rule: str, **entries: Any) -> Column | None:
    gone: dict[str, Any] = {"model": None, "mass": (), "outcome_scale": None, "settings": {}}
    kept = tuple(x for x in column.review if x not in {*gone, *column.settings})
    try:
        return replace(column, **gone, **entries, rule=rule, review=(*kept, "rule"))
    except InputError:
        return None


def _summed(
    name: str, numbers: list[str], columns: Mapping[str, Column], values: Values
) -> Column | None:
    """A number that is a sum of others, with the range and decimals that no sum is beyond.

    Synthetic parts make sums that no record has, at the ends of all ranges and decimals.
    """
    column, text = columns[name], _sum(name, numbers, columns, values)
    found = with_values(text, columns, values) if text else None
    if found is None:
        return None
    rule, parts = found
    low, high = rule.arithmetic.range_in(parts)
    entries: dict[str, Any] = {"range": (low, high)}
    digits = [part.decimals for part in (column, *parts.values()) if part.decimals is not None]
    if column.days_since is None:
        entries["decimals"] = max(digits) if len(digits) > len(parts) else None
    if entries.get("decimals") is not None:
        power = 10.0 ** max(digits)
        low, high = math.floor(low * power + _EXACT), math.ceil(high * power - _EXACT)
        entries["range"] = low / power, high / power
    made = _by_rule(column, str(text), **entries)
    return made if made and _is_kept(name, made, columns, values) else None


def _sum(
    name: str, numbers: list[str], columns: Mapping[str, Column], values: Values
) -> str | None:
    """The rule of a number that is another one in all records, or a sum of two or more.

    The difference of two dates is a number of days, which a date may have added.
    """
    column, own = columns[name], values[name]
    if len(np.unique(own[~np.isnan(own)])) < LEAST_DIFFERENT:
        return None
    terms = _fitting(column, numbers, columns)
    dated = {x for x in (name, *terms) if columns[x].days_since is not None}
    some = np.linspace(0, len(own) - 1, min(len(own), _SOME)).astype(np.intp)
    for signs, parts in _sums(terms):
        of_dates = [sign for sign, x in zip(signs, parts, strict=True) if x in dated]
        if sum(of_dates) != (name in dated):
            continue
        constant = 0.0
        for rows in (some, slice(None)):
            total = np.asarray(
                sum(sign * values[x][rows] for sign, x in zip(signs, parts, strict=True))
            )
            if (len(parts) == 1 or of_dates) and rows is some:
                constant = _constant(own[rows] - total)
            if not _same(own[rows], total + constant):
                break
        else:
            return _in_words(signs, parts, constant)
    drawn = [x for x in terms if x not in dated and not columns[x].is_computed]
    return None if name in dated else _of_many(own, drawn, values)


def _fitting(column: Column, numbers: list[str], columns: Mapping[str, Column]) -> list[str]:
    """The last of some numbers, without those whose missing codes a column cannot have."""
    own = len(column.missing_codes)
    return [x for x in numbers[-_MOST_NUMBERS:] if len(columns[x].missing_codes) <= own <= 1]


def _constant(differences: Floats) -> float:
    """The first difference (n,) in few decimals; 0 where there is none."""
    known = differences[~np.isnan(differences)]
    return round(float(known[0]), _MOST_DECIMALS) + 0.0 if len(known) else 0.0


def _in_words(signs: Sequence[float], parts: Sequence[str], constant: float = 0.0) -> str:
    """A sum in words, a positive part first; a constant that none is stands before the others."""
    terms = sorted(zip(signs, map(formatted_name, parts), strict=True), key=lambda term: -term[0])
    first = [f"{label_of(constant)}"] if terms[0][0] < 0 else []
    said = [f"{'+' if sign > 0 else '-'} {name}" for sign, name in terms]
    if not first:
        said[0] = said[0][2:]
    if constant and not first:
        said.append(f"{'+' if constant > 0 else '-'} {label_of(abs(constant))}")
    return " ".join(["=", *first, *said])


def nearly_summed(
    own: Floats, numbers: list[str], values: Values, most: float
) -> Iterator[tuple[tuple[str, ...], int]]:
    """Sums and differences that nearly all numbers (N,) are, and how many of them are not.

    Beside the most frequent number a share of at most `most` is not.
    """
    known, counts = np.unique(own, return_counts=True)
    if len(known) < LEAST_DIFFERENT:
        return
    telling = np.flatnonzero(~(own == known[counts.argmax()]) & ~np.isnan(own))
    size = float(np.nanmax(np.abs(own)))
    some = telling[np.linspace(0, len(telling) - 1, min(len(telling), _SOME)).astype(np.intp)]
    for signs, parts in _sums(numbers[-_MOST_NUMBERS:]):
        for rows, share in ((some, 0.1), (telling, most)):
            total = sum(sign * values[x][rows] for sign, x in zip(signs, parts, strict=True))
            broken = int((~(np.abs(own[rows] - np.asarray(total)) <= _EXACT * size)).sum())
            if broken > share * len(rows):
                break
        else:
            yield parts, broken


def _of_many(own: Floats, terms: list[str], values: Values) -> str | None:
    """A number that is a sum of three others or more, by least squares."""
    there = ~np.isnan(own)
    known = [x for x in terms if not np.isnan(values[x][there]).any()]
    rows = np.flatnonzero(there)[: _RECORDS_A_TERM * (len(known) + 1)]
    if len(known) < _MANY or len(rows) < 2 * len(known) + LEAST_DIFFERENT:
        return None
    parts = np.column_stack([values[x][rows] for x in known])
    size = np.abs(parts).max(axis=0)
    known = [x for x, largest in zip(known, size, strict=True) if largest > 0.0]
    parts, size = parts[:, size > 0.0], size[size > 0.0]
    if len(known) < _MANY:
        return None
    factors = np.linalg.lstsq(parts / size, own[rows], rcond=None)[0] / size
    signs = np.rint(factors)
    used = np.flatnonzero(signs)
    if (np.abs(signs) > 1.0).any() or len(used) < _MANY or signs.max() < 1.0:
        return None
    total = sum(signs[k] * values[known[k]] for k in used)
    if not _same(own, np.asarray(total)):
        return None
    return _in_words(signs[used].tolist(), [known[k] for k in used])


def _copy(
    name: str, others: list[str], columns: Mapping[str, Column], values: Values, each: Floats
) -> Column | None:
    """A category with the labels of an earlier one in all records, of which several units tell."""
    column = columns[name]
    for other in others:
        levels = columns[other].coded_levels
        if column.is_constant or {*levels} - {*column.coded_levels}:
            continue
        codes = np.array([column.code_of(label) for label in levels])
        own = values[name]
        units = np.bincount(own.astype(np.intp), each)
        if (codes[values[other].astype(np.intp) - 1] != own).any():
            continue
        if units.sum() - units.max() < _UNITS_OF_A_COPY:
            continue
        copied = _by_rule(column, f"= {formatted_name(other)}")
        if copied is not None and _is_kept(name, copied, columns, values):
            return copied
    return None


def _sums(terms: list[str]) -> Iterator[tuple[tuple[float, ...], tuple[str, ...]]]:
    yield from (((sign,), (x,)) for x in terms for sign in (1.0, -1.0))
    for a, b in combinations(terms, 2):
        yield (1.0, 1.0), (a, b)
        yield (1.0, -1.0), (a, b)
        yield (1.0, -1.0), (b, a)


def _same(own: Floats, total: Floats) -> bool:
    room = _EXACT * np.nanmax(np.abs(own), initial=1.0)
    gone = np.isnan(own)
    return bool((gone == np.isnan(total)).all() and (np.abs(own - total)[~gone] <= room).all())


def _bands(
    name: str, other: str, columns: Mapping[str, Column], values: Values, each: Floats
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
    units = np.bincount(codes[there], each[there])
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
