"""The one comparison of two results: same shape and equal bits, else the distance in ulp.

A unit in the last place (ulp) is one step to the next double. NaN equals NaN, whatever its payload,
because R's own arithmetic does not keep payloads. -0.0 equals 0.0, because no paper's quantity has
a signed zero and neither R's nor Python's == tells them apart.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["largest_ulp"]


def largest_ulp(first: NDArray[np.float64], second: NDArray[np.float64]) -> int | None:
    """Largest distance of two arrays of doubles, in ulp; 0 = equal.

    None when there is no distance: the shapes differ, or a NaN stands against a number.

    Examples
    --------
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
    """Whole numbers in the order of the doubles, neighbours one apart, both zeros at 0."""
    bits = np.ascontiguousarray(values).view(np.int64)
    return np.where(bits < 0, np.iinfo(np.int64).min - bits, bits)
