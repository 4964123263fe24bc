"""Normal regression of an outcome on a scale of the user's choice, as income in [risk2024]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws.models import _outcome_scale as scales
from pyvws.models._coefficient_prior import (
    coefficient_dimension,
    constrain_coefficients,
    log_coefficient_prior,
)
from pyvws.models._scale_prior import log_half_t, unconstrain_with_log
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import IDENTITY, linear_predictor, row_sums, scoring_start
from pyvws.tables.cells import Cells

__all__ = ["Normal"]

_HALF_LOG_TWO_PI = 0.5 * math.log(2.0 * math.pi)
_SIGMA_SCALE = 1.0  # sigma ~ half-t(3, 0, 1)


@kernel
def _log_density(
    q: Any, rows: Any, weight: Any, mean: Any, within: float, all_weight: float, grad: Any
) -> float:
    """log prior - sum_i alpha_i (log sigma + (y_i - eta_i)^2 / (2 sigma^2)).

    Squares are taken around each row's weighted mean; `within` is their sum there.
    """
    R, K = rows.shape
    D = len(q)
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    u = q[D - 1]
    precision = math.exp(-2.0 * u)
    prior, prior_slope = log_half_t(u, _SIGMA_SCALE)
    squares = within
    for r in range(R):
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        gap = mean[r] - eta
        squares += weight[r] * gap * gap
        slope = weight[r] * gap * precision
        for k in range(K):
            grad[k] += slope * rows[r, k]
    grad[D - 1] += prior_slope - all_weight + precision * squares
    return logp + prior - all_weight * u - 0.5 * precision * squares


@kernel
def _cell_terms(
    q: Any, rows: Any, row_of_cell: Any, y: Any, log_lik: Any, by_eta: Any, by_extra: Any
) -> None:
    """log N(y | eta, sigma) of each cell, and its derivatives in eta and log sigma."""
    K = rows.shape[1]
    u = q[len(q) - 1]
    inverse = math.exp(-u)
    for c in range(len(y)):
        eta = 0.0
        for k in range(K):
            eta += rows[row_of_cell[c], k] * q[k]
        z = (y[c] - eta) * inverse
        log_lik[c] = -u - 0.5 * z * z - _HALF_LOG_TWO_PI
        by_eta[c] = z * inverse
        by_extra[c, 0] = z * z - 1.0


@dataclass(frozen=True, slots=True)
class Normal(Family):
    """v_i ~ N(X_i beta, sigma), sigma ~ half-t(3, 0, 1), for v the outcome on a scale.

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, log sigma).

    Parameters
    ----------
    outcome_scale : {"identity", "log", "signed-log"}
        v is y, log y (y above 0), or sign(y) log(1 + |y|). The likelihood, and so every Lipschitz
        bound, is that of v, as in the supplement of [risk2024]; synthetic outcomes are y again.
        Priors are on the scale of v: on "identity" choose a unit that makes v of moderate size.
    """

    name: ClassVar[str] = "normal"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "sigma")
    whole_numbers: ClassVar[bool] = False
    outcome_scale: str = "identity"

    def __post_init__(self) -> None:
        object.__setattr__(self, "outcome_scale", scales.known_scale(self.outcome_scale))

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return scales.scale_caveats(self.outcome_scale)

    @property
    def log_density(self) -> Callable[..., float]:
        return _log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return _cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (cells.outcome,)

    def prepare(self, outcome: Floats, column: str) -> Normal:
        scales.check_scale(outcome, column, self.outcome_scale, self.name)
        return self

    def encode(self, outcome: Floats) -> Floats:
        return scales.encode(outcome, self.outcome_scale)

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + 1

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, mean, within = _moments(cells, weights)
        return cells.rows, weight, mean, within, float(weight.sum())

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

    def constrain(self, q: Floats, K: int) -> Draws:
        draws = constrain_coefficients(q, K)
        draws["sigma"] = np.exp(q[:, -1])
        return draws

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_with_log(draws, "sigma")

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        sigma = draws["sigma"][:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            z = (cells.outcome - eta[:, cells.row_of_cell]) / sigma
            return -np.log(sigma) - 0.5 * z * z - _HALF_LOG_TWO_PI

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        mean = linear_predictor(draw["beta"], design)[0]
        made = mean + float(draw["sigma"][0]) * rng.standard_normal(len(mean))
        return scales.decode(made, self.outcome_scale)


def _moments(cells: Cells, weights: Floats) -> tuple[Floats, Floats, float]:
    """Weights (R,) and weighted means (R,) of rows, and the weighted squares around the means."""
    weight, total = row_sums(cells, weights)
    mean = np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0)
    sums = cells.weight_sums(weights)
    used = sums > 0  # A square that is beyond any number counts for nothing at weight 0.
    gaps = cells.outcome[used] - mean[cells.row_of_cell[used]]
    return weight, mean, float(sums[used] @ gaps**2)
