"""Cases of `pyvws.weights.truncation`: Weighted-epsilon and downscaling."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_EPSILONS: Final = (5.0, 8.0, 3.0, np.inf, 14.0)
_FACTORS: Final = (0.95, 0.5, 0.9, 0.75, 0.2)


def _weighted_fit(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Bounds on either side of epsilon / 2, one just there, one 0, one infinite."""
    (records,) = shape
    draws = Draws(seed)
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    bounds = weights * draws.uniform(records, 1.0, 9.0)
    if records > 3:
        weights[:3], bounds[:3] = 0.4, (0.5 * _EPSILONS[seed - 1], 0.0, np.inf)
    return {"weights": weights, "by_record": bounds, "epsilon": _EPSILONS[seed - 1]}


def _constant(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_weighted_fit(seed, shape), "psi": _FACTORS[seed - 1]}


def _case(name: str, function: str, arguments: Any, cites: str) -> Case:
    return Case(
        id=f"truncation/{name}",
        paper="global2022",
        cites=cites,
        script="truncation",
        r_function=function,
        python_function=f"pyvws.weights.truncation:{function}",
        arguments=arguments,
        shapes=((1,), (15,), (80,)),
    )


CASES: Final = (
    _case("weighted-epsilon", "weighted_epsilon_weights", _weighted_fit, "Weighted-epsilon"),
    _case("downscale", "downscale", _weighted_fit, "downscaling"),
    _case("downscale-constant", "downscale", _constant, "downscaling"),
)
