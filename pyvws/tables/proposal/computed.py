"""Propose computed columns: copies of a number, sums and differences of two, and bands of one.

Each is proposed where all records have it, ten different values or more show it, and each band has
several units. The records chose it, so it stands in `review`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.proposal.spelling import condition_on, number_between, spelled_name, spelled_value
from pyvws.tables.schema.column import Column

Values = Mapping[str, Floats]

_LEAST_DIFFERENT: Final = 10
_UNITS_A_BAND: Final = 5
_MOST_NUMBERS: Final = 40  # Numbers before a column, of whose pairs it may be a sum.
_SOME: Final = 200  # So many records refuse most pairs.
_EXACT: Final = 1e-9


def computed_columns(
    columns: Mapping[str, Column], values: Values, each: Floats
) -> dict[str, Column]:
    """The proposed columns, with rules in the place of families where others compute a column.

    `values` (N,) by name are the records as `Schema.coded` gives them; a record counts as `each`
    (N,) of a unit.
    """
    proposed = dict(columns)
    numbers: list[str] = []
    for name, column in columns.items():
        if column.role != "synthesize":
            continue
        if column.categorical:
            for other in numbers:
                rules = _bands(name, other, columns, values, each)
                banded = _by_text(column, rules) if rules else None
                if banded is not None and _is_kept(name, banded, columns, values):
                    proposed[name] = banded
                    break
            continue
        rule = _sum(name, numbers, columns, values)
        summed = _by_sum(column, rule) if rule else None
        if summed is not None and _is_kept(name, summed, columns, values):
            proposed[name] = summed
        else:
            numbers.append(name)
    return proposed


def _by_text(column: Column, rules: tuple[str, ...]) -> Column | None:
    """The column with rules; None where a rule cannot spell a name or a level."""
    try:
        return replace(column, rule=rules, review=(*column.review, "rule"))
    except InputError:
        return None


def _is_kept(name: str, column: Column, columns: Mapping[str, Column], values: Values) -> bool:
    """Whether rules, read again, hold in all records: names and labels can be odd."""
    try:
        found = [
            rule.judged(name, None, values, {**columns, name: column}) for rule in column.rules
        ]
    except (InputError, KeyError):
        return False
    fixed = np.zeros(len(values[name]), dtype=np.bool_)
    for holds, broken in found:
        if (broken & ~(holds & fixed)).any():
            return False
        fixed |= holds
    return bool(fixed.all()) or column.is_computed


def _by_sum(column: Column, rule: str) -> Column | None:
    gone: dict[str, Any] = {"model": None, "mass": (), "outcome_scale": None, "settings": {}}
    kept = tuple(x for x in column.review if x not in {*gone, *column.settings})
    try:
        return replace(column, **gone, rule=rule, review=(*kept, "rule"))
    except InputError:
        return None


def _sum(
    name: str, numbers: list[str], columns: Mapping[str, Column], values: Values
) -> str | None:
    """The rule of a number that is another one in all records, or a sum or difference of two."""
    column, own = columns[name], values[name]
    if len(np.unique(own[~np.isnan(own)])) < _LEAST_DIFFERENT or column.days_since is not None:
        return None
    terms = [
        x
        for x in numbers[-_MOST_NUMBERS:]
        if columns[x].days_since is None
        and len(columns[x].missing_codes) <= len(column.missing_codes) <= 1
    ]
    some = np.linspace(0, len(own) - 1, min(len(own), _SOME)).astype(np.intp)
    for signs, parts in _sums(terms):
        for rows in (some, slice(None)):
            total = sum(sign * values[x][rows] for sign, x in zip(signs, parts, strict=True))
            if not _same(own[rows], np.asarray(total)):
                break
        else:
            first, *rest = (spelled_name(x) for x in parts)
            return f"= {first}" + "".join(
                f" {'+' if sign > 0 else '-'} {x}" for sign, x in zip(signs[1:], rest, strict=True)
            )
    return None


def _sums(terms: list[str]) -> Iterator[tuple[tuple[float, ...], tuple[str, ...]]]:
    yield from (((1.0,), (x,)) for x in terms)
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
    if used < 2 or len(steps) != used - 1 or len(known) < max(_LEAST_DIFFERENT, 2 * used):
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
        rules.append(f"{spelled_value(labels[gone[0]])} where {spelled_name(other)} == missing")
    for place in steps:
        cut = number_between(float(known[place]), float(known[place + 1]))
        level = spelled_value(labels[of_known[place]])
        rules.append(f"{level} where {condition_on(other, number, '<', cut)}")
    last = spelled_value(labels[of_known[-1]])
    rules.append(f"{last} where {condition_on(other, number, '>=', cut)}")
    return tuple(rules)
