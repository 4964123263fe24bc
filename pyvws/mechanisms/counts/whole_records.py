"""Kernels of the best file: whole numbers of records, and swaps towards counts of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel

Places = NDArray[np.int64]


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
