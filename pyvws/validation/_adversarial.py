"""Small databases that are hard on a clamp, and parameter grids, for every family with a clamp.

The clamped term of a probability never exceeds 0, so the term uses half of the claim. The clamped
term of a density uses the whole claim. The share of the claim that a loss must reach follows.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.models.beta import Beta
from pyvws.models.gamma import Gamma
from pyvws.models.logistic import Logistic
from pyvws.models.negative_binomial import NegativeBinomial
from pyvws.models.normal import Normal
from pyvws.models.ordinal import Ordinal
from pyvws.models.poisson import Poisson
from pyvws.validation._grid_engine import grid
from pyvws.validation._privacy_loss import CensoredRuns

__all__ = ["FAMILIES"]

_PROBABILITY: Final = 0.35
_DENSITY: Final = 0.9
_LARGEST_COUNT: Final = 2.0**53


def _means(low: float, high: float, points: int = 25) -> list[float]:
    return [float(value) for value in np.linspace(low, high, points)]


_COUNTS: Final[dict[str, Any]] = {
    "bases": ((0.0, 0.0), (1.0, 1.0, 1.0, 1.0), (0.0, 0.0, 0.0, 3.0), (1000.0, 1000.0)),
    "extremes": (0.0, 1.0, 4.0, 1000.0, _LARGEST_COUNT),
}
_REALS: Final[dict[str, Any]] = {
    "bases": ((0.0, 2.0), (0.0, 0.0, 0.0), (-5.0, 0.0, 700.0)),
    "extremes": (0.0, 1e-300, 3.0, -700.0, 1e9, -1e300),
}
_AMOUNTS: Final[dict[str, Any]] = {
    "bases": ((1.0, 7.0), (1.0, 1.0, 1.0), (1e-3, 1.0, 700.0)),
    "extremes": (1.0, 1e-300, 1e-3, 700.0, 1e300),
}

_WIDE: Final = _means(-9.0, 15.0)
_NORMAL: Final = grid([-700.0, *_means(-4.0, 4.0, 9), 700.0], [0.0, 6.0], _means(-5.0, 7.0, 9))
_PLACES: Final[dict[str, Any]] = {
    "bases": ((0.5, 0.5), (0.02, 0.1, 0.6), tuple(1e-4 * v for v in _means(0.5, 1.5, 20))),
    "extremes": (0.0, 1.0, 1e-12, 0.5, 1.0 - 1e-12),
}
_TRUTHS: Final[dict[str, Any]] = {
    "bases": ((0.0, 0.0), (1.0,) * 5, (0.0, 0.0, 1.0)),
    "extremes": (0.0, 1.0),
}
_LEVELS: Final[dict[str, Any]] = {
    "bases": ((1.0, 1.0), (2.0, 2.0, 2.0), (1.0, 2.0, 2.0, 4.0)),
    "extremes": (1.0, 2.0, 3.0, 4.0),
}
_CUTS: Final = [-4.0, 0.0, 2.0]
# Records with a predictor: (outcome, predictor). A grid for these records has the axes intercept,
# slope, the log scales of both and their correlation.
_VISITS: Final[dict[str, Any]] = {
    "bases": (((0.0, 0.0), (0.0, 1.0)), ((1.0, -2.0), (1.0, -2.0), (3.0, 1.0), (0.0, 1.0))),
    "extremes": ((0.0, 1.0), (1000.0, -2.0), (_LARGEST_COUNT, 5.0), (1.0, 0.0)),
}
_CHANGES: Final[dict[str, Any]] = {
    "bases": (((0.0, 0.0), (2.0, 1.0)), ((-5.0, 1.0), (-5.0, 1.0), (0.0, 0.0), (700.0, 9.0))),
    "extremes": ((0.0, 1.0), (1e-300, 0.0), (-700.0, 9.0), (1e9, 1e3), (-1e300, 0.0)),
    "in_steps": True,
}
_SPREAD: Final = [[1.0], [0.0], [0.3]]
_LINES: Final = grid(_means(-5.0, 5.0, 9), _means(-4.0, 4.0, 9), *_SPREAD)
_SLOPES: Final = grid([-700.0, -1.0, 0.0, 2.0], [-3.0, 0.0, 3.0], *_SPREAD, _means(-5.0, 7.0, 9))

FAMILIES: Final[dict[str, tuple[CensoredRuns, float]]] = {
    name: (CensoredRuns(model=model, points=points, **outcomes), share)
    for name, model, points, outcomes, share in (
        ("poisson", Poisson(), grid(_WIDE, [0.0, 2.0]), _COUNTS, _PROBABILITY),
        (
            *("negative-binomial", NegativeBinomial()),
            *(grid(_WIDE, [0.0], _means(-4.0, 4.0, 5)), _COUNTS, _PROBABILITY),
        ),
        ("poisson-predictor", Poisson(), _LINES, _VISITS, _PROBABILITY),
        ("normal", Normal(), _NORMAL, _REALS, _DENSITY),
        ("normal-predictor-in-steps", Normal(), _SLOPES, _CHANGES, _DENSITY),
        ("normal-log", Normal(outcome_scale="log"), _NORMAL, _AMOUNTS, _DENSITY),
        (
            *("gamma", Gamma()),
            *(grid(_means(-9.0, 9.0, 19), [0.0], _means(-4.0, 6.0, 9)), _AMOUNTS, _DENSITY),
        ),
        ("logistic", Logistic(), grid(_means(-12.0, 12.0), [0.0, 2.0]), _TRUTHS, _PROBABILITY),
        (
            *("ordinal", Ordinal(levels=(1, 2, 3, 4))),
            *(grid(_means(-9.0, 9.0, 13), [0.0], _CUTS, _CUTS), _LEVELS, _PROBABILITY),
        ),
        (
            *("beta", Beta(range=(0.0, 1.0))),
            *(grid(_means(-10.0, 10.0, 21), [0.0, 2.0], _means(-6.0, 3.0, 7)), _PLACES, _DENSITY),
        ),
    )
}
