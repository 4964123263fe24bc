"""A rough mixture to start from: the best of some groupings of the outcome, improved by EM steps.

Groups of equal weight alone leave a few outcomes far from the others in one group with many near
ones, and EM steps do not part them. So groups around spread-out outcomes compete with them, by the
weighted log-likelihood after a few steps. Most of them miss a group of very few records, hence
their number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws.tables.design.cells import Cells

_STEPS = 30
_STEPS_OF_TRIAL = 10
MOST_CELLS = 50_000
_MOST_OF_TRIAL = 5_000
_RIDGE = 1e-3
_SPREAD_OUT = 40  # Groupings around outcomes that are drawn apart from each other.


@dataclass(frozen=True, slots=True)
class RoughMixture:
    """C components with `weight` (C,) of records each (0 = empty), their coefficients (C, K) and
    standard deviations (C,); heavier components come first, so that components of two fits agree.

    `information` (C, K, K) is that on each component's coefficients from the records' shares in it.
    It takes a component's variance as if K more residuals were 1, the size that the prior expects:
    the spread of few records around K coefficients is far too small to count on.
    """

    weight: Floats
    beta: Floats
    sigma: Floats
    information: Floats


def rough_mixture(cells: Cells, weights: Floats, *, components: int, floor: float) -> RoughMixture:
    """Weighted EM from groups of neighbouring outcomes; components of under one record go empty."""
    C, K = components, cells.n_coefficients
    w = cells.weight_sums(weights)
    if w.sum() < 1.0:
        nothing = np.zeros(C), np.zeros((C, K)), np.full(C, 1.0 + floor), np.zeros((C, K, K))
        return RoughMixture(*nothing)
    some = _Sample(cells, w, C, floor, _MOST_OF_TRIAL)
    rng = np.random.default_rng(0)  # The records alone decide the start.
    groupings = [_quantile_groups(some.y, some.w, C)]
    groupings += [_spread_out_groups(some.y, some.w, C, rng) for _ in range(_SPREAD_OUT)]
    tried = [some.improved(share, _STEPS_OF_TRIAL, dropping=False) for share in groupings]
    best, _ = max(tried, key=lambda pair: pair[1])
    every = _Sample(cells, w, C, floor, MOST_CELLS)
    shares, _ = every.improved(every.shares(best)[0], _STEPS, dropping=True)
    return shares


class _Sample:
    """Cells of positive weight w (cells,), evenly placed where there are more than `most`."""

    def __init__(self, cells: Cells, w: Floats, C: int, floor: float, most: int) -> None:
        total = float(w.sum())
        used = np.flatnonzero(w)
        order = used[np.argsort(cells.outcome[used], kind="stable")]
        part = np.sort(order[:: -(-len(used) // most)])
        rows, self.row = np.unique(cells.row_of_cell[part], return_inverse=True)
        self.X, self.y = cells.rows[rows], cells.outcome[part]
        self.w = w[part] * (total / w[part].sum())
        self._C, self._floor = C, floor
        middle = float(self.w @ self.y) / total
        self._spread = max(float(self.w @ (self.y - middle) ** 2) / total, floor**2, 1e-300)
        self._ridge = _RIDGE * np.diag(np.maximum(np.abs(cells.rows).max(axis=0), 1e-150) ** 2)

    def improved(self, share: Floats, steps: int, *, dropping: bool) -> tuple[RoughMixture, float]:
        """The mixture after EM steps from shares (cells, C), and its weighted log-likelihood."""
        C, K = self._C, self.X.shape[1]
        weight, beta, sigma = np.zeros(C), np.zeros((C, K)), np.ones(C)
        information, height = np.zeros((C, K, K)), 0.0
        for _ in range(steps):
            weight = share.T @ self.w
            if dropping:
                weight[weight < 1.0] = 0.0
            for c in np.flatnonzero(weight):
                part = self.w * share[:, c]
                own, products = self._regression(part)
                beta[c], squares = own, float(part @ (self.y - (self.X @ own)[self.row]) ** 2)
                # As if the component held a thousandth of a record of the overall spread.
                variance = (squares + 1e-3 * self._spread) / (weight[c] + 1e-3)
                sigma[c] = max(np.sqrt(variance), 1.02 * self._floor)
                information[c] = products / (sigma[c] ** 2 + K / weight[c])
            share, heights = self.shares(RoughMixture(weight, beta, sigma, information))
            height = float(self.w @ heights)
        empty = weight == 0.0
        beta[empty], sigma[empty] = 0.0, 1.0 + self._floor
        information[empty] = 0.0
        by_weight = np.argsort(-weight, kind="stable")
        parts = (part[by_weight] for part in (weight, beta, sigma, information))
        return RoughMixture(*parts), height

    def shares(self, rough: RoughMixture) -> tuple[Floats, Floats]:
        """Responsibilities (cells, C), and the log densities (cells,) up to one constant."""
        residuals = self.y[:, None] - (self.X @ rough.beta.T)[self.row]
        with np.errstate(divide="ignore"):
            height = np.log(rough.weight / rough.weight.sum()) - np.log(rough.sigma)
        terms = height - 0.5 * (residuals / rough.sigma) ** 2
        top = terms.max(axis=1, keepdims=True)
        shares = np.exp(terms - top)
        total = shares.sum(axis=1, keepdims=True)
        return np.asarray(shares / total), np.asarray((top + np.log(total))[:, 0])

    def _regression(self, part: Floats) -> tuple[Floats, Floats]:
        """Coefficients and products of columns, records weighted by `part`."""
        X, R = self.X, len(self.X)
        products = (X * np.bincount(self.row, weights=part, minlength=R)[:, None]).T @ X
        pull = X.T @ np.bincount(self.row, weights=part * self.y, minlength=R)
        return np.asarray(np.linalg.solve(products + self._ridge, pull)), products


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
