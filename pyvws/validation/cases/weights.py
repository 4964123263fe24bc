"""Cases of `pyvws.weights.weights`: LW, CW and marginal, SW."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.risks.identification_risk import identification_risk
from pyvws.validation._case import Case
from pyvws.validation._draws import Draws, Floats
from pyvws.weights import weights as package

__all__ = ["CASES", "count_weights"]

_SHAPES: Final = ((1, 2), (5, 8), (20, 40))
_RECORDS: Final = ((1,), (12,), (60,))
_LEVELS: Final = (0.5, 0.9, 0.95, 0.99, 0.75)
# The default, one that clips at 1, one that clips at 0, one in between, and a plain shift.
_SCALES: Final = ((1.0, 0.0), (1.7, 0.3), (0.8, -0.25), (0.9, 0.05), (0.0, 0.4))


def count_weights(original: Any, radius: float, c: float, g: float) -> Floats:
    """CW weights straight from the outcome: Algorithm 2, steps 1 to 4."""
    risk = identification_risk(original, radius=radius)
    return package.risk_weights(risk, c=c, g=g)


def _scale(seed: int) -> dict[str, Any]:
    c, g = _SCALES[seed - 1]
    return {"c": c, "g": g}


def _log_lik(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"log_lik": Draws(seed).log_lik(*shape)}


def _log_lik_scaled(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_log_lik(seed, shape), **_scale(seed)}


def _log_lik_threshold(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_log_lik(seed, shape), "threshold": _LEVELS[seed - 1]}


def _not_finite(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Records at -Inf for one draw and at NaN for all; seeds 4 and 5 drop draws as well."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 3:
        log_lik[0, 1] = -np.inf
        if seed < 4:
            log_lik[:, 2] = np.nan
    return {"log_lik": log_lik, "threshold": 1.0 if seed < 4 else 0.9}


def _bounds(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    bounds = np.abs(Draws(seed).log_lik(*shape)).max(axis=0)
    if len(bounds) > 3:
        bounds[3] = np.inf
    return {"by_record": bounds, **_scale(seed)}


def _only_bounds(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"by_record": _bounds(seed, shape)["by_record"]}


def _risks(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Risks as counts over a pattern's size, 0 and 1 among them."""
    (records,) = shape
    risk = Draws(seed).whole(records, records + 1) / records
    risk[0] = 1.0 if seed % 2 else 0.0
    return {"risk": risk, **_scale(seed)}


def _outcome(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    radius = (0.2, 0.3, 0.1, 0.2, 0.3)[seed - 1]
    return {"original": Draws(seed).counts(*shape), "radius": radius, **_scale(seed)}


def _scalar(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A bound to meet; that of seed 1 lies above the unweighted one, so that the weight is 1."""
    target, gap = Draws(seed).uniform(2, 2.0, 6.0)
    unweighted = target - 0.25 * gap if seed == 1 else target + gap
    return {"n": shape[0], "target": float(target), "unweighted": float(unweighted)}


_LW: Final = "Algorithm 1, steps 1 to 4"


def _lw(name: str, arguments: Any, cites: str = _LW) -> Case:
    return Case(
        id=f"weights/{name}",
        paper="vws2024",
        cites=cites,
        script="weights",
        r_function="lipschitz_weights",
        python_function="pyvws.weights.weights:lipschitz_weights",
        arguments=arguments,
        shapes=_SHAPES,
    )


CASES: Final = (
    _lw("lw", _log_lik),
    _lw("lw-c-g", _log_lik_scaled),
    _lw("lw-threshold", _log_lik_threshold, "Appendix 1, steps 2 to 4"),
    _lw("lw-not-finite", _not_finite),
    Case(
        id="weights/from-bounds",
        paper="vws2024",
        cites="Algorithm 1, steps 3 and 4",
        script="weights",
        r_function="weights_from_bounds",
        python_function="pyvws.weights.weights:weights_from_bounds",
        arguments=_bounds,
        shapes=_SHAPES,
    ),
    Case(
        id="weights/scaled-bounds",
        paper="vws2024",
        cites="Algorithm 1, step 3",
        script="weights",
        r_function="scaled_bounds",
        python_function="pyvws.weights.weights:scaled_bounds",
        arguments=_only_bounds,
        shapes=_SHAPES,
    ),
    Case(
        id="weights/cw-from-risk",
        paper="vws2024",
        cites="Algorithm 2, step 4",
        script="weights",
        r_function="weights_from_risks",
        python_function="pyvws.weights.weights:risk_weights",
        arguments=_risks,
        shapes=_RECORDS,
    ),
    Case(
        id="weights/cw-from-outcome",
        paper="vws2024",
        cites="Algorithm 2, steps 1 to 4",
        script="identification_risk",
        r_function="count_weights",
        python_function="pyvws.validation.cases.weights:count_weights",
        arguments=_outcome,
        shapes=_RECORDS,
    ),
    Case(
        id="weights/sw",
        paper="vws2024",
        cites="section 3",
        script="weights",
        r_function="scalar_weights",
        python_function="pyvws.weights.weights:scalar_weights",
        arguments=_scalar,
        shapes=_RECORDS,
    ),
)
