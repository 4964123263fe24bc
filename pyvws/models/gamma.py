"""Gamma regression of amounts above 0 on a log link."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.models._coefficient_prior import coefficient_dimension, log_coefficient_prior
from pyvws.models._gamma import stirling_gap
from pyvws.models._log_link import predicted_mean
from pyvws.models._outcome_scale import decode, scale_caveats
from pyvws.models._scale_prior import constrain_with_inverse, log_half_cauchy, unconstrain_with_log
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import LOG, linear_predictor, row_sums, scoring_start
from pyvws.tables.cells import Cells

__all__ = ["Gamma"]

_CAUCHY_SCALE = 5.0  # 1/shape ~ half-Cauchy(0, 5), as 1/phi of the negative binomial


@kernel
def _log_density(
    q: Any, rows: Any, weight: Any, log_mean: Any, within: float, all_weight: float, grad: Any
) -> float:
    """log prior + sum_i alpha_i log Gamma(y_i | shape, shape / mu_i), constants in y left out.

    With h(a) = a log a - a - log Gamma(a) and d = log y - log mu a record adds h(a) + a (1 + d -
    exp(d)); `within` is the sum of alpha (log m - log y) for m the weighted mean of y in its row.
    """
    R, K = rows.shape
    D = len(q)
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    shape = math.exp(-q[D - 1])
    prior, slope = log_half_cauchy(q[D - 1], _CAUCHY_SCALE)
    gap, gap_slope = stirling_gap(shape)
    fit = -within
    for r in range(R):
        if weight[r] == 0.0:
            continue
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        d = log_mean[r] - eta
        excess = math.expm1(d)
        fit += weight[r] * (d - excess)
        for k in range(K):
            grad[k] += shape * weight[r] * excess * rows[r, k]
    if all_weight > 0.0:
        logp += all_weight * gap + shape * fit
        slope -= shape * (all_weight * gap_slope + fit)
    grad[D - 1] += slope
    return logp + prior


@kernel
def _cell_terms(
    q: Any, rows: Any, row_of_cell: Any, log_y: Any, log_lik: Any, by_eta: Any, by_extra: Any
) -> None:
    """log Gamma(y | shape, shape / mu) of each cell, derivatives in eta and log 1/shape."""
    K = rows.shape[1]
    shape = math.exp(-q[len(q) - 1])
    gap, gap_slope = stirling_gap(shape)
    for c in range(len(log_y)):
        eta = 0.0
        for k in range(K):
            eta += rows[row_of_cell[c], k] * q[k]
        d = log_y[c] - eta
        excess = math.expm1(d)
        log_lik[c] = gap + shape * (d - excess) - log_y[c]
        by_eta[c] = shape * excess
        by_extra[c, 0] = -shape * (gap_slope + d - excess)


@kernel
def _gaps(shape: Any) -> Any:
    found = np.empty(len(shape))
    for s in range(len(shape)):
        found[s] = stirling_gap(shape[s])[0]
    return found


@dataclass(frozen=True, slots=True)
class Gamma(Family):
    """y_i ~ Gamma(mean exp(X_i beta), variance mu^2 / shape), 1/shape ~ half-Cauchy(0, 5).

    beta has the hierarchical LKJ prior of [vws2024]; the prior on 1/shape is parallel to that on
    the negative binomial's 1/phi. The unconstrained vector is (beta, log sigma_beta, partial
    correlations of L_beta, log of inv_shape = 1/shape).
    """

    name: ClassVar[str] = "gamma"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "shape")
    whole_numbers: ClassVar[bool] = False

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return scale_caveats("identity")

    @property
    def log_density(self) -> Callable[..., float]:
        return _log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return _cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (np.log(cells.outcome),)

    def prepare(self, outcome: Floats, column: str) -> Gamma:
        not_positive = int((outcome <= 0).sum())
        if not_positive:
            raise InputError(
                f"Column {column!r} has {not_positive} values that are not above 0; gamma takes "
                "amounts above 0. Choose normal with --outcome-scale signed-log "
                "(outcome_scale='signed-log' in Python), or another model."
            )
        return self

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + 1

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, total = row_sums(cells, weights)
        log_mean = np.zeros(len(weight))
        held = weight > 0
        log_mean[held] = np.log(total[held] / weight[held])
        gaps = log_mean[cells.row_of_cell] - np.log(cells.outcome)
        within = float(cells.weight_sums(weights) @ gaps)
        return cells.rows, weight, log_mean, within, float(weight.sum())

    def start(self, cells: Cells, weights: Floats) -> Start:
        weight, total = row_sums(cells, weights)
        y = cells.outcome
        overall = (float(total.sum()) + float(y.mean()) * 1e-3) / (float(weight.sum()) + 1e-3)

        def scores(mean: Floats) -> tuple[Floats, Floats]:
            return total / mean - weight, weight

        first = (total + 0.5 * overall) / (weight + 0.5)
        rough = scoring_start(cells.rows, first, scores, link=LOG, extra=1)
        eta = np.clip(cells.rows @ rough.centre[: cells.n_coefficients], -30.0, 30.0)
        misses = (y / np.exp(eta[cells.row_of_cell]) - 1.0) ** 2
        squares = float(cells.weight_sums(weights) @ misses)
        inverse = (squares + 0.01) / (float(weight.sum()) + 0.01)
        inverse = min(max(inverse, 1e-8), 1e3)
        rough.centre[-1] = math.log(inverse)
        return Start(rough.centre, np.asarray(rough.information) / inverse)

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_with_inverse(q, K, "shape")

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_with_log(draws, "inv_shape")

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        shape = draws["shape"][:, None]
        log_y = np.log(cells.outcome)
        with np.errstate(over="ignore", invalid="ignore"):
            d = log_y - eta[:, cells.row_of_cell]
            return _gaps(draws["shape"])[:, None] + shape * (d - np.expm1(d)) - log_y

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        mean, shape = predicted_mean(design, draw), float(draw["shape"][0])
        made = decode(mean * (rng.standard_gamma(shape, len(mean)) / shape), "identity")
        return np.maximum(made, np.finfo(np.float64).tiny)  # A small shape rounds some to 0.
