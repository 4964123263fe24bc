"""Smooth shapes of numbers within cells, fitted to the noisy counts of their fine cells.

A far tail has many fine cells and few records. Its counts are nearly all noise, and the half of the
noise that is above 0 would put records far out. So where in a cell numbers lie follows from a log
density that is a parabola, or a line, over the cell and its neighbours. It is fitted to the records
of these cells and to the noisy counts of their fine cells. A parabola never opens upwards: that
says that tails fall. Noise in an empty fine cell hardly moves it. What follows is made of the noisy
counts and of imputed records alone.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import scipy
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.tables.schema.column import Column

_NEAR_ZERO: Final = 1e-3  # Of the far end: where steps in proportion begin.
_BESIDE: Final = 2  # Cells on each side that the shape of a cell is fitted to.
_EVEN: Final = 1e-6  # Of the records of a cell, those that are spread evenly, so that none lack.
_MOST_LOG: Final = 100.0  # Log records in a fine cell, beyond those of any table.
_NEAR: Final = 1e-6  # Relative changes that end a fit.


def proportion_unit(column: Column) -> float:
    """The number from which on steps of a range are in proportion."""
    far = max(map(abs, column.range or (0.0, 1.0)))
    return float(column.settings.get("outcome_unit", _NEAR_ZERO * far))


def expected_records(
    fine: CountedColumn,
    of_fine: NDArray[np.intp],
    counts: NDArray[np.int64],
    records: NDArray[np.int64],
    deviation: float,
) -> Floats:
    """The records (F,) that a smooth shape expects in fine cells.

    Fine cells `of_fine` (F,) are parts of cells that have `records` (C,), and have noisy `counts`
    (F,) with a standard deviation of the noise. Each cell keeps its records.
    """
    place, width = _on_scale(fine), np.diff(fine.edges)
    expected = np.empty(len(width))
    for cell, own in enumerate(records.tolist()):
        first = max(0, min(cell - _BESIDE, len(records) - 2 * _BESIDE - 1))
        fitted = slice(first, first + 2 * _BESIDE + 1)
        near = np.flatnonzero((fitted.start <= of_fine) & (of_fine < fitted.stop))
        inside = np.flatnonzero(of_fine == cell)
        shape = even = width[inside] / width[inside].sum()
        if own and len(inside) > 1:
            log_density = _log_density(
                place[near],
                width[near] / width[near].sum(),
                counts[near],
                of_fine[near] - first,
                records[fitted],
                deviation,
            )[inside - near[0]]
            shape = even * np.exp(log_density - log_density.max())
        expected[inside] = own * ((1.0 - _EVEN) * shape / shape.sum() + _EVEN * even)
    return expected


def _on_scale(fine: CountedColumn) -> Floats:
    """The middles (F,) of fine cells, on the scale of the outcome where that is a logarithm."""
    middle, own = 0.5 * (fine.edges[:-1] + fine.edges[1:]), fine.column
    if own.outcome_scale in (None, "identity"):
        return middle
    centre = own.settings.get("outcome_centre", 0.0)
    return np.asarray(np.arcsinh((middle - centre) / proportion_unit(own)))


def _log_density(
    place: Floats,
    width: Floats,
    counts: NDArray[np.int64],
    cell: NDArray[np.intp],
    records: NDArray[np.int64],
    deviation: float,
) -> Floats:
    """The parabola (n,) in fine cells that fits the counts (n,) and the records (c,) of cells.

    Fine cells are at places (n,), have widths (n,) and are parts of cells (n,). Squares are
    weighted by the variances: that of the noise, and as many records as the cells have evenly.
    """
    whole = np.equal.outer(np.arange(len(records)), cell).astype(np.float64)
    density = np.maximum(records, 1) / (whole @ width)
    powers = np.vander((place - place[0]) / (place[-1] - place[0]), 3, increasing=True)
    every = np.vstack([np.eye(len(place)), whole])
    spread = np.sqrt(deviation**2 + every @ (width * density[cell]))
    observed = np.append(counts, records)

    def expected(theta: Floats) -> Floats:
        return np.asarray(width * np.exp(np.minimum(powers @ theta, _MOST_LOG)))

    line = np.linalg.lstsq(powers[:, :2], np.log(density[cell]), rcond=None)[0]
    fit = scipy.optimize.least_squares(
        lambda theta: (every @ expected(theta) - observed) / spread,
        np.append(line, -_NEAR),
        jac=lambda theta: every @ (expected(theta)[:, None] * powers) / spread[:, None],
        bounds=([-np.inf] * 3, [np.inf, np.inf, 0.0]),
        ftol=_NEAR,
        xtol=_NEAR,
    )
    return np.asarray(powers @ fit.x)
