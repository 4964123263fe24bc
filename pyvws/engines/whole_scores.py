"""Scores of grid points in whole units, so that one record moves each score by epsilon at most.

A float sum of many terms rounds, and the rounding depends on every term: one record could then
change the sum by more than the record's own term. Here each record adds a whole number of units to
a point's score, at least -W and at most 0, and whole numbers add up exactly. The number is a
function of the record, the point and public settings alone, to the bit: the term of each cell is
computed apart from all other cells.

A sum that would fall below `LOWEST` stays there, so no sum leaves 64 bits, whatever the number of
records is. One more record then moves the score by a part of its own number, or not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Data, Floats, Ints
from pyvws._base.cores import usable_cores
from pyvws._base.kernels import kernel_of_kernels
from pyvws.errors import InputError
from pyvws.posterior.clamp import Clamp, refuse_unclamped
from pyvws.posterior.pseudo_posterior import PseudoPosterior

Scores = NDArray[np.int64]

UNITS_A_NAT: Final = 1 << 24
LOWEST: Final = -(1 << 61)
"""The lowest sum of the records' numbers, in units: 2^37 nats below 0."""

_LARGEST_EPSILON: Final = 1024.0


def window_units(clamp: Clamp) -> int:
    """W, the clamp's width in units, rounded down; InputError above 1024 nats or below a unit."""
    W = int(np.floor(min(clamp.epsilon, 2.0 * _LARGEST_EPSILON) * UNITS_A_NAT))
    if not 1 <= W <= _LARGEST_EPSILON * UNITS_A_NAT:
        raise InputError.by(
            "grid-epsilon-range", it=1.0 / UNITS_A_NAT, largest_epsilon=_LARGEST_EPSILON
        )
    return W


def whole_scores(
    target: PseudoPosterior, points: Floats, progress: Callable[[float], None]
) -> Scores:
    """The sum over the records of their clamped terms at each point, less the window's upper end.

    Points (G, D) are unconstrained vectors; the result (G,) is in units. `progress` is called with
    the share of the work that is done. A target without a clamp has no such scores.
    """
    clamp, cells, model = target.clamp, target.cells, target.model
    assert clamp is not None
    distinct = target.joint().distinct()
    cell, weight, count = cells.cell_of_record[distinct.first], distinct.weight, distinct.count
    width = model.slope_width(cells.n_coefficients)
    high, W = clamp.window[1], window_units(clamp)
    add = _adder(refuse_unclamped(model)[0])

    def sums(pairs: NDArray[np.intp]) -> Scores:
        total = np.zeros(len(points), dtype=np.int64)
        for pair in pairs:
            own = cells.part(slice(cell[pair], cell[pair] + 1))
            data, shift = model.term_data(own), float(clamp.shift(model, own)[0])
            number = np.int64(count[pair])
            alpha = float(weight[pair])
            add(
                points, own.rows, own.row_of_cell, data, width, alpha, shift, high, W, number, total
            )
        return total

    used = np.flatnonzero(weight > 0.0)
    parts = np.array_split(used, max(1, min(len(used), 64)))
    score = np.zeros(len(points), dtype=np.int64)
    with ThreadPoolExecutor(usable_cores()) as pool:
        for done, part in enumerate(pool.map(sums, parts), start=1):
            score = np.maximum(score + part, LOWEST)
            progress(done / len(parts))
    return score


def whole_prior(log_prior: Floats) -> Scores:
    """A log prior (G,), in nats, in units below its largest value: none is below `LOWEST`."""
    with np.errstate(invalid="ignore"):
        units = np.rint((log_prior - log_prior.max()) * UNITS_A_NAT)
    if not (units >= LOWEST).all():  # Nor is a value that is not a number.
        raise InputError.by("grid-prior-underflows")
    return units.astype(np.int64)


@cache
def _adder(terms: Callable[..., None]) -> Callable[..., None]:
    """The compiled loop over the points of one cell, for a family's kernel of terms."""
    units = float(UNITS_A_NAT)

    def add(
        points: Floats,
        rows: Floats,
        row_of_cell: Ints,
        data: Data,
        width: int,
        weight: float,
        shift: float,
        high: float,
        W: np.int64,
        count: int,
        total: Ints,
    ) -> None:
        log_lik, by_eta, by_extra = np.empty(1), np.empty(1), np.empty((1, width))
        for g in range(len(points)):
            terms(points[g], rows, row_of_cell, data, (log_lik, by_eta, by_extra))
            term = (weight * (log_lik[0] - shift) - high) * units
            fall = W  # A term that is not a number counts as the lowest.
            if term > -W:
                fall = np.int64(np.rint(-min(term, 0.0)))
            if fall > 0 and count > (total[g] - LOWEST) // fall:
                total[g] = LOWEST
            else:
                total[g] -= count * fall

    return kernel_of_kernels(add)
