"""The map under which coefficients and their scales look nearly normal to a sampler.

Given the prior's factor B = diag(s) L, a likelihood that is roughly normal in beta, with
information H (K, K) and maximum b (K,), makes beta roughly normal: with M = I + B' H B = R R',
beta = B R^-T (R^-1 B' H b + x) for x ~ N(0, I). Sampling (x, log s, ...) instead of
(beta, log s, ...) removes the funnel of small scales where coefficients are near 0, and the
correlation and units of predictors. It is a change of variables with log |d beta / d x| =
sum log B_kk - sum log R_kk, so the target stays what it is however rough H and b are.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pyvws._base.kernels import kernel
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

__all__ = ["from_conditional", "pull_back_conditional", "scaled_factors"]


@kernel
def scaled_factors(log_scale: Any, partials: Any, H: Any, pull: Any) -> tuple[Any, Any, Any, Any]:
    """B = diag(s) L, R with R R' = I + B' H B, H B, all (K, K), and R^-1 B' H b (K,).

    From log s (K,), the unconstrained partial correlations of L, H (K, K) and pull = H b (K,).
    """
    K = len(pull)
    B = cholesky_factor(partials, K)
    for i in range(K):
        B[i, : i + 1] *= math.exp(log_scale[i])
    HB = product(H, B)
    M = transposed_product(B, HB)
    for i in range(K):
        M[i, i] += 1.0
    R = cholesky(M)
    return B, R, HB, solve_lower(R, transposed_times(B, pull))


@kernel
def from_conditional(
    p: Any, H: Any, pull: Any, K: int, q: Any
) -> tuple[float, Any, Any, Any, Any, Any]:
    """Fill q (D,) from p (D,), whose first K entries are x; H (K, K), pull = H b (K,).

    Returns the log Jacobian and what `pull_back_conditional` needs: B, R, HB, R^-1 B' H b and
    beta's coordinates R^-T (R^-1 B' H b + x).
    """
    q[:] = p
    B, R, HB, centre = scaled_factors(p[K : 2 * K], p[2 * K :], H, pull)
    e = solve_upper(R, centre + p[:K])
    jacobian = 0.0
    for k in range(K):
        q[k] = 0.0
        for j in range(k + 1):
            q[k] += B[k, j] * e[j]
        jacobian += math.log(B[k, k]) - math.log(R[k, k])
    return jacobian, B, R, HB, centre, e


@kernel
def pull_back_conditional(
    p: Any, pull: Any, K: int, gradient: Any, B: Any, R: Any, HB: Any, centre: Any, e: Any
) -> None:
    """Turn the gradient of a log density in q (D,) into that of its pull-back in p, in place.

    Adds the gradient of the log Jacobian. Reverse mode through beta = B e, e = R^-T (R^-1 B' H b +
    x), and the Cholesky factor R of I + B' H B.
    """
    by_beta = gradient[:K].copy()
    by_sum = solve_lower(R, transposed_times(B, by_beta))  # of R^-1 B' H b + x
    by_right = solve_upper(R, by_sum)  # of B' H b
    by_B = np.empty((K, K))
    by_R = np.empty((K, K))
    for i in range(K):
        for j in range(K):
            by_B[i, j] = by_beta[i] * e[j] + pull[i] * by_right[j]
            by_R[i, j] = -e[i] * by_sum[j] - by_right[i] * centre[j]
        by_R[i, i] -= 1.0 / R[i, i]
        by_B[i, i] += 1.0 / B[i, i]
    by_M = pull_back_cholesky(R, by_R)
    by_B += product(HB, by_M + by_M.T)
    gradient[:K] = by_sum
    for i in range(K):
        total = 0.0
        for j in range(i + 1):
            total += by_B[i, j] * B[i, j]
        gradient[K + i] += total
        by_B[i] *= math.exp(p[K + i])
    pull_back_factor(p[2 * K :], K, by_B, gradient[2 * K :])
