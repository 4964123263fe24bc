"""The map under which a mixture's coefficients look nearly normal to a sampler.

Raw coefficients x_k, beta_k = B x_k with B = diag(s) L, are taken as in
`pyvws.models._conditional`, with one information H (K, K) and one centre b (K,) for all components,
so that nothing changes when components swap their roles: M = I + B' H B = R R' and
x_k = R^-T (R^-1 B' H b + z_k). Where H outweighs the prior, beta_k is near b + H^-1/2 z_k whatever
the scales s are, so well-known coefficients do not tie the scales down; where a scale nears 0, x_k
nears z_k, so unimportant coefficients make no funnel. It is a change of variables, so the target
stays what it is however rough H and b are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models._conditional import scaled_factors
from pyvws.models._priors import pull_back_factor
from pyvws.models._small_matrices import (
    product,
    pull_back_cholesky,
    solve_lower,
    solve_upper,
)
from pyvws.models.model import SampledScale

__all__ = ["mixture_scale"]


@kernel
def _restore(p: Any, H: Any, pull: Any, C: int, q: Any) -> tuple[float, Any, Any, Any, Any]:
    """Fill q (D,) from p (D,), whose first C K entries are z; pull = H b (K,).

    Returns the log Jacobian and what `_pull_back` needs: B, R, H B and R^-1 B' H b.
    """
    K = len(pull)
    at = C * K
    q[:] = p
    partials = p[at + K : at + K + K * (K - 1) // 2]
    B, R, HB, centre = scaled_factors(p[at : at + K], partials, H, pull)
    for c in range(C):
        q[c * K : (c + 1) * K] = solve_upper(R, centre + p[c * K : (c + 1) * K])
    jacobian = 0.0
    for k in range(K):
        jacobian -= C * math.log(R[k, k])
    return jacobian, B, R, HB, centre


@kernel
def _pull_back(
    p: Any, q: Any, pull: Any, C: int, B: Any, R: Any, HB: Any, centre: Any, gradient: Any
) -> None:
    """Turn the gradient in q into that in p, the Jacobian's added, in place: reverse mode."""
    K = len(pull)
    at = C * K
    by_R = np.zeros((K, K))
    by_centre = np.zeros(K)
    for c in range(C):
        by_z = solve_lower(R, gradient[c * K : (c + 1) * K])
        for i in range(K):
            for j in range(K):
                by_R[i, j] -= q[c * K + i] * by_z[j]
        by_centre += by_z
        gradient[c * K : (c + 1) * K] = by_z
    by_right = solve_upper(R, by_centre)  # of B' H b
    by_B = np.empty((K, K))
    for i in range(K):
        for j in range(K):
            by_B[i, j] = pull[i] * by_right[j]
            by_R[i, j] -= by_right[i] * centre[j]
        by_R[i, i] -= C / R[i, i]
    by_M = pull_back_cholesky(R, by_R)
    by_B += product(HB, by_M + by_M.T)
    for i in range(K):
        for j in range(i + 1):
            gradient[at + i] += by_B[i, j] * B[i, j]
        by_B[i] *= math.exp(p[at + i])
    partials = p[at + K : at + K + K * (K - 1) // 2]
    pull_back_factor(partials, K, by_B, gradient[at + K : at + K + K * (K - 1) // 2])


@kernel
def _restore_mixture(z: Any, offset: Any, H: Any, pull: Any, C: int, q: Any) -> tuple[float, Any]:
    p = z + offset
    jacobian, B, R, HB, centre = _restore(p, H, pull, C, q)
    return jacobian, (p, B, R, HB, centre)


@kernel
def _pull_back_mixture(
    state: Any, q: Any, _offset: Any, _H: Any, pull: Any, C: int, gradient: Any
) -> None:
    p, B, R, HB, centre = state
    _pull_back(p, q, pull, C, B, R, HB, centre, gradient)


def mixture_scale(centre: Floats, H: Floats, b: Floats, components: int) -> SampledScale:
    """z -> q for C components, both of length D; z = 0 gives the rough fit `centre` (D,).

    q holds raw coefficients (C K), log s (K), partial correlations and what follows.
    """
    H = np.ascontiguousarray(H)
    pull = H @ b
    first = components * len(b)
    offset = centre.copy()
    offset[:first] = 0.0
    _, _, R, _, middle = _restore(offset, H, pull, components, centre.copy())
    raw = centre[:first].reshape(components, -1)
    offset[:first] = (raw @ R - middle).ravel()
    data = offset, H, pull, components

    def inverse(q: Floats) -> Floats:
        _, _, R, _, middle = _restore(q, H, pull, components, q.copy())
        z = q.copy()
        z[:first] = (q[:first].reshape(components, -1) @ R - middle).ravel()
        return z - offset

    return SampledScale((_restore_mixture, _pull_back_mixture), data, inverse)
