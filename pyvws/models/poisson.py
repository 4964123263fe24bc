"""Poisson regression on a log link (section 3.1 and the Stan listing of [vws2024])."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.special import gammaln

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import (
    coefficient_dimension,
    constrain_coefficients,
    log_coefficient_prior,
    unconstrain_coefficients,
)
from pyvws.models._gamma import LARGE_COUNT, log_factorial
from pyvws.models._log_link import log_link_start, poisson_counts, predicted_mean
from pyvws.models.model import Draws, Family, Start, check_counts
from pyvws.models.regression import linear_predictor, row_sums
from pyvws.tables.cells import Cells

__all__ = ["Poisson"]

_LARGE_TOTAL = 1e9  # From here on a sum of weighted counts would drown what the parameters change.


@kernel
def _log_density(q: Any, rows: Any, count: Any, total: Any, grad: Any) -> float:
    """log prior + sum_i alpha_i (y_i eta_i - exp(eta_i)), summed by design row.

    A row of a large sum gives that less its value at the row's mean, which is what differs in a
    few digits only.
    """
    R, K = rows.shape
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    for r in range(R):
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        mu = math.exp(eta)
        if total[r] >= _LARGE_TOTAL:
            gap = eta - math.log(total[r] / count[r])
            logp += total[r] * (gap - math.expm1(gap))
        else:
            logp += total[r] * eta - count[r] * mu
        slope = total[r] - count[r] * mu
        for k in range(K):
            grad[k] += slope * rows[r, k]
    return logp


@kernel
def _cell_terms(
    q: Any,
    rows: Any,
    row_of_cell: Any,
    y: Any,
    log_factorial: Any,
    log_lik: Any,
    by_eta: Any,
    _extra: Any,
) -> None:
    """log p = y eta - exp(eta) - log y!, and its derivative in eta.

    From LARGE_COUNT on, y log y - y is left out of the first and the last term alike.
    """
    K = rows.shape[1]
    for c in range(len(y)):
        eta = 0.0
        for k in range(K):
            eta += rows[row_of_cell[c], k] * q[k]
        mu = math.exp(eta)
        if y[c] >= LARGE_COUNT:
            gap = eta - math.log(y[c])
            log_lik[c] = y[c] * (gap - math.expm1(gap)) - log_factorial[c]
        else:
            log_lik[c] = y[c] * eta - mu - log_factorial[c]
        by_eta[c] = y[c] - mu


@dataclass(frozen=True, slots=True)
class Poisson(Family):
    """y_i ~ Poisson(exp(X_i beta)), beta with the hierarchical LKJ prior of [vws2024].

    The unconstrained vector is (beta, log sigma_beta, partial correlations of L_beta).
    """

    name: ClassVar[str] = "poisson"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta",)
    whole_numbers: ClassVar[bool] = True

    @property
    def log_density(self) -> Callable[..., float]:
        return _log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return _cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.outcome, log_factorial(cells.outcome)

    def prepare(self, outcome: Floats, column: str) -> Poisson:
        check_counts(outcome, column, model="poisson")
        return self

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K)

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return (cells.rows, *row_sums(cells, weights))

    def start(self, cells: Cells, weights: Floats) -> Start:
        return log_link_start(cells, weights, extra=0, dispersion=0.0)

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_coefficients(q, K)

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_coefficients(draws)

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        with np.errstate(over="ignore", invalid="ignore"):
            mu = np.exp(eta)
            y = cells.outcome
            rows = cells.row_of_cell
            found = y * eta[:, rows] - mu[:, rows] - gammaln(y + 1.0)
            large = y >= LARGE_COUNT
            if large.any():  # y log y - y, left out of log y!, cancels before it costs digits.
                gap = eta[:, rows[large]] - np.log(y[large])
                found[:, large] = y[large] * (gap - np.expm1(gap)) - log_factorial(y[large])
            return np.asarray(found)

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        return poisson_counts(predicted_mean(design, draw), rng)
