"""Counted sets of three columns in the best file: a fit of their pairs, then swaps towards them.

Classes are fitted to the pairs that the triples add up to, which takes a part of the time that
triples would. What the triples' noisy counts have beyond the records of that fit is kept so far as
it stands out of the noise. Codes are then swapped within classes towards it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations, permutations
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.mechanisms.counts.cliques import clique
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.fitted_classes import MOST_CELLS, kept_of_gap, most_by_chance
from pyvws.mechanisms.counts.given_columns import GivenColumn
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.privacy.budget import deviation_of

_PASSES: Final = 8  # Of swaps over all records,
_LEAST: Final = 2  # and fewer, but two, of more records than
_MANY: Final = 50_000  # these.


def _triples(noisy: Measurements) -> list[int]:
    cliques = enumerate(noisy.table.cliques)
    return [q for q, crossed in cliques if len(crossed.columns) == 3 and not crossed.groups]


def swaps(noisy: Measurements) -> float:
    """How many triples of records `swapped_towards` looks at."""
    return 3.0 * len(_triples(noisy)) * noisy.records * _passes(noisy.records)


def _passes(records: int) -> int:
    return min(_PASSES, max(_LEAST, _PASSES * _MANY // max(1, records)))


def in_pairs(noisy: Measurements) -> Measurements:
    """The noisy counts with the pairs that sets of three columns add up to in their place.

    So do the largest sets that together have too many cells for a fit. A pair is the mean over the
    sets that have it, by their precision. A set stays beside its pairs where it has a given column
    with two that give it. Without such sets the counts are the given ones.
    """
    table, triples = noisy.table, _triples(noisy)
    further = [
        q
        for q, c in enumerate(table.cliques)
        if q not in triples and not c.is_pair and not {*table.given} & {*c.columns}
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


def swapped_towards(
    x: Codes, start: NDArray[np.int64], noisy: Measurements, rng: np.random.Generator
) -> None:
    """Swap codes of records x (n, K), class by class from `start` (H + 1,) on, where triples gain.

    A swap leaves each class its codes.
    """
    table, triples = noisy.table, _triples(noisy)
    place = {name: k for k, name in enumerate(table.columns)}
    K, gap, counts = len(place), np.zeros(len(table.possible)), table.counts(x, triples)
    first = np.full((K, K, K), -1, dtype=np.int64)
    steps = np.zeros((K, K, K, 3), dtype=np.int64)
    for q in triples:
        crossed = table.cliques[q]
        columns = [place[name] for name in crossed.columns]
        own = slice(*table.offsets[q : q + 2])
        step = crossed.sizes[1] * crossed.sizes[2], crossed.sizes[2], 1
        for order in permutations(range(3)):
            at = tuple(columns[axis] for axis in order)
            first[at], steps[at] = own.start, [step[axis] for axis in order]
        apart = np.where(table.possible[own], noisy.counts[own] - counts[own], 0.0)
        squares = np.asarray((apart**2).sum() / noisy.deviations[q] ** 2)
        likely = most_by_chance(table.possible[own].sum(), noisy.laplace)
        gap[own] = kept_of_gap(likely, squares) * apart
    if triples:
        _swap(x, start, gap, first, steps, _passes(len(x)), rng)


@kernel
def _swap(
    x: Codes,
    start: NDArray[np.int64],
    gap: Floats,
    first: NDArray[np.int64],
    steps: NDArray[np.int64],
    passes: int,
    rng: np.random.Generator,
) -> int:
    """As `swapped` of pairs: `gap` (C,) are expected less actual counts of triples of codes.

    `first` (K, K, K) says where the cells of three columns begin, -1 for none, and `steps`
    (K, K, K, 3) how many cells a code more of each is. Returns the number of swaps.
    """
    K, done = x.shape[1], 0
    for _ in range(passes):
        for h in range(len(start) - 1):
            low, m = start[h], start[h + 1] - start[h]
            for i in range(low, low + m):
                for k in range(K):
                    j = low + min(int(rng.random() * m), m - 1)
                    u, v = x[i, k], x[j, k]
                    if u == v:
                        continue
                    change = 0.0  # Half of that of the sum of squares; then, where it falls, swap.
                    for swapping in range(2):
                        if swapping == 1 and change >= 0.0:
                            break
                        for a in range(K):
                            for b in range(a):
                                if first[k, a, b] < 0:
                                    continue
                                step = steps[k, a, b]
                                at = first[k, a, b] + x[i, a] * step[1] + x[i, b] * step[2]
                                other = first[k, a, b] + x[j, a] * step[1] + x[j, b] * step[2]
                                if at == other:
                                    continue
                                p, q = at + u * step[0], other + v * step[0]
                                r, s = at + v * step[0], other + u * step[0]
                                if swapping == 0:
                                    change += gap[p] + gap[q] - gap[r] - gap[s] + 2.0
                                else:
                                    gap[p] += 1.0
                                    gap[q] += 1.0
                                    gap[r] -= 1.0
                                    gap[s] -= 1.0
                    if change < 0.0:
                        done += 1
                        x[i, k], x[j, k] = v, u
    return done
