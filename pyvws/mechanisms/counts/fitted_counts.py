"""The noisy counts that classes are fitted to: of their columns, by pairs, without what is barred.

Classes hold the columns that no table gives, and those of plain tables. Of a set of three columns
they are fitted to the pairs that it adds up to, which takes a part of the time that triples would.
"""

from __future__ import annotations

import math
from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.cliques import clique
from pyvws.mechanisms.counts.coding import MOST_OF_PAIR
from pyvws.mechanisms.counts.fitted_classes import MOST_CELLS
from pyvws.mechanisms.counts.given_columns import GivenColumn
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload
from pyvws.privacy.budget import deviation_of

_MOST_CODES: Final = 1500  # Of all columns that classes hold.
_STANDS_OUT: Final = 2.0  # Deviations of the noise of a level for other values.


def within_reach(noisy: Measurements) -> Measurements:
    """The noisy counts of a table whose classes give no more than they can.

    A column whose rules read a given one follows from what they read. The largest columns have
    their margins where all of them have too many codes.
    """
    noisy = where_seen(noisy)
    table, given = noisy.table, dict(noisy.table.given)

    def add(name: str) -> None:
        rows = skip.rows if (skip := table.skips.get(name)) else clique(table.columns, ())
        given[name] = GivenColumn(rows, np.ones(table.columns[name].size))
        for other, reading in table.skips.items():
            if name in reading.rows.columns and other not in given:
                add(other)

    for name, skip in table.skips.items():
        if name not in given and {*given} & {*skip.rows.columns}:
            add(name)
    sizes = {name: own.size for name, own in _left(table, given)[0].items()}
    while sum(sizes.values()) > _MOST_CODES:
        add(max(sizes, key=lambda name: sizes[name]))
        sizes = {name: own.size for name, own in _left(table, given)[0].items()}
    return replace(noisy, table=replace(table, given=given))


def where_seen(noisy: Measurements) -> Measurements:
    """The noisy counts without levels for other values, where their counts do not stand out.

    Such a level is there whether or not a record has it, and noise would give it records. Columns
    with rules or published totals keep theirs.
    """
    table, barred = noisy.table, dict[str, int]()
    published = () if noisy.totals is None else noisy.totals.sets
    kept = {*table.skips}.union(*(own.crossed.columns for own in published))
    for name, own in table.columns.items():
        if name not in kept and isinstance(level := own.column.outside, str):
            code, (counts, deviation) = own.parts.index(level), noisy.of_column(name)
            if counts[code] < _STANDS_OUT * deviation:
                barred[name] = code
    table = table.without(barred)
    return replace(noisy, table=table, counts=np.where(table.possible, noisy.counts, 0))


def _left(table: Workload, given: Container[str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns that are not given, and their rules."""
    columns, skips = table.columns.items(), table.skips.items()
    return {n: x for n, x in columns if n not in given}, {n: x for n, x in skips if n not in given}


def of_classes(table: Workload) -> list[str]:
    """The columns that classes hold: those that are not given, and those that plain tables give.

    So they hold the later number of a difference. What gives a column is held too, no rule fixes
    it, its table has no more cells than a pair may have, and classes have room for it.
    """
    held = {name for name in table.columns if name not in table.given}
    room = _MOST_CODES - sum(table.columns[name].size for name in held)
    by_difference = {one.later.name: one.name for one in table.differences}
    for name, column in table.columns.items():
        own, size = table.given.get(by_difference.get(name, name)), column.size
        if own is None or name in table.skips or not own.rows.columns or size > room:
            continue
        plain = name in by_difference or (own.family is None and not own.redrawn)
        if plain and held.issuperset(own.rows.columns) and own.rows.size * size <= MOST_OF_PAIR:
            held.add(name)
            room -= size
    return [name for name in table.columns if name in held]


def with_classes(noisy: Measurements) -> Measurements:
    """The noisy counts of the columns that classes hold, by sets of these alone.

    Sets that have other columns too are summed over these, where no other set has the rest.
    """
    table, held = noisy.table, {*of_classes(noisy.table)}
    kept = [q for q, c in enumerate(table.cliques) if held.issuperset(c.columns)]
    cliques = [table.cliques[q] for q in kept]
    parts = [slice(*table.offsets[q : q + 2]) for q in kept]
    counts, possible = [noisy.counts[x] for x in parts], [table.possible[x] for x in parts]
    scales = [float(noisy.scales[q]) for q in kept]
    weights = [table.weights[q] for q in kept]
    for q in np.argsort(table.sizes, kind="stable").tolist():
        crossed, own = table.cliques[q], slice(*table.offsets[q : q + 2])
        names = [name for name in crossed.columns if name in held]
        groups = {name: x for name, x in crossed.groups.items() if name in names}
        plain = {*names} - {*groups}
        if not plain or q in kept or any(plain <= {*c.columns} - {*c.groups} for c in cliques):
            continue
        rest = clique(table.columns, names, groups)
        gone = tuple(i for i, name in enumerate(crossed.columns) if name not in held)
        cliques.append(rest)
        counts.append(noisy.counts[own].reshape(crossed.sizes).sum(axis=gone).ravel())
        possible.append(table.possible[own].reshape(crossed.sizes).any(axis=gone).ravel())
        scales.append(float(noisy.scales[q]) * (crossed.size / rest.size) ** 0.5)
    columns, skips = _left(table, {*table.columns} - held)
    rest_of = replace(
        table,
        columns=columns,
        skips=skips,
        given={},
        cliques=tuple(cliques),
        weights=(*weights, *[1.0] * (len(cliques) - len(weights))),
        offsets=np.append(0, np.cumsum([one.size for one in cliques])).astype(np.int64),
        possible=np.concatenate([*possible, np.empty(0, dtype=np.bool_)]),
    )
    of_cells = np.concatenate([*counts, np.empty(0, dtype=np.int64)])
    return replace(noisy, table=rest_of, counts=of_cells, scales=np.array(scales))


def triples_of(noisy: Measurements) -> list[int]:
    """The plain sets of three columns, by their numbers."""
    cliques = enumerate(noisy.table.cliques)
    return [q for q, crossed in cliques if len(crossed.columns) == 3 and not crossed.groups]


def in_pairs(noisy: Measurements) -> Measurements:
    """The noisy counts with the pairs that sets of three columns add up to in their place.

    So do the largest sets that together have too many cells for a fit. A pair is the mean over the
    sets that have it, by their precision. A set stays beside its pairs where it has a given column
    with two that give it. Without such sets the counts are the given ones.
    """
    table, triples, held = noisy.table, triples_of(noisy), {*of_classes(noisy.table)}
    further = [
        q
        for q, c in enumerate(table.cliques)
        if q not in triples and not c.is_pair and held.issuperset(c.columns)
    ]
    for q in sorted(further, key=lambda q: -table.sizes[q]):
        if sum(int(table.sizes[one]) for one in further) > MOST_CELLS:
            further.remove(q)
            triples.append(q)
    if not triples:
        return noisy
    sums: dict[tuple[str, ...], tuple[Floats, float, Any]] = {}

    def add(q: int, kept: tuple[int, ...]) -> None:
        crossed, own = table.cliques[q], slice(*table.offsets[q : q + 2])
        gone = tuple(i for i in range(len(crossed.columns)) if i not in kept)
        pair = tuple(crossed.columns[i] for i in kept)
        many = math.prod(crossed.sizes[i] for i in gone)
        precision = 1.0 / (many * float(noisy.deviations[q]) ** 2)
        counts = noisy.counts[own].reshape(crossed.sizes).sum(axis=gone)
        possible = table.possible[own].reshape(crossed.sizes).any(axis=gone)
        total, of_all, before = sums.get(pair, (np.zeros(1), 0.0, True))
        sums[pair] = total + precision * counts, of_all + precision, before & possible

    for q in triples:
        crossed = table.cliques[q]
        plain = [i for i, name in enumerate(crossed.columns) if name not in crossed.groups]
        for pair in reversed([*combinations(plain, min(2, len(plain)))]):
            add(q, pair)
    kept = [
        q for q, c in enumerate(table.cliques) if q not in triples or _gives(table.given, c.columns)
    ]
    for q in [q for q in kept if table.cliques[q].columns in sums and not table.cliques[q].groups]:
        add(q, tuple(range(len(table.cliques[q].columns))))
        kept.remove(q)
    cliques = [*(table.cliques[q] for q in kept), *(clique(table.columns, pair) for pair in sums)]
    parts = [slice(*table.offsets[q : q + 2]) for q in kept]
    of_pairs = {
        c.columns: w for c, w in zip(table.cliques, table.weights, strict=True) if c.is_pair
    }
    means = [np.rint(total / precision).ravel() for total, precision, _ in sums.values()]
    return replace(
        noisy,
        table=replace(
            table,
            cliques=tuple(cliques),
            weights=(
                *(table.weights[q] for q in kept),
                *(of_pairs.get(pair, 1.0) for pair in sums),
            ),
            offsets=np.cumsum([0, *(crossed.size for crossed in cliques)], dtype=np.int64),
            possible=np.concatenate(
                [*(table.possible[own] for own in parts), *(x[2].ravel() for x in sums.values())]
            ).astype(np.bool_),
        ),
        counts=np.concatenate([*(noisy.counts[own] for own in parts), *means]).astype(np.int64),
        scales=np.array(
            [
                *noisy.scales[kept],
                *(x[1] ** -0.5 / deviation_of(noisy.laplace) for x in sums.values()),
            ]
        ),
    )


def _gives(given: Mapping[str, GivenColumn], columns: Sequence[str]) -> bool:
    """Whether one of three columns is given by the two others."""
    return any(len({*given[x].rows.columns} & {*columns}) > 1 for x in columns if x in given)
