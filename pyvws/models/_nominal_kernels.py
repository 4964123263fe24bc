"""The compiled parts of the nominal family: prior, likelihood, gradients, and the sampled scale."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from pyvws._base.kernels import kernel
from pyvws.models.priors import LKJ_SHAPE, cholesky_factor, log_sech_squared, pull_back_factor

SCALE_DF: Final = 3.0


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
        logp -= 0.5 * (SCALE_DF + 1.0) * math.log1p(s2 / SCALE_DF) + (n - 1) * u
        grad[first + k] -= (SCALE_DF + 1.0) * s2 / (SCALE_DF + s2) + (n - 1)
    L = cholesky_factor(q, first + K, K)
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
    at = first + K
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
            logp += power * log_sech_squared(q[at])
            grad[at] -= 2.0 * power * math.tanh(q[at])
            at += 1
    pull_back_factor(q, first + K, by_L, grad)
    return logp


@kernel
def _log_normal_prior(q: Any, sd: float, grad: Any) -> float:
    """Log density of normal coefficients q (K n,) of one sd, without constants; adds its slope."""
    logp, precision = 0.0, 1.0 / (sd * sd)
    for i in range(len(q)):
        logp -= 0.5 * precision * q[i] * q[i]
        grad[i] -= precision * q[i]
    return logp


@kernel
def _etas(beta: Any, n: int, start: Any, column: Any, value: Any, r: int, eta: Any) -> None:
    """Fill eta (n + 1,) of row r, 0 for the first level; beta (K n,) is by coefficient.

    Rows hold the `value` of each `column` that is not 0 at the places start_r to start_{r+1} - 1.
    Four levels at a time fit into the processor's registers.
    """
    eta[0] = 0.0
    level = 0
    while level + 4 <= n:
        a = b = c = d = 0.0
        for e in range(start[r], start[r + 1]):
            x, at = value[e], column[e] * n + level
            a += x * beta[at]
            b += x * beta[at + 1]
            c += x * beta[at + 2]
            d += x * beta[at + 3]
        eta[level + 1], eta[level + 2], eta[level + 3], eta[level + 4] = a, b, c, d
        level += 4
    while level < n:
        a = 0.0
        for e in range(start[r], start[r + 1]):
            a += value[e] * beta[column[e] * n + level]
        level += 1
        eta[level] = a


@kernel
def _add_slopes(
    n: int, start: Any, column: Any, value: Any, r: int, by_eta: Any, grad: Any
) -> None:
    """Add to grad (K n,) the slopes in beta that follow from those in row r's eta (n + 1,)."""
    level = 0
    while level + 4 <= n:
        a, b, c, d = by_eta[level + 1], by_eta[level + 2], by_eta[level + 3], by_eta[level + 4]
        for e in range(start[r], start[r + 1]):
            x, at = value[e], column[e] * n + level
            grad[at] += x * a
            grad[at + 1] += x * b
            grad[at + 2] += x * c
            grad[at + 3] += x * d
        level += 4
    while level < n:
        for e in range(start[r], start[r + 1]):
            grad[column[e] * n + level] += value[e] * by_eta[level + 1]
        level += 1


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
def log_density(
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
    sd: float,
    grad: Any,
) -> float:
    """log prior + sum_i alpha_i log P(level_i), from sums of alpha by row and by row and level."""
    grad[:] = 0.0
    logp = _log_normal_prior(q, sd, grad) if sd > 0.0 else _log_prior(q, K, n, grad)
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
        _add_slopes(n, start, column, value, r, p, grad)
    return logp


@kernel
def cell_terms(q: Any, _rows: Any, row_of_cell: Any, data: Any, terms: Any) -> None:
    """log P(level) of each cell, and its derivatives in the n etas of its row."""
    n, start, column, value, level = data
    log_lik, _, by_eta = terms
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
def cell_slopes(
    _q: Any, _rows: Any, row_of_cell: Any, data: Any, terms: Any, weight: Any, gradient: Any
) -> None:
    """Adds the gradient of sum_c weight_c l_c."""
    n, start, column, value, _ = data
    by_eta = terms[2]
    for c in range(len(row_of_cell)):
        if weight[c] == 0.0:
            continue
        r = row_of_cell[c]
        for e in range(start[r], start[r + 1]):
            x, at = weight[c] * value[e], column[e] * n
            for j in range(n):
                gradient[at + j] += x * by_eta[c, j]


@kernel
def log_likelihood(
    beta: Any,
    n: int,
    start: Any,
    column: Any,
    value: Any,
    row_of_cell: Any,
    level: Any,
    log_lik: Any,
) -> None:
    """Fills log_lik (S, C) with log P(level) of each cell under beta (S, K n)."""
    R = len(start) - 1
    height, eta, p = np.empty(R), np.empty((R, n + 1)), np.empty(n + 1)
    for s in range(len(beta)):
        for r in range(R):
            _etas(beta[s], n, start, column, value, r, eta[r])
            height[r] = _shares(eta[r], p)
        for c in range(len(level)):
            r = row_of_cell[c]
            log_lik[s, c] = eta[r, level[c]] - height[r]


@kernel
def information(shares: Any, start: Any, column: Any, value: Any, total: Any, H: Any) -> None:
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
def _turned(A: Any, z: Any) -> Any:
    """A' z (m,) of a lower triangle A (m, m) and the first m entries of z."""
    m = len(A)
    t = np.zeros(m)
    for i in range(m):
        for j in range(i + 1):
            t[j] += A[i, j] * z[i]
    return t


@kernel
def _turn_back(A: Any, by_t: Any, gradient: Any) -> None:
    """Overwrite the first m entries of gradient with A by_t, the slopes in z of `_turned`."""
    for i in range(len(A)):
        total = 0.0
        for j in range(i + 1):
            total += A[i, j] * by_t[j]
        gradient[i] = total


@kernel
def restore(
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
    t, D = _turned(A, z), np.empty(m)
    jacobian = 0.0
    for k in range(K):
        now, rough = math.exp(-2.0 * q[m + k]), math.exp(-2.0 * centre[m + k])
        for i in range(k * n, (k + 1) * n):
            D[i] = math.sqrt((h[i] + rough) / (h[i] + now))
            q[i] = D[i] * (D[i] * centre[i] + t[i])
            jacobian += math.log(D[i])
    return jacobian, (D, t)


@kernel
def pull_back(
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
    _turn_back(A, by_t, gradient)


@kernel
def restore_normal(z: Any, A: Any, centre: Any, q: Any) -> tuple[float, int]:
    """Fill q = b + A' z around the rough fit b where the scales are given; 0, and no state."""
    t = _turned(A, z)
    for i in range(len(q)):
        q[i] = centre[i] + t[i]
    return 0.0, 0


@kernel
def pull_back_normal(_state: int, _q: Any, A: Any, _centre: Any, gradient: Any) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place."""
    _turn_back(A, gradient.copy(), gradient)
