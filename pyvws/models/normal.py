"""Normal regression of an outcome on a scale of the user's choice, as income in [risk2024]."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints, positive
from pyvws._base.kernels import kernel
from pyvws._base.setting import setting
from pyvws.models import _outcome_scale as scales
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_half_t, log_level_prior
from pyvws.models.regression import (
    IDENTITY,
    Regression,
    add_slope,
    linear,
    predictors,
    row_sums,
    scoring_start,
)
from pyvws.tables.design.cells import Cells

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SIGMA_SCALE = 1.0  # sigma ~ half-t(3, 0, 1)


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    weight: Floats,
    mean: Floats,
    within: float,
    all_weight: float,
    grad: Floats,
) -> float:
    """log prior - sum_i alpha_i (log sigma + (y_i - eta_i)^2 / (2 sigma^2)).

    Squares are taken around each row's weighted mean; `within` is their sum there.
    """
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    u = q[-1]
    precision = math.exp(-2.0 * u)
    prior, prior_slope = log_half_t(u, _SIGMA_SCALE)
    squares = within
    for r in range(len(rows)):
        gap = mean[r] - linear(q, rows, r)
        squares += weight[r] * gap * gap
        add_slope(grad, weight[r] * gap * precision, rows, r)
    grad[-1] += prior_slope - all_weight + precision * squares
    return logp + prior - all_weight * u - 0.5 * precision * squares


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log N(y | eta, sigma) of each cell, its derivatives in eta and u = log sigma; eta by row."""
    (eta, sigma, u), (y,), (log_lik, by_eta, by_extra) = parts, data, terms
    inverse = 1.0 / sigma
    for c in range(len(y)):
        z = (y[c] - eta[row_of_cell[c]]) / sigma
        log_lik[c] = -u - 0.5 * z * z - _HALF_LOG_TWO_PI
        by_eta[c] = z * inverse
        by_extra[c, 0] = z * z - 1.0


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    _records((predictors(q, rows), math.exp(q[-1]), q[-1]), *rest)


@dataclass(frozen=True, slots=True)
class Normal(scales.Scaled, Regression, kernels=(_log_density, _cell_terms, _records)):
    """v_i ~ N(X_i beta, sigma), sigma ~ half-t(3, 0, 1), for v the outcome on a scale.

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, log sigma).

    Parameters
    ----------
    outcome_scale : {"identity", "log", "signed-log"}
        v is x, log x (x above 0), or sign(x) log(1 + |x|), for x = (y - centre) / unit. The
        likelihood, and so every Lipschitz bound, is of v, as in the supplement of [risk2024];
        synthetic outcomes are y again. Priors are on the scale of v.
    outcome_centre : float
        A public number that is taken off y.
    outcome_unit : float
        A public number above 0 that y is divided by then: v gets moderate size, where priors are.
    smallest_sd : float
        The least sigma of the public range that the deviance clamp takes, in the unit of v; the
        model itself has no least sigma. A record loses log(sigma / smallest_sd) nats of epsilon.
    """

    name: ClassVar[str] = "normal"
    whole_numbers: ClassVar[bool] = False
    scale: ClassVar[str] = "sigma"
    own_prior: ClassVar[Any] = (log_half_t, _SIGMA_SCALE)
    samples_inverse: ClassVar[bool] = False
    public_settings: ClassVar[tuple[str, ...]] = ("smallest_sd",)
    outcome_scale: str = setting("identity", scales.DECLARED)
    outcome_centre: float = setting(0.0, scales.CENTRE)
    outcome_unit: float = setting(1.0, scales.UNIT)
    smallest_sd: float = setting(scales.SMALLEST_SD, scales.DECLARED_SD)

    def __post_init__(self) -> None:
        positive(self.smallest_sd, "smallest_sd")
        self.measured.settle(self)

    def prepare(self, outcome: Floats, column: str) -> Normal:
        self.measured.check(outcome, column, self.name)
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, mean, within = _moments(cells, weights)
        return cells.rows, weight, mean, within, float(weight.sum())

    def saturated(self, cells: Cells) -> Floats:
        """log N(v | v, smallest_sd)."""
        return scales.highest_normal(cells, self.smallest_sd)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        return eta, draws["sigma"], np.log(draws["sigma"])

    def start(self, cells: Cells, weights: Floats) -> Start:
        weight, mean, within = _moments(cells, weights)
        overall = float(weight @ mean) / max(float(weight.sum()), 1e-300)
        unit = math.sqrt(float(weight @ (mean - overall) ** 2) + within)
        unit /= math.sqrt(max(float(weight.sum()), 1.0))

        def scores(fitted: Floats) -> tuple[Floats, Floats]:
            return weight * (mean - fitted), weight

        rough = scoring_start(cells.rows, mean, scores, link=IDENTITY, extra=1)
        K = cells.n_coefficients
        # Prior scales as large as the coefficients: from scales of 1, chains in a unit that makes
        # coefficients of thousands would first have to find them.
        rough.centre[K : 2 * K] = np.log(np.maximum(1.0, np.abs(rough.centre[:K])))
        squares = float(weight @ (mean - cells.rows @ rough.centre[:K]) ** 2) + within
        variance = (squares + 1e-6 * unit**2 + 1e-12) / (float(weight.sum()) + 1e-12)
        rough.centre[-1] = 0.5 * math.log(variance)
        return Start(rough.centre, np.asarray(rough.information) / variance)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return self.measured.decode(eta + float(draw["sigma"][0]) * rng.standard_normal(len(eta)))


class _Moments(NamedTuple):
    """Weights (R,) and weighted means (R,) of rows, and the weighted squares around the means."""

    weight: Floats
    mean: Floats
    within: float


def _moments(cells: Cells, weights: Floats) -> _Moments:
    weight, total = row_sums(cells, weights)
    mean = np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0)
    sums = cells.weight_sums(weights)
    used = sums > 0  # At weight 0 even an infinite square counts for nothing.
    gaps = cells.outcome[used] - mean[cells.row_of_cell[used]]
    return _Moments(weight, mean, float(sums[used] @ gaps**2))
