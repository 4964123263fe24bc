"""Positive parameters beside the coefficients: their priors on the log scale that samplers see, and
the way from that scale and back.
"""

from __future__ import annotations

import math

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import constrain_coefficients, unconstrain_coefficients

__all__ = [
    "constrain_with_inverse",
    "log_half_cauchy",
    "log_half_t",
    "unconstrain_with_log",
]


@kernel
def log_half_t(u: float, scale: float) -> tuple[float, float]:
    """Log density of u = log s for s ~ half-t(3, 0, scale), up to a constant, and its slope."""
    squared = math.exp(2.0 * u) / (scale * scale)
    return u - 2.0 * math.log1p(squared / 3.0), 1.0 - 4.0 * squared / (3.0 + squared)


@kernel
def log_half_cauchy(u: float, scale: float) -> tuple[float, float]:
    """Log density of u = log s for s ~ half-Cauchy(0, scale), up to a constant, and its slope."""
    squared = math.exp(2.0 * u) / (scale * scale)
    return u - math.log1p(squared), 1.0 - 2.0 * squared / (1.0 + squared)


def constrain_with_inverse(q: Floats, K: int, name: str) -> dict[str, Floats]:
    """Coefficients' draws, inv_<name> and <name> (S,) from q (S, D) whose last entry is log inv."""
    draws = constrain_coefficients(q, K)
    draws[f"inv_{name}"] = np.exp(q[:, -1])
    draws[name] = np.exp(-q[:, -1])
    return draws


def unconstrain_with_log(draws: dict[str, Floats], name: str) -> Floats:
    """q (S, D) from draws: the coefficients' entries, then the log of one draw (S,)."""
    return np.column_stack([unconstrain_coefficients(draws), np.log(draws[name])])
