"""Multinomial logistic regression of an outcome in levels without an order."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Final

import numpy as np
from scipy.linalg import solve_triangular

from pyvws._base.checks import Floats, told
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models._priors import (
    LKJ_SHAPE,
    cholesky_factor,
    constrain_scales,
    log_sech_squared,
    pull_back_factor,
    unconstrain_scales,
)
from pyvws.models.model import Draws, Family, SampledScale, Start
from pyvws.models.regression import linear_predictor
from pyvws.tables.cells import Cells

__all__ = ["Nominal"]

_SCALE_DF: Final = 3.0
_LARGEST_DENSE: Final = 1500  # Coefficients up to which the sampled scale knows all covariances.
_ROUNDS, _STEPS, _ENOUGH = 4, 8, 0.1  # Of scales; of Newton's method; a rise in nats that ends it.


@kernel
def _log_prior(q: Any, K: int, n: int, grad: Any) -> float:
    """Log prior of n levels' coefficients under one scale and correlation, with log Jacobians.

    q starts with beta, coefficient by coefficient (K n,), log s (K,) and the partial correlations.
    Adds the gradient to grad.
    """
    first = K * n
    logp = 0.0
    inverse = np.empty(K)
    for k in range(K):
        u = q[first + k]
        s2 = math.exp(2.0 * u)
        inverse[k] = math.exp(-u)
        logp -= 0.5 * (_SCALE_DF + 1.0) * math.log1p(s2 / _SCALE_DF) + (n - 1) * u
        grad[first + k] -= (_SCALE_DF + 1.0) * s2 / (_SCALE_DF + s2) + (n - 1)
    partials = q[first + K : first + K + K * (K - 1) // 2]
    L = cholesky_factor(partials, K)
    v, w = np.empty((K, n)), np.empty((K, n))
    for i in range(K):
        for level in range(n):
            v[i, level] = q[i * n + level] * inverse[i]
        for j in range(i):
            for level in range(n):
                v[i, level] -= L[i, j] * v[j, level]
        for level in range(n):
            v[i, level] /= L[i, i]
            logp -= 0.5 * v[i, level] * v[i, level]
    for i in range(K - 1, -1, -1):
        for level in range(n):
            w[i, level] = v[i, level]
        for j in range(i + 1, K):
            for level in range(n):
                w[i, level] -= L[j, i] * w[j, level]
        for level in range(n):
            w[i, level] /= L[i, i]
    by_L = np.empty((K, K))
    at = 0
    for i in range(K):
        total = 0.0
        for level in range(n):
            scaled = w[i, level] * inverse[i]
            grad[i * n + level] -= scaled
            total += scaled * q[i * n + level]
        grad[first + i] += total
        for j in range(i + 1):
            total = 0.0
            for level in range(n):
                total += w[i, level] * v[j, level]
            by_L[i, j] = total
        for j in range(i):
            # As `log_coefficient_prior`, with - log L_ii from each of n normal densities.
            power = 1.0 - 0.5 * n + 0.5 * (i - 1 - j) + 0.5 * (K - i - 1 + 2.0 * LKJ_SHAPE - 2.0)
            logp += power * log_sech_squared(partials[at])
            grad[first + K + at] -= 2.0 * power * math.tanh(partials[at])
            at += 1
    pull_back_factor(partials, K, by_L, grad[first + K :])
    return logp


@kernel
def _etas(beta: Any, n: int, start: Any, column: Any, value: Any, r: int, eta: Any) -> None:
    """Fill eta (n + 1,) of row r, 0 for the first level; beta is (K n,), coefficient by coefficient.

    Rows hold the `value` of each `column` that is not 0 at the places start_r to start_{r+1} - 1.
    """
    eta[:] = 0.0
    for e in range(start[r], start[r + 1]):
        x, at = value[e], column[e] * n
        for level in range(n):
            eta[level + 1] += x * beta[at + level]


@kernel
def _shares(eta: Any, p: Any) -> float:
    """Fill p (n + 1,) with P(level) at eta (n + 1,); the log of the sum of exponentials of eta."""
    top = 0.0
    for level in range(len(eta)):
        top = max(top, eta[level])
    total = 0.0
    for level in range(len(eta)):
        p[level] = math.exp(eta[level] - top)
        total += p[level]
    for level in range(len(eta)):
        p[level] /= total
    return top + math.log(total)


@kernel
def _log_density(
    q: Any,
    K: int,
    n: int,
    start: Any,
    column: Any,
    value: Any,
    total: Any,
    first_cell: Any,
    level: Any,
    weight: Any,
    grad: Any,
) -> float:
    """log prior + sum_i alpha_i log P(level_i), from sums of alpha by row and by row and level."""
    grad[:] = 0.0
    logp = _log_prior(q, K, n, grad)
    eta, p = np.empty(n + 1), np.empty(n + 1)
    for r in range(len(total)):
        if total[r] == 0.0:
            continue
        _etas(q, n, start, column, value, r, eta)
        height = _shares(eta, p)
        for j in range(n + 1):
            p[j] *= -total[r]
        for c in range(first_cell[r], first_cell[r + 1]):
            logp += weight[c] * (eta[level[c]] - height)
            p[level[c]] += weight[c]
        for e in range(start[r], start[r + 1]):
            x, at = value[e], column[e] * n
            for j in range(n):
                grad[at + j] += x * p[j + 1]
    return logp


@kernel
def _cell_terms(q: Any, _rows: Any, row_of_cell: Any, data: Any, found: Any) -> None:
    """log P(level) of each cell, and its derivatives in the n etas of its row."""
    n, start, column, value, level = data
    log_lik, _, by_eta = found
    R = len(start) - 1
    height, eta, p = np.empty(R), np.empty((R, n + 1)), np.empty((R, n + 1))
    for r in range(R):
        _etas(q, n, start, column, value, r, eta[r])
        height[r] = _shares(eta[r], p[r])
    for c in range(len(level)):
        r = row_of_cell[c]
        log_lik[c] = eta[r, level[c]] - height[r]
        for j in range(n):
            by_eta[c, j] = (1.0 if level[c] == j + 1 else 0.0) - p[r, j + 1]


@kernel
def _cell_slopes(
    _q: Any, _rows: Any, row_of_cell: Any, data: Any, found: Any, weight: Any, gradient: Any
) -> None:
    """Adds the gradient of sum_c weight_c l_c."""
    n, start, column, value, _ = data
    by_eta = found[2]
    for c in range(len(row_of_cell)):
        if weight[c] == 0.0:
            continue
        r = row_of_cell[c]
        for e in range(start[r], start[r + 1]):
            x, at = weight[c] * value[e], column[e] * n
            for j in range(n):
                gradient[at + j] += x * by_eta[c, j]


@kernel
def _log_likelihood(
    beta: Any, n: int, start: Any, column: Any, value: Any, row_of_cell: Any, level: Any, found: Any
) -> None:
    """Fills found (S, C) with log P(level) of each cell under beta (S, K n)."""
    R = len(start) - 1
    height, eta, p = np.empty(R), np.empty((R, n + 1)), np.empty(n + 1)
    for s in range(len(beta)):
        for r in range(R):
            _etas(beta[s], n, start, column, value, r, eta[r])
            height[r] = _shares(eta[r], p)
        for c in range(len(level)):
            r = row_of_cell[c]
            found[s, c] = eta[r, level[c]] - height[r]


@kernel
def _information(shares: Any, start: Any, column: Any, value: Any, total: Any, H: Any) -> None:
    """Adds to the lower half of H (K n, K n) the information on beta; shares (R, n)."""
    n = shares.shape[1]
    W = np.empty((n, n))
    for r in range(len(total)):
        if total[r] == 0.0:
            continue
        for a in range(n):
            for b in range(n):
                W[a, b] = -total[r] * shares[r, a] * shares[r, b]
            W[a, a] += total[r] * shares[r, a]
        for e in range(start[r], start[r + 1]):
            for f in range(start[r], e + 1):
                x = value[e] * value[f]
                i, j = column[e] * n, column[f] * n
                for a in range(n):
                    for b in range(n):
                        H[i + a, j + b] += x * W[a, b]


@kernel
def _restore(
    z: Any, A: Any, centre: Any, h: Any, width: Any, K: int, n: int, q: Any
) -> tuple[float, Any]:
    """Fill q (D,) from z (D,); the log Jacobian up to a constant, and a state.

    With t = A' z, of the rough posterior's covariance, beta_i = D_i (D_i b_i + t_i) around the
    rough fit b. D_i = sqrt((h_i + 1 / s0^2) / (h_i + 1 / s^2)) is the posterior's width at scale s
    over that at the rough scale s0, for information h_i on beta_i alone. So coefficients that the
    data say little of shrink with their scale, and there is no funnel.
    """
    m = K * n
    for d in range(m, len(z)):
        q[d] = width[d - m] * z[d] + centre[d]
    t, D = np.zeros(m), np.empty(m)
    for i in range(m):
        for j in range(i + 1):
            t[j] += A[i, j] * z[i]
    jacobian = 0.0
    for k in range(K):
        now, rough = math.exp(-2.0 * q[m + k]), math.exp(-2.0 * centre[m + k])
        for i in range(k * n, (k + 1) * n):
            D[i] = math.sqrt((h[i] + rough) / (h[i] + now))
            q[i] = D[i] * (D[i] * centre[i] + t[i])
            jacobian += math.log(D[i])
    return jacobian, (D, t)


@kernel
def _pull_back(
    state: Any, q: Any, A: Any, centre: Any, h: Any, width: Any, K: int, n: int, gradient: Any
) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place, with the Jacobian's added."""
    m = K * n
    D, t = state
    by_t = np.empty(m)
    for k in range(K):
        now = math.exp(-2.0 * q[m + k])
        for i in range(k * n, (k + 1) * n):
            by_t[i] = gradient[i] * D[i]
            rise = now / (h[i] + now)  # Of log D_i in log s.
            gradient[m + k] += rise * (by_t[i] * (2.0 * D[i] * centre[i] + t[i]) + 1.0)
    for d in range(m, len(gradient)):
        gradient[d] *= width[d - m]
    for i in range(m):
        total = 0.0
        for j in range(i + 1):
            total += A[i, j] * by_t[j]
        gradient[i] = total


@dataclass(frozen=True, slots=True)
class Nominal(Family):
    """P(y_i = l) = exp(X_i beta_l) / sum_j exp(X_i beta_j), beta_1 = 0: multinomial logit.

    Given one scale and correlation of the coefficients, the levels' beta_2, ..., beta_L are
    independent with the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta,
    coefficient by coefficient, log sigma_beta, partial correlations of L_beta). Outcomes are codes
    1 to L of the levels.

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0: choose g above 0, or SW.

    Parameters
    ----------
    levels : sequence of str
        Every label that the outcome can have, 2 or more, known without looking at the data; the
        first is the one that the others are compared with. An empty sequence takes the labels in
        the data, and so releases these labels.

    Raises
    ------
    InputError
        For fewer than two levels, or levels that are not distinct.
    """

    name: ClassVar[str] = "nominal"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    predicts_from: ClassVar[tuple[str, ...]] = ("beta",)
    log_density: ClassVar[Callable[..., float]] = staticmethod(_log_density)
    cell_terms: ClassVar[Callable[..., None]] = staticmethod(_cell_terms)
    cell_slopes: ClassVar[Callable[..., None]] = staticmethod(_cell_slopes)
    levels: tuple[str, ...] = setting((), "Public levels of the outcome; the data's if not given.")
    from_data: int = field(default=0, metadata={"prepared": True})

    def __post_init__(self) -> None:
        given = tuple(str(level) for level in self.levels)
        if given and (len(given) < 2 or len(set(given)) < len(given)):
            raise InputError(f"levels must be 2 or more different labels. Got {told(given)}.")
        object.__setattr__(self, "levels", given)

    @property
    def n_levels(self) -> int:
        """L, the number of levels; 0 before `prepare` where the data gives them."""
        return len(self.levels) or self.from_data

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        return self.levels

    @property
    def prepared_from_data(self) -> bool:
        return not self.levels

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return (Phrase("levels-from-data"),) if self.from_data else ()

    def prepare(self, outcome: Floats, column: str) -> Nominal:
        if self.levels:
            return self
        most = int(outcome.max())
        if most < 2:
            raise InputError(
                f"Column {column!r} has a single level; nominal takes 2 or more. Give every "
                "possible level by --levels (levels=(...) in Python)."
            )
        return replace(self, from_data=most)

    def stan_settings(self) -> dict[str, Any]:
        return {"J": self.n_levels}

    def slope_width(self, K: int) -> int:
        return self.n_levels - 1

    def saturated(self, cells: Cells) -> Floats:
        """0: the largest probability is 1."""
        return np.zeros(cells.n_cells)

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return self.n_levels - 1, *_sparse(cells.rows), _places(cells)

    def dimension(self, K: int) -> int:
        return K * self.n_levels + K * (K - 1) // 2

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        sums, R = cells.weight_sums(weights), len(cells.rows)
        order = np.argsort(cells.row_of_cell, kind="stable")
        order = order[sums[order] > 0.0]
        total = np.bincount(cells.row_of_cell, weights=sums, minlength=R)
        ends = np.cumsum(np.bincount(cells.row_of_cell[order], minlength=R))
        return (
            *(cells.n_coefficients, self.n_levels - 1, *_sparse(cells.rows), total),
            *(np.concatenate([[0], ends]), _places(cells)[order], sums[order]),
        )

    def start(self, cells: Cells, weights: Floats) -> Start:
        K, n = cells.n_coefficients, self.n_levels - 1
        m = K * n
        centre = np.zeros(self.dimension(K))
        if m > _LARGEST_DENSE:
            return Start(centre)
        with steady_sums():
            beta, scales, precision = _rough_fit(cells, self.density_data(cells, weights))
            C = np.linalg.cholesky(precision)
            A = np.ascontiguousarray(solve_triangular(C, np.eye(m), lower=True))
        centre[:m], centre[m : m + K] = beta, np.log(scales)
        prior = np.repeat(scales**-2.0, n)
        known = np.maximum((A * A).sum(axis=0), 1e-300)  # The rough posterior's variances.
        h = np.maximum(1.0 / known - prior, 0.0)
        explained = (1.0 - np.minimum(known * prior, 1.0)).reshape(K, n).sum(axis=1)
        i, j = np.tril_indices(K, -1)
        curvature = 2.0 + (i - 1 - j) + (K - i - 1 + 2.0 * LKJ_SHAPE - 2.0)
        width = np.concatenate([(1.0 + 2.0 * explained) ** -0.5, curvature**-0.5])
        data = A, centre, h, width, K, n

        def inverse(q: Floats) -> Floats:
            z = q - centre
            z[m:] /= width
            now = np.repeat(np.exp(-2.0 * q[m : m + K]), n)
            D = np.sqrt((h + prior) / (h + now))
            z[:m] = C.T @ (q[:m] / D - D * centre[:m])
            return z

        return Start(centre, scale=SampledScale((_restore, _pull_back), data, inverse))

    def constrain(self, q: Floats, K: int) -> Draws:
        m = K * (self.n_levels - 1)
        beta = q[:, :m].reshape(len(q), K, -1).transpose(0, 2, 1)
        return {"beta": np.ascontiguousarray(beta), **constrain_scales(q[:, m:], K)}

    def unconstrain(self, draws: Draws) -> Floats:
        beta = draws["beta"].transpose(0, 2, 1)
        return np.column_stack([beta.reshape(len(beta), -1), unconstrain_scales(draws)])

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        beta = np.ascontiguousarray(draws["beta"].transpose(0, 2, 1))
        found = np.empty((len(beta), cells.n_cells))
        n, start, column, value, level = self.term_data(cells)
        flat = beta.reshape(len(beta), -1)
        _log_likelihood(flat, n, start, column, value, cells.row_of_cell, level, found)
        return found

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        others = linear_predictor(draw["beta"][0], design)
        eta = np.vstack([np.zeros(len(design)), others])
        below = np.cumsum(np.exp(eta - eta.max(axis=0)), axis=0)
        return 1.0 + (below[:-1] <= rng.random(len(design)) * below[-1]).sum(axis=0)


def _places(cells: Cells) -> Any:
    """Each cell's level, counted from 0."""
    return cells.outcome.astype(np.intp) - 1


def _sparse(rows: Floats) -> tuple[Any, Any, Any]:
    """Where each row's entries start (R + 1,), and the column and value of those that are not 0."""
    row, column = np.nonzero(rows)
    start = np.concatenate([[0], np.cumsum(np.bincount(row, minlength=len(rows)))])
    return start, column, rows[row, column]


def _rough_fit(cells: Cells, data: tuple[Any, ...]) -> tuple[Floats, Floats, Floats]:
    """beta (K n,) near the mode, scales s (K,), and the precision of beta, without correlations.

    Newton's method finds beta for given scales; then each scale takes the best value for the
    expected squares of its coefficients.
    """
    K, n, start, column, value, total, first, level, weight = data
    R, m, X = len(total), K * n, cells.rows
    seen = np.zeros((R, n + 1))
    np.add.at(seen, (np.repeat(np.arange(R), np.diff(first)), level), weight)
    beta, variance = np.zeros((K, n)), np.ones(K)

    def value_at(beta: Floats) -> tuple[float, Floats]:
        eta = np.column_stack([np.zeros(R), X @ beta])
        top = eta.max(axis=1, keepdims=True)
        height = top[:, 0] + np.log(np.exp(eta - top).sum(axis=1))
        prior = 0.5 * (beta * beta / variance[:, None]).sum()
        return float((seen * eta).sum() - total @ height - prior), np.exp(eta - height[:, None])

    def precision(shares: Floats) -> Floats:
        H = np.zeros((m, m))
        _information(np.ascontiguousarray(shares[:, 1:]), start, column, value, total, H)
        lower = np.tril(H)
        found: Floats = lower + np.tril(lower, -1).T + np.diag(np.repeat(1.0 / variance, n))
        return found

    for _ in range(_ROUNDS):
        height, shares = value_at(beta)
        for _ in range(_STEPS):
            slope = X.T @ (seen - total[:, None] * shares)[:, 1:] - beta / variance[:, None]
            step = np.linalg.solve(precision(shares), slope.ravel()).reshape(K, n)
            size = 1.0
            while size > 1e-3:
                higher, found = value_at(beta + size * step)
                if higher >= height - 1e-9:
                    break
                size *= 0.5
            beta, shares, risen = beta + size * step, found, higher - height
            height = higher
            if risen < _ENOUGH:
                break
        expected = np.diag(np.linalg.inv(precision(shares))).reshape(K, n) + beta * beta
        Q = expected.sum(axis=1)
        b = _SCALE_DF * (n - 1.0) - Q
        variance = (-b + np.sqrt(b * b + 4.0 * (n + 3.0) * _SCALE_DF * Q)) / (2.0 * (n + 3.0))
    return beta.ravel(), np.sqrt(variance), precision(shares)
