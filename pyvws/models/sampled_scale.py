"""The scale that samplers see: changes of variables under which a target looks nearly normal.

Given the prior's factor B = diag(s) L, a likelihood that is roughly normal in beta, with
information H (K, K) and maximum b (K,), makes beta roughly normal: with M = I + B' H B = R R',
beta = B R^-T (R^-1 B' H b + x) for x ~ N(0, I). Sampling (x, log s, ...) instead of
(beta, log s, ...) removes the funnel of small scales where coefficients are near 0, and the
correlation and units of predictors. This change of variables has log |d beta / d x| =
sum log B_kk - sum log R_kk, so the target stays the same however rough H and b are.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from pyvws._base.checks import Arrays, Floats
from pyvws._base.cores import steady_sums
from pyvws._base.kernels import kernel
from pyvws.models.model import SampledScale, Start
from pyvws.models.priors import (
    constrain_scales,
    pull_back_factor,
    scaled_factor,
    solve_lower,
    solve_upper,
)


class Factors(NamedTuple):
    """Lower-triangular R with R R' = I + B' H B, H B, and R^-1 B' pull as `centre`."""

    R: Floats
    HB: Floats
    centre: Floats


@kernel
def conditional_factors(B: Floats, H: Floats, pull: Floats) -> Factors:
    """The factors of B (K, K), H (K, K) and pull (K,); NaN without a root."""
    K = len(B)
    R, HB, centre = np.empty((K, K)), np.empty((K, K)), np.empty(K)
    for i in range(K):
        for j in range(K):
            HB[i, j] = 0.0
        for k in range(K):
            for j in range(K):
                HB[i, j] += H[i, k] * B[k, j]
    for i in range(K):
        centre[i] = 0.0
        for j in range(K):
            R[i, j] = 0.0
        for k in range(K):
            centre[i] += B[k, i] * pull[k]
            for j in range(K):
                R[i, j] += B[k, i] * HB[k, j]
        R[i, i] += 1.0
    for i in range(K):
        for j in range(i):
            for k in range(j):
                R[i, j] -= R[i, k] * R[j, k]
            R[i, j] /= R[j, j]
            R[j, i] = 0.0
            R[i, i] -= R[i, j] * R[i, j]
            centre[i] -= R[i, j] * centre[j]
        R[i, i] = math.sqrt(R[i, i])
        centre[i] /= R[i, i]
    return Factors(R, HB, centre)


@kernel
def pull_back_factors(R: Floats, HB: Floats, by_R: Floats) -> Floats:
    """The gradient in B (K, K) from by_R (K, K), that in R of `conditional_factors`.

    The gradient in I + B' H B is G = R^-T lower(R' by_R) R^-1, lower() halving the diagonal, and
    that in B is H B (G + G'). by_R above the diagonal is not read.
    """
    K = len(R)
    G, by_B = np.empty((K, K)), np.empty((K, K))
    for i in range(K - 1, -1, -1):
        for j in range(K):
            G[i, j] = 0.0
        for k in range(i, K):
            for j in range(i + 1):
                G[i, j] += R[k, i] * by_R[k, j]
        G[i, i] *= 0.5
        for k in range(i + 1, K):
            for j in range(K):
                G[i, j] -= R[k, i] * G[k, j]
        for j in range(K):
            G[i, j] /= R[i, i]
    for r in range(K):
        for i in range(K - 1, -1, -1):
            for k in range(i + 1, K):
                G[r, i] -= R[k, i] * G[r, k]
            G[r, i] /= R[i, i]
    for i in range(K):
        for j in range(K):
            by_B[i, j] = 0.0
        for k in range(K):
            for j in range(K):
                by_B[i, j] += HB[i, k] * (G[k, j] + G[j, k])
    return by_B


@kernel
def pull_back_solution(
    R: Floats, HB: Floats, centre: Floats, e: Floats, by_e: Floats, by_right: Floats
) -> Floats:
    """The gradient in B (K, K) of e = R^-T (centre + x) and of - sum log R_kk, given that in e.

    `by_e` (K,) becomes the gradient in x, and `by_right` (K,) that in B' H b.
    """
    K = len(e)
    by_R = np.empty((K, K))
    solve_lower(R, by_e)
    for k in range(K):
        by_right[k] = by_e[k]
    solve_upper(R, by_right)
    for i in range(K):
        for j in range(K):
            by_R[i, j] = -e[i] * by_e[j] - by_right[i] * centre[j]
        by_R[i, i] -= 1.0 / R[i, i]
    return pull_back_factors(R, HB, by_R)


@kernel
def restore_conditional(
    z: Floats, offset: Floats, H: Floats, pull: Floats, q: Floats
) -> tuple[float, Any]:
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
    state: Arrays, q: Floats, _offset: Floats, _H: Floats, pull: Floats, gradient: Floats
) -> None:
    """Turn the gradient in q (D,) into the gradient in z in place, with the Jacobian's added."""
    B, R, HB, centre, e = state
    K = len(pull)
    by_sum, by_right = np.empty(K), np.empty(K)
    for i in range(K):
        by_sum[i] = 0.0
        for k in range(K):
            by_sum[i] += B[k, i] * gradient[k]
    by_B = pull_back_solution(R, HB, centre, e, by_sum, by_right)
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
def _restore_shifted(z: Floats, offset: Floats, q: Floats) -> tuple[float, int]:
    """q = z + offset."""
    for d in range(len(z)):
        q[d] = z[d] + offset[d]
    return 0.0, 0


@kernel
def _pull_back_shifted(_state: int, _q: Floats, _offset: Floats, _gradient: Floats) -> None:
    """The gradient in z equals the gradient in q, so nothing is to do."""


def prior_factor(scales: Floats, K: int) -> Floats:
    """B = diag(s) L (K, K), from the part of q that starts with log s (K,)."""
    scales_and_factor = constrain_scales(scales[None], K)
    return np.asarray(scales_and_factor["sigma_beta"][0, :, None] * scales_and_factor["L_beta"][0])


def conditional_parts(B: Floats, H: Floats, pull: Floats) -> tuple[Floats, Floats]:
    """R and R^-1 B' pull as `conditional_factors`, of H (..., K, K) and pull (..., K); or NaN."""
    with np.errstate(all="ignore"), steady_sums():
        try:
            R = np.linalg.cholesky(np.eye(len(B)) + B.T @ H @ B)
        except np.linalg.LinAlgError:
            return np.full_like(H, np.nan), np.full_like(pull, np.nan)
        return np.asarray(R), np.linalg.solve(R, (pull @ B)[..., None])[..., 0]


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
        B = prior_factor(q[K:], K)
        R, centre = conditional_parts(B, information, pull)
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
