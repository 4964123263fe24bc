"""Columns that tables or families of others give: beside the records of a fit of the rest.

Records with the same codes of the giving columns are a row. A row has whole numbers of each code.
Their shares follow from the noisy counts of all sets that have the column: by its family, fitted to
these, or else from its margin by all of them. They are raked to each table, so far as it stands out
of the noise. Another column, whose counts with this one stand far out of the noise, splits the rows
and is raked to. Codes are then swapped between records that the giving columns have alike, towards
the noisy counts of the column with others, so far as these stand out of the noise. Classes hold the
column of a plain table too: half of what they expect of such a pair is kept in any case, and the
more of it the more the counts stand out. Of a number and its difference from an earlier one, which
have one table, the number comes first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.mechanisms.counts.cliques import Clique, clique
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.differences import Difference
from pyvws.mechanisms.counts.fitted_classes import (
    FittedClasses,
    kept_of_gap,
    most_by_chance,
    on_simplex,
)
from pyvws.mechanisms.counts.fitted_counts import of_classes
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.whole_records import swapped, whole_numbers
from pyvws.mechanisms.counts.workload import Workload
from pyvws.posterior.cell_family import CountedTable, FittedFamily, fitted_family

Integers = NDArray[np.signedinteger[Any]]

_PASSES: Final = 4  # Of swaps over all records,
_RAKED: Final = 20  # and over tables that a column is raked to.
_MOST_SWAPPED: Final = 6000  # Of a column and of all others, for swaps.
_STANDS_OUT: Final = 2.0  # Deviations of the noise of a difference's count.
_SPLITS: Final = 0.5  # The share of a gap that stands out where a column splits rows,
_MOST_SPLIT: Final = 2_000_000  # into so many with all codes of the given one, at most.
_OF_CLASSES: Final = 0.5  # Of what classes expect beside a table, where counts do not stand out.
_LEAST: Final = 1e-9  # Times a share at once, so that none is lost for good or has no bound.


def with_given(
    x: Codes,
    noisy: Measurements,
    rng: np.random.Generator,
    fitted: FittedClasses | None,
) -> tuple[Codes, dict[str, Floats]]:
    """Codes (n, K) of records whose codes x (n, .) fitted classes give, but of tables anew.

    The numbers (n,) within the cells of columns whose family gives them stand beside, by name.
    """
    table, numbers, held = noisy.table, dict[str, Floats](), of_classes(noisy.table)
    places, pairs = dict[str, slice](), np.empty((0, 0))
    if fitted is not None and not {*held}.isdisjoint(table.given):
        places = {n: slice(*ends) for n, ends in zip(held, pairwise(fitted.offsets), strict=True)}
        pairs = np.where(fitted.near, fitted.pairs(len(x)), np.nan)
    codes = {name: own for name, own in zip(held, x.T, strict=True) if name not in table.given}

    def placed(name: str, rows: _Rows, shares: Floats) -> Codes:
        by_classes = {n: pairs[places[name], own] for n, own in places.items() if name in places}
        return _placed(noisy, name, rows, shares, codes, by_classes, rng)

    for name in (name for name in table.columns if name in table.given):
        if name in codes:  # A later number, which stands with its difference.
            continue
        rows, family = _Rows.of(name, codes, table, len(x)), None
        if isinstance(column := table.columns[name], Difference):
            later = column.later.name
            both = _with_later(noisy, column, rows)
            codes[later] = placed(later, rows, both.sum(axis=1))
            rows = _Rows.of(name, codes, table, len(x), (later,))
            shares = both[rows.unsplit, :, rows.codes[later]]
            shares /= shares.sum(axis=1, keepdims=True)
            rows = replace(rows, unsplit=np.arange(len(shares)))  # No swap leaves a row.
        else:
            shares, family = _shares(noisy, name, rows)
            beside = _beside(noisy, name, rows, shares, codes)
            if beside or family is not None:
                rows = _Rows.of(name, codes, table, len(x), beside)
                giving = table.given[name].rows
                tables = _tables(noisy, name, giving, rows, np.arange(shares.shape[1]))
                records = rows.number[:, None] * shares[rows.unsplit]
                shares = _raked(records, tables) / rows.number[:, None]
        codes[name] = placed(name, rows, shares)
        if family is not None and not table.columns[name].column.categorical:
            numbers[name] = family.numbers(rows.combination[rows.of_record], codes[name], rng)
    return np.column_stack([codes[name] for name in table.columns]), numbers


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Records by the codes of what gives a column, of what its rules read, and of what splits them.

    - `of_record` (n,): The row of each record.
    - `unsplit` (P,): The number of a row among the rows that no further column splits.
    - `number` (P,): The records of each row.
    - `first` (P,): A record of each row.
    - `codes`: The code (P,) of each giving or splitting column, or its group.
    - `combination` (P,): The number of the giving columns' combination.
    - `possible` (P, L): The codes that a row may have.
    - `free` (P,): Whether no rule fixes the code.
    """

    of_record: Integers
    unsplit: Integers
    number: Integers
    first: Integers
    codes: dict[str, Integers]
    combination: Integers
    possible: NDArray[np.bool_]
    free: NDArray[np.bool_]

    @classmethod
    def of(
        cls,
        name: str,
        codes: Mapping[str, Codes],
        table: Workload,
        n: int,
        beside: Sequence[str] = (),
    ) -> _Rows:
        own, skip = table.given[name], table.skips.get(name)
        combination = own.rows.cells(codes) if own.rows.columns else np.zeros(n, dtype=np.int64)
        case = np.zeros(n, dtype=np.int64)
        if skip is not None and skip.rows.columns:
            case = skip.rows.cells(codes)
        key = combination * (1 if skip is None else skip.rows.size) + case
        key = unsplit = np.unique(key, return_inverse=True)[1].ravel()
        for other in beside:
            key = key * table.columns[other].size + codes[other]
        _, first, of_record, number = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        combination, case = combination[first], case[first]
        L = table.columns[name].size
        possible = np.broadcast_to(own.prior > 0.0, (own.rows.size, L))[combination].copy()
        free = np.ones(len(first), dtype=np.bool_)
        if skip is not None:
            free, left = skip.forced[case] < 0, skip.allowed(case, L)
            both = possible & left
            possible = np.where(both.any(axis=1, keepdims=True), both, left)
            if not possible.any(axis=1).all():
                raise InputError.by("counts-rules-leave-none")
        groups = own.rows.groups
        by_parent = {
            parent: (groups[parent].group_of_code if parent in groups else np.arange(x.max() + 1))[
                x
            ][first]
            for parent in (*own.rows.columns, *beside)
            for x in (codes[parent],)
        }
        of_record, unsplit = of_record.ravel(), unsplit[first]
        return cls(of_record, unsplit, number, first, by_parent, combination, possible, free)


def _tables(
    noisy: Measurements, name: str, parents: Clique, rows: _Rows, code: Integers
) -> list[CountedTable]:
    """The noisy counts of a column's `code` (L,) with what gives it: of each set that has it.

    Of sets with the same columns it is the smallest, and none that a larger one holds.
    """
    table, found = noisy.table, dict[frozenset[str], CountedTable]()
    for q in np.argsort(table.sizes, kind="stable").tolist():
        crossed = table.cliques[q]
        if name not in crossed.columns:
            continue
        counts = noisy.counts[slice(*table.offsets[q : q + 2])].astype(np.float64)
        counts, variance = counts.reshape(crossed.sizes), float(noisy.deviations[q]) ** 2
        cell, kept, stride = np.zeros(len(rows.number), dtype=np.int64), set[str](), 1
        for axis, other in reversed([*enumerate(crossed.columns)]):
            own, wanted = crossed.groups.get(other), parents.groups.get(other)
            size = counts.shape[axis]
            if other == name:
                counts, last = np.moveaxis(counts, axis, -1), own
                continue
            if other not in rows.codes or (
                own is not None and wanted is not None and own.name != wanted.name
            ):
                counts, variance = counts.sum(axis=axis), variance * size
                continue
            at = rows.codes[other]
            if wanted is not None and own is None:
                summed = np.zeros((wanted.size, *np.delete(counts.shape, axis)))
                np.add.at(summed, wanted.group_of_code, np.moveaxis(counts, axis, 0))
                counts, variance = np.moveaxis(summed, 0, axis), variance * size / wanted.size
            elif own is not None and wanted is None:
                at = own.group_of_code[at]
            cell += at * stride
            stride *= counts.shape[axis]
            kept.add(other if own is None else f"{other}{own.name}")
        key = frozenset(kept | {"" if last is None else last.name})
        if any(key <= other for other in found):
            continue
        for smaller in [other for other in found if other < key]:
            del found[smaller]
        groups = np.arange(code.max() + 1) if last is None else last.group_of_code
        shape = (-1, counts.shape[-1])
        found[key] = CountedTable(cell, groups[code], counts.reshape(shape), variance)
    return [*found.values()]


def _shares(noisy: Measurements, name: str, rows: _Rows) -> tuple[Floats, FittedFamily | None]:
    """The shares (P, L) of a column's codes in each row, and its family's parameters."""
    own, L = noisy.table.given[name], noisy.table.columns[name].size
    tables = _tables(noisy, name, own.rows, rows, np.arange(L))
    if own.family is None:
        counts, deviation = noisy.of_column(name)
        margin = _margin(counts, rows)
        if own.redrawn and len(tables) == 1:  # A row has codes of its own.
            (table,) = tables
            counts = rows.possible * table.counts
            tables = [replace(table, cell=np.arange(len(counts)), counts=counts)]
        else:
            every = CountedTable(
                np.zeros_like(rows.number), np.arange(L), counts[None], deviation**2
            )
            tables.insert(0, every)
        return _raked(rows.number[:, None] * margin, tables) / rows.number[:, None], None
    ruled = np.where(rows.free[:, None], 0, rows.possible * rows.number[:, None])
    tables = [replace(x, counts=x.counts - x.expected(ruled)) for x in tables]
    free = np.where(rows.free, rows.number, 0).astype(np.float64)
    fitted = fitted_family(own.family, rows.combination, free, tables)
    shares = rows.possible * (fitted.probabilities[rows.combination] + _LEAST)
    return shares / shares.sum(axis=1, keepdims=True), fitted


def _beside(
    noisy: Measurements, name: str, rows: _Rows, shares: Floats, codes: Mapping[str, Codes]
) -> list[str]:
    """Columns with codes whose pairs with a given column are not in rows of shares (P, L).

    Those that lack most come first, as far as they split rows into few enough.
    """
    columns, lacking, found = noisy.table.columns, dict[str, float](), list[str]()
    for other in [other for other in codes if other not in rows.codes]:
        by_row = _crossed(rows.of_record, codes[other], (len(shares), columns[other].size))
        gap, kept = _standing_out(noisy, name, other, shares.T @ by_row)
        if kept > _SPLITS:
            lacking[other] = kept * float(np.abs(gap).sum())
    P, L = shares.shape
    for other in sorted(lacking, key=lambda other: -lacking[other]):
        if min(P * columns[other].size, len(rows.of_record)) * L <= _MOST_SPLIT:
            found.append(other)
            P *= columns[other].size
    return found


def _with_later(noisy: Measurements, column: Difference, rows: _Rows) -> Floats:
    """The shares (P, L, M) of a difference's codes with those of its later number."""
    table, name, later = noisy.table, column.name, column.later.name
    own, L, M = table.given[name], column.size, table.columns[later].size
    alone = [  # Noise in far cells would put both numbers far apart.
        replace(x, counts=np.where(x.counts > _STANDS_OUT * x.variance**0.5, x.counts, 0.0))
        for x in _tables(noisy, name, own.rows, rows, np.arange(L))
    ]
    base = table.given[later].prior.reshape(own.rows.size, L, M)[rows.combination]
    least = min(
        (x for x in alone if x.counts.shape[1] == L), key=lambda x: x.counts.size * x.variance
    )
    margin = _margin(least.counts.sum(axis=0), rows)
    base = base / base.sum(axis=2, keepdims=True) * margin[:, :, None]
    both = [replace(x, code=np.repeat(x.code, M)) for x in alone]
    both += _tables(noisy, later, own.rows, rows, np.tile(np.arange(M), L))
    whole = _raked((rows.number[:, None, None] * base).reshape(len(base), -1), both, narrow=True)
    return np.asarray(whole.reshape(base.shape) / rows.number[:, None, None])


def _margin(counts: Floats, rows: _Rows) -> Floats:
    """The shares (P, L) of the codes that each row may have, by noisy counts (L,) of all rows."""
    margin = rows.possible * (on_simplex(counts, float(rows.number.sum())) + 0.5)
    return np.asarray(margin / margin.sum(axis=1, keepdims=True))


def _raked(records: Floats, tables: list[CountedTable], *, narrow: bool = False) -> Floats:
    """Expected records (P, L) raked to tables, so far as these stand out of the noise by row."""
    number = records.sum(axis=1, keepdims=True)
    for _ in range(_RAKED if len(tables) > 1 else 1):
        for table in tables:
            expected = table.expected(records)
            inside = expected > 0.0
            gap = np.where(inside, table.counts - expected, 0.0)
            squares = (gap**2).sum(axis=1, keepdims=True) / table.variance
            likely = inside.sum(axis=1, keepdims=True)
            likely = most_by_chance(likely, laplace=True) if narrow else likely
            near = expected + kept_of_gap(likely, squares) * gap
            target = expected.copy()
            for a in np.flatnonzero(inside.any(axis=1)).tolist():
                own, total = inside[a], float(expected[a].sum())
                target[a, own] = on_simplex(near[a, own], total)
            if len(tables) == 1 and table.is_whole(records):
                return target[table.cell]
            target = np.maximum(target, _LEAST * expected)
            times = target / np.where(inside, np.maximum(expected, _LEAST * target), 1.0)
            records = records * times[table.cell][:, table.code]
            records *= number / records.sum(axis=1, keepdims=True)
    return records


def _placed(
    noisy: Measurements,
    name: str,
    rows: _Rows,
    shares: Floats,
    codes: Mapping[str, Codes],
    by_classes: Mapping[str, Floats],
    rng: np.random.Generator,
) -> Codes:
    """Codes (n,) of a column with those shares (P, L) in each row, near its pairs with others.

    `by_classes` are the pairs' counts (L, .) that classes expect, NaN for any, by the other column.
    """
    columns, L, n = noisy.table.columns, shares.shape[1], len(rows.of_record)
    whole = whole_numbers(shares, rows.number.astype(np.int64), np.array([0, L]))
    within = np.tile(np.arange(L, dtype=np.int32), len(shares))
    drawn = np.repeat(within, whole.ravel())  # Row by row.
    order = np.argsort(rows.of_record, kind="stable")
    of_row = rows.of_record[order]
    drawn = drawn[np.lexsort((rng.random(n), of_row))]
    others = [*codes]
    sizes = [columns[one].size for one in (*others, name)]
    made = np.empty(n, dtype=np.int32)
    made[order] = drawn
    if not others or sum(sizes) > _MOST_SWAPPED:
        return made
    y = np.column_stack([*(codes[other][order] for other in others), drawn])
    offsets = np.append(0, np.cumsum(sizes)).astype(np.int64)
    gap = np.zeros((offsets[-1], offsets[-1]))
    for k, other in enumerate(others):
        by_row = _crossed(of_row, y[:, k], (len(shares), sizes[k]))
        expected = shares.T @ by_row
        gap_of_pair, kept = _standing_out(noisy, name, other, expected)
        if other in by_classes:
            gap_of_pair = np.nan_to_num(by_classes[other] - expected)
            kept = _OF_CLASSES + (1.0 - _OF_CLASSES) * kept
        expected += kept * gap_of_pair
        expected -= _crossed(drawn, y[:, k], expected.shape)
        gap[offsets[-2] :, offsets[k] : offsets[k + 1]] = expected
    gap += gap.T
    place = [[*columns].index(other) for other in (*others, name)]
    weights = noisy.table.weights_of_pairs[np.ix_(place, place)]
    of_unsplit = np.bincount(rows.unsplit, rows.number).astype(np.int64)
    start, last = np.append(0, np.cumsum(of_unsplit)), np.array([len(others)])
    swapped(y, start, gap, offsets, last, weights, _PASSES, rng)
    made[order] = y[:, -1]
    return made


def _crossed(a: Integers, b: Integers, shape: tuple[int, ...]) -> Floats:
    """Records by two codes, as counts of that shape."""
    cell = a.astype(np.int64) * shape[1] + b
    return np.bincount(cell, minlength=shape[0] * shape[1]).reshape(shape).astype(np.float64)


def _standing_out(
    noisy: Measurements, name: str, other: str, expected: Floats
) -> tuple[Floats, float]:
    """What noisy counts of a pair have more than expected ones, and its share that stands out."""
    table, pair = noisy.table, clique(noisy.table.columns, (name, other))
    for q, crossed in enumerate(table.cliques):
        if crossed.columns == pair.columns and not crossed.groups:
            own = slice(*table.offsets[q : q + 2])
            shape, turned = crossed.sizes, crossed.columns[0] == other
            counts, possible = noisy.counts[own].reshape(shape), table.possible[own].reshape(shape)
            counts, possible = (counts.T, possible.T) if turned else (counts, possible)
            gap = np.where(possible, counts - expected, 0.0)
            squares = np.sum(gap**2) / noisy.deviations[q] ** 2
            likely = most_by_chance(possible.sum(), noisy.laplace)
            return gap, float(kept_of_gap(likely, squares))
    return np.zeros_like(expected), 0.0
