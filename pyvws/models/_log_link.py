"""What models on a log link share: a rough fit, predicted means, Poisson counts."""

from __future__ import annotations

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import ConvergenceError
from pyvws.models.model import Draws, Start
from pyvws.models.regression import LOG, linear_predictor, row_sums, scoring_start
from pyvws.tables.cells import Cells

_LARGEST_MEAN = 1e15

__all__ = [
    "log_link_start",
    "poisson_counts",
    "predicted_mean",
]


def log_link_start(cells: Cells, weights: Floats, *, extra: int, dispersion: float) -> Start:
    """A rough fit of counts' beta by Fisher scoring, and its information.

    `extra` parameters follow the coefficients' own; `dispersion` is a guess at 1/phi (0 for
    Poisson).
    """
    count, total = row_sums(cells, weights)

    def scores(mean: Floats) -> tuple[Floats, Floats]:
        spread = 1.0 + dispersion * mean
        return (total - count * mean) / spread, count * mean / spread

    first = (total + 0.5) / (count + 0.5)
    return scoring_start(cells.rows, first, scores, link=LOG, extra=extra)


def predicted_mean(design: Floats, draw: Draws) -> Floats:
    """exp(X beta) at one draw for design rows (N, K); infinite where it overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(linear_predictor(draw["beta"], design)[0]))


def poisson_counts(mean: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts (N,) with the given means; raises ConvergenceError where no integer fits."""
    if not (mean <= _LARGEST_MEAN).all():
        raise ConvergenceError(
            "A posterior draw predicts counts beyond any integer: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return rng.poisson(mean).astype(np.float64)
