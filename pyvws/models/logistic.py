"""Logistic regression of an outcome of 0 or 1, or of booleans."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_level_prior
from pyvws.models.regression import (
    LOGIT,
    Regression,
    add_slope,
    linear,
    linear_predictor,
    log_sigmoid,
    predictors,
    row_totals,
    scoring_start,
)
from pyvws.tables.design.cells import Cells


@kernel
def _log_density(q: Floats, rows: Floats, ones: Floats, zeros: Floats, grad: Floats) -> float:
    """log prior + sum_i alpha_i log p(y_i), from sums of alpha where y is 1 and 0, by row."""
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    for r in range(len(rows)):
        eta = linear(q, rows, r)
        log_one, p_zero = log_sigmoid(eta)
        log_zero, p_one = log_sigmoid(-eta)
        if ones[r] > 0.0:
            logp += ones[r] * log_one
        if zeros[r] > 0.0:
            logp += zeros[r] * log_zero
        add_slope(grad, ones[r] * p_zero - zeros[r] * p_one, rows, r)
    return logp


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log p(y) of each cell, and its derivative in eta; eta by row."""
    (eta,), (y,), (log_lik, by_eta, _) = parts, data, terms
    for c in range(len(y)):
        sign = 1.0 if y[c] > 0.0 else -1.0
        log_lik[c], missing = log_sigmoid(sign * eta[row_of_cell[c]])
        by_eta[c] = sign * missing


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    _records((predictors(q, rows),), *rest)


@dataclass(frozen=True, slots=True)
class Logistic(Regression, kernels=(_log_density, _cell_terms, _records)):
    """y_i = 1 with probability 1 / (1 + exp(-X_i beta)), else 0; booleans stay booleans.

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta).

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0. Then choose g above 0, or SW.
    """

    name: ClassVar[str] = "logistic"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True

    def prepare(self, outcome: Floats, column: str) -> Logistic:
        if other := int(((outcome != 0.0) & (outcome != 1.0)).sum()):
            raise InputError.by("logistic-values", column=column, other=other)
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        _, ones, zeros = row_totals(cells, weights, cells.outcome, 1.0 - cells.outcome)
        return cells.rows, ones, zeros

    def start(self, cells: Cells, weights: Floats) -> Start:
        rows, ones, zeros = self.density_data(cells, weights)

        def scores(mean: Floats) -> tuple[Floats, Floats]:
            rest = 1.0 - mean
            return ones * rest - zeros * mean, (ones + zeros) * mean * rest

        first = (ones + 0.5) / (ones + zeros + 1.0)
        return scoring_start(rows, first, scores, link=LOGIT, extra=0)

    def log_shares(self, draw: Draws, design: Floats) -> Floats:
        eta = linear_predictor(draw["beta"], design)[0]
        return np.column_stack([log_expit(-eta), log_expit(eta)])

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return (rng.random(len(eta)) < expit(eta)).astype(np.float64)
