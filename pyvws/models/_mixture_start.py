"""A rough mixture to start from: the best of some groupings of the outcome, improved by EM steps.

Groups of equal weight alone leave a few outcomes far from the others in one group with many near
ones, and EM steps do not part them. So groups around spread-out outcomes compete with them, by the
weighted log-likelihood after a few steps.
"""

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
_SPREAD_OUT = 8  # Groupings around outcomes that are drawn apart from each other.


@dataclass(frozen=True, slots=True)
class RoughMixture:
    """C components with `weight` (C,) of records each (0 = empty), their coefficients (C, K) and
    standard deviations (C,).

    `information` (C, K, K) is that on each component's coefficients from the records' shares in it.
    """

    weight: Floats
    beta: Floats
    sigma: Floats
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
        nothing = np.zeros(C), np.zeros((C, K)), np.full(C, 1.0 + floor), np.zeros((C, K, K))
        return RoughMixture(*nothing)
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

    def improved(
        share: Floats, steps: int, *, dropping: bool
    ) -> tuple[RoughMixture, Floats, float]:
        """The mixture after EM steps from shares, its shares and weighted log-likelihood."""
        weight, beta, sigma = np.zeros(C), np.zeros((C, K)), np.ones(C)
        information, height = np.zeros((C, K, K)), 0.0
        for _ in range(steps):
            weight = share.T @ w
            if dropping:
                weight[weight < 1.0] = 0.0
            for c in np.flatnonzero(weight):
                beta[c], products, squares = regression(w * share[:, c])
                # As if the component held a thousandth of a record of the overall spread.
                variance = (squares + 1e-3 * spread) / (weight[c] + 1e-3)
                sigma[c] = max(np.sqrt(variance), 1.02 * floor)
                information[c] = products / sigma[c] ** 2
            share, heights = _responsibilities(weight, sigma, y[:, None] - (X @ beta.T)[row])
            height = float(w @ heights)
        empty = weight == 0.0
        beta[empty], sigma[empty], information[empty] = 0.0, 1.0 + floor, 0.0
        return RoughMixture(weight, beta, sigma, information), share, height

    rng = np.random.default_rng(0)  # The records alone decide the start.
    groupings = [_quantile_groups(y, w, C)]
    groupings += [_spread_out_groups(y, w, C, rng) for _ in range(_SPREAD_OUT)]
    tried = [improved(share, _BEFORE_DROPPING, dropping=False) for share in groupings]
    _, share, _ = max(tried, key=lambda one: one[2])
    return improved(share, _STEPS - _BEFORE_DROPPING, dropping=True)[0]


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


def _spread_out_groups(y: Floats, w: Floats, C: int, rng: np.random.Generator) -> Floats:
    """Shares (cells, C), 0 or 1, of groups around C outcomes, each drawn far from those before."""
    chance, middles = w / w.sum(), np.empty(0)
    apart = np.full(len(y), np.inf)
    for _ in range(C):
        middles = np.append(middles, y[rng.choice(len(y), p=chance)])
        apart = np.minimum(apart, np.abs(y - middles[-1]))
        far = w * (apart / max(float(apart.max()), 1e-300)) ** 2
        if not far.any():
            break
        chance = far / far.sum()
    middles.sort()
    return np.eye(C)[np.searchsorted(0.5 * (middles[1:] + middles[:-1]), y)]


def _responsibilities(weight: Floats, sigma: Floats, residuals: Floats) -> tuple[Floats, Floats]:
    """Shares (cells, C), and the log densities (cells,) up to one constant."""
    with np.errstate(divide="ignore"):
        height = np.log(weight / weight.sum()) - np.log(sigma)
    terms = height - 0.5 * (residuals / sigma) ** 2
    top = terms.max(axis=1, keepdims=True)
    shares = np.exp(terms - top)
    total = shares.sum(axis=1, keepdims=True)
    return np.asarray(shares / total), np.asarray((top + np.log(total))[:, 0])
