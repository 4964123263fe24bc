"""Gamma regression of amounts above 0 on a log link."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints, positive
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models._outcome_scale import OutcomeScale, representable
from pyvws.models._special_functions import stirling_gap
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_half_cauchy, log_level_prior
from pyvws.models.regression import (
    LOG,
    Regression,
    add_slope,
    linear,
    predictors,
    row_sums,
    scoring_start,
)
from pyvws.tables.design.cells import Cells

_CAUCHY_SCALE = 5.0  # 1/shape ~ half-Cauchy(0, 5), as 1/phi of the negative binomial


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    weight: Floats,
    log_mean: Floats,
    within: float,
    all_weight: float,
    grad: Floats,
) -> float:
    """log prior + sum_i alpha_i log Gamma(y_i | shape, shape / mu_i), constants in y left out.

    With h(a) = a log a - a - log Gamma(a) and d = log y - log mu a record adds h(a) + a (1 + d -
    exp(d)); `within` is the sum of alpha (log m - log y) for m the weighted mean of y in its row.
    """
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    shape = math.exp(-q[-1])
    prior, slope = log_half_cauchy(q[-1], _CAUCHY_SCALE)
    gap, gap_slope = stirling_gap(shape)
    fit = -within
    for r in range(len(rows)):
        if weight[r] == 0.0:
            continue
        d = log_mean[r] - linear(q, rows, r)
        excess = math.expm1(d)
        fit += weight[r] * (d - excess)
        add_slope(grad, shape * weight[r] * excess, rows, r)
    if all_weight > 0.0:
        logp += all_weight * gap + shape * fit
        slope -= shape * (all_weight * gap_slope + fit)
    grad[-1] += slope
    return logp + prior


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log Gamma(y | shape, shape / mu) of each cell, derivatives in eta and log 1/shape."""
    (eta, shape), (log_y,), (log_lik, by_eta, by_extra) = parts, data, terms
    gap, gap_slope = stirling_gap(shape)
    for c in range(len(log_y)):
        d = log_y[c] - eta[row_of_cell[c]]
        excess = math.expm1(d)
        log_lik[c] = gap + shape * (d - excess) - log_y[c]
        by_eta[c] = shape * excess
        by_extra[c, 0] = -shape * (gap_slope + d - excess)


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    _records((predictors(q, rows), math.exp(-q[-1])), *rest)


@dataclass(frozen=True, slots=True)
class Gamma(Regression, kernels=(_log_density, _cell_terms, _records)):
    """y_i ~ Gamma(mean exp(X_i beta), variance mu^2 / shape), 1/shape ~ half-Cauchy(0, 5).

    beta has the hierarchical LKJ prior of [vws2024]; the prior on 1/shape is parallel to that on
    the negative binomial's 1/phi. The unconstrained vector is (beta, log sigma_beta, partial
    correlations of L_beta, log of inv_shape = 1/shape).

    Parameters
    ----------
    largest_shape : float
        The largest shape of the public range that the deviance clamp takes; the model itself has
        no largest shape. A record loses about log(largest_shape / shape) / 2 nats of epsilon.
    """

    name: ClassVar[str] = "gamma"
    whole_numbers: ClassVar[bool] = False
    scale: ClassVar[str] = "shape"
    own_prior: ClassVar[Any] = (log_half_cauchy, _CAUCHY_SCALE)
    public_settings: ClassVar[tuple[str, ...]] = ("largest_shape",)
    largest_shape: float = setting(
        100.0,
        "Largest shape of the public range that the deviance clamp takes: 100 is a standard "
        "deviation of a tenth of the mean.",
    )

    def __post_init__(self) -> None:
        positive(self.largest_shape, "largest_shape")

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return OutcomeScale().caveats

    def prepare(self, outcome: Floats, column: str) -> Gamma:
        if not_positive := int((outcome <= 0).sum()):
            raise InputError.by("gamma-values-too-low", column=column, not_positive=not_positive)
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, total = row_sums(cells, weights)
        log_mean = np.zeros(len(weight))
        held = weight > 0
        log_mean[held] = np.log(total[held] / weight[held])
        gaps = log_mean[cells.row_of_cell] - np.log(cells.outcome)
        within = float(cells.weight_sums(weights) @ gaps)
        return cells.rows, weight, log_mean, within, float(weight.sum())

    def saturated(self, cells: Cells) -> Floats:
        """log Gamma(y | largest_shape, mean y)."""
        gap, _ = stirling_gap(self.largest_shape)
        return np.asarray(gap - np.log(cells.outcome))

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (np.log(cells.outcome),)

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

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        shape = float(draw["shape"][0])
        drawn = representable(np.exp(eta) * (rng.standard_gamma(shape, len(eta)) / shape))
        return np.maximum(drawn, np.finfo(np.float64).tiny)  # A small shape rounds some to 0.
