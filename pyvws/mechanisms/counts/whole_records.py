"""Kernels of the best file: whole numbers of records, and swaps towards pairs and triples.

What the noisy counts of triples have beyond the records of a fit of their pairs is kept so far as
it stands out of the noise. Codes are then swapped within classes towards it.
"""

from __future__ import annotations

from itertools import permutations
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.fitted_classes import kept_of_gap, most_by_chance
from pyvws.mechanisms.counts.fitted_counts import triples_of
from pyvws.mechanisms.counts.measurements import Measurements

Places = NDArray[np.int64]

_PASSES: Final = 8  # Of swaps towards triples over all records,
_LEAST: Final = 2  # and fewer, but two, of more records than
_MANY: Final = 50_000  # these.


@kernel
def whole_numbers(profiles: Floats, number: Places, offsets: Places) -> Places:
    """How many of the records (H,) of each class have each code (H, sum of L).

    What a class cannot have, since numbers are whole, the next classes make up for. So each code's
    number over all classes is within about a record of what is expected. No class has a code
    without a share.
    """
    H, codes = profiles.shape
    whole = np.zeros((H, codes), dtype=np.int64)
    owed = np.zeros(codes)
    for k in range(len(offsets) - 1):
        for h in range(H):
            left = number[h]
            for c in range(offsets[k], offsets[k + 1]):
                if profiles[h, c] > 0.0:
                    owed[c] += number[h] * profiles[h, c]
                    whole[h, c] = max(0, int(np.floor(owed[c])))
                    owed[c] -= whole[h, c]
                    left -= whole[h, c]
            while left != 0:
                step = 1 if left > 0 else -1
                best = -1
                for c in range(offsets[k], offsets[k + 1]):
                    possible = profiles[h, c] > 0.0 and (step > 0 or whole[h, c] > 0)
                    if possible and (best < 0 or step * owed[c] > step * owed[best]):
                        best = c
                whole[h, best] += step
                owed[best] -= step
                left -= step
    return whole


@kernel
def swapped(
    x: NDArray[np.int32],
    start: Places,
    gap: Floats,
    offsets: Places,
    moved: Places,
    weights: Floats,
    passes: int,
    rng: np.random.Generator,
) -> int:
    """Swap codes of the `moved` columns between records of a class where pairs come nearer.

    `x` (n, K) are codes within columns, class by class from `start` (H + 1,) on. `gap` are expected
    less actual counts of pairs of codes, both ways. Squares of a pair of columns count `weights`
    (K, K) times. A swap leaves each class its codes. Returns the number of swaps.
    """
    K, done = x.shape[1], 0
    for _ in range(passes):
        for h in range(len(start) - 1):
            low, m = start[h], start[h + 1] - start[h]
            for i in range(low, low + m):
                for k in moved:
                    j = low + min(int(rng.random() * m), m - 1)
                    a, b = offsets[k] + x[i, k], offsets[k] + x[j, k]
                    if a == b:
                        continue
                    change = 0.0  # Half of that of the sum of squares.
                    for other in range(K):
                        if other != k and x[i, other] != x[j, other]:
                            u, v = offsets[other] + x[i, other], offsets[other] + x[j, other]
                            off = gap[a, u] + gap[b, v] - gap[b, u] - gap[a, v]
                            change += weights[k, other] * (off + 2.0)
                    if change >= 0.0:
                        continue
                    done += 1
                    for other in range(K):
                        if other != k and x[i, other] != x[j, other]:
                            u, v = offsets[other] + x[i, other], offsets[other] + x[j, other]
                            for first, second, more in (
                                (a, u, 1.0),
                                (b, v, 1.0),
                                (b, u, -1.0),
                                (a, v, -1.0),
                            ):
                                gap[first, second] += more
                                gap[second, first] += more
                    x[i, k], x[j, k] = x[j, k], x[i, k]
    return done


def swaps(noisy: Measurements) -> float:
    """How many triples of records `swapped_towards` looks at."""
    return 3.0 * len(triples_of(noisy)) * noisy.records * _passes(noisy.records)


def _passes(records: int) -> int:
    return min(_PASSES, max(_LEAST, _PASSES * _MANY // max(1, records)))


def swapped_towards(
    x: Codes, start: NDArray[np.int64], noisy: Measurements, rng: np.random.Generator
) -> None:
    """Swap codes of records x (n, K), class by class from `start` (H + 1,) on, where triples gain.

    A swap leaves each class its codes.
    """
    table, triples = noisy.table, triples_of(noisy)
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
