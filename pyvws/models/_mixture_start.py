"""A rough mixture to start from, and the scale around it that samplers see.

The rough mixture is the best of some groupings of the outcome, improved by EM steps. Groups of
equal weight alone leave a few outcomes far from the others in one group with many near ones, and EM
steps do not part them. So groups around spread-out outcomes compete with them, by the weighted
log-likelihood after a few steps. Most of them miss a group of very few records, hence their number.

The scale is a change of variables that leaves the target as it is. The raw coefficients x_k,
beta_k = B x_k, are taken as `pyvws.models.sampled_scale` takes coefficients: x_k = R_k^-T (R_k^-1
B' H_k b_k + z_k), with the rough fit's H_k and b_k of each component and R_k R_k' = I + B' H_k B.
Where H_k outweighs the prior, beta_k is near b_k + H_k^-1/2 z_k whatever the scales s are, so
well-known coefficients do not tie the scales down. A component that starts empty has H_k = 0 and
x_k = z_k. Where components swap their roles the target stays the same, and steps fit it less well.

The records say much of the shares pi_k and nothing of the sum of the sizes exp(v_k), a Gamma(gamma,
1) variable. So samplers see each v_k less that of one large component, and, in the place of that
one, a number t with log sum exp(v) = log(gamma + 1/2) + (a + b) t - b sqrt(1 + t^2), a = 1/2 and
b = 1/(2 gamma). Far to the left the sum's logarithm falls by 1/gamma with t, as its law has it, so
that t is of about one size for every gamma: no funnel of small gamma, no ridge along the shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Data, Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.models.model import SampledScale
from pyvws.models.priors import pull_back_factor, scaled_factor, solve_lower, solve_upper
from pyvws.models.sampled_scale import (
    conditional_factors,
    conditional_parts,
    prior_factor,
    pull_back_factors,
)
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


_RIGHT = 0.5  # Slope of the logarithm of all sizes in t, far to the right.


@inlined_kernel
def _log_total(t: float, gamma: float) -> tuple[float, float]:
    """log sum exp(v) at t, and its slope in t."""
    half, root = 0.5 / gamma, math.sqrt(1.0 + t * t)
    total = math.log(gamma + 0.5) + (_RIGHT + half) * t - half * root
    return total, _RIGHT + half * (1.0 - t / root)


@kernel
def _restore_mixture(
    z: Floats, offset: Floats, H: Floats, pull: Floats, large: int, q: Floats
) -> tuple[float, Any]:
    """Fill q (D,) from z (D,), whose log sizes are t at component `large`, elsewhere v_k less v of
    it.
    """
    C, K = pull.shape
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    B = scaled_factor(q, C * K, K)
    R, HB, centre = np.empty((C, K, K)), np.empty((C, K, K)), np.empty((C, K))
    e = np.empty(K)
    jacobian = 0.0
    for c in range(C):
        own_R, own_HB, own_centre = conditional_factors(B, H[c], pull[c])
        for k in range(K):  # To assign whole slices takes seconds to compile.
            centre[c, k] = own_centre[k]
            for j in range(K):
                R[c, k, j], HB[c, k, j] = own_R[k, j], own_HB[k, j]
        for k in range(K):
            e[k] = centre[c, k] + q[c * K + k]
            jacobian -= math.log(R[c, k, k])
        solve_upper(R[c], e)
        for k in range(K):
            q[c * K + k] = e[k]
    last = len(q) - 1
    sizes = last - C
    t = q[sizes + large]
    total, slope = _log_total(t, math.exp(q[last]))
    jacobian += math.log(slope)
    q[sizes + large] = 0.0
    shift = total - _log_sum(q, sizes, last)
    for c in range(sizes, last):
        q[c] += shift
    return jacobian, (B, R, HB, centre, t, total, slope)


@inlined_kernel
def _log_sum(q: Floats, first: int, end: int) -> float:
    """log of the sum of exp(q) over the entries from `first` up to `end`."""
    top, total = q[first], 0.0
    for c in range(first, end):
        top = q[c] if q[c] > top else top
    for c in range(first, end):
        total += math.exp(q[c] - top)
    return top + math.log(total)


@kernel
def _pull_back_mixture(
    state: Data, q: Floats, _offset: Floats, _H: Floats, pull: Floats, large: int, gradient: Floats
) -> None:
    """Turn the gradient in q (D,) into the gradient in z, as `pull_back_conditional` does."""
    B, R, HB, centre, t, total, slope = state
    C, K = pull.shape
    at = C * K
    by_right, by_R, by_B = np.empty(K), np.empty((K, K)), np.empty((K, K))
    for i in range(K):
        for j in range(K):
            by_B[i, j] = 0.0
    for c in range(C):
        by_z = gradient[c * K : (c + 1) * K]
        solve_lower(R[c], by_z)
        for k in range(K):
            by_right[k] = by_z[k]
        solve_upper(R[c], by_right)  # The gradient in B' H_k b_k.
        for i in range(K):
            for j in range(K):
                by_R[i, j] = -q[c * K + i] * by_z[j] - by_right[i] * centre[c, j]
            by_R[i, i] -= 1.0 / R[c, i, i]
        own = pull_back_factors(R[c], HB[c], by_R)
        for i in range(K):
            for j in range(K):
                by_B[i, j] += own[i, j] + pull[c, i] * by_right[j]
    for i in range(K):
        scale = math.exp(q[at + i])
        for j in range(K):
            if j <= i:
                gradient[at + i] += by_B[i, j] * B[i, j]
            by_B[i, j] *= scale
    pull_back_factor(q, at + K, by_B, gradient)
    last = len(q) - 1
    sizes = last - C
    by_total = 0.0
    for c in range(sizes, last):
        by_total += gradient[c]
    for c in range(sizes, last):
        gradient[c] -= math.exp(q[c] - total) * by_total
    gamma, root = math.exp(q[last]), math.sqrt(1.0 + t * t)
    half = 0.5 / gamma
    gradient[sizes + large] = by_total * slope - half / (root * root * root * slope)
    gradient[last] += by_total * (gamma / (gamma + 0.5) - half * (t - root))
    gradient[last] -= half * (1.0 - t / root) / slope


def mixture_scale(centre: Floats, H: Floats, b: Floats) -> SampledScale:
    """z -> q for components' H (C, K, K) and b (C, K); z = 0 gives the rough fit `centre` (D,).

    q holds raw coefficients (C K), log s (K), partial correlations, log(sigma - floor) (C), log
    sizes (C) and log gamma.
    """
    H = np.ascontiguousarray(H)
    C = len(b)
    pull = np.einsum("cij,cj->ci", H, b)
    sizes = slice(len(centre) - 1 - C, len(centre) - 1)
    large = int(np.argmax(centre[sizes]))

    def seen(q: Floats) -> Floats:
        """What stands in the place of q (D,) before `offset` is taken off."""
        z = q.copy()
        R, middle = conditional_parts(prior_factor(q[b.size :], b.shape[1]), H, pull)
        x = q[: b.size].reshape(b.shape)
        z[: b.size] = (np.einsum("ci,cij->cj", x, R) - middle).ravel()
        v, gamma = q[sizes], math.exp(q[-1])
        z[sizes] = v - v[large]
        z[sizes.start + large] = _where_log_total(np.logaddexp.reduce(v), gamma)
        return z

    offset = seen(centre)
    data = offset, H, pull, large
    kernels = _restore_mixture, _pull_back_mixture
    return SampledScale(kernels, data, lambda q: seen(q) - offset)


def _where_log_total(total: float, gamma: float) -> float:
    """t of a given log sum exp(v): the root of a quadratic equation."""
    y, b = total - math.log(gamma + 0.5), 0.5 / gamma
    a = _RIGHT + b
    product = _RIGHT * (_RIGHT + 2.0 * b)
    return (a * y + b * math.sqrt(y * y + product)) / product
