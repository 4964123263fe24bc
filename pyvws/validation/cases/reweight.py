"""Case of `pyvws.weights.reweight`: Algorithm 3."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_FACTORS: Final = (0.95, 0.5, 0.9, 0.99, 0.75)


def _weighted_fit(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Weights with 0 and 1 among them, and their bounds; one bound of 0 with a positive weight."""
    (records,) = shape
    draws = Draws(seed)
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    bounds = weights * draws.uniform(records, 2.0, 9.0)
    if records > 3:
        weights[0], bounds[0] = 0.4, 0.0
        weights[1], bounds[1] = 0.0, 0.0
    return {"weights": weights, "by_record": bounds, "k": _FACTORS[seed - 1]}


CASES: Final = (
    Case(
        id="reweight/weights",
        paper="vws2024",
        cites="Equation 6",
        script="reweight",
        r_function="reweight",
        python_function="pyvws.weights.reweight:reweight",
        arguments=_weighted_fit,
        shapes=((1,), (15,), (80,)),
    ),
)
