"""What the count models share: sums by design row, a rough fit on the log link."""

from __future__ import annotations

import numpy as np

from pyvws._checks import Floats
from pyvws.io.cells import Cells
from pyvws.models._coefficient_prior import coefficient_dimension
from pyvws.models._model import Start

__all__ = ["linear_predictor", "log_link_start", "row_sums", "value_sums"]


def row_sums(cells: Cells, weights: Floats) -> tuple[Floats, Floats]:
    """Sums of alpha and of alpha y over each design row, both (R,); weights (N,)."""
    sums = cells.weight_sums(weights)
    R = len(cells.rows)
    return (
        np.bincount(cells.row_of_cell, weights=sums, minlength=R),
        np.bincount(cells.row_of_cell, weights=sums * cells.outcome, minlength=R),
    )


def value_sums(cells: Cells, weights: Floats) -> Floats:
    """Sums of alpha over each distinct outcome, (V,); weights (N,)."""
    return np.bincount(
        cells.value_of_cell, weights=cells.weight_sums(weights), minlength=len(cells.values)
    )


def linear_predictor(beta: Floats, cells: Cells) -> Floats:
    """eta = X beta for each draw and distinct design row: beta (S, K) to (S, R)."""
    return np.asarray(beta @ cells.rows.T)


def log_link_start(cells: Cells, weights: Floats, *, extra: int, dispersion: float) -> Start:
    """Least squares on the rows' log means, scaled by the Fisher information at that point.

    `extra` parameters follow the coefficients' own; `dispersion` is a guess at 1/phi (0 for
    Poisson). A ridge keeps the scale finite where a row carries no weight.
    """
    count, total = row_sums(cells, weights)
    mean = (total + 0.5) / (count + 0.5)
    working = count * mean / (1.0 + dispersion * mean)
    X = cells.rows
    size = np.maximum(np.abs(X).max(axis=0), 1e-300)
    Z = X / size
    K = X.shape[1]
    information = (Z * working[:, None]).T @ Z + np.eye(K)
    beta = np.linalg.solve(information, (Z * working[:, None]).T @ np.log(mean)) / size
    covariance_root = np.linalg.inv(np.linalg.cholesky(information)).T / size[:, None]
    D = coefficient_dimension(K) + extra
    centre, scale = np.zeros(D), np.eye(D)
    centre[:K] = beta
    scale[:K, :K] = covariance_root
    return Start(centre, scale)
