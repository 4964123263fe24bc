"""Cases of `pyvws.posterior.censoring`: clamped terms, and which they are."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_EPSILONS: Final = (5.0, 12.0, 3.0, np.inf, 0.4)


def _densities(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
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
    return {"log_lik": log_lik, "weights": weights, "epsilon": _EPSILONS[seed - 1]}


def _unweighted(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_densities(seed, shape), "weights": None}


def _case(name: str, arguments: Any, part: str | None = None) -> Case:
    function = "censored_share" if part else "clamp_log_likelihood"
    return Case(
        id=f"censoring/{name}",
        paper="global2022",
        cites="censored likelihood",
        script="censoring",
        r_function=f"{function}_{part}" if part else function,
        python_function=f"pyvws.posterior.censoring:{function}",
        part=part,
        arguments=arguments,
        shapes=((1, 1), (5, 8), (20, 40)),
    )


CASES: Final = (
    _case("clamp", _densities),
    _case("clamp-unweighted", _unweighted),
    *(
        _case(f"share-{part}".replace("_", "-"), _densities, part)
        for part in ("by_record", "by_draw", "overall", "constant")
    ),
    _case("share-unweighted", _unweighted, "by_record"),
)
