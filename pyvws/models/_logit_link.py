"""The logistic function for kernels: small tails keep their digits, and nothing overflows."""

from __future__ import annotations

import math

from pyvws._base.kernels import kernel

__all__ = ["log_sigmoid", "sigmoid_parts"]


@kernel
def log_sigmoid(eta: float) -> tuple[float, float]:
    """log p for p = 1 / (1 + exp(-eta)), and its derivative 1 - p."""
    small = math.exp(-abs(eta))
    if eta >= 0.0:
        return -math.log1p(small), small / (1.0 + small)
    return eta - math.log1p(small), 1.0 / (1.0 + small)


@kernel
def sigmoid_parts(eta: float) -> tuple[float, float, float, float]:
    """p = 1 / (1 + exp(-eta)), 1 - p, log p and log(1 - p)."""
    log_p, rest = log_sigmoid(eta)
    log_rest, p = log_sigmoid(-eta)
    return p, rest, log_p, log_rest
