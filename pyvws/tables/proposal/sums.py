"""Find numbers that are a sum of others in all records: copies, sums and differences.

A sum holds exactly, or to the single precision that a program has kept the numbers in. A constant
may stand in it, as in a share that others leave of 1.
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
from pyvws.tables.proposal.forms import LEAST_DIFFERENT, shortest, with_values
from pyvws.tables.proposal.spelling import formatted_name
from pyvws.tables.schema.arithmetic import SINGLE, is_single
from pyvws.tables.schema.column import Column

Values = Mapping[str, Floats]

_MOST_NUMBERS: Final = 40  # Numbers before a column, of whose pairs it may be a sum.
_SOME: Final = 200  # So many records refuse most pairs.
_EXACT: Final = 1e-9
_MOST_DECIMALS: Final = 6
_MANY: Final = 3
_MANY_AND_A_CONSTANT: Final = 2
_RECORDS_A_TERM: Final = 20
_TOLD: Final = 1e-3  # Of a number's deviation: what differs less is not told apart.


def summed(
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
    if column.days_since is None:
        given = [parts[x].decimals for x in rule.columns]
        digits = [x for x in (column.decimals, *given) if x is not None]
        entries["decimals"] = max(digits) if len(digits) > len(given) else None
        if column.decimals is None and len(digits) == len(given):
            total = rule.arithmetic.of(values, columns)
            entries["decimals"] = (
                max(digits) if _same(np.round(total, max(digits)), total) else None
            )
    if entries.get("decimals") is not None:
        power = 10.0 ** max(digits)
        low, high = math.floor(low * power + _EXACT), math.ceil(high * power - _EXACT)
        entries["range"] = low / power, high / power
    made = by_rule(column, str(text), **entries)
    return made if made and is_kept(name, made, columns, values) else None


def _sum(
    name: str, numbers: list[str], columns: Mapping[str, Column], values: Values
) -> str | None:
    """The rule of a number that is another one in all records, or a sum of two or more.

    The difference of two dates is a number of days, which a date may have added.
    """
    column, own = columns[name], values[name]
    if len(np.unique(own[~np.isnan(own)])) < LEAST_DIFFERENT:
        return None
    terms = fitting(column, numbers, columns)
    dated = {x for x in (name, *terms) if columns[x].days_since is not None}
    some = np.linspace(0, len(own) - 1, min(len(own), _SOME)).astype(np.intp)
    single = column.decimals is None and is_single(own)
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
            among = [values[x][rows] for x in parts] if single else []
            if not _same(own[rows], total + constant, among):
                break
        else:
            return _in_words(signs, parts, constant)
    drawn = [x for x in terms if x not in dated and not columns[x].is_computed]
    return None if name in dated else _of_many(own, drawn, values, single=single)


def fitting(column: Column, numbers: list[str], columns: Mapping[str, Column]) -> list[str]:
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


def by_rule(column: Column, rule: str, **entries: Any) -> Column | None:
    """The column with a rule in the place of its family; None where the rule cannot be read."""
    gone: dict[str, Any] = {"model": None, "mass": (), "outcome_scale": None, "settings": {}}
    kept = tuple(x for x in column.review if x not in {*gone, *column.settings})
    try:
        return replace(column, **gone, **entries, rule=rule, review=(*kept, "rule"))
    except InputError:
        return None


def is_kept(name: str, column: Column, columns: Mapping[str, Column], values: Values) -> bool:
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


def _of_many(own: Floats, terms: list[str], values: Values, *, single: bool) -> str | None:
    """A number that is a sum of three others or more, or of two and a constant, by least squares.

    `single` says that the number has no decimals and is of single precision.
    """
    there = ~np.isnan(own)
    known = [x for x in terms if not np.isnan(values[x][there]).any()]
    rows = np.flatnonzero(there)[: _RECORDS_A_TERM * (len(known) + 1)]
    known = [x for x in known if values[x][rows].any()]
    if len(known) < _MANY_AND_A_CONSTANT or len(rows) < 2 * len(known) + LEAST_DIFFERENT:
        return None
    parts = np.column_stack([*(values[x][rows] for x in known), np.ones(len(rows))])
    size = np.abs(parts).max(axis=0)
    for least, columns in ((_MANY, len(known)), (_MANY_AND_A_CONSTANT, len(size))):
        design = parts[:, :columns] / size[:columns]
        factors = np.linalg.lstsq(design, own[rows], rcond=None)[0] / size[:columns]
        signs = np.rint(factors[: len(known)])
        used = np.flatnonzero(signs)
        plain = columns == len(known)
        if (np.abs(signs) > 1.0).any() or len(used) < least or (plain and signs.max() < 1.0):
            continue
        names = [known[k] for k in used]
        total = np.asarray(sum(signs[k] * values[known[k]] for k in used))
        among = [values[x] for x in names] if single else []
        room = _room(own, among)
        off = (own - total)[there]
        constant = 0.0 if plain else shortest((off - room[there]).max(), (off + room[there]).min())
        if _same(own, total + constant, among):
            return _in_words(signs[used].tolist(), names, constant)
    return None


def _sums(terms: list[str]) -> Iterator[tuple[tuple[float, ...], tuple[str, ...]]]:
    yield from (((sign,), (x,)) for x in terms for sign in (1.0, -1.0))
    for a, b in combinations(terms, 2):
        yield (1.0, 1.0), (a, b)
        yield (1.0, -1.0), (a, b)
        yield (1.0, -1.0), (b, a)


def _room(own: Floats, among: Sequence[Floats]) -> Floats:
    """How far a sum may be from numbers (n,): last bits, and by single precision of its parts."""
    exact = np.full(len(own), _EXACT * np.nanmax(np.abs(own), initial=1.0))
    if not among:
        return exact
    single = SINGLE * sum(map(np.abs, among), np.abs(own))
    return np.maximum(exact, np.minimum(single, _TOLD * np.nanstd(own)))


def _same(own: Floats, total: Floats, among: Sequence[Floats] = ()) -> bool:
    """Whether numbers (n,) are a sum (n,), within the single precision of the parts `among` it."""
    gone = np.isnan(own)
    near = np.abs(own - total) <= _room(own, among)
    return bool((gone == np.isnan(total)).all() and near[~gone].all())
