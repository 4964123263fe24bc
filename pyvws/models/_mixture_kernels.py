"""The log density of a mixture of normal regressions with its gradient, and record log-likelihoods.

The unconstrained vector of C components and K columns is (x_1, ..., x_C raw coefficients (K each),
log s (K), partial correlations (K(K-1)/2), log(sigma_k - floor) (C), log sizes v (C), log gamma):

    beta_k = diag(s) L x_k, x_k ~ N(0, I), L L' a correlation matrix with an LKJ(1) prior [lkj2009],
    s and sigma_k half-t(3, 0, 1), sigma_k above its floor,
    pi_k = exp(v_k) / sum exp(v), exp(v_k) ~ Gamma(gamma / C, 1), gamma ~ Gamma(shape, rate).

Normalised Gamma variables have the Dirichlet's law without the edges of a simplex:
for gamma / C well below 1 most of the mass of some pi_k is below any double that a sum to 1 keeps.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.kernels import kernel
from pyvws.models._gamma import log_gamma
from pyvws.models._priors import cholesky_factor, log_sech_squared, pull_back_factor

__all__ = ["constrained_mixture", "mixture_log_density", "mixture_log_likelihood"]

_FAR = -45.0  # exp() of it is below half an ulp of the sum it would be added to.
_HALF_LOG_TWO_PI = 0.9189385332046727


@kernel
def _log_terms(
    beta: Any,
    inverse: Any,
    log_height: Any,
    rows: Any,
    y: Any,
    weight: Any,
    row_of_cell: Any,
    by_beta: Any,
    by_log_sigma: Any,
    by_log_pi: Any,
) -> float:
    """sum_i alpha_i log sum_k pi_k N(y_i | X_i beta_k, sigma_k), without log(2 pi) / 2.

    log_height is log pi_k - log sigma_k and `inverse` 1 / sigma_k, both (C,); cells come row by
    row. Adds to the three gradients; a component's share in a cell is its responsibility.
    """
    C, K = beta.shape
    scaled, z, share, by_eta = np.empty(C), np.empty(C), np.empty(C), np.empty(C)
    total = 0.0
    cell, cells = 0, len(y)
    while cell < cells:
        r = row_of_cell[cell]
        for c in range(C):
            eta = 0.0
            for k in range(K):
                eta += rows[r, k] * beta[c, k]
            scaled[c] = eta * inverse[c]
            by_eta[c] = 0.0
        while cell < cells and row_of_cell[cell] == r:
            largest = -np.inf
            for c in range(C):
                z[c] = y[cell] * inverse[c] - scaled[c]
                share[c] = log_height[c] - 0.5 * z[c] * z[c]
                largest = max(largest, share[c])
            height = 0.0
            for c in range(C):
                gap = share[c] - largest
                share[c] = math.exp(gap) if gap > _FAR else 0.0
                height += share[c]
            total += weight[cell] * (largest + math.log(height))
            unit = weight[cell] / height
            for c in range(C):
                part = unit * share[c]
                if part > 0.0:
                    by_log_pi[c] += part
                    by_eta[c] += part * z[c]
                    by_log_sigma[c] += part * (z[c] * z[c] - 1.0)
            cell += 1
        for c in range(C):
            slope = by_eta[c] * inverse[c]
            for k in range(K):
                by_beta[c, k] += slope * rows[r, k]
    return total


@kernel
def _log_sizes_prior(v: Any, log_gamma_now: float, by_v: Any) -> tuple[float, float]:
    """Log density of log sizes v (C,) given log gamma; adds its gradient, returns that in gamma."""
    C = len(v)
    a = math.exp(log_gamma_now) / C
    constant, slope = log_gamma(a)
    logp = -C * constant
    by_log_gamma = -C * slope
    for c in range(C):
        size = math.exp(v[c])
        logp += a * v[c] - size
        by_v[c] += a - size
        by_log_gamma += v[c]
    return logp, a * by_log_gamma


@kernel
def mixture_log_density(
    q: Any,
    rows: Any,
    y: Any,
    weight: Any,
    row_of_cell: Any,
    C: int,
    floor: float,
    shape: float,
    rate: float,
    grad: Any,
) -> float:
    """Log density at q (D,) up to a constant, with all log Jacobians; overwrites grad (D,).

    Cells (those with weight) come row by row. Where a scale overflows the result is not finite,
    which a sampler treats as a rejection.
    """
    K = rows.shape[1]
    scales = C * K
    partials = scales + K
    sigmas = partials + K * (K - 1) // 2
    sizes = sigmas + C
    last = sizes + C
    grad[:] = 0.0
    logp = 0.0
    s = np.exp(q[scales:partials])
    L = cholesky_factor(q[partials:sigmas], K)
    beta = np.empty((C, K))
    for c in range(C):
        for i in range(K):
            x = q[c * K + i]
            logp -= 0.5 * x * x
            grad[c * K + i] = -x
            beta[c, i] = 0.0
            for j in range(i + 1):
                beta[c, i] += L[i, j] * q[c * K + j]
            beta[c, i] *= s[i]
    for k in range(K):
        squared = s[k] * s[k]
        logp += q[scales + k] - 2.0 * math.log1p(squared / 3.0)
        grad[scales + k] = 1.0 - 4.0 * squared / (3.0 + squared)
    at = partials
    for i in range(K):
        for j in range(i):
            # Exponents of 1 - z^2: tanh's Jacobian 1, the row's stick lengths, LKJ(1) on L_ii.
            power = 1.0 + 0.5 * (i - 1 - j) + 0.5 * (K - i - 1)
            logp += power * log_sech_squared(q[at])
            grad[at] = -2.0 * power * math.tanh(q[at])
            at += 1
    above, inverse, log_height = np.empty(C), np.empty(C), np.empty(C)
    for c in range(C):
        above[c] = math.exp(q[sigmas + c])
        sigma = floor + above[c]
        inverse[c] = 1.0 / sigma
        logp += q[sigmas + c] - 2.0 * math.log1p(sigma * sigma / 3.0)
        grad[sigmas + c] = 1.0 - 4.0 * sigma / (3.0 + sigma * sigma) * above[c]
    gamma = math.exp(q[last])
    prior, by_log_gamma = _log_sizes_prior(q[sizes:last], q[last], grad[sizes:last])
    logp += prior + shape * q[last] - rate * gamma
    grad[last] = by_log_gamma + shape - rate * gamma
    log_pi = _log_shares(q[sizes:last])
    for c in range(C):
        log_height[c] = log_pi[c] + math.log(inverse[c])
    by_beta, by_log_sigma, by_log_pi = np.zeros((C, K)), np.zeros(C), np.zeros(C)
    tables = beta, inverse, log_height, rows, y, weight, row_of_cell
    logp += _log_terms(*tables, by_beta, by_log_sigma, by_log_pi)
    everything = by_log_pi.sum()
    by_L = np.zeros((K, K))
    for c in range(C):
        grad[sigmas + c] += by_log_sigma[c] * inverse[c] * above[c]
        grad[sizes + c] += by_log_pi[c] - everything * math.exp(log_pi[c])
        for i in range(K):
            grad[scales + i] += by_beta[c, i] * beta[c, i]
            slope = by_beta[c, i] * s[i]
            for j in range(i + 1):
                by_L[i, j] += slope * q[c * K + j]
                grad[c * K + j] += slope * L[i, j]
    pull_back_factor(q[partials:sigmas], K, by_L, grad[partials:sigmas])
    return logp


@kernel
def _log_shares(v: Any) -> Any:
    """log pi (C,) of log sizes v (C,)."""
    largest = v.max()
    total = 0.0
    for c in range(len(v)):
        total += math.exp(v[c] - largest)
    return v - (largest + math.log(total))


@kernel
def constrained_mixture(q: Any, C: int, K: int) -> tuple[Any, Any, Any]:
    """beta (S, C, K), L (S, K, K) and pi (S, C) of unconstrained draws (S, D)."""
    S = len(q)
    scales = C * K
    first = scales + K + K * (K - 1) // 2
    beta, L, pi = np.zeros((S, C, K)), np.empty((S, K, K)), np.empty((S, C))
    for d in range(S):
        L[d] = cholesky_factor(q[d, scales + K : first], K)
        for c in range(C):
            for i in range(K):
                for j in range(i + 1):
                    beta[d, c, i] += L[d, i, j] * q[d, c * K + j]
                beta[d, c, i] *= math.exp(q[d, scales + i])
        pi[d] = np.exp(_log_shares(q[d, first + C : first + 2 * C]))
    return beta, L, pi


@kernel
def mixture_log_likelihood(
    beta: Any, sigma: Any, pi: Any, rows: Any, row_of_cell: Any, y: Any, log_lik: Any
) -> None:
    """Fill log_lik (S, cells) with log sum_k pi_k N(y | X beta_k, sigma_k), in nats."""
    S, C, K = beta.shape
    eta, share, log_height = np.empty((len(rows), C)), np.empty(C), np.empty(C)
    for d in range(S):
        for c in range(C):
            log_height[c] = math.log(pi[d, c]) - math.log(sigma[d, c]) - _HALF_LOG_TWO_PI
            for r in range(len(rows)):
                eta[r, c] = 0.0
                for k in range(K):
                    eta[r, c] += rows[r, k] * beta[d, c, k]
        for i in range(len(y)):
            largest = -np.inf
            for c in range(C):
                z = (y[i] - eta[row_of_cell[i], c]) / sigma[d, c]
                share[c] = log_height[c] - 0.5 * z * z
                largest = max(largest, share[c])
            height = 0.0
            for c in range(C):
                gap = share[c] - largest
                height += math.exp(gap) if gap > _FAR else 0.0
            log_lik[d, i] = largest + math.log(height)
