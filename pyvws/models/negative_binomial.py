"""Negative binomial regression, mean and over-dispersion form (section 3.2 of [vws2024])."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Arrays, Data, Floats, Ints
from pyvws._base.kernels import kernel
from pyvws.models._special_functions import (
    LARGE_COUNT,
    log_factorial,
    log_gamma,
    log_rising,
    log_rising_sum,
)
from pyvws.models.model import Draws, Start
from pyvws.models.poisson import check_counts, count_start, highest_poisson, poisson_counts
from pyvws.models.priors import log_half_cauchy, log_level_prior
from pyvws.models.regression import Regression, add_slope, linear, predictors, row_sums, value_sums
from pyvws.tables.design.cells import Cells

_CAUCHY_SCALE = 5.0  # 1/phi ~ half-Cauchy(0, 5)
_FAR = 1e150


@kernel
def _log_share(eta: float, mu: float, phi: float, u: float, log_ratio: float) -> float:
    """log mu / (mu + phi), to its last digits; u = -log phi and log_ratio = log1p(mu / phi)."""
    return -math.log1p(phi / mu) if mu >= LARGE_COUNT and mu > phi else eta + u - log_ratio


@kernel
def _log_none(eta: float, mu: float, u: float, inverse: float) -> float:
    """log(1 + mu / phi) for u = -log phi and inverse = 1 / phi, also where the ratio overflows."""
    ratio = mu * inverse
    return eta + u if math.isinf(ratio) else math.log1p(ratio)


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    count: Floats,
    total: Floats,
    values: Floats,
    value_weight: Floats,
    grad: Floats,
) -> float:
    """log prior + sum_i alpha_i log NB(y_i | mu_i, phi), constants in y left out.

    The density separates: Gamma(y + phi)/Gamma(phi) depends on the outcome alone and the rest on
    the design row and sums of y, so the cost grows with the distinct values plus distinct rows.
    """
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    u = q[-1]
    inverse = math.exp(u)
    phi = math.exp(-u)
    ratio = inverse / _CAUCHY_SCALE
    prior, slope = u - math.log1p(ratio * ratio), 1.0 - 2.0 * ratio * ratio / (1.0 + ratio * ratio)
    if ratio > _FAR:  # Its square overflows.
        prior, slope = log_half_cauchy(u, _CAUCHY_SCALE)
    logp += prior
    rising, slope_phi = log_rising_sum(values, value_weight, phi)
    logp += rising
    for r in range(len(rows)):
        eta = linear(q, rows, r)
        mu = math.exp(eta)
        both = mu + phi
        log_ratio = _log_none(eta, mu, u, inverse)
        logp += total[r] * _log_share(eta, mu, phi, u, log_ratio) - count[r] * phi * log_ratio
        slope_phi += count[r] * (mu / both - log_ratio) - total[r] / both
        add_slope(grad, phi * (total[r] - count[r] * mu) / both, rows, r)
    grad[-1] += slope - phi * slope_phi
    return logp


@kernel
def _records(
    parts: Data, row_of_cell: Ints, data: tuple[Floats, Ints, Floats], terms: Arrays
) -> None:
    """log NB(y | mu, phi) of each cell, and its derivatives in eta, by row, and u = -log phi."""
    eta, mu, log_ratio, phi, u = parts
    values, value_of_cell, log_factorial = data
    log_lik, by_eta, by_extra = terms
    base, base_slope = log_gamma(phi)
    rising, slope = np.empty(len(values)), np.empty(len(values))
    for v in range(len(values)):
        rising[v], slope[v] = log_rising(values[v], phi, base, base_slope)
    for c in range(len(row_of_cell)):
        r, v = row_of_cell[c], value_of_cell[c]
        y, both = values[v], mu[r] + phi
        share = _log_share(eta[r], mu[r], phi, u, log_ratio[r])
        log_lik[c] = rising[v] - log_factorial[v] + y * share - phi * log_ratio[r]
        by_eta[c] = phi * (y - mu[r]) / both
        by_extra[c, 0] = -phi * (slope[v] + (mu[r] - y) / both - log_ratio[r])


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    eta, u = predictors(q, rows), q[-1]
    mu = np.exp(eta)
    log_ratio, inverse = np.empty(len(eta)), math.exp(u)
    for r in range(len(eta)):
        log_ratio[r] = _log_none(eta[r], mu[r], u, inverse)
    _records((eta, mu, log_ratio, math.exp(-u), u), *rest)


@dataclass(frozen=True, slots=True)
class NegativeBinomial(Regression, kernels=(_log_density, _cell_terms, _records)):
    """y_i ~ NB(mean exp(X_i beta), variance mu + mu^2 / phi), 1/phi ~ half-Cauchy(0, 5).

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, log of inv_phi = 1/phi).
    """

    name: ClassVar[str] = "negative-binomial"
    whole_numbers: ClassVar[bool] = True
    scale: ClassVar[str] = "phi"
    own_prior: ClassVar[Any] = (log_half_cauchy, _CAUCHY_SCALE)

    def prepare(self, outcome: Floats, column: str) -> NegativeBinomial:
        check_counts(outcome, column, model="negative-binomial")
        return self

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return cells.rows, *row_sums(cells, weights), cells.values, value_sums(cells, weights)

    def saturated(self, cells: Cells) -> Floats:
        """log Poisson(y | y), which is the limit of phi without end."""
        return highest_poisson(cells.outcome)

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.values, cells.value_of_cell, log_factorial(cells.values)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        phi, mu = draws["phi"], np.exp(eta)
        u, ratio = -np.log(phi), mu / phi[:, None]
        log_ratio = np.where(np.isinf(ratio), eta + u[:, None], np.log1p(ratio))
        return eta, mu, log_ratio, phi, u

    def start(self, cells: Cells, weights: Floats) -> Start:
        by_value = value_sums(cells, weights)
        total = max(float(by_value.sum()), 1e-12)
        mean = float(by_value @ cells.values) / total
        spread = float(by_value @ (cells.values - mean) ** 2) / total
        dispersion = min(max((spread - mean) / max(mean, 1e-12) ** 2, 1e-3), 1e3)
        rough = count_start(cells, weights, extra=1, dispersion=dispersion)
        rough.centre[-1] = math.log(dispersion)
        return rough

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        phi = float(draw["phi"][0])
        return poisson_counts(np.exp(eta) * rng.gamma(phi, 1.0 / phi, size=len(eta)), rng)
