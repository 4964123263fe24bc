"""What the count models share: sums by design row, a rough fit on the log link."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._checks import Floats
from pyvws.errors import ConvergenceError
from pyvws.io.cells import Cells
from pyvws.models._coefficient_prior import coefficient_dimension
from pyvws.models._model import Draws, Start

_SCORING_STEPS = 8
_LARGEST_ETA = 30.0
_LARGEST_MEAN = 1e15

__all__ = [
    "linear_predictor",
    "log_link_start",
    "poisson_counts",
    "predicted_mean",
    "row_sums",
    "value_sums",
]


def row_sums(cells: Cells, weights: Floats) -> tuple[Floats, Floats]:
    """Sums of alpha and of alpha y over each design row, both (R,); weights (N,)."""
    sums = cells.weight_sums(weights)
    rows, R = cells.row_of_cell, len(cells.rows)
    return _grouped(rows, sums, R), _grouped(rows, sums * cells.outcome, R)


def value_sums(cells: Cells, weights: Floats) -> Floats:
    """Sums of alpha over each distinct outcome, (V,); weights (N,)."""
    return _grouped(cells.value_of_cell, cells.weight_sums(weights), len(cells.values))


def _grouped(group: NDArray[np.intp], weights: Floats, groups: int) -> Floats:
    return np.asarray(np.bincount(group, weights=weights, minlength=groups), dtype=np.float64)


def linear_predictor(beta: Floats, cells: Cells) -> Floats:
    """eta = X beta for each draw and distinct design row: beta (S, K) to (S, R)."""
    return np.asarray(beta @ cells.rows.T)


def log_link_start(cells: Cells, weights: Floats, *, extra: int, dispersion: float) -> Start:
    """A rough fit of beta by Fisher scoring, and its information.

    `extra` parameters follow the coefficients' own; `dispersion` is a guess at 1/phi (0 for
    Poisson). A ridge keeps the information regular where rows carry no weight.
    """
    count, total = row_sums(cells, weights)
    size = np.abs(cells.rows).max(axis=0)
    size[size == 0] = 1.0
    X = cells.rows / size
    K = X.shape[1]
    ridge = 1e-3 * np.eye(K)
    mean = (total + 0.5) / (count + 0.5)
    eta = np.log(mean)
    beta = np.zeros(K)
    for _ in range(_SCORING_STEPS):
        working = count * mean / (1.0 + dispersion * mean)
        information = (X * working[:, None]).T @ X + ridge
        residual = (total - count * mean) / (1.0 + dispersion * mean)
        beta = np.linalg.solve(information, X.T @ (working * eta + residual))
        eta = np.clip(X @ beta, -_LARGEST_ETA, _LARGEST_ETA)
        mean = np.exp(eta)
    centre = np.zeros(coefficient_dimension(K) + extra)
    centre[:K] = beta / size
    return Start(centre, information * np.outer(size, size))


def predicted_mean(design: Floats, draw: Draws) -> Floats:
    """exp(X beta) at one draw for design rows (N, K); infinite where it overflows."""
    with np.errstate(over="ignore"):
        return np.asarray(np.exp(design @ draw["beta"][0]))


def poisson_counts(mean: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts (N,) with the given means; raises ConvergenceError where no integer fits."""
    if not (mean <= _LARGEST_MEAN).all():
        raise ConvergenceError(
            "A posterior draw predicts counts beyond any integer: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return rng.poisson(mean).astype(np.float64)
