"""Half-t priors of positive parameters, on the log scale that samplers see."""

from __future__ import annotations

import math

from pyvws._kernels import kernel

__all__ = ["log_half_cauchy", "log_half_t"]


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
