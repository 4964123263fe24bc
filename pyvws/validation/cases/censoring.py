"""Cases of `pyvws.posterior.censoring`: clamped terms, and which terms are clamped."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws.validation._draws import Draws


def _densities(seed: int, *shape: int) -> dict[str, Any]:
    """Terms of both signs, at the bound, infinite and not a number; weights with 0 and 1."""
    draws = Draws(seed)
    log_lik = draws.log_lik(*shape)
    flat = log_lik.reshape(-1)
    flat[draws.uniform(flat.size) < 0.3] *= -0.2
    at_bound = draws.uniform(flat.size) < 0.1
    flat[at_bound] = -2.5
    if flat.size > 3:
        flat[:4] = (-np.inf, np.inf, np.nan, 2.5)
    weights = np.clip(draws.uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {"log_lik": log_lik, "weights": weights}


def _unweighted(seed: int, *shape: int) -> dict[str, Any]:
    return {**_densities(seed, *shape), "weights": None}


def _deviances(seed: int, *shape: int) -> dict[str, Any]:
    """Terms around their saturated log-likelihood, some at it and some above."""
    arguments = _densities(seed, *shape)
    saturated = np.round(Draws(seed + 100).uniform(shape[1], -3.0, 1.0), 2)
    arguments["log_lik"][-1, ::3] = saturated[::3]
    return arguments | {"saturated": saturated}
