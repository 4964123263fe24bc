"""Cases of `pyvws.bounds`: bounds by record, by draw, of the database, and joint bounds."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.bounds import lipschitz
from pyvws.bounds.lipschitz import LipschitzBounds
from pyvws.validation._case import also, cases_of
from pyvws.validation._draws import Draws

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


def _threshold_not_finite(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A record at -Inf for one draw only, which the threshold drops."""
    log_lik = Draws(seed).log_lik(*shape)
    if log_lik.shape[1] > 2:
        log_lik[0, 1] = -np.inf
    return {"log_lik": log_lik, "threshold": _LEVELS[seed - 1]}


_threshold = also(_log_lik, threshold=_LEVELS)
_leave_one_out = also(_log_lik, method="leave_one_out")
_leave_one_out_threshold = also(_threshold, method="leave_one_out")


def _weighted(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Weights in [0, 1], some 0 and some 1."""
    weights = np.clip(Draws(seed + 100).uniform(shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**_threshold(seed, shape), "weights": weights}


def _columns(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Three columns of S, S + 1 and S + 2 draws, one of them not finite; a weight a record."""
    draws, records = Draws(seed), shape[1]
    log_liks = [_log_lik(seed + k, (shape[0] + k, records))["log_lik"] for k in range(3)]
    weights = np.clip(draws.uniform(records, -0.2, 1.2), 0.0, 1.0)
    weights[0] = max(weights[0], 0.25)
    if seed == 3:
        log_liks[1][0, 0] = -np.inf
        log_liks[2][:, -1] = np.nan
    return {"log_liks": log_liks, "weights": weights}


def _columns_by_column(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """The same with a weight for each record and column."""
    flat = np.clip(Draws(seed + 50).uniform(3 * shape[1], -0.2, 1.2), 0.0, 1.0)
    return {**_columns(seed, shape), "weights": flat.reshape(shape[1], 3)}


_bounds = cases_of(
    "lipschitz",
    paper="vws2024",
    cites="Appendix 1, steps 2 and 3",
    python_function="pyvws.bounds.lipschitz:lipschitz_bounds",
    shapes=((1, 1), (1, 9), (4, 1), (12, 30)),
)
_FEW: Final = {"shapes": ((1, 1), (1, 9), (4, 1), (10, 25))}
_RECORD: Final = {"cites": "Algorithm 1, step 3"}
_DATABASE: Final = {"cites": "Algorithm 1, step 7"}
_WEIGHTED: Final = {
    "cites": "Algorithm 1, steps 6 and 7",
    "python_function": f"{__name__}:weighted_bounds",
}

_joint = cases_of(
    "joint",
    paper="vws2024",
    cites="Equation 3 and Algorithm 1, for a vector of outcomes",
    python_function="pyvws.bounds.joint:joint_bounds",
    shapes=((1, 1), (1, 9), (4, 1), (12, 30)),
)

_OF_ONE_COLUMN: Final = tuple(
    _bounds(
        f"{function}{more}".removeprefix("lipschitz_").replace("_", "-"),
        function,
        arguments,
        part=function.partition("_")[2],
        **own,
    )
    for function, more, arguments, own in (
        ("lipschitz_by_record", "", _log_lik, _RECORD),
        ("lipschitz_by_record", "-not-finite", _not_finite, _RECORD),
        ("lipschitz_by_draw", "", _log_lik, {"cites": "Algorithm 1, step 2"}),
        ("lipschitz_database", "", _log_lik, _DATABASE),
        ("lipschitz_epsilon", "", _log_lik, _DATABASE),
        ("lipschitz_by_record", "-leave-one-out", _leave_one_out, _FEW),
        ("lipschitz_by_draw", "-leave-one-out", _leave_one_out, _FEW),
        ("lipschitz_database", "-leave-one-out", _leave_one_out_threshold, _FEW),
        ("lipschitz_database", "-threshold", _threshold, {}),
        ("lipschitz_by_record", "-threshold", _threshold, {}),
        ("lipschitz_by_record", "-threshold-not-finite", _threshold_not_finite, {}),
        ("lipschitz_kept_draws", "", _threshold, {}),
        ("weighted_by_record", "", _weighted, _WEIGHTED),
        ("weighted_database", "", _weighted, _WEIGHTED),
    )
)

CASES: Final = (
    *_OF_ONE_COLUMN,
    *(
        _joint(f"{part}{more}".replace("_", "-"), f"joint_{part}", made, part=part)
        for more, made in (("", _columns), ("-weights-by-column", _columns_by_column))
        for part in ("by_record", "by_column", "epsilon", "epsilon_of_separate_runs")
    ),
)
