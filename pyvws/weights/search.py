"""Find a scale of the weights at which the database bound meets a target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats

__all__ = ["SMALLEST_SCALE", "Try", "foreseen", "leveled", "scale_to_meet"]

SMALLEST_SCALE = 1e-6
_HALVINGS = 60


@dataclass(frozen=True, slots=True)
class Try:
    """One refit of a search: the value of k or c, the bound it reached, and the one to meet."""

    label: str
    symbol: str
    value: float
    reached: float
    target: float

    def __str__(self) -> str:
        off = f" ({self.reached / self.target - 1.0:+.1%})" if self.target > 0 else ""
        return (
            f"{self.label} {self.symbol} = {self.value:.4f}: bound {self.reached:.4f} for "
            f"{self.target:.4f}{off}"
        )


def leveled(weights: Floats, by_record: Floats, bound: float) -> Floats:
    """Weights (N,) that bring every record's bound (N,) to `bound`, in nats, before a refit.

    alpha_i bound / Delta_{alpha,x_i}, at most 1: Algorithm 3 of [vws2024] with k Delta_{alpha,x}
    named as one number. A weight of 0 stays 0; a positive one with a bound of 0 becomes 1.
    """
    made = np.where(weights > 0, 1.0, 0.0)
    moved = (weights > 0) & (by_record > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        made[moved] = np.fmin(1.0, weights[moved] * (bound / by_record[moved]))
    return made


def foreseen(weights: Floats, maxima: Floats) -> float:
    """max_i alpha_i f_i in nats: the bound under weights (N,), before a refit changes f (N,)."""
    kept = weights > 0
    return float(np.max(weights[kept] * maxima[kept], initial=0.0))


def scale_to_meet(
    bound: Callable[[float], float], target: float, *, largest: float
) -> float | None:
    """The scale in (0, largest] at which `bound(scale)` meets `target`, both in nats.

    The bound rises with the scale. Bisection on the log scale. Returns None where even `largest`
    stays below the target.
    """
    low, high = np.log(SMALLEST_SCALE), np.log(largest)
    if bound(largest) < target:
        return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if bound(float(np.exp(middle))) < target:
            low = middle
        else:
            high = middle
    return float(np.exp(low))
