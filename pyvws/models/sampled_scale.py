"""The scale that samplers see: changes of variables under which a target looks nearly normal.

Given the prior's factor B = diag(s) L, a likelihood that is roughly normal in beta, with
information H (K, K) and maximum b (K,), makes beta roughly normal: with M = I + B' H B = R R',
beta = B R^-T (R^-1 B' H b + x) for x ~ N(0, I). Sampling (x, log s, ...) instead of
(beta, log s, ...) removes the funnel of small scales where coefficients are near 0, and the
correlation and units of predictors. This change of variables has log |d beta / d x| =
sum log B_kk - sum log R_kk, so the target stays the same however rough H and b are.

A mixture's raw coefficients x_k, beta_k = B x_k, are taken alike: x_k = R_k^-T (R_k^-1 B' H_k b_k
+ z_k), with the rough fit's H_k and b_k of each component. Where H_k outweighs the prior, beta_k is
near b_k + H_k^-1/2 z_k whatever the scales s are, so well-known coefficients do not tie the scales
down. A component that starts empty has H_k = 0 and x_k = z_k. Where components swap their roles the
target stays the same, and steps fit it less well.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws.models._priors import pull_back_factor, scaled_factor
from pyvws.models._small_matrices import (
    conditional_factors,
    pull_back_factors,
    solve_lower,
    solve_upper,
)
from pyvws.models.model import SampledScale, Start

__all__ = ["mixture_scale", "pull_back_conditional", "restore_conditional", "sampled_scale"]


@kernel
def restore_conditional(z: Any, offset: Any, H: Any, pull: Any, q: Any) -> tuple[float, Any]:
    """Fill q (D,) from z (D,), whose first K entries are x; the log Jacobian and a state."""
    K = len(pull)
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    B = scaled_factor(q, K, K)
    R, HB, centre = conditional_factors(B, H, pull)
    e = np.empty(K)
    for k in range(K):
        e[k] = centre[k] + q[k]
    solve_upper(R, e)
    jacobian = 0.0
    for k in range(K):
        q[k] = 0.0
        for j in range(k + 1):
            q[k] += B[k, j] * e[j]
        jacobian += math.log(B[k, k]) - math.log(R[k, k])
    return jacobian, (B, R, HB, centre, e)


@kernel
def pull_back_conditional(
    state: Any, q: Any, _offset: Any, _H: Any, pull: Any, gradient: Any
) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place, with the Jacobian's added."""
    B, R, HB, centre, e = state
    K = len(pull)
    by_sum, by_right, by_R = np.empty(K), np.empty(K), np.empty((K, K))
    for i in range(K):
        by_sum[i] = 0.0
        for k in range(K):
            by_sum[i] += B[k, i] * gradient[k]
    solve_lower(R, by_sum)  # The gradient in R^-1 B' H b + x.
    for k in range(K):
        by_right[k] = by_sum[k]
    solve_upper(R, by_right)  # The gradient in B' H b.
    for i in range(K):
        for j in range(K):
            by_R[i, j] = -e[i] * by_sum[j] - by_right[i] * centre[j]
        by_R[i, i] -= 1.0 / R[i, i]
    by_B = pull_back_factors(R, HB, by_R)
    for i in range(K):
        scale, total = math.exp(q[K + i]), 0.0
        for j in range(K):
            direct = gradient[i] * e[j] + pull[i] * by_right[j]
            if j == i:
                direct += 1.0 / B[i, i]
            by_B[i, j] += direct
            if j <= i:
                total += by_B[i, j] * B[i, j]
            by_B[i, j] *= scale
        gradient[K + i] += total
        gradient[i] = by_sum[i]
    pull_back_factor(q, 2 * K, by_B, gradient)


@kernel
def _restore_mixture(z: Any, offset: Any, H: Any, pull: Any, q: Any) -> tuple[float, Any]:
    """Fill q (D,) from z (D,), whose first C K entries are z_k; the log Jacobian and a state."""
    C, K = pull.shape
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    B = scaled_factor(q, C * K, K)
    R, HB, centre = np.empty((C, K, K)), np.empty((C, K, K)), np.empty((C, K))
    e = np.empty(K)
    jacobian = 0.0
    for c in range(C):
        R[c], HB[c], centre[c] = conditional_factors(B, H[c], pull[c])
        for k in range(K):
            e[k] = centre[c, k] + q[c * K + k]
            jacobian -= math.log(R[c, k, k])
        solve_upper(R[c], e)
        for k in range(K):
            q[c * K + k] = e[k]
    return jacobian, (B, R, HB, centre)


@kernel
def _pull_back_mixture(state: Any, q: Any, _offset: Any, _H: Any, pull: Any, gradient: Any) -> None:
    """Turn the gradient in q (D,) into the gradient in z, as `pull_back_conditional` does."""
    B, R, HB, centre = state
    C, K = pull.shape
    at = C * K
    by_right, by_R, by_B = np.empty(K), np.empty((K, K)), np.zeros((K, K))
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


def mixture_scale(centre: Floats, H: Floats, b: Floats) -> SampledScale:
    """z -> q for components' H (C, K, K) and b (C, K); z = 0 gives the rough fit `centre` (D,).

    q holds raw coefficients (C K), log s (K), partial correlations and what follows.
    """
    H = np.ascontiguousarray(H)
    pull = np.einsum("cij,cj->ci", H, b)
    offset = centre.copy()
    offset[: b.size] = 0.0

    def raw(q: Floats) -> Floats:
        """z_k (C K,) of raw coefficients."""
        nowhere = np.zeros(len(q))
        _, (_, R, _, middle) = _restore_mixture(nowhere, q, H, pull, q.copy())
        x = q[: b.size].reshape(b.shape)
        return np.asarray((np.einsum("ci,cij->cj", x, R) - middle).ravel())

    offset[: b.size] = raw(centre)

    def inverse(q: Floats) -> Floats:
        z = q.copy()
        z[: b.size] = raw(q)
        return z - offset

    return SampledScale((_restore_mixture, _pull_back_mixture), (offset, H, pull), inverse)


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
        _, state = restore_conditional(np.zeros(len(q)), q, information, pull, q.copy())
        B, R, _, centre, _ = state
        e, x = q[:K].copy(), np.zeros(K)
        with np.errstate(all="ignore"):  # Where a scale is 0 or overflows, z is not finite.
            for k in range(K):  # e becomes B^-1 e, and x is R' e.
                e[k] /= B[k, k]
                e[k + 1 :] -= B[k + 1 :, k] * e[k]
                x += R[k] * e[k]
        z = q - offset
        z[:K] = x - centre
        return z

    data = offset, information, pull
    return SampledScale((restore_conditional, pull_back_conditional), data, inverse)
