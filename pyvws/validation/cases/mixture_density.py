"""The mixture's density against Stan's, and its posterior in quantities without labels.

Points as in `density`: 200 for each of 1, 3 and 8 columns, three components; every entry but the
partial correlations lies in (-2, 2), so weights of components differ by up to a factor of 50.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, Literal

import numpy as np

from pyvws._checks import Floats
from pyvws.engines._engine import Posterior, SamplerSettings
from pyvws.engines._stan_run import paper_program, shipped_program, stan_data
from pyvws.engines.registry import find_engine
from pyvws.models.normal_mixture import NormalMixture
from pyvws.pseudo_posterior import PseudoPosterior
from pyvws.validation._draws import Draws
from pyvws.validation._stan_case import Judgement, seeded_target
from pyvws.validation.cases.density import GRADIENT_LIMIT, VALUE_LIMIT
from pyvws.validation.cases.posterior import LIMIT, largest_gap

__all__ = ["CASES", "MixtureDensityCase", "MixturePosteriorCase"]

# A log-likelihood is the log of a sum of exponentials of squared residuals over sigma: a rounding
# of eta = X beta is passed on by the largest residual in sigmas over sigma. 8 products of beta's
# own 8 products by half an ulp, on each side, and a few for the terms.
POINTWISE_LIMIT: Final = 32.0

_PAPER: Final = "risk2024, supplement section 1"
_POINTS: Final = 200
_RECORDS: Final = 60
_COLUMNS: Final = (1, 3, 8)
_COMPONENTS: Final = 3

_SAMPLED: Final = 100
_SETTINGS: Final = SamplerSettings(draws=1000, warmup=500, chains=4, target_accept=0.9)


@dataclass(frozen=True, slots=True, kw_only=True)
class MixtureDensityCase:
    """The mixture's density, gradient and record log-likelihoods against one Stan."""

    engine: Literal["pystan", "rstan"]
    kind: str = "density"
    paper: str = _PAPER

    @property
    def id(self) -> str:
        return f"density/normal-mixture-{self.engine}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return tuple((_RECORDS, K) for K in _COLUMNS)

    @property
    def programs(self) -> str:
        folder = "stan" if self.engine == "pystan" else "r_reference/stan"
        return f"{folder}/normal_mixture.stan"

    def judge(self) -> Judgement:
        """Whether the differences are within the limits, and the largest ones."""
        found = np.max([self._at(K) for K in _COLUMNS], axis=0)
        measured = (
            f"log density {found[0]:.1e} relative, gradient {found[1]:.1e} relative, "
            f"log-likelihood {found[2]:.1f} ulp of its largest term"
        )
        return Judgement.of(
            measured,
            ("log density, relative", found[0], VALUE_LIMIT),
            ("gradient, relative", found[1], GRADIENT_LIMIT),
            ("log-likelihood, ulp of its largest term", found[2], POINTWISE_LIMIT),
        )

    def _at(self, K: int) -> tuple[float, float, float]:
        target = seeded_target(NormalMixture(components=_COMPONENTS), _RECORDS, K, seed=K)
        points = _points(target, K)
        data: dict[str, Any] = stan_data(target)
        program = paper_program(target.model)
        if self.engine == "pystan":
            program = shipped_program(target.model)
            data |= {"censored": 0, "bound": 0.0, "write_log_lik": 1}
        stan = import_module(f"pyvws.engines.{self.engine}")
        theirs, their_gradients, written = stan.densities(program, data, points)
        evaluate = target.density_and_gradient()
        pairs = [evaluate(point) for point in points]
        apart = np.array([value for value, _ in pairs]) - theirs
        value = np.abs(apart - np.median(apart)) / np.abs(theirs)
        gap = np.abs(np.array([gradient for _, gradient in pairs]) - their_gradients)
        gradient = gap.max(axis=1) / np.maximum(1.0, np.abs(their_gradients).max(axis=1))
        pointwise = _pointwise(target, points, written["log_lik"])
        return float(value.max()), float(gradient.max()), pointwise


def _pointwise(target: PseudoPosterior, points: Floats, theirs: Floats) -> float:
    """Largest difference of record log-likelihoods, in ulp of their largest term."""
    cells = target.cells
    draws = target.model.constrain(points, cells.n_coefficients)
    records = cells.cell_of_record
    ours = target.model.log_likelihood(draws, cells)[:, records] * target.weights
    X = cells.rows[cells.row_of_cell[records]]
    sigma = draws["sigma"][..., None]
    reach = np.abs(draws["beta"]) @ np.abs(X).T
    residual = cells.outcome[records] - draws["beta"] @ X.T
    steps = np.maximum(np.abs(residual), reach) / sigma
    largest = np.maximum(steps**2, 1.0).max(axis=1)
    unit = np.spacing(np.maximum(target.weights * largest, np.finfo(float).tiny))
    return float((np.abs(ours - theirs) / unit).max())


def _points(target: PseudoPosterior, K: int) -> Floats:
    raw = Draws(100 + K).uniform(_POINTS * target.dimension, -1.0, 1.0)
    points = raw.reshape(_POINTS, target.dimension)
    first = (_COMPONENTS + 1) * K
    points[:, :first] *= 2.0
    points[:, first + K * (K - 1) // 2 :] *= 2.0
    return points


@dataclass(frozen=True, slots=True, kw_only=True)
class MixturePosteriorCase:
    """The mixture's posterior under the native engine and under one Stan engine."""

    engine: str
    kind: str = "posterior"
    paper: str = _PAPER

    @property
    def id(self) -> str:
        return f"posterior/normal-mixture-{self.engine}"

    @property
    def shapes(self) -> tuple[tuple[int, ...], ...]:
        return ((_SAMPLED, 1),)

    @property
    def programs(self) -> str:
        folder = "r_reference/stan" if self.engine == "rstan" else "stan"
        return f"{folder}/normal_mixture.stan"

    def judge(self) -> Judgement:
        """Whether what does not depend on labels agrees, and the largest difference."""
        model = NormalMixture(components=_COMPONENTS, smallest_sd=0.5)
        target = seeded_target(model, _SAMPLED, 1, seed=11)
        first, second = (
            _quantities(target, find_engine(name).sample(target, _SETTINGS, seed=12))
            for name in ("native", self.engine)
        )
        gap = largest_gap(first, second)
        unit = "Monte Carlo standard errors"
        return Judgement.of(f"{gap:.1f} {unit}", (unit, gap, LIMIT))


def _quantities(target: PseudoPosterior, posterior: Posterior) -> Floats:
    """(chains, draws, Q): what `diagnosed` lists, the mixture's mean and sd at an average row, and
    the weighted log-likelihood.
    """
    model, cells, draws = target.model, target.cells, posterior.draws
    sums = cells.weight_sums(target.weights)
    row = np.average(cells.rows[cells.row_of_cell], axis=0, weights=sums)
    mu, pi = draws["beta"] @ row, draws["pi"]
    mean = (pi * mu).sum(axis=1)
    sd = np.sqrt((pi * (draws["sigma"] ** 2 + (mu - mean[:, None]) ** 2)).sum(axis=1))
    compared = model.diagnosed(model.unconstrain(draws), cells.n_coefficients)
    together = np.column_stack([compared, mean, sd, model.log_likelihood(draws, cells) @ sums])
    return together.reshape(posterior.chains, -1, together.shape[1])


CASES: Final = (
    MixtureDensityCase(engine="pystan"),
    MixtureDensityCase(engine="rstan"),
    MixturePosteriorCase(engine="pystan"),
)
