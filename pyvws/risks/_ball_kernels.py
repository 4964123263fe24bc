"""Compiled counts of points in boxes and ellipsoids, among candidates found by a search.

`points` (N, P) are ordered by their first outcome. The points of rows start_i to end_i - 1 may lie
in the ball of record i, which has `centre` and `reach` (N, P). `pyvws.risks.balls.Balls.hold` does
the same arithmetic in the same order.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel

Places = NDArray[np.intp]


@inlined_kernel
def _in_box(points: Floats, h: int, centre: Floats, reach: Floats, i: int, closed: bool) -> bool:
    """Whether every outcome of point h lies within its own reach of record i's centre."""
    for p in range(points.shape[1]):
        low, high = centre[i, p] - reach[i, p], centre[i, p] + reach[i, p]
        value = points[h, p]
        edge = value in (low, high)
        if value < low or value > high or (edge and not closed):
            return False
    return True


@kernel
def boxes_around(
    points: Floats, centre: Floats, reach: Floats, start: Places, end: Places
) -> Places:
    """Number of closed boxes that each point (N,) lies in."""
    around = np.zeros(len(points), dtype=np.intp)
    for i in range(len(centre)):
        for h in range(start[i], end[i]):
            around[h] += _in_box(points, h, centre, reach, i, True)
    return around


@kernel
def sum_in_box(
    points: Floats,
    centre: Floats,
    reach: Floats,
    start: Places,
    end: Places,
    closed: bool,
    amount: Places,
) -> Places:
    """The sum of the `amount` (M,) of the points in each record's box, (N,)."""
    total = np.zeros(len(centre), dtype=np.int64)
    for i in range(len(centre)):
        for h in range(start[i], end[i]):
            if _in_box(points, h, centre, reach, i, closed):
                total[i] += amount[h]
    return total


@kernel
def count_ellipsoid(
    points: Floats, centre: Floats, reach: Floats, start: Places, end: Places, closed: bool
) -> Places:
    """Number of points whose offsets over the reaches have a sum of squares of at most 1 (N,)."""
    inside = np.zeros(len(centre), dtype=np.intp)
    for i in range(len(centre)):
        for h in range(start[i], end[i]):
            squared = 0.0
            for p in range(points.shape[1]):
                off = points[h, p] - centre[i, p]
                if reach[i, p] > 0:
                    share = off / reach[i, p]
                    squared += share * share
                elif off != 0 or not closed:
                    squared = np.inf
            inside[i] += squared <= 1 if closed else squared < 1
    return inside
