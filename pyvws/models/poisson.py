"""Poisson regression on a log link (section 3.1 and the Stan listing of [vws2024]).

Here is also what families of counts share: checks, large counts, a rough fit, draws.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.errors import ConvergenceError, InputError
from pyvws.models._special_functions import LARGE_COUNT, log_factorial, stirling_gap
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_level_prior
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

_LARGEST_MEAN: Final = 1e15


def check_counts(outcome: Floats, column: str, *, model: str) -> None:
    """Raise InputError unless every outcome is a whole number of at least 0."""
    if negative := int((outcome < 0).sum()):
        raise InputError.by("counts-negative", column=column, negative=negative, model=model)
    if fractional := int((outcome != np.floor(outcome)).sum()):
        raise InputError.by(
            "counts-with-fraction", column=column, fractional=fractional, model=model
        )
    if (outcome > 2.0**53).any():
        raise InputError.by("counts-above-floats", column=column)


def count_start(cells: Cells, weights: Floats, *, extra: int, dispersion: float) -> Start:
    """A rough fit of counts' beta by Fisher scoring, and its information, for 1/phi near
    `dispersion`.
    """
    count, total = row_sums(cells, weights)

    def scores(mean: Floats) -> tuple[Floats, Floats]:
        spread = 1.0 + dispersion * mean
        return (total - count * mean) / spread, count * mean / spread

    first = (total + 0.5) / (count + 0.5)
    return scoring_start(cells.rows, first, scores, link=LOG, extra=extra)


@kernel
def highest_poisson(y: Floats) -> Floats:
    """log Poisson(y | y) = y log y - y - log y! of counts (C,), in nats; 0 for a count of 0."""
    highest = np.zeros(len(y))
    for c in range(len(y)):
        if y[c] > 0.0:
            highest[c] = stirling_gap(y[c])[0] - math.log(y[c])
    return highest


def poisson_counts(mean: Floats, rng: np.random.Generator) -> Floats:
    """Poisson counts (N,) with the given means; raises ConvergenceError where no integer fits."""
    if not (mean <= _LARGEST_MEAN).all():
        raise ConvergenceError(
            "A posterior draw predicts counts beyond any integer: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return rng.poisson(mean).astype(np.float64)


_LARGE_TOTAL = 1e9  # From here on a sum of weighted counts would drown what the parameters change.


@kernel
def _weighted(eta: float, mu: float, count: float, total: float, large: float) -> float:
    """Sum of alpha (y eta - mu) for records of one eta, from the sums of alpha and of alpha y.

    From a total of `large` on, the sum's value at the records' mean is subtracted: beside so large
    a term the difference would keep few digits.
    """
    if total >= large:
        gap = eta - math.log(total / count)
        return total * (gap - math.expm1(gap))
    return total * eta - count * mu


@kernel
def _log_density(q: Floats, rows: Floats, count: Floats, total: Floats, grad: Floats) -> float:
    """log prior + sum_i alpha_i (y_i eta_i - exp(eta_i)), summed by design row."""
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    for r in range(len(rows)):
        eta = linear(q, rows, r)
        mu = math.exp(eta)
        logp += _weighted(eta, mu, count[r], total[r], _LARGE_TOTAL)
        add_slope(grad, total[r] - count[r] * mu, rows, r)
    return logp


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log p = y eta - mu - log y!, and its derivative in eta, of each cell; eta and mu by row.

    From LARGE_COUNT on, y log y - y is left out of the sum and of log y! alike.
    """
    (eta, mu), (y, log_factorial), (log_lik, by_eta, _) = parts, data, terms
    for c in range(len(y)):
        r = row_of_cell[c]
        log_lik[c] = _weighted(eta[r], mu[r], 1.0, y[c], LARGE_COUNT) - log_factorial[c]
        by_eta[c] = y[c] - mu[r]


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    eta = predictors(q, rows)
    _records((eta, np.exp(eta)), *rest)


@dataclass(frozen=True, slots=True)
class Poisson(Regression, kernels=(_log_density, _cell_terms, _records)):
    """y_i ~ Poisson(exp(X_i beta)), beta with the hierarchical LKJ prior of [vws2024].

    The unconstrained vector is (beta, log sigma_beta, partial correlations of L_beta).
    """

    name: ClassVar[str] = "poisson"
    whole_numbers: ClassVar[bool] = True

    def prepare(self, outcome: Floats, column: str) -> Poisson:
        check_counts(outcome, column, model="poisson")
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return (cells.rows, *row_sums(cells, weights))

    def saturated(self, cells: Cells) -> Floats:
        """log Poisson(y | y)."""
        return highest_poisson(cells.outcome)

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.outcome, log_factorial(cells.outcome)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        return eta, np.exp(eta)

    def start(self, cells: Cells, weights: Floats) -> Start:
        return count_start(cells, weights, extra=0, dispersion=0.0)

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        return poisson_counts(np.exp(eta), rng)
