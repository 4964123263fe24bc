"""Smooth shapes of numbers within cells, fitted to the noisy counts of their fine cells.

A far tail has many fine cells and few records. Its counts are nearly all noise, and the half of the
noise that is above 0 would put records far out. So where in a cell numbers lie follows from a log
density of joined lines, on a scale in proportion to numbers. It is fitted to the records of all
cells and to the noisy counts of their fine cells. A normal prior has it bend downwards from cell to
cell: that says that tails fall ever faster. So in a tail the cells say how it falls, and noise in
an empty fine cell hardly moves it. What follows is made of the noisy counts and of imputed records
alone.
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
_KNOTS: Final = 2  # Lines of a cell.
_BENT: Final = 1.0  # How far log densities bend downwards from cell to cell, give or take 1.
_LEAST: Final = 0.5  # Records that a fit takes an empty cell to have, where it begins.
_EVEN: Final = 1e-6  # Of the records of a cell, those that are spread evenly, so that none lack.
_MOST_LOG: Final = 100.0  # Log density of records, beyond those of any table.
_NEAR: Final = 1e-6  # Relative changes that end a fit.


def proportion_unit(column: Column) -> float:
    """The number from which on steps of a range are in proportion."""
    far = max(map(abs, column.range or (0.0, 1.0)))
    if column.outcome_scale in (None, "identity"):  # Its unit is that of a normal part.
        return _NEAR_ZERO * far
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
    (F,) with a standard deviation of the noise. Each cell keeps its records. Squares are weighted
    by the variances: that of the noise, and as many records as the cells have evenly.
    """
    there, of_fine = np.unique(of_fine, return_inverse=True)  # A cell may have no fine one.
    records = records[there]
    width, cells = np.diff(fine.edges), np.arange(len(records))
    whole = np.equal.outer(cells, of_fine).astype(np.float64)
    even = width / (whole @ width)[of_fine]
    lines, bends = _lines(fine, of_fine, len(records))
    every = np.vstack([np.eye(len(width)), whole])
    spread = np.sqrt(
        every @ (even * records[of_fine]) + np.repeat([deviation**2, 1.0], [len(width), len(cells)])
    )
    observed = np.append(counts, records)

    def expected(heights: Floats) -> Floats:
        return np.asarray(width * np.exp(np.clip(lines @ heights, -_MOST_LOG, _MOST_LOG)))

    def residuals(heights: Floats) -> Floats:
        gaps = (every @ expected(heights) - observed) / spread
        return np.append(gaps, bends @ heights + _BENT / _KNOTS**0.5)

    def slopes(heights: Floats) -> Floats:
        of_gaps = every @ (expected(heights)[:, None] * lines) / spread[:, None]
        return np.vstack([of_gaps, bends])

    density = np.log(np.maximum(records, _LEAST) / (whole @ width))
    start = np.repeat(density, _KNOTS)
    start = 0.5 * (np.append(start, start[-1]) + np.append(start[0], start))
    fit = scipy.optimize.least_squares(residuals, start, jac=slopes, ftol=_NEAR, xtol=_NEAR)
    shape = expected(fit.x)
    share = shape / np.maximum(whole @ shape, np.finfo(float).tiny)[of_fine]
    return np.asarray(records[of_fine] * ((1.0 - _EVEN) * share + _EVEN * even))


def _lines(fine: CountedColumn, of_fine: NDArray[np.intp], cells: int) -> tuple[Floats, Floats]:
    """What gives log densities (F, H) and how they bend (H - 2, H), by heights (H,) at knots.

    Heights are log densities where cells begin and end, and between. They bend by what one line has
    beyond the line before it, over the length of a cell. The longer it is the more they may bend,
    as a parabola does.
    """
    unit, each = proportion_unit(fine.column), np.arange(cells + 1)
    middle = np.arcsinh(0.5 * (fine.edges[:-1] + fine.edges[1:]) / unit)
    ends = np.arcsinh(fine.edges / unit)[np.searchsorted(of_fine, each)]
    knots = np.interp(np.arange(_KNOTS * cells + 1) / _KNOTS, each, ends)
    length, at = np.diff(knots), np.eye(len(knots))
    line = np.searchsorted(knots[1:-1], middle, side="right")
    along = ((middle - knots[line]) / length[line])[:, None]
    cell = 0.5 * _KNOTS * (length[:-1] + length[1:])[:, None]
    slopes = np.diff(at, axis=0) / length[:, None]
    bends = _KNOTS**0.5 * cell / (1.0 + cell**2) * np.diff(slopes, axis=0)
    return (1.0 - along) * at[line] + along * at[line + 1], bends
