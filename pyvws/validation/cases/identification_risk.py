"""Cases of `pyvws.risks.identification_risk`: confidential and synthetic data, radii, patterns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SHAPES: Final = ((1,), (12,), (60,))
_SHARES: Final = (0.2, 0.3, 0.1, 0.05, 1.0)
_DISTANCES: Final = (10.0, 25.0, 1.0, 0.5, 100.0)


def _percentage(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Amounts of both signs with zeros, whose ball is one point; odd seeds take counts."""
    draws = Draws(seed)
    original = draws.counts(*shape) if seed % 2 else draws.amounts(*shape)
    return {"original": original, "radius": _SHARES[seed - 1]}


def _absolute(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Counts and whole distances: many values lie exactly on the edge of a ball."""
    kind = "absolute" if seed % 2 else "fixed"
    return {
        "original": Draws(seed).counts(*shape),
        "radius": _DISTANCES[seed - 1],
        "radius_kind": kind,
    }


def _pattern(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One known column; the last seed gives every record a pattern of its own."""
    (records,) = shape
    known = np.arange(records) if seed == 5 else Draws(seed + 50).whole(records, 3)
    return {**_percentage(seed, shape), "known": known}


def _patterns(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two known columns whose values together make the pattern."""
    draws = Draws(seed + 50)
    columns = [draws.whole(shape[0], 2), draws.whole(shape[0], 3)]
    return {**_absolute(seed, shape), "known": columns}


def _synthetic(seed: int, shape: tuple[int, ...], datasets: int) -> dict[str, Any]:
    """Datasets near the original, so that some records fall in their ball and some do not."""
    arguments = _pattern(seed, shape)
    draws = Draws(seed + 10)
    original = arguments["original"]
    synthetic = [
        original * draws.uniform(len(original), 0.6, 1.4) + np.floor(draws.uniform(len(original)))
        for _ in range(datasets)
    ]
    synthetic[0] = original.copy() if seed == 1 else synthetic[0]
    return {**arguments, "synthetic": synthetic}


def _outcomes(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two or three outcomes with ties and zeros; a box for odd seeds, an ellipsoid for even."""
    (records,) = shape
    outcomes = 2 + seed % 2
    values = Draws(seed).whole(records * outcomes, 9).astype(np.float64)
    return {
        "original": values.reshape(records, outcomes) - 2.0,
        "radius": 0.5 if seed < 4 else np.array([1.0, 2.0, 1.5][:outcomes]),
        "radius_kind": "percentage" if seed < 4 else "absolute",
        "known": Draws(seed + 50).whole(records, 2),
        "norm": "box" if seed % 2 else "euclidean",
    }


def _synthetic_outcomes(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    arguments = _outcomes(seed, shape)
    original = arguments["original"]
    draws = Draws(seed + 10)
    synthetic = [
        original + draws.whole(original.size, 3).reshape(original.shape) - 1.0 for _ in range(seed)
    ]
    return {**arguments, "synthetic": synthetic}


def _one(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return _synthetic(seed, shape, 1)


def _several(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return _synthetic(seed, shape, 2 + seed % 4)


def _case(name: str, arguments: Any, paper: str, cites: str) -> Case:
    return Case(
        id=f"identification_risk/{name}",
        paper=paper,
        cites=cites,
        script="identification_risk",
        r_function="identification_risk",
        python_function="pyvws.risks.identification_risk:identification_risk",
        arguments=arguments,
        shapes=_SHAPES,
    )


_STEPS: Final = "Algorithm 2, steps 1 to 3"
_EQUATIONS: Final = "Equations 1 and 2"
_SPACE: Final = "Equations 1 and 2, footnote 3"

CASES: Final = (
    _case("percentage", _percentage, "vws2024", _STEPS),
    _case("absolute", _absolute, "vws2024", _STEPS),
    _case("one-pattern", _pattern, "risk2024", _EQUATIONS),
    _case("two-columns", _patterns, "risk2024", _EQUATIONS),
    _case("one-synthetic", _one, "risk2024", _EQUATIONS),
    _case("several-synthetic", _several, "risk2024", _EQUATIONS),
    _case("outcomes", _outcomes, "risk2024", _SPACE),
    _case("outcomes-synthetic", _synthetic_outcomes, "risk2024", _SPACE),
)
