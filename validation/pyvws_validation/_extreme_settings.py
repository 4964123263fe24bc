"""Runs whose public settings lie at the ends of floats: ranges, steps, scales and epsilons.

Nothing but the settings is extreme here, besides what the databases of `_adversarial` hold. No
number that a run makes of such settings may overflow, wrap, or differ between neighbours.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Final

from pyvws.models.beta import Beta
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
from pyvws_validation._adversarial import STAGED, TABLES, censored_runs
from pyvws_validation._privacy_loss import CensoredRuns, HistogramRuns, Runs, WholeScoreRuns
from pyvws_validation._stan_case import UNSATURATED

_OF_GRID: Final = (1024.0, 2.0**-20)
_OF_FLOATS: Final = (1000.0, 0.1)  # Below it the rounding of sums in floats is no small part.
_FAR: Final = (-1e60, 1e60)  # A coefficient's prior leaves the float range near 1e100.
_LOGARITHM: Final = (-700.0, 700.0)
_TINY: Final = 1e-300
_HUGE: Final = 1e300

# Families with their scales at either end, by the name of their runs.
_SCALES: Final[dict[str, tuple[Model, ...]]] = {
    "normal": (Normal(smallest_sd=_TINY), Normal(smallest_sd=_HUGE, outcome_unit=1e200)),
    "normal-log": (Normal(outcome_scale="log", smallest_sd=_TINY, outcome_unit=1e-7),),
    "gamma": (Gamma(largest_shape=_TINY), Gamma(largest_shape=_HUGE)),
    "beta": (Beta(largest_kappa=_TINY), Beta(range=(-8e307, 8e307), largest_kappa=_HUGE)),
    "truncated-normal": (
        TruncatedNormal(range=(-1e150, 1e150)),
        TruncatedNormal(range=(0.0, 1.0), outcome_unit=1e-150),
    ),
    "normal-mixture": (NormalMixture(components=2, labels="prior", smallest_sd=_TINY),),
    "nominal": (Nominal(levels=("1", "2", "3", "4"), coefficient_sd=_HUGE),),
}


# Fewer databases than those of `_adversarial`: equal records, and some that lie far from them.
_COUNTS: Final[dict[str, Any]] = {"bases": ((0.0,) * 6,), "extremes": (7.0, 2.0**53)}
_REALS: Final[dict[str, Any]] = {"bases": ((0.0,) * 3,), "extremes": (3.0, -1e9)}
_AMOUNTS: Final[dict[str, Any]] = {"bases": ((1.0,) * 3,), "extremes": (1e-300, 700.0)}
_PLACES: Final[dict[str, Any]] = {"bases": ((0.5,) * 5,), "extremes": (0.0, 1e-12)}
_TRUTHS: Final[dict[str, Any]] = {"bases": ((1.0,) * 5,), "extremes": (0.0,)}
_LEVELS: Final[dict[str, Any]] = {"bases": ((2.0,) * 3,), "extremes": (1.0, 4.0)}


def _scored(
    model: Model,
    databases: dict[str, Any],
    ranges: tuple[float, ...],
    *steps: int,
    clamp: str = "deviance",
) -> WholeScoreRuns:
    return WholeScoreRuns(
        model=model, clamp=clamp, grid_range=ranges, grid_steps=steps, **databases
    )


_WIDE: Final = (*_FAR, *_LOGARITHM)
_GRIDS: Final[dict[str, WholeScoreRuns]] = {
    "poisson": _scored(Poisson(), _COUNTS, _FAR, 3),
    "poisson-narrow": _scored(Poisson(), _COUNTS, (1.0, 1.0 + 1e-12), 4),
    "negative-binomial": _scored(NegativeBinomial(), _COUNTS, _WIDE, 3, 5),
    "negative-binomial-to-400": _scored(
        NegativeBinomial(), _COUNTS, (-3.0, 3.0, -6.0, 400.0), 3, 9
    ),
    "normal": _scored(_SCALES["normal"][0], _REALS, _WIDE, 3, 5),
    "normal-unit": _scored(_SCALES["normal"][1], _REALS, _WIDE, 3, 5),
    "normal-log": _scored(_SCALES["normal-log"][0], _AMOUNTS, _WIDE, 3, 5),
    "gamma-tiny": _scored(_SCALES["gamma"][0], _AMOUNTS, _WIDE, 3, 5),
    "gamma-huge": _scored(_SCALES["gamma"][1], _AMOUNTS, _WIDE, 3, 5),
    "beta-tiny": _scored(_SCALES["beta"][0], _PLACES, _WIDE, 3, 5),
    "beta-huge": _scored(_SCALES["beta"][1], _PLACES, _WIDE, 3, 5),
    "truncated-normal": _scored(_SCALES["truncated-normal"][0], _PLACES, _WIDE, 3, 5, clamp="half"),
    "truncated-normal-unit": _scored(
        _SCALES["truncated-normal"][1], _PLACES, _WIDE, 3, 5, clamp="half"
    ),
    "logistic": _scored(Logistic(), _TRUTHS, _FAR, 3),
    "ordinal": _scored(
        Ordinal(levels=(1, 2, 3, 4)), _LEVELS, (*_FAR, *_LOGARITHM, *_LOGARITHM), 3, 3, 3
    ),
}

_DATABASES: Final = {
    "poisson": _COUNTS | {"extremes": (7.0, 1000.0)},  # Draws near 2^53 are no counts any more.
    "negative-binomial": _COUNTS | {"extremes": (7.0, 1000.0)},
    "normal": _REALS,
    "normal-mixture": _REALS,
    "normal-log": _AMOUNTS,
    "gamma": _AMOUNTS,
    "beta": _PLACES,
    "truncated-normal": _PLACES,
    "nominal": _LEVELS,
    "ordinal": _LEVELS,
    "logistic": _TRUTHS,
}


def _on_floats() -> Iterator[tuple[str, CensoredRuns]]:
    """Runs of each family on points in floats, with its scales at either end where it has any."""
    for name, databases in _DATABASES.items():
        clamp = "half" if name in UNSATURATED else "deviance"
        usual = replace(censored_runs(clamp, name), **databases)
        for end, model in enumerate(_SCALES.get(name, (usual.model,)), start=1):
            yield f"{name}-{end}", replace(usual, model=model)


EXTREME: Final[dict[str, tuple[Runs, tuple[float, ...]]]] = {
    **{f"grid-{name}": (runs, _OF_GRID) for name, runs in _GRIDS.items()},
    **{name: (runs, _OF_FLOATS) for name, runs in _on_floats()},
    "staged": (
        replace(STAGED["poisson"], points=STAGED["poisson"].points[1:4], **_COUNTS),
        _OF_FLOATS,
    ),
    **{f"table-{name}": (runs, _OF_FLOATS) for name, (runs, _) in TABLES.items()},
    **{
        f"histogram-{relation}-{name}": (
            HistogramRuns(
                neighbours=relation,
                range=ends,
                bases=((0.5 * ends[1],) * 2,),
                extremes=(ends[1], -_HUGE, _HUGE),
            ),
            _OF_FLOATS,
        )
        for relation in ("replace", "loo")
        for name, ends in (("huge", (-8e307, 8e307)), ("tiny", (0.0, 1e-307)))
    },
}
"""Runs by name, each with its epsilons: every family and engine whose statement can say `dp`."""
