"""Cases of `pyvws.evaluation.match_risk`: open and closed balls, one outcome and several."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SHAPES: Final = ((1,), (12,), (50,))
_SHARES: Final = (0.2, 0.3, 0.1, 0.05, 1.0)
_DISTANCES: Final = (4.0, 2.0, 1.0, 0.5, 40.0)


def _one_outcome(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Whole distances, so that values lie on the edge of a ball, or shares of small amounts."""
    (records,) = shape
    draws = Draws(seed)
    original = draws.amounts(records) if seed == 2 else draws.counts(records)
    kind = "absolute" if seed % 2 else "percentage"
    return {
        "original": original,
        "synthetic": [original + draws.whole(records, 11) - 5.0 for _ in range(1 + seed % 4)],
        "radius": _DISTANCES[seed - 1] if seed % 2 else _SHARES[seed - 1],
        "radius_kind": kind,
        "known": Draws(seed + 50).whole(records, 3),
        "ball": "open" if seed < 4 else "closed",
    }


def _several(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two or three outcomes with ties and zeros; box and ellipsoid, open and closed."""
    (records,) = shape
    outcomes = 2 + seed % 2
    draws = Draws(seed)
    size = records * outcomes
    original = draws.whole(size, 7).astype(np.float64).reshape(records, outcomes)
    moves = [draws.whole(size, 3).reshape(records, outcomes) - 1.0 for _ in range(1 + seed % 3)]
    return {
        "original": original,
        "synthetic": [original + move for move in moves],
        "radius": 0.5 if seed < 3 else np.array([1.0, 2.0, 1.5][:outcomes]),
        "radius_kind": "percentage" if seed < 3 else "absolute",
        "norm": "euclidean" if seed in (2, 3, 4) else "box",
        "ball": "open" if seed % 2 else "closed",
    }


def _case(name: str, r_function: str, part: str, arguments: Any) -> Case:
    return Case(
        id=f"match_risk/{name}",
        paper="hornby2021",
        cites="the three match risks",
        script="match_risk",
        r_function=r_function,
        python_function="pyvws.evaluation.match_risk:match_risk",
        part=part,
        arguments=arguments,
        shapes=_SHAPES,
    )


CASES: Final = (
    _case("expected", "expected_match_risk", "expected", _one_outcome),
    _case("true-rate", "true_match_rate", "true_rate", _one_outcome),
    _case("false-rate", "false_match_rate", "false_rate", _one_outcome),
    _case("by-record", "match_risk_by_record", "by_record", _one_outcome),
    _case("expected-several", "expected_match_risk", "expected", _several),
    _case("true-rate-several", "true_match_rate", "true_rate", _several),
    _case("false-rate-several", "false_match_rate", "false_rate", _several),
    _case("by-record-several", "match_risk_by_record", "by_record", _several),
)
