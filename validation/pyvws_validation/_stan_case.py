"""Cases that compare a model of the package with a Stan program of the same model.

A case of engine laplace compares two engines of the package, and runs no program.

Cases of densities have stored answers of Stan. Other cases have none: either Stan runs now, or the
row is "skipped" with the reason.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.registry import engine_version
from pyvws.models.model import Model, PredictsBetween
from pyvws.models.nominal import Nominal
from pyvws.models.registry import find_model
from pyvws.posterior.clamp import CLAMPS
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells
from pyvws_validation._draws import Draws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._stan_answers import StoredStan


@dataclass(frozen=True, kw_only=True)
class StanCase(MeasuredRow):
    """One model to compare with one Stan engine by `judge`, or with stored answers if `cached`."""

    kind: str
    model: str
    engine: str
    shapes: tuple[tuple[int, ...], ...]
    judge: Callable[..., Findings]
    paper: str = "vws2024, section 3"
    source: str = ""
    outside: str = "Outside the limits"
    suffix: str = ""
    cached: bool = False

    @property
    def function(self) -> str:
        return "pyvws.posterior.pseudo_posterior:PseudoPosterior"

    @property
    def programs(self) -> str:
        """The Stan program; rstan runs the papers' program, whose name may end in `suffix`."""
        name = self.model.replace("-", "_")
        if self.engine == "laplace":
            return "none"
        if self.engine == "rstan":
            return f"r_reference/stan/{name}{self.suffix}.stan"
        return f"stan/{name}.stan"

    def found(self) -> Findings:
        if self.cached:
            stored = StoredStan(self.id, self.engine)
            source, found = f"stored {self.engine} {stored.version}", self.judge(stored)
        else:
            source, found = f"{self.engine} {engine_version(self.engine)}", self.judge()
        return found._replace(seeds=(1,), source=source)


def _counts(draws: Draws, trend: Floats) -> Floats:
    return np.floor(draws.counts(len(trend)) * np.exp(trend))


def _amounts(draws: Draws, trend: Floats) -> Floats:
    return np.asarray(2.0 + 4.0 * trend + draws.bell(len(trend), 0.0, 1.5))


def _shares(draws: Draws, trend: Floats) -> Floats:
    shares = 1.0 / (1.0 + np.exp(1.0 - 3.0 * trend - draws.bell(len(trend), 0.0, 1.5)))
    shares[-1] = 0.0
    return np.asarray(shares)


def _inside(draws: Draws, trend: Floats) -> Floats:
    return np.asarray(5.0 / (1.0 + np.exp(draws.bell(len(trend), 0.0, 1.0) - 2.0 * trend)))


def _positive(draws: Draws, trend: Floats) -> Floats:
    return np.asarray((0.05 + draws.bell(len(trend), 1.0, 0.7) ** 2) * np.exp(trend))


def _binary(draws: Draws, trend: Floats) -> Floats:
    return (draws.bell(len(trend), 0.5, 1.5) + 4.0 * trend > 0.0).astype(np.float64)


def _levels(draws: Draws, trend: Floats) -> Floats:
    cuts = np.array([-1.0, 0.5, 1.0])
    places = np.searchsorted(cuts, draws.bell(len(trend), 0.5, 1.5) + 4.0 * trend)
    return np.asarray(3.0 * places)


def _codes(draws: Draws, trend: Floats) -> Floats:
    """Levels 1 to 4 without an order: those in the middle of the ordered ones come last."""
    return np.array([1.0, 4.0, 3.0, 2.0])[(_levels(draws, trend) / 3.0).astype(np.intp)]


def _groups(draws: Draws, trend: Floats) -> Floats:
    """Two groups far apart; the smaller group has no spread, like incomes of 0 among others."""
    near = draws.uniform(len(trend)) < 0.3
    return np.where(near, -3.0, 2.0 + trend + draws.bell(len(trend), 0.0, 1.0))


# For each family, n outcomes that the family can have, around a trend (n,). Where the noise is
# large, the function multiplies the trend so that the coefficient lies far from 0.
_OUTCOMES: dict[str, Callable[[Draws, Floats], Floats]] = {
    "poisson": _counts,
    "negative-binomial": _counts,
    "normal": _amounts,
    "truncated-normal": _inside,
    "gamma": _positive,
    "logistic": _binary,
    "ordinal": _levels,
    "nominal": _codes,
    "beta": _shares,
    "normal-mixture": _groups,
}

SAMPLED: Final = tuple(sorted(_OUTCOMES))
"""All families that a sampler draws: every one whose draws are not exact."""

UNSATURATED: Final = ("truncated-normal",)
"""Families without a saturated log-likelihood, which the deviance clamp takes off."""

CLAMPED: Final = tuple(
    (name, kind) for name in SAMPLED for kind in CLAMPS if kind == "half" or name not in UNSATURATED
)
"""Each of these families under each clamp that takes it."""

FAMILIES: Final = tuple(name for name in _OUTCOMES if name != "normal-mixture")
"""Regressions that `seeded_target` makes outcomes for; the mixture has separate cases."""

COMPARED: Final[dict[str, str | Model]] = {
    **{name: name for name in FAMILIES},
    "nominal-normal-prior": Nominal(coefficient_sd=2.0),
}
"""By the name of their cases: these regressions, and some under a prior that a setting chooses."""


def seeded_target(
    model: str | Model, n: int, K: int, *, seed: int, slope: float = 0.0, ends: bool = False
) -> PseudoPosterior:
    """A pseudo posterior of n records and K columns, some weights exactly 0 and some exactly 1.

    The first column is the intercept; `slope` is the coefficient of the other columns. With `ends`
    some outcomes of beta stay at the ends of their range, which only a clamp can take.
    """
    draws = Draws(seed)
    design = np.column_stack([np.ones(n), *(draws.bell(n, 0.0, 0.4) for _ in range(K - 1))])
    weights = np.clip(draws.uniform(n, -0.3, 1.3), 0.0, 1.0)
    weights[:2] = 0.0, 1.0
    public: dict[str | Model, dict[str, Any]] = {"truncated-normal": {"range": (0.0, 5.0)}}
    if not ends:
        public["beta"] = {"squeeze": 0.5 / n}
    family = find_model(model, **(public.get(model, {}) if isinstance(model, str) else {}))
    outcome = _OUTCOMES[family.name](draws, slope * design[:, 1:].sum(axis=1))
    if ends and model == "beta":
        outcome[-2] = 1.0
    family = family.prepare(outcome, "y")
    bounds = _bounds(outcome) if isinstance(family, PredictsBetween) else None
    cells = make_cells(family.encode(outcome), design, ends=bounds)
    return PseudoPosterior(family, cells, weights)


def _bounds(outcome: Floats) -> Floats:
    """Ends (N, 2) by record: whole numbers around some outcomes, and the range of 0 to 5."""
    place, below = np.arange(len(outcome)), np.floor(outcome)
    return np.column_stack(
        [np.where(place % 3 == 1, below, 0.0), np.where(place % 4 < 2, below + 1.0, 5.0)]
    )
