"""One file that carries what a fit of the noisy counts knows, with as little chance as can be.

Classes have whole numbers of records by their shares, and codes whole numbers in a class. Records
join the codes of a class at random. Then codes are swapped within classes, so that the counts of
all pairs of columns come near to those that the fit expects. So a file has about the errors of the
fit alone, while a draw of a posterior has those of the draw too.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.mechanisms.counts.classes import Imputed
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.fitted_classes import FittedClasses, fitted_classes, is_fitted
from pyvws.mechanisms.counts.measurements import Measurements
from pyvws.mechanisms.counts.workload import Workload

Places = NDArray[np.int64]

_PASSES: Final = 4  # Of swaps over all records,
_LEAST: Final = 1  # and fewer, but one, of more records than
_MANY: Final = 100_000  # these.


def is_best_file(table: Workload, datasets: int) -> bool:
    """Whether a fit gives the only dataset, by public things and the number of datasets alone."""
    return datasets == 1 and is_fitted(table)


def best_file(noisy: Measurements, *, classes: int, seed: int) -> Imputed:
    """The file of a fit, from noisy counts, public settings and a seed alone: it costs nothing."""
    fitted = fitted_classes(noisy, classes=classes, seed=seed)
    return Imputed(
        codes=[best_records(fitted, noisy.records, np.random.default_rng([seed, 2]))],
        numbers=[{}],
        misfit=fitted.misfit,
        accepted=None,
        moved=None,
        classes=len(fitted.shares),
        diagnostics=None,
        apart=0.0,
    )


def best_records(fitted: FittedClasses, records: int, rng: np.random.Generator) -> Codes:
    """Codes (n, K) of so many records of a fit, in a random order."""
    ends = np.rint(np.cumsum(fitted.shares) / fitted.shares.sum() * records).astype(np.int64)
    start = np.append(0, ends)
    offsets, sizes = fitted.offsets, np.diff(fitted.offsets)
    whole = whole_numbers(fitted.profiles, np.diff(start), offsets)
    x = np.empty((records, len(sizes)), dtype=np.int32)
    for k, size in enumerate(sizes):
        codes = np.arange(size, dtype=np.int32)
        for h, (low, high) in enumerate(pairwise(start)):
            own = np.repeat(codes, whole[h, offsets[k] : offsets[k + 1]])
            x[low:high, k] = rng.permutation(own)
    gap = fitted.pairs(records)
    for j in range(len(sizes)):
        for k in range(j):
            pair = np.bincount(x[:, j] * sizes[k] + x[:, k], minlength=sizes[j] * sizes[k]).reshape(
                sizes[j], sizes[k]
            )
            gap[offsets[j] : offsets[j + 1], offsets[k] : offsets[k + 1]] -= pair
            gap[offsets[k] : offsets[k + 1], offsets[j] : offsets[j + 1]] -= pair.T
    passes = min(_PASSES, max(_LEAST, _PASSES * _MANY // records))
    swapped(x, start, gap, offsets, passes, rng)
    return x[rng.permutation(records)]


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
    passes: int,
    rng: np.random.Generator,
) -> int:
    """Swap codes of a column between records of a class where counts of pairs come nearer.

    `x` (n, K) are codes within columns, class by class from `start` (H + 1,) on. `gap` are expected
    less actual counts of pairs of codes, both ways. A swap leaves each class its codes.
    Returns the number of swaps.
    """
    K, done = x.shape[1], 0
    for _ in range(passes):
        for h in range(len(start) - 1):
            low, m = start[h], start[h + 1] - start[h]
            for i in range(low, low + m):
                for k in range(K):
                    j = low + min(int(rng.random() * m), m - 1)
                    a, b = offsets[k] + x[i, k], offsets[k] + x[j, k]
                    if a == b:
                        continue
                    change = 0.0  # Half of that of the sum of squares.
                    for other in range(K):
                        if other != k and x[i, other] != x[j, other]:
                            u, v = offsets[other] + x[i, other], offsets[other] + x[j, other]
                            change += gap[a, u] + gap[b, v] - gap[b, u] - gap[a, v] + 2.0
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
