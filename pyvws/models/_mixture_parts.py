"""Of a mixture of normal regressions: its likelihood, a rough one to start from, and its scale.

The weighted log-likelihood with its gradient takes cells of one design row in blocks, and each step
of a block is a loop over its cells that a processor does several at once. A component too far from
a block to change a sum there is left out of it.

The rough mixture is the best of some groupings of the outcome, improved by EM steps. Groups of
equal weight alone leave a few outcomes far from the others in one group with many near ones, and EM
steps do not part them. So groups around spread-out outcomes compete with them, by the weighted
log-likelihood after a few steps. Most of them miss a group of very few records, hence their number.

The scale around it that samplers see is a change of variables that leaves the target as it is. The
raw coefficients x_k, beta_k = B x_k, are taken as `pyvws.models.sampled_scale` takes coefficients:
x_k = R_k^-T (R_k^-1 B' H_k b_k + z_k), with the rough fit's H_k and b_k of each component and
R_k R_k' = I + B' H_k B. Where H_k outweighs the prior, beta_k is near b_k + H_k^-1/2 z_k whatever
the scales s are, so well-known coefficients do not tie the scales down. A component that starts
empty has H_k = 0 and x_k = z_k. Where components swap their roles the target stays the same, and
steps fit it less well.

The records say much of the shares pi_k and nothing of the sum of the sizes exp(v_k), a Gamma(gamma,
1) variable. So samplers see each v_k less that of one large component, and, in the place of that
one, a number t with log sum exp(v) = log(gamma + 1/2) + (a + b) t - b sqrt(1 + t^2), a = 1/2 and
b = 1/(2 gamma). Far to the left the sum's logarithm falls by 1/gamma with t, as its law has it, so
that t is of about one size for every gamma: no funnel of small gamma, no ridge along the shares.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import inlined_kernel, kernel, summing_kernel
from pyvws.models._special_functions import exponentials, log_total
from pyvws.models.model import SampledScale
from pyvws.models.priors import pull_back_factor, scaled_factor, solve_upper
from pyvws.models.regression import add_slope, linear
from pyvws.models.sampled_scale import (
    conditional_factors,
    conditional_parts,
    prior_factor,
    pull_back_solution,
)
from pyvws.tables.design.cells import Cells

_FAR = -45.0  # exp() of it is below half an ulp of the sum it would be added to.

_BLOCK = 64


@inlined_kernel
def _heights(
    y: Floats, line: tuple[float, float, float], z: Floats, share: Floats, top: Floats
) -> None:
    """z and log height of one component in each cell; the highest so far into `top`."""
    inverse, scaled, log_height = line
    for i in range(len(y)):
        z[i] = y[i] * inverse - scaled
        share[i] = log_height - 0.5 * z[i] * z[i]
        top[i] = share[i] if share[i] > top[i] else top[i]


@inlined_kernel
def _below_top(share: Floats, z: Floats, top: Floats, n: int) -> None:
    """Heights as gaps to the highest; z = 0 where a component is too far to count."""
    for i in range(n):
        gap = share[i] - top[i]
        near = gap > _FAR
        share[i] = gap if near else 2.0 * _FAR
        z[i] = z[i] if near else 0.0


class _Moments(NamedTuple):
    """The sums of shares, of shares times z, and of shares times z^2."""

    zeroth: float
    first: float
    second: float


@summing_kernel
def _moments(part: Floats, z: Floats, n: int) -> _Moments:
    zeroth, first, second = 0.0, 0.0, 0.0
    for i in range(n):
        once = part[i] * z[i]
        zeroth += part[i]
        first += once
        second += once * z[i]
    return _Moments(zeroth, first, second)


@inlined_kernel
def _near(y: Floats, lines: Arrays, near: Ints) -> int:
    """Fill `near` with the components that count somewhere in the range of y; their number."""
    inverse, scaled, log_height = lines
    C = len(inverse)
    low, high = y[0], y[0]
    for i in range(len(y)):
        low = y[i] if y[i] < low else low
        high = y[i] if y[i] > high else high
    highest = np.empty(C)
    surely = -np.inf
    for c in range(C):
        a, b = low * inverse[c] - scaled[c], high * inverse[c] - scaled[c]
        at_low, at_high = log_height[c] - 0.5 * a * a, log_height[c] - 0.5 * b * b
        lower, upper = (at_low, at_high) if at_low < at_high else (at_high, at_low)
        surely = lower if lower > surely else surely
        highest[c] = log_height[c] if a < 0.0 < b else upper
    count = 0
    for c in range(C):
        if not highest[c] - surely <= _FAR:
            near[count] = c
            count += 1
    return count


@kernel
def log_terms(
    parts: Arrays, rows: Floats, y: Floats, weight: Floats, row_of_cell: Ints, slopes: Arrays
) -> float:
    """sum_i alpha_i log sum_k pi_k N(y_i | X_i beta_k, sigma_k), without log(2 pi) / 2.

    `parts` are beta (C, K), 1 / sigma_k and log pi_k - log sigma_k, both (C,); cells come row by
    row, and blocks of cells that lie close together need the fewest components. Adds to the three
    gradients; a component's share in a cell is its responsibility.
    """
    (beta, inverse, log_height), (by_beta, by_log_sigma, by_log_pi) = parts, slopes
    C = len(beta)
    z, share, exponential = np.empty((C, _BLOCK)), np.empty((C, _BLOCK)), np.empty((C, _BLOCK))
    top, height, unit = np.empty(_BLOCK), np.empty(_BLOCK), np.empty(_BLOCK)
    scaled, by_eta, near = np.empty(C), np.empty(C), np.empty(C, np.intp)
    lines = inverse, scaled, log_height
    total = 0.0
    cell, cells = 0, len(y)
    while cell < cells:
        r = row_of_cell[cell]
        for c in range(C):
            scaled[c] = linear(beta[c], rows, r) * inverse[c]
            by_eta[c] = 0.0
        while cell < cells and row_of_cell[cell] == r:
            n = 1
            while n < _BLOCK and cell + n < cells and row_of_cell[cell + n] == r:
                n += 1
            block = y[cell : cell + n]
            count = _near(block, lines, near)
            for i in range(n):
                top[i], height[i] = -np.inf, 0.0
            for c in near[:count]:
                _heights(block, (inverse[c], scaled[c], log_height[c]), z[c], share[c], top)
            for c in near[:count]:
                _below_top(share[c], z[c], top, n)
                own = exponential[c]
                exponentials(share[c], own, n)
                for i in range(n):
                    height[i] += own[i]
            for i in range(n):
                total += weight[cell + i] * (top[i] + math.log(height[i]))
                unit[i] = weight[cell + i] / height[i]
            for c in near[:count]:
                own = exponential[c]
                for i in range(n):
                    own[i] *= unit[i]
                zeroth, first, second = _moments(own, z[c], n)
                by_log_pi[c] += zeroth
                by_eta[c] += first
                by_log_sigma[c] += second - zeroth
            cell += n
        for c in range(C):
            add_slope(by_beta[c], by_eta[c] * inverse[c], rows, r)
    return total


@inlined_kernel
def relative_shares(share: Floats) -> tuple[float, float]:
    """Turn logarithms (C,) in place into shares of the largest; the largest and the shares' sum."""
    largest, height = -np.inf, 0.0
    for c in range(len(share)):
        largest = share[c] if share[c] > largest else largest
    for c in range(len(share)):
        gap = share[c] - largest
        share[c] = math.exp(gap) if gap > _FAR else 0.0
        height += share[c]
    return largest, height


@kernel
def log_shares(v: Floats) -> Floats:
    """log pi (C,) of log sizes v (C,)."""
    total, log_shares = log_total(v, 0, len(v)), np.empty(len(v))
    for c in range(len(v)):
        log_shares[c] = v[c] - total
    return log_shares


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
    """Fill q (D,) from z (D,); log sizes are t at component `large`, elsewhere v_k less v of it."""
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
    shift = total - log_total(q, sizes, C)
    for c in range(sizes, last):
        q[c] += shift
    return jacobian, (B, R, HB, centre, t, total, slope)


@kernel
def _pull_back_mixture(
    state: Data, q: Floats, _offset: Floats, _H: Floats, pull: Floats, large: int, gradient: Floats
) -> None:
    """Turn the gradient in q (D,) into the gradient in z, as `pull_back_conditional` does."""
    B, R, HB, centre, t, total, slope = state
    C, K = pull.shape
    at = C * K
    by_right, by_B = np.empty(K), np.empty((K, K))
    for i in range(K):
        for j in range(K):
            by_B[i, j] = 0.0
    for c in range(C):
        by_z = gradient[c * K : (c + 1) * K]
        x = q[c * K : (c + 1) * K]
        own = pull_back_solution(R[c], HB[c], centre[c], x, by_z, by_right)
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
    kernels, data = (_restore_mixture, _pull_back_mixture), (offset, H, pull, large)
    return SampledScale(kernels, data, lambda q: seen(q) - offset)


def _where_log_total(total: float, gamma: float) -> float:
    """t of a given log sum exp(v): the root of a quadratic equation."""
    y, b = total - math.log(gamma + 0.5), 0.5 / gamma
    a = _RIGHT + b
    product = _RIGHT * (_RIGHT + 2.0 * b)
    return (a * y + b * math.sqrt(y * y + product)) / product
