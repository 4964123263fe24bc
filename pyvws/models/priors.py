"""The families' priors on the unconstrained scale that samplers see, in Stan's order.

The papers' hierarchical prior on coefficients is beta ~ MVN(0, diag(s) L L' diag(s)). L is the
Cholesky factor of a correlation matrix that has an LKJ(6) prior [lkj2009], and s ~ half-t(3, 0, 1).
The unconstrained vector is (beta (K), log s (K), y (K(K-1)/2, row by row)). The canonical partial
correlations are z = tanh(y). They give row i of L: L_ij = z_ij prod_{m<j} sqrt(1 - z_im^2), and
L_ii = prod_{m<i} sqrt(1 - z_im^2).
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel

LKJ_SHAPE: Final = 6.0
SCALE_DF: Final = 3.0  # Of the half-t prior of scales.


@kernel
def solve_lower(R: Floats, right: Floats) -> None:
    """Replace right (K,) by R^-1 right, for lower-triangular R (K, K)."""
    for i in range(len(R)):
        total = right[i]
        for j in range(i):
            total -= R[i, j] * right[j]
        right[i] = total / R[i, i]


@kernel
def solve_upper(R: Floats, right: Floats) -> None:
    """Replace right (K,) by R^-T right, for lower-triangular R (K, K)."""
    K = len(R)
    for i in range(K - 1, -1, -1):
        total = right[i]
        for j in range(i + 1, K):
            total -= R[j, i] * right[j]
        right[i] = total / R[i, i]


def coefficient_dimension(K: int) -> int:
    """Length of this module's unconstrained vector for K coefficients."""
    return 2 * K + K * (K - 1) // 2


@kernel
def log_half_t(u: float, scale: float) -> tuple[float, float]:
    """Log density of u = log s for s ~ half-t(3, 0, scale), up to a constant, and its slope."""
    squared = math.exp(2.0 * u) / (scale * scale)
    if math.isinf(squared):
        return u - 4.0 * (u - math.log(scale)) + 2.0 * math.log(3.0), -3.0
    return u - 2.0 * math.log1p(squared / 3.0), 1.0 - 4.0 * squared / (3.0 + squared)


@kernel
def log_half_cauchy(u: float, scale: float) -> tuple[float, float]:
    """Log density of u = log s for s ~ half-Cauchy(0, scale), up to a constant, and its slope."""
    squared = math.exp(2.0 * u) / (scale * scale)
    if math.isinf(squared):
        return u - 2.0 * (u - math.log(scale)), -1.0
    return u - math.log1p(squared), 1.0 - 2.0 * squared / (1.0 + squared)


@kernel
def log_sech_squared(y: float) -> float:
    """log(1 - tanh(y)^2) without cancellation."""
    a = abs(y)
    return 2.0 * (math.log(2.0) - a - math.log1p(math.exp(-2.0 * a)))


@kernel
def cholesky_factor(q: Floats, first: int, K: int) -> Floats:
    """L (K, K) from the unconstrained partial correlations, entries of q from `first` on."""
    L = np.empty((K, K))
    at = first
    for i in range(K):
        log_rest = 0.0
        for j in range(i):
            L[i, j] = math.tanh(q[at]) * math.exp(0.5 * log_rest)
            log_rest += log_sech_squared(q[at])
            at += 1
        L[i, i] = math.exp(0.5 * log_rest)
        for j in range(i + 1, K):
            L[i, j] = 0.0
    return L


@kernel
def log_level_prior(q: Floats, K: int, n: int, grad: Floats) -> float:
    """Log prior density of q with every log Jacobian, up to a constant; adds the gradient to grad.

    It is of n levels' coefficients under one scale and correlation. q and grad start with beta,
    coefficient by coefficient (K n,), log s (K,) and the partial correlations. Where a scale
    overflows or vanishes, the log density is not finite, and a sampler then rejects q.
    """
    first = K * n
    logp = 0.0
    inverse = np.empty(K)
    for k in range(K):
        u = q[first + k]
        s2 = math.exp(2.0 * u)
        inverse[k] = math.exp(-u)
        # The + log s of the Jacobian cancels the - log s of one of n normal densities. What is left
        # is the tail of the t density, and the others.
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
            # The exponents of 1 - z^2 come from the Jacobian of tanh (1), the stick lengths of the
            # row, the LKJ density of L_ii, and the - log L_ii of each of n normal densities.
            power = 1.0 - 0.5 * n + 0.5 * (i - 1 - j) + 0.5 * (K - i - 1 + 2.0 * LKJ_SHAPE - 2.0)
            logp += power * log_sech_squared(q[at])
            grad[at] -= 2.0 * power * math.tanh(q[at])
            at += 1
    pull_back_factor(q, first + K, by_L, grad)
    return logp


@kernel
def scaled_factor(q: Floats, first: int, K: int) -> Floats:
    """B = diag(s) L (K, K), from log s (K,) and what L takes, entries of q from `first` on."""
    B = cholesky_factor(q, first + K, K)
    for i in range(K):
        scale = math.exp(q[first + i])
        for j in range(i + 1):
            B[i, j] *= scale
    return B


@kernel
def pull_back_factor(q: Floats, first: int, by_L: Floats, grad: Floats) -> None:
    """Add to grad the gradient in y that follows from by_L (K, K), the gradient in L.

    y are K(K-1)/2 entries of q from `first` on, and so are their slopes in grad. dL_ij / dy_im =
    - L_ij z_im for m < j, and dL_ij / dy_ij = (1 - z_ij^2) prod_{m<j} sqrt(1 - z_im^2). The
    function reads the lower triangle of by_L alone.
    """
    K = len(by_L)
    z, rest, L = np.empty(K), np.empty(K), np.empty(K)
    at = first
    for i in range(1, K):
        log_rest = 0.0
        for j in range(i):
            z[j], log_own = math.tanh(q[at + j]), log_sech_squared(q[at + j])
            L[j] = z[j] * math.exp(0.5 * log_rest)
            rest[j] = math.exp(log_own + 0.5 * log_rest)
            log_rest += log_own
        later = by_L[i, i] * math.exp(0.5 * log_rest)
        for j in range(i - 1, -1, -1):
            grad[at + j] += by_L[i, j] * rest[j] - later * z[j]
            later += by_L[i, j] * L[j]
        at += i


@kernel
def _factors(q: Floats, first: int, K: int) -> Floats:
    L = np.empty((len(q), K, K))
    for s in range(len(q)):
        factor = cholesky_factor(q[s], first, K)
        for i in range(K):
            for j in range(K):
                L[s, i, j] = factor[i, j]
    return L


def constrain_coefficients(q: Floats, K: int) -> dict[str, Floats]:
    """beta (S, K), sigma_beta (S, K) and L_beta (S, K, K) of the unconstrained draws q (S, D)."""
    return {"beta": q[:, :K].copy(), **constrain_scales(q[:, K:], K)}


def constrain_scales(q: Floats, K: int) -> dict[str, Floats]:
    """sigma_beta (S, K) and L_beta (S, K, K) of draws (S, D) that start with log s (K)."""
    return {"sigma_beta": np.exp(q[:, :K]), "L_beta": _factors(np.ascontiguousarray(q), K, K)}


def unconstrain_coefficients(draws: dict[str, Floats]) -> Floats:
    """The inverse of `constrain_coefficients`: q (S, 2K + K(K-1)/2) from draws by name."""
    return np.column_stack([draws["beta"], unconstrain_scales(draws)])


def unconstrain_scales(draws: dict[str, Floats]) -> Floats:
    """The inverse of `constrain_scales`: (S, K + K(K-1)/2) from draws by name.

    y_ij = atanh(z_ij) = asinh(L_ij / sqrt(sum_{m>j} L_im^2)). The second form stays exact where |z|
    nears 1.
    """
    L = draws["L_beta"]
    with np.errstate(divide="ignore", invalid="ignore"):
        partial = [
            np.arcsinh(L[:, i, j] / np.sqrt((L[:, i, j + 1 : i + 1] ** 2).sum(axis=1)))
            for i in range(1, L.shape[1])
            for j in range(i)
        ]
        return np.column_stack([np.log(draws["sigma_beta"]), *partial])
