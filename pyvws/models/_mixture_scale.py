"""The scale that samplers see of a mixture: changes of variables that leave the target as it is.

The raw coefficients x_k, beta_k = B x_k, are taken as `pyvws.models.sampled_scale` takes
coefficients: x_k = R_k^-T (R_k^-1 B' H_k b_k + z_k), with the rough fit's H_k and b_k of each
component and R_k R_k' = I + B' H_k B. Where H_k outweighs the prior, beta_k is near
b_k + H_k^-1/2 z_k whatever the scales s are, so well-known coefficients do not tie the scales down.
A component that starts empty has H_k = 0 and x_k = z_k. Where components swap their roles the
target stays the same, and steps fit it less well.

The records say much of the shares pi_k and nothing of the sum of the sizes exp(v_k), a Gamma(gamma,
1) variable. So samplers see each v_k less that of one large component, and, in the place of that
one, a number t with log sum exp(v) = log(gamma + 1/2) + (a + b) t - b sqrt(1 + t^2), a = 1/2 and
b = 1/(2 gamma). Far to the left the sum's logarithm falls by 1/gamma with t, as its law has it, so
that t is of about one size for every gamma: no funnel of small gamma, no ridge along the shares.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.checks import Data, Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.models._small_matrices import (
    conditional_factors,
    pull_back_factors,
    solve_lower,
    solve_upper,
)
from pyvws.models.model import SampledScale
from pyvws.models.priors import pull_back_factor, scaled_factor
from pyvws.models.sampled_scale import conditional_parts, prior_factor

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
