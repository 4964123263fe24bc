"""The one comparison of two results: same shape and equal bits, else the distance in ulp.

A unit in the last place (ulp) is one step to the next double. NaN equals NaN, whatever the
payload, because R's own arithmetic does not keep payloads. -0.0 equals 0.0, because no paper's
quantity has a signed zero, and because == tells the two zeros apart neither in R nor in Python.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def largest_ulp(first: NDArray[np.float64], second: NDArray[np.float64]) -> int | None:
    """Largest distance between two arrays of doubles, in ulp; None if shapes or NaNs differ.

    >>> largest_ulp(np.array([1.0, -0.0]), np.array([1.0 + 2**-52, 0.0]))
    1
    """
    if first.shape != second.shape:
        return None
    nan = np.isnan(first)
    if (nan != np.isnan(second)).any():
        return None
    if nan.all():
        return 0
    a, b = _ordered(first[~nan]), _ordered(second[~nan])
    gap = np.maximum(a, b).astype(np.uint64) - np.minimum(a, b).astype(np.uint64)
    return int(gap.max())


def _ordered(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """Whole numbers in the order of the doubles; neighbours differ by 1, both zeros give 0."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
