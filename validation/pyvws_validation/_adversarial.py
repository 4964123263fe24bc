"""Small databases that are hard on a clamp, and parameter grids, for every family with a clamp.

A run's loss reaches the whole claim where one record's term lies at the window's lower end on
nearly all of the posterior's mass, and at its upper end at some other point. So the bases agree
within themselves, the extremes lie far from them, and the grids hold points that fit each record as
well as the family can: such a point has the scale at the end of its public range. One more scale
lies beyond that end, where an unclamped term would exceed 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.models.beta import Beta
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.gamma import Gamma
from pyvws.models.logistic import Logistic
from pyvws.models.model import Model
from pyvws.models.negative_binomial import NegativeBinomial
from pyvws.models.nominal import Nominal
from pyvws.models.normal import Normal
from pyvws.models.normal_mixture import NormalMixture
from pyvws.models.ordinal import Ordinal
from pyvws.models.poisson import Poisson
from pyvws.models.truncated_normal import TruncatedNormal
from pyvws_validation._grid_engine import grid
from pyvws_validation._privacy_loss import (
    CensoredRuns,
    SharedDrawRuns,
    StagedRuns,
    TableTargets,
    WholeScoreRuns,
)
from pyvws_validation._stan_case import UNSATURATED

Share = Mapping[str, float]
"""The least share of the claim that some loss must reach, by the relation of neighbours."""

_LARGEST_COUNT: Final = 2.0**53


def _means(low: float, high: float, points: int = 25) -> list[float]:
    return [float(value) for value in np.linspace(low, high, points)]


def _logs(*values: float) -> list[float]:
    return [float(np.log(value)) for value in values]


_COUNTS: Final[dict[str, Any]] = {
    "bases": ((0.0, 0.0), (0.0,) * 6, (0.0, 0.0, 0.0, 3.0), (1000.0, 1000.0)),
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
_PLACES: Final[dict[str, Any]] = {
    "bases": ((0.5,) * 5, (0.02, 0.1, 0.6), tuple(1e-4 * v for v in _means(0.5, 1.5, 20))),
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
# Records with a predictor: (outcome, predictor). A grid for these records has the axes intercept,
# slope, the log scales of both and their correlation.
_VISITS: Final[dict[str, Any]] = {
    "bases": (
        ((0.0, 0.0), (0.0, 1.0)) * 3,
        ((0.0, 0.0), (0.0, 1.0)),
        ((1.0, -2.0), (1.0, -2.0), (3.0, 1.0), (0.0, 1.0)),
    ),
    "extremes": ((0.0, 1.0), (1000.0, -2.0), (_LARGEST_COUNT, 5.0), (1.0, 0.0)),
}
_CHANGES: Final[dict[str, Any]] = {
    "bases": (((0.0, 0.0), (2.0, 1.0)), ((-5.0, 1.0), (-5.0, 1.0), (0.0, 0.0), (700.0, 9.0))),
    "extremes": ((0.0, 1.0), (1e-300, 0.0), (-700.0, 9.0), (1e9, 1e3), (-1e300, 0.0)),
}

_NORMAL: Final = Normal()
_MIXTURE: Final = NormalMixture(components=2, labels="prior", smallest_sd=1e-3)
_GAMMA: Final = Gamma()
_BETA: Final = Beta(range=(0.0, 1.0))
_BEYOND: Final = 1.0  # How far a scale lies beyond its public range, in log units.

_RATES: Final = [-30.0, *_means(-9.0, 15.0, 13), *_logs(1000.0, _LARGEST_COUNT)]
_LEAST_SD: Final = float(np.log(_NORMAL.smallest_sd))
_SDS: Final = [-7.0, _LEAST_SD - _BEYOND, _LEAST_SD, *_means(-1.0, 7.0, 5)]
_CENTRES: Final = [-700.0, *_means(-4.0, 4.0, 9), 700.0]
_LEAST_1_SHAPE: Final = -float(np.log(_GAMMA.largest_shape))
_LEAST_1_KAPPA: Final = -float(np.log(_BETA.largest_kappa))
_SPREAD: Final = [[1.0], [0.0], [0.3]]

# What each family's runs are: its model, its grid and its databases.
_FAMILIES: Final[dict[str, tuple[Model, Floats, dict[str, Any]]]] = {
    "poisson": (Poisson(), grid(_RATES, [0.0, 2.0]), _COUNTS),
    "negative-binomial": (
        NegativeBinomial(),
        grid(_RATES, [0.0], [-40.0, -4.0, 0.0, 4.0]),
        _COUNTS,
    ),
    "poisson-predictor": (
        Poisson(),
        grid([-30.0, *_means(-6.0, 6.0, 9), *_logs(1000.0)], _means(-4.0, 4.0, 9), *_SPREAD),
        _VISITS,
    ),
    "normal": (_NORMAL, grid(_CENTRES, [0.0, 6.0], _SDS), _REALS),
    "normal-predictor": (
        _NORMAL,
        grid([-700.0, -1.0, 0.0, 2.0], [-3.0, 0.0, 3.0], *_SPREAD, _SDS),
        _CHANGES,
    ),
    "normal-log": (
        Normal(outcome_scale="log"),
        grid([*_CENTRES, *_logs(1e-3, 700.0, 1e300)], [0.0, 6.0], _SDS),
        _AMOUNTS,
    ),
    "gamma": (
        _GAMMA,
        grid(
            [*_means(-9.0, 9.0, 19), *_logs(1e-300, 1e-3, 700.0, 1e300)],
            [0.0],
            [-20.0, _LEAST_1_SHAPE - _BEYOND, _LEAST_1_SHAPE, *_means(-2.0, 6.0, 5)],
        ),
        _AMOUNTS,
    ),
    "logistic": (Logistic(), grid([-30.0, -25.0, 25.0, 30.0], [0.0, 2.0]), _TRUTHS),
    "ordinal": (
        Ordinal(levels=(1, 2, 3, 4)),
        # With the cuts 0, 55 and 109 each of these centres leaves one level.
        grid([-30.0, 27.0, 82.0, 140.0], [0.0, 2.0], [-4.0, 4.0], [-4.0, 4.0]),
        _LEVELS,
    ),
    "nominal": (
        Nominal(levels=("1", "2", "3", "4")),
        # The coefficients of the levels 2, 3 and 4, and the log of their scale: no two levels are
        # alike at a point, so the highest coefficient above 0 leaves one level.
        grid([-30.0, 30.0], [-30.0, 60.0], [-30.0, 90.0], [2.0, 4.0]),
        _LEVELS,
    ),
    "table": (
        ConditionalTable(levels=("1", "2", "3", "4")),
        # Log sizes of the four levels; their shares are the sizes by their sum.
        grid([-60.0, 0.0], [-30.0, 30.0], [-90.0, 15.0, 60.0], [-45.0, 90.0]),
        _LEVELS,
    ),
    "beta": (
        _BETA,
        grid(
            [-30.0, *_means(-10.0, 10.0, 21), 30.0],
            [0.0, 2.0],
            [-20.0, _LEAST_1_KAPPA - _BEYOND, _LEAST_1_KAPPA, *_means(-3.0, 3.0, 5)],
        ),
        _PLACES,
    ),
    "truncated-normal": (
        TruncatedNormal(range=(0.0, 1.0)),
        grid(_CENTRES, [0.0, 6.0], _SDS),
        _PLACES,
    ),
    "normal-mixture": (
        _MIXTURE,
        # Raw coefficients, their log scale, log(sigma - smallest_sd), log sizes and log gamma.
        grid(
            *([-700.0, -3.0, 0.0, 3.0, 20.0], [0.0, 3.0], [0.0]),
            *([-30.0], [-30.0, 0.0], [0.0], [-40.0, 0.0], [0.0]),
        ),
        _REALS,
    ),
}

_MASSES: Final = (
    "poisson",
    "negative-binomial",
    "poisson-predictor",
    "logistic",
    "ordinal",
    "nominal",
    "table",
)
WHOLE: Final = {"leave-one-out": 0.985, "replace-one": 0.9}
_SLOPED: Final = {"leave-one-out": 0.985, "replace-one": 0.5}
_PART: Final = {"leave-one-out": 0.35, "replace-one": 0.175}
"""A probability's term under the half clamp lies in the lower half of the window, and a probable
count's term lies lower still."""


def _share(clamp: str, name: str) -> Share:
    if clamp == "half" and name in _MASSES:
        return _PART
    return _SLOPED if name.endswith("-predictor") or clamp == "half" else WHOLE


CLAIMED: Final[dict[tuple[str, str], Share]] = {
    (clamp, name): _share(clamp, name)
    for clamp in ("half", "deviance")
    for name in _FAMILIES
    if clamp == "half" or name not in UNSATURATED
}
"""The share of the claim that a loss must reach, by clamp and name of the runs."""


def censored_runs(clamp: str, name: str, *, in_steps: bool = False) -> CensoredRuns:
    """The runs of one name under one clamp, in memory or in steps."""
    model, points, databases = _FAMILIES[name]
    return CensoredRuns(model=model, points=points, clamp=clamp, in_steps=in_steps, **databases)


def _around(*middles: float) -> tuple[float, float]:
    """The ends of an axis whose equal steps have these middles, which lie evenly spread."""
    half = 0.5 * (middles[1] - middles[0])
    return middles[0] - half, middles[-1] + half


def _scored(name: str, *axes: tuple[float, ...]) -> WholeScoreRuns:
    model, _, databases = _FAMILIES[name]
    return WholeScoreRuns(
        model=model,
        clamp="deviance",
        grid_range=tuple(end for middles in axes for end in _around(*middles)),
        grid_steps=tuple(len(middles) for middles in axes),
        **databases,
    )


_FAR: Final = (-700.0, 0.0, 700.0)
_LOG_1000: Final = float(np.log(1000.0))
_THOUSANDS: Final = (-_LOG_1000, 0.0, _LOG_1000)

WHOLE_SCORES: Final[dict[str, WholeScoreRuns]] = {
    name: _scored(name, *axes)
    for name, axes in {
        "poisson": (_THOUSANDS,),
        "negative-binomial": (_THOUSANDS, (-40.0, -20.0, 0.0)),
        "poisson-predictor": (_THOUSANDS, _THOUSANDS),
        "normal": (_FAR, (_LEAST_SD, _LEAST_SD + 2.0, _LEAST_SD + 4.0)),
        "gamma": (_THOUSANDS, (_LEAST_1_SHAPE, _LEAST_1_SHAPE + 4.0)),
        "logistic": ((-30.0, -10.0, 10.0, 30.0),),
        "beta": ((-10.0, 0.0, 10.0), (_LEAST_1_KAPPA, _LEAST_1_KAPPA + 4.0)),
        "ordinal": ((-29.0, 27.0, 83.0, 139.0), (-4.0, 4.0), (-4.0, 4.0)),
    }.items()
}
"""Runs of engine grid by name. The middle of a step fits some record as well as the family can."""

SHARED: Final[dict[int, SharedDrawRuns]] = {
    draws: SharedDrawRuns(
        model=_NORMAL,
        clamp="deviance",
        points=_FAMILIES["normal"][1],
        datasets=3,
        draws=draws,
        **_REALS,
    )
    for draws in (1, 2)
}
"""Runs with three datasets, by their number of draws."""

STAGED: Final[dict[str, StagedRuns]] = {
    "poisson": StagedRuns(
        model=Poisson(),
        clamp="deviance",
        points=grid([-6.0, -1.0, 0.0, 1.0, 4.0, 7.0], [0.0]),
        bases=((1096.0,) * 10, (1.0,) * 4 + (3.0,) * 4),
        extremes=(0.0, 1096.0, _LARGEST_COUNT),
    ),
    "normal": StagedRuns(
        model=_NORMAL,
        clamp="deviance",
        points=grid(_FAR, [0.0], [_LEAST_SD, 0.0, 5.0]),
        bases=((0.0,) * 10, (-5.0, 0.0, 700.0)),
        extremes=(0.0, 700.0, -1e300),
    ),
}
"""Runs with staged weights by name."""

# A grid of two columns has the axes of the first column and then those of the second, whose
# coefficients are an intercept and a slope with their log scales and their correlation.
_COINS: Final[dict[str, Any]] = {
    "models": (Logistic(), Logistic()),
    "points": grid(
        *([-30.0, -25.0, 25.0, 30.0], [0.0]),
        *([-30.0, 0.0, 30.0], [-60.0, 0.0, 60.0], [0.0], [0.0], [0.3]),
    ),
    "bases": (((0.0, 0.0),) * 2, ((1.0, 1.0),) * 4, ((0.0, 1.0), (0.0, 1.0), (1.0, 0.0))),
    "extremes": ((0.0, 0.0), (0.0, 1.0), (1.0, 0.0), (1.0, 1.0)),
}
_COIN: Final = ConditionalTable(levels=("1", "2"), concentration=0.01, patterns=1)
_SHARES: Final[dict[str, Any]] = {
    "models": (_COIN, replace(_COIN, patterns=2)),
    "points": grid(*([-30.0, 0.0],) * 6),
    "bases": (((1.0, 1.0),) * 40, ((2.0, 2.0),) * 40, ((1.0, 2.0), (1.0, 2.0), (2.0, 1.0))),
    "extremes": ((1.0, 1.0), (1.0, 2.0), (2.0, 1.0), (2.0, 2.0)),
}
_SHARE_AND_COIN: Final[dict[str, Any]] = {
    "models": (_COIN, Logistic()),
    "points": grid(
        *([-30.0, 0.0],) * 2, *([-30.0, 0.0, 30.0], [-60.0, 0.0, 60.0], [0.0], [0.0], [0.3])
    ),
    "bases": (((1.0, 1.0),) * 40, ((2.0, 0.0),) * 40, ((1.0, 0.0), (1.0, 0.0), (2.0, 1.0))),
    "extremes": ((1.0, 0.0), (1.0, 1.0), (2.0, 0.0), (2.0, 1.0)),
}
_SHARE_AND_AMOUNT: Final[dict[str, Any]] = {
    "models": (_COIN, _NORMAL),
    "points": grid(
        *([-30.0, 0.0],) * 2,
        *([-700.0, 0.0, 2.0], [0.0, 2.0], [0.0], [0.0], [0.3]),
        [-7.0, _LEAST_SD - _BEYOND, _LEAST_SD, 5.0],
    ),
    "bases": (((1.0, 0.0),) * 3, ((2.0, 2.0),) * 2, ((1.0, -700.0), (2.0, 2.0), (2.0, 4.0))),
    "extremes": ((1.0, 0.0), (2.0, 2.0), (1.0, 1e300), (2.0, -700.0)),
}
_COUNT_AND_AMOUNT: Final[dict[str, Any]] = {
    "models": (Poisson(), _NORMAL),
    "points": grid(
        *([-30.0, *_logs(1.0, 1000.0, _LARGEST_COUNT)], [0.0]),
        *([-700.0, 0.0, 2.0], [0.0, 2.0], [0.0], [0.0], [0.3]),
        [-7.0, _LEAST_SD - _BEYOND, _LEAST_SD, 5.0],
    ),
    "bases": (((0.0, 0.0),) * 3, ((1000.0, 2.0),) * 2, ((0.0, -700.0), (1.0, 2.0), (1.0, 4.0))),
    "extremes": ((0.0, 0.0), (1000.0, 2.0), (0.0, 1e300), (_LARGEST_COUNT, 2.0), (1.0, -700.0)),
}
_TAX_AND_INCOME: Final[dict[str, Any]] = {
    "models": (TruncatedNormal(range=(0.0, 1.0)),) * 2,
    "points": grid(
        *([-30.0, 0.5, 30.0], [0.0], [-3.0, 0.0]),
        *([-30.0, 0.5, 30.0], [0.0, 30.0], [0.0], [0.0], [0.3], [-7.0, -3.0, 0.0]),
    ),
    "bases": (((1.0, 1.0),) * 4, ((1e-9, 5e-10),) * 3, ((1.0, 0.0), (0.5, 0.5), (1e-9, 1e-9))),
    "extremes": ((1.0, 1.0), (1.0, 0.0), (1e-9, 1e-9), (1e-300, 1e-300), (0.5, 0.25)),
    "bounded": True,
}

TABLES: Final[dict[str, tuple[TableTargets, Share]]] = {
    "deviance-two-logistic": (TableTargets(clamp="deviance", **_COINS), WHOLE),
    "deviance-weights-0.45": (TableTargets(clamp="deviance", weight=0.45, **_COINS), WHOLE),
    "censored-two-logistic": (TableTargets(clamp="half", **_COINS), _PART),
    "deviance-two-tables": (TableTargets(clamp="deviance", **_SHARES), WHOLE),
    "deviance-tables-weights-0.45": (TableTargets(clamp="deviance", weight=0.45, **_SHARES), WHOLE),
    "deviance-table-logistic": (TableTargets(clamp="deviance", **_SHARE_AND_COIN), WHOLE),
    "deviance-table-normal": (TableTargets(clamp="deviance", **_SHARE_AND_AMOUNT), WHOLE),
    "censored-table-normal": (TableTargets(clamp="half", **_SHARE_AND_AMOUNT), _SLOPED),
    "deviance-poisson-normal": (TableTargets(clamp="deviance", **_COUNT_AND_AMOUNT), WHOLE),
    "censored-bounded": (TableTargets(clamp="half", **_TAX_AND_INCOME), _SLOPED),
    "censored-poisson-normal": (TableTargets(clamp="half", **_COUNT_AND_AMOUNT), _SLOPED),
}
"""Targets of tables by name, and the share of the claim that a loss must reach."""
