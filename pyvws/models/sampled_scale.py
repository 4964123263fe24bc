"""The scale that samplers see: changes of variables under which a target looks nearly normal.

Given the prior's factor B = diag(s) L, a likelihood that is roughly normal in beta, with
information H (K, K) and maximum b (K,), makes beta roughly normal: with M = I + B' H B = R R',
beta = B R^-T (R^-1 B' H b + x) for x ~ N(0, I). Sampling (x, log s, ...) instead of
(beta, log s, ...) removes the funnel of small scales where coefficients are near 0, and the
correlation and units of predictors. This change of variables has log |d beta / d x| =
sum log B_kk - sum log R_kk, so the target stays the same however rough H and b are.

A mixture's raw coefficients x_k, beta_k = B x_k, are taken alike: x_k = R^-T (R^-1 B' H b + z_k),
with one H and one b for all components, so that nothing changes when components swap their roles.
Where H outweighs the prior, beta_k is near b + H^-1/2 z_k whatever the scales s are, so well-known
coefficients do not tie the scales down; where a scale nears 0, x_k nears z_k, so unimportant
coefficients make no funnel.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.models._priors import cholesky_factor, pull_back_factor
from pyvws.models._small_matrices import (
    cholesky,
    product,
    pull_back_cholesky,
    solve_lower,
    solve_upper,
    transposed_product,
    transposed_times,
)
from pyvws.models.model import SampledScale, Start

__all__ = ["mixture_scale", "pull_back_conditional", "restore_conditional", "sampled_scale"]


@inlined_kernel
def _sum(a: Any, b: Any) -> Any:
    """a + b for vectors, by a loop: numba takes seconds to compile sums of arrays."""
    out = np.empty(len(a))
    for k in range(len(a)):
        out[k] = a[k] + b[k]
    return out


@inlined_kernel
def _add_product(total: Any, A: Any, M: Any) -> None:
    """Add A (M + M') to the total, for square matrices."""
    both = np.empty(M.shape)
    for i in range(len(M)):
        for j in range(len(M)):
            both[i, j] = M[i, j] + M[j, i]
    added = product(A, both)
    for i in range(len(M)):
        for j in range(len(M)):
            total[i, j] += added[i, j]


@kernel
def _scaled_factors(log_scale: Any, partials: Any, H: Any, pull: Any) -> tuple[Any, Any, Any, Any]:
    """B = diag(s) L, R with R R' = I + B' H B, H B, all (K, K), and R^-1 B' H b (K,).

    From log s (K,), the unconstrained partial correlations of L, H (K, K) and pull = H b (K,).
    """
    K = len(pull)
    B = cholesky_factor(partials, K)
    for i in range(K):
        scale = math.exp(log_scale[i])
        for j in range(i + 1):
            B[i, j] *= scale
    HB = product(H, B)
    M = transposed_product(B, HB)
    for i in range(K):
        M[i, i] += 1.0
    R = cholesky(M)
    return B, R, HB, solve_lower(R, transposed_times(B, pull))


@kernel
def restore_conditional(z: Any, offset: Any, H: Any, pull: Any, q: Any) -> tuple[float, Any]:
    """Fill q (D,) from z (D,), whose first K entries are x; the log Jacobian and a state."""
    K = len(pull)
    p = np.empty(len(z))
    for d in range(len(z)):
        p[d] = z[d] + offset[d]
        q[d] = p[d]
    factors = _scaled_factors(p[K : 2 * K], p[2 * K :], H, pull)
    B, R, _, centre = factors
    e = solve_upper(R, _sum(centre, p[:K]))
    jacobian = 0.0
    for k in range(K):
        q[k] = 0.0
        for j in range(k + 1):
            q[k] += B[k, j] * e[j]
        jacobian += math.log(B[k, k]) - math.log(R[k, k])
    return jacobian, (p, factors, e)


@kernel
def pull_back_conditional(
    state: Any, _q: Any, _offset: Any, _H: Any, pull: Any, gradient: Any
) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place, with the Jacobian's added."""
    p, (B, R, HB, centre), e = state
    K = len(pull)
    by_beta = gradient[:K].copy()
    by_sum = solve_lower(R, transposed_times(B, by_beta))  # The gradient in R^-1 B' H b + x.
    by_right = solve_upper(R, by_sum)  # The gradient in B' H b.
    by_B, by_R = np.empty((K, K)), np.empty((K, K))
    for i in range(K):
        for j in range(K):
            by_B[i, j] = by_beta[i] * e[j] + pull[i] * by_right[j]
            by_R[i, j] = -e[i] * by_sum[j] - by_right[i] * centre[j]
        by_R[i, i] -= 1.0 / R[i, i]
        by_B[i, i] += 1.0 / B[i, i]
    for k in range(K):
        gradient[k] = by_sum[k]
    by_M = pull_back_cholesky(R, by_R)
    _add_product(by_B, HB, by_M)
    for i in range(K):
        total = 0.0
        for j in range(i + 1):
            total += by_B[i, j] * B[i, j]
        gradient[K + i] += total
        scale = math.exp(p[K + i])
        for j in range(K):
            by_B[i, j] *= scale
    pull_back_factor(p[2 * K :], K, by_B, gradient[2 * K :])


@kernel
def _restore_mixture(z: Any, offset: Any, H: Any, pull: Any, C: int, q: Any) -> tuple[float, Any]:
    """Fill q (D,) from z (D,), whose first C K entries are z_k; the log Jacobian and a state."""
    K = len(pull)
    at = C * K
    p = np.empty(len(z))
    for d in range(len(z)):
        p[d] = z[d] + offset[d]
        q[d] = p[d]
    partials = p[at + K : at + K + K * (K - 1) // 2]
    factors = _scaled_factors(p[at : at + K], partials, H, pull)
    _, R, _, centre = factors
    for c in range(C):
        e = solve_upper(R, _sum(centre, p[c * K : (c + 1) * K]))
        for k in range(K):
            q[c * K + k] = e[k]
    jacobian = 0.0
    for k in range(K):
        jacobian -= C * math.log(R[k, k])
    return jacobian, (p, partials, factors)


@kernel
def _pull_back_mixture(
    state: Any, q: Any, _offset: Any, _H: Any, pull: Any, C: int, gradient: Any
) -> None:
    """Turn the gradient in q (D,) into the gradient in z, as `pull_back_conditional` does."""
    p, partials, (B, R, HB, centre) = state
    K = len(pull)
    at = C * K
    by_R, by_B, by_centre = np.zeros((K, K)), np.empty((K, K)), np.zeros(K)
    for c in range(C):
        by_z = solve_lower(R, gradient[c * K : (c + 1) * K])
        for i in range(K):
            for j in range(K):
                by_R[i, j] -= q[c * K + i] * by_z[j]
        for k in range(K):
            by_centre[k] += by_z[k]
            gradient[c * K + k] = by_z[k]
    by_right = solve_upper(R, by_centre)  # The gradient in B' H b.
    for i in range(K):
        for j in range(K):
            by_B[i, j] = pull[i] * by_right[j]
            by_R[i, j] -= by_right[i] * centre[j]
        by_R[i, i] -= C / R[i, i]
    by_M = pull_back_cholesky(R, by_R)
    _add_product(by_B, HB, by_M)
    for i in range(K):
        for j in range(i + 1):
            gradient[at + i] += by_B[i, j] * B[i, j]
        scale = math.exp(p[at + i])
        for j in range(K):
            by_B[i, j] *= scale
    pull_back_factor(partials, K, by_B, gradient[at + K : at + K + len(partials)])


def mixture_scale(centre: Floats, H: Floats, b: Floats, components: int) -> SampledScale:
    """z -> q for C components, both of length D; z = 0 gives the rough fit `centre` (D,).

    q holds raw coefficients (C K), log s (K), partial correlations and what follows.
    """
    H = np.ascontiguousarray(H)
    pull = H @ b
    first = components * len(b)
    offset = centre.copy()
    offset[:first] = 0.0
    data = offset, H, pull, components

    def raw(q: Floats) -> Floats:
        """z_k (C K,) of raw coefficients."""
        nowhere = np.zeros(len(q))
        _, (_, _, (_, R, _, middle)) = _restore_mixture(nowhere, q, *data[1:], q.copy())
        return np.asarray((q[:first].reshape(components, -1) @ R - middle).ravel())

    offset[:first] = raw(centre)

    def inverse(q: Floats) -> Floats:
        z = q.copy()
        z[:first] = raw(q)
        return z - offset

    return SampledScale((_restore_mixture, _pull_back_mixture), data, inverse)


@kernel
def _restore_shifted(z: Any, offset: Any, q: Any) -> tuple[float, int]:
    """q = z + offset."""
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    return 0.0, 0


@kernel
def _pull_back_shifted(_state: Any, _q: Any, _offset: Any, _gradient: Any) -> None:
    """The gradient in z equals the gradient in q, so nothing is to do."""


def sampled_scale(start: Start) -> SampledScale:
    """The scale around a start: a model's own, or coefficients given their scales."""
    if start.scale is not None:
        return start.scale
    if start.information is None:
        return SampledScale(
            (_restore_shifted, _pull_back_shifted), (start.centre,), lambda q: q - start.centre
        )
    information = np.ascontiguousarray(start.information)
    K = len(information)
    offset = start.centre.copy()
    offset[:K] = 0.0
    with steady_sums():
        pull = information @ start.centre[:K]

    def inverse(q: Floats) -> Floats:
        B, R, _, centre = _scaled_factors(q[K : 2 * K], q[2 * K :], information, pull)
        z = q - offset
        z[:K] = transposed_times(R, solve_lower(B, q[:K])) - centre
        return z

    data = offset, information, pull
    return SampledScale((restore_conditional, pull_back_conditional), data, inverse)
