"""Distances from records to the closest record of another table [gower1971].

The distance of two records is the mean over the columns of what they differ in: 0 or 1 for a
category, for a number the difference over the original's range, at most 1. Two missing values do
not differ; a missing value and a number differ by 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector

_BLOCK = 200  # Records at a time.

Plain = Mapping[str, NDArray[Any]]
"""Columns (N,) by name: whole numbers are codes of a category, floats numbers, NaN if missing."""


def closest_distances(
    records: Plain,
    others: Plain,
    ranges: Mapping[str, float],
    *,
    itself: NDArray[np.intp] | None = None,
) -> Floats:
    """The distance (M,) from each of `records` to the closest of `others` (N,), in [0, 1].

    `ranges` has the range of each number. `itself` (M,) is the place among `others` of each record
    that is one of them, which is left out. Smaller = riskier.

    >>> records, others = {"x": np.array([1.0, 8.0])}, {"x": np.array([2.0, 4.0])}
    >>> closest_distances(records, others, {"x": 10.0}).tolist()
    [0.1, 0.4]
    """
    size = len(next(iter(records.values())))
    nearest = np.empty(size)
    for start in range(0, size, _BLOCK):
        rows = slice(start, min(start + _BLOCK, size))
        total: Any = 0.0
        for name, values in records.items():
            total = total + _differences(values[rows], others[name], ranges.get(name, 1.0))
        if itself is not None:
            total[np.arange(len(total)), np.asarray(itself)[rows]] = np.inf
        nearest[rows] = total.min(axis=1) / len(records)
    return nearest


def share_nearer(first: ArrayLike, second: ArrayLike) -> float:
    """The share of pairs of distances (M,) and (N,) with the first one smaller; ties count half.

    1/2 = alike, larger = the first ones are nearer.

    >>> share_nearer([0.1, 0.2], [0.2, 0.3])
    0.875
    """
    near, far = finite_vector(first, "first"), np.sort(finite_vector(second, "second"))
    below = np.searchsorted(far, near, side="left") + np.searchsorted(far, near, side="right")
    return float(1.0 - below.mean() / (2.0 * len(far)))


def _differences(values: NDArray[Any], others: NDArray[Any], width: float) -> Floats:
    if values.dtype.kind != "f":
        return (values[:, None] != others[None, :]).astype(np.float64)
    gone, lost = np.isnan(values), np.isnan(others)
    x, y = np.where(gone, 0.0, values), np.where(lost, 0.0, others)
    gap: Floats = np.minimum(np.abs(x[:, None] - y[None, :]) / (width or 1.0), 1.0)
    if width == 0.0:
        gap = (x[:, None] != y[None, :]).astype(np.float64)
    if gone.any() or lost.any():
        gap[gone[:, None] != lost[None, :]] = 1.0
        gap[gone[:, None] & lost[None, :]] = 0.0
    return gap
