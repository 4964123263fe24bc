"""Logistic regression of an outcome of 0 or 1, or of booleans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, log_expit

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.errors import InputError
from pyvws.models._coefficient_prior import (
    coefficient_dimension,
    constrain_coefficients,
    log_coefficient_prior,
    unconstrain_coefficients,
)
from pyvws.models._logit_link import log_sigmoid
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import LOGIT, linear_predictor, row_totals, scoring_start
from pyvws.tables.cells import Cells

__all__ = ["Logistic"]


@kernel
def _log_density(q: Any, rows: Any, ones: Any, zeros: Any, grad: Any) -> float:
    """log prior + sum_i alpha_i log p(y_i), from sums of alpha where y is 1 and 0, by row."""
    R, K = rows.shape
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    for r in range(R):
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        log_one, zero = log_sigmoid(eta)
        log_zero, one = log_sigmoid(-eta)
        if ones[r] > 0.0:
            logp += ones[r] * log_one
        if zeros[r] > 0.0:
            logp += zeros[r] * log_zero
        slope = ones[r] * zero - zeros[r] * one
        for k in range(K):
            grad[k] += slope * rows[r, k]
    return logp


@kernel
def _cell_terms(
    q: Any, rows: Any, row_of_cell: Any, y: Any, log_lik: Any, by_eta: Any, _extra: Any
) -> None:
    """log p(y) of each cell, and its derivative in eta."""
    K = rows.shape[1]
    for c in range(len(y)):
        eta = 0.0
        for k in range(K):
            eta += rows[row_of_cell[c], k] * q[k]
        sign = 1.0 if y[c] > 0.0 else -1.0
        log_lik[c], missing = log_sigmoid(sign * eta)
        by_eta[c] = sign * missing


@dataclass(frozen=True, slots=True)
class Logistic(Family):
    """y_i = 1 with probability 1 / (1 + exp(-X_i beta)), else 0; booleans stay booleans.

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta).

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0: choose g above 0, or SW.
    """

    name: ClassVar[str] = "logistic"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta",)
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True

    @property
    def log_density(self) -> Callable[..., float]:
        return _log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return _cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return (cells.outcome,)

    def prepare(self, outcome: Floats, column: str) -> Logistic:
        other = int(((outcome != 0.0) & (outcome != 1.0)).sum())
        if other:
            raise InputError(
                f"Column {column!r} has {other} values other than 0 and 1; logistic takes 0 and 1, "
                "or booleans. Recode the column, or choose ordinal for more than two levels."
            )
        return self

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K)

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

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_coefficients(q, K)

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_coefficients(draws)

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)[:, cells.row_of_cell]
        return np.asarray(log_expit(np.where(cells.outcome > 0, eta, -eta)))

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        share = expit(linear_predictor(draw["beta"], design)[0])
        return (rng.random(len(share)) < share).astype(np.float64)
