"""Cases of `pyvws.bounds.lipschitz`: bounds by record, by draw and of the database."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.bounds import lipschitz
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES", "weighted_bounds"]

_SHAPES: Final = ((1, 1), (1, 9), (4, 1), (12, 30))
_SMALL: Final = ((1, 1), (1, 9), (4, 1), (10, 25))
_LEVELS: Final = (0.5, 0.9, 0.95, 0.99, 1.0)


def weighted_bounds(log_lik: Any, weights: Any, threshold: float) -> LipschitzBounds:
    """Bounds of a weighted fit: of the log pseudo likelihood alpha_i l_i(theta_s)."""
    return lipschitz.lipschitz_bounds(log_lik * weights, threshold=threshold)


def _log_lik(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Negative, positive (a density may exceed 1) and tied values; zeros."""
    draws = Draws(seed)
    log_lik = draws.log_lik(*shape)
    if seed % 2 == 0:
        log_lik[0, 0] = 0.0
        log_lik[-1, -1] = 1.25
        log_lik[:, -1] = log_lik[:, 0]
    return {"log_lik": log_lik}


def _not_finite(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A record at -Inf for one draw and one at NaN for all draws, where there is room."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 2:
        log_lik[0, 1] = -np.inf
        log_lik[:, 2] = np.nan
    return {"log_lik": log_lik}


def _threshold(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_log_lik(seed, shape), "threshold": _LEVELS[seed - 1]}


def _threshold_not_finite(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A record at -Inf for one draw only, which the threshold drops."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 2:
        log_lik[0, 1] = -np.inf
    return {"log_lik": log_lik, "threshold": _LEVELS[seed - 1]}


def _leave_one_out(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_log_lik(seed, shape), "method": "leave_one_out"}


def _leave_one_out_threshold(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {**_threshold(seed, shape), "method": "leave_one_out"}


def _weighted(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Weights of which some are 0 and some 1."""
    weights = np.clip(Draws(seed + 100).uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**_threshold(seed, shape), "weights": weights}


def _case(
    name: str,
    r_function: str,
    part: str,
    arguments: Any,
    cites: str,
    shapes: tuple[tuple[int, ...], ...] = _SHAPES,
) -> Case:
    weighted = r_function.startswith("weighted")
    return Case(
        id=f"lipschitz/{name}",
        paper="vws2024",
        cites=cites,
        script="lipschitz",
        r_function=r_function,
        python_function=(
            "pyvws.validation.cases.lipschitz:weighted_bounds"
            if weighted
            else "pyvws.bounds.lipschitz:lipschitz_bounds"
        ),
        part=part,
        arguments=arguments,
        shapes=shapes,
    )


_RECORD: Final = "Algorithm 1, step 3"
_DATABASE: Final = "Algorithm 1, step 7"
_APPENDIX: Final = "Appendix 1, steps 2 and 3"
_WEIGHTED: Final = "Algorithm 1, steps 6 and 7"

CASES: Final = (
    _case("by-record", "lipschitz_by_record", "by_record", _log_lik, _RECORD),
    _case("by-record-not-finite", "lipschitz_by_record", "by_record", _not_finite, _RECORD),
    _case("by-draw", "lipschitz_by_draw", "by_draw", _log_lik, "Algorithm 1, step 2"),
    _case("database", "lipschitz_database", "database", _log_lik, _DATABASE),
    _case("epsilon", "lipschitz_epsilon", "epsilon", _log_lik, _DATABASE),
    _case(
        "by-record-leave-one-out",
        "lipschitz_by_record",
        "by_record",
        _leave_one_out,
        _APPENDIX,
        _SMALL,
    ),
    _case(
        "by-draw-leave-one-out", "lipschitz_by_draw", "by_draw", _leave_one_out, _APPENDIX, _SMALL
    ),
    _case(
        "database-leave-one-out",
        "lipschitz_database",
        "database",
        _leave_one_out_threshold,
        _APPENDIX,
        _SMALL,
    ),
    _case("database-threshold", "lipschitz_database", "database", _threshold, _APPENDIX),
    _case("by-record-threshold", "lipschitz_by_record", "by_record", _threshold, _APPENDIX),
    _case(
        "by-record-threshold-not-finite",
        "lipschitz_by_record",
        "by_record",
        _threshold_not_finite,
        _APPENDIX,
    ),
    _case("kept-draws", "lipschitz_kept_draws", "kept_draws", _threshold, _APPENDIX),
    _case("weighted-by-record", "weighted_by_record", "by_record", _weighted, _WEIGHTED),
    _case("weighted-database", "weighted_database", "database", _weighted, _WEIGHTED),
)
