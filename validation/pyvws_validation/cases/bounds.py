"""Cases of `pyvws.bounds`: bounds by record, by draw, of the database, and joint bounds."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.bounds import lipschitz
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws_validation._draws import Draws


def weighted_bounds(log_lik: Floats, weights: Floats, threshold: float) -> LipschitzBounds:
    """Bounds of a weighted fit: of the log pseudo likelihood alpha_i l_i(theta_s)."""
    return lipschitz.lipschitz_bounds(log_lik * weights, threshold=threshold)


def _log_lik(seed: int, *shape: int) -> dict[str, Any]:
    """Negative, positive (a density may exceed 1) and tied values; zeros."""
    draws = Draws(seed)
    log_lik = draws.log_lik(*shape)
    if seed % 2 == 0:
        log_lik[0, 0] = 0.0
        log_lik[-1, -1] = 1.25
        log_lik[:, -1] = log_lik[:, 0]
    return {"log_lik": log_lik}


def _not_finite(seed: int, *shape: int) -> dict[str, Any]:
    """A record at -Inf for one draw and one at NaN for all draws, where there is room."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 2:
        log_lik[0, 1] = -np.inf
        log_lik[:, 2] = np.nan
    return {"log_lik": log_lik}


def _threshold_not_finite(seed: int, *shape: int) -> dict[str, Any]:
    """A record at -Inf for one draw only, which the threshold drops."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 2:
        log_lik[0, 1] = -np.inf
    return {"log_lik": log_lik}


def _weighted(seed: int, *shape: int) -> dict[str, Any]:
    """Weights in [0, 1], some 0 and some 1."""
    weights = np.clip(Draws(seed + 100).uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**_log_lik(seed, *shape), "weights": weights}


def _columns(seed: int, *shape: int) -> dict[str, Any]:
    """Three columns of S, S + 1 and S + 2 draws, one of them not finite; a weight a record."""
    draws, records = Draws(seed), shape[1]
    log_liks = [_log_lik(seed + k, shape[0] + k, records)["log_lik"] for k in range(3)]
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    weights[0] = max(weights[0], 0.25)
    if seed == 3:
        log_liks[1][0, 0] = -np.inf
        log_liks[2][:, -1] = np.nan
    return {"log_liks": log_liks, "weights": weights}


def _columns_by_column(seed: int, *shape: int) -> dict[str, Any]:
    """The same with a weight for each record and column."""
    flat = np.clip(Draws(seed + 50).uniform(3 * shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**_columns(seed, *shape), "weights": flat.reshape(shape[1], 3)}
