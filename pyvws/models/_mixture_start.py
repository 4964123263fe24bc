"""A rough mixture to start from: quantile groups of the outcome, improved by some EM steps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.tables.cells import Cells

__all__ = ["RoughMixture", "rough_mixture"]

_STEPS = 40
MOST_CELLS = 50_000
_BEFORE_DROPPING = 10
_RIDGE = 1e-3


@dataclass(frozen=True, slots=True)
class RoughMixture:
    """C components with `weight` (C,) of records each (0 = empty), their coefficients (C, K) and
    standard deviations (C,).

    `overall` (K,) is the regression of all records, `information` (K, K) that on the coefficients
    of a component which holds 1 / C of the records at the components' average log sigma.
    """

    weight: Floats
    beta: Floats
    sigma: Floats
    overall: Floats
    information: Floats


def rough_mixture(cells: Cells, weights: Floats, *, components: int, floor: float) -> RoughMixture:
    """Weighted EM from groups of neighbouring outcomes; components of under one record go empty.

    Records have weights (N,); no standard deviation is under `floor`. Of very many cells, some
    evenly placed among the ordered outcomes stand for all.
    """
    C, K, R = components, cells.n_coefficients, len(cells.rows)
    w, y, row, X = cells.weight_sums(weights), cells.outcome, cells.row_of_cell, cells.rows
    total = float(w.sum())
    if total < 1.0:
        nothing = np.zeros(K), np.zeros((K, K))
        return RoughMixture(np.zeros(C), np.zeros((C, K)), np.full(C, 1.0 + floor), *nothing)
    w, y, row = _fewer(w, y, row)
    middle = float(w @ y) / total
    spread = max(float(w @ (y - middle) ** 2) / total, floor**2, 1e-300)
    ridge = _RIDGE * np.diag(np.maximum(np.abs(X).max(axis=0), 1e-150) ** 2)

    def regression(part: Floats) -> tuple[Floats, Floats, float]:
        """Coefficients, products of columns and squared residuals, records weighted by `part`."""
        products = (X * np.bincount(row, weights=part, minlength=R)[:, None]).T @ X
        pull = X.T @ np.bincount(row, weights=part * y, minlength=R)
        beta = np.linalg.solve(products + ridge, pull)
        squares = float(part @ (y - (X @ beta)[row]) ** 2)
        return np.asarray(beta), products, squares

    share = _quantile_groups(y, w, C)
    weight, beta, sigma = np.zeros(C), np.zeros((C, K)), np.ones(C)
    for step in range(_STEPS):
        weight = share.T @ w
        if step >= _BEFORE_DROPPING:
            weight[weight < 1.0] = 0.0
        for c in np.flatnonzero(weight):
            beta[c], _, squares = regression(w * share[:, c])
            # As if the component held a thousandth of a record of the overall spread.
            variance = (squares + 1e-3 * spread) / (weight[c] + 1e-3)
            sigma[c] = max(np.sqrt(variance), 1.02 * floor)
        share = _responsibilities(weight, sigma, y[:, None] - (X @ beta.T)[row])
    overall, products, _ = regression(w)
    typical = np.exp(weight @ np.log(sigma) / weight.sum())
    empty = weight == 0.0
    beta[empty], sigma[empty] = 0.0, 1.0 + floor
    return RoughMixture(weight, beta, sigma, overall, products / (C * typical**2))


def _fewer(w: Floats, y: Floats, row: NDArray[np.intp]) -> tuple[Floats, Floats, NDArray[np.intp]]:
    """The cells; of very many cells, every n-th by outcome, with their weights scaled up."""
    if len(y) <= MOST_CELLS:
        return w, y, row
    used = np.flatnonzero(w)
    part = used[np.argsort(y[used], kind="stable")][:: -(-len(used) // MOST_CELLS)]
    return w[part] * (w.sum() / w[part].sum()), y[part], row[part]


def _quantile_groups(y: Floats, w: Floats, C: int) -> Floats:
    """Shares (cells, C), 0 or 1, of groups of about the same weight and neighbouring outcomes."""
    order = np.argsort(y, kind="stable")
    place = np.cumsum(w[order]) - 0.5 * w[order]
    group = np.empty(len(y), dtype=np.intp)
    group[order] = np.minimum((place / w.sum() * C).astype(np.intp), C - 1)
    return np.eye(C)[group]


def _responsibilities(weight: Floats, sigma: Floats, residuals: Floats) -> Floats:
    with np.errstate(divide="ignore"):
        height = np.log(weight / weight.sum()) - np.log(sigma)
    terms = height - 0.5 * (residuals / sigma) ** 2
    terms -= terms.max(axis=1, keepdims=True)
    shares = np.exp(terms)
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))
