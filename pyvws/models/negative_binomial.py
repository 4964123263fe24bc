"""Negative binomial regression, mean and over-dispersion form (section 3.2 of [vws2024])."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import kernel
from pyvws.models._coefficient_prior import coefficient_dimension, log_coefficient_prior
from pyvws.models._gamma import (
    LARGE_COUNT,
    log_factorial,
    log_gamma,
    log_rising,
    log_rising_sum,
)
from pyvws.models._log_link import log_link_start, poisson_counts, predicted_mean
from pyvws.models._scale_prior import constrain_with_inverse, unconstrain_with_log
from pyvws.models.model import Draws, Family, Start, check_counts
from pyvws.models.regression import linear_predictor, row_sums, value_sums
from pyvws.tables.cells import Cells

__all__ = ["NegativeBinomial"]

_CAUCHY_SCALE = 5.0  # 1/phi ~ half-Cauchy(0, 5)


@kernel
def _log_share(eta: float, mu: float, phi: float, u: float, none: float) -> float:
    """log mu / (mu + phi), for u = -log phi and none = log1p(mu / phi); a large count times it
    keeps its digits.
    """
    return -math.log1p(phi / mu) if mu >= LARGE_COUNT and mu > phi else eta + u - none


@kernel
def _log_density(
    q: Any, rows: Any, count: Any, total: Any, values: Any, value_weight: Any, grad: Any
) -> float:
    """log prior + sum_i alpha_i log NB(y_i | mu_i, phi), constants in y left out.

    The density separates: Gamma(y + phi)/Gamma(phi) depends on the outcome alone and the rest on
    the design row and sums of y, so the cost is that of the distinct values plus distinct rows.
    """
    R, K = rows.shape
    D = len(q)
    grad[:] = 0.0
    logp = log_coefficient_prior(q, K, grad)
    u = q[D - 1]
    inverse = math.exp(u)
    phi = math.exp(-u)
    ratio = inverse / _CAUCHY_SCALE
    logp += u - math.log1p(ratio * ratio)
    rising, slope_phi = log_rising_sum(values, value_weight, phi)
    logp += rising
    for r in range(R):
        eta = 0.0
        for k in range(K):
            eta += rows[r, k] * q[k]
        mu = math.exp(eta)
        both = mu + phi
        none = math.log1p(mu * inverse)
        logp += total[r] * _log_share(eta, mu, phi, u, none) - count[r] * phi * none
        slope_phi += count[r] * (mu / both - none) - total[r] / both
        slope_eta = phi * (total[r] - count[r] * mu) / both
        for k in range(K):
            grad[k] += slope_eta * rows[r, k]
    grad[D - 1] += 1.0 - 2.0 * ratio * ratio / (1.0 + ratio * ratio) - phi * slope_phi
    return logp


@kernel
def _cell_terms(
    q: Any,
    rows: Any,
    row_of_cell: Any,
    values: Any,
    value_of_cell: Any,
    log_factorial: Any,
    log_lik: Any,
    by_eta: Any,
    by_extra: Any,
) -> None:
    """log NB(y | mu, phi) of each cell, and its derivatives in eta and in log 1/phi."""
    K = rows.shape[1]
    u = q[len(q) - 1]
    inverse, phi = math.exp(u), math.exp(-u)
    base, base_slope = log_gamma(phi)
    rising, slope = np.empty(len(values)), np.empty(len(values))
    for v in range(len(values)):
        rising[v], slope[v] = log_rising(values[v], phi, base, base_slope)
    for c in range(len(row_of_cell)):
        eta = 0.0
        for k in range(K):
            eta += rows[row_of_cell[c], k] * q[k]
        v = value_of_cell[c]
        y, mu = values[v], math.exp(eta)
        both = mu + phi
        none = math.log1p(mu * inverse)
        share = _log_share(eta, mu, phi, u, none)
        log_lik[c] = rising[v] - log_factorial[v] + y * share - phi * none
        by_eta[c] = phi * (y - mu) / both
        by_extra[c, 0] = -phi * (slope[v] + (mu - y) / both - none)


@kernel
def _rising_table(values: Any, phi: Any) -> Any:
    table = np.empty((len(phi), len(values)))
    for s in range(len(phi)):
        base, base_slope = log_gamma(phi[s])
        for v in range(len(values)):
            table[s, v] = log_rising(values[v], phi[s], base, base_slope)[0]
    return table


@dataclass(frozen=True, slots=True)
class NegativeBinomial(Family):
    """y_i ~ NB(mean exp(X_i beta), variance mu + mu^2 / phi), 1/phi ~ half-Cauchy(0, 5).

    beta has the hierarchical LKJ prior of [vws2024]. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, log of inv_phi = 1/phi).
    """

    name: ClassVar[str] = "negative-binomial"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "phi")
    whole_numbers: ClassVar[bool] = True

    @property
    def log_density(self) -> Callable[..., float]:
        return _log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return _cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return cells.values, cells.value_of_cell, log_factorial(cells.values)

    def prepare(self, outcome: Floats, column: str) -> NegativeBinomial:
        check_counts(outcome, column, model="negative-binomial")
        return self

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + 1

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return (
            cells.rows,
            *row_sums(cells, weights),
            cells.values,
            value_sums(cells, weights),
        )

    def start(self, cells: Cells, weights: Floats) -> Start:
        by_value = value_sums(cells, weights)
        total = max(float(by_value.sum()), 1e-12)
        mean = float(by_value @ cells.values) / total
        spread = float(by_value @ (cells.values - mean) ** 2) / total
        dispersion = min(max((spread - mean) / max(mean, 1e-12) ** 2, 1e-3), 1e3)
        rough = log_link_start(cells, weights, extra=1, dispersion=dispersion)
        rough.centre[-1] = math.log(dispersion)
        return rough

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_with_inverse(q, K, "phi")

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_with_log(draws, "inv_phi")

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        phi = draws["phi"][:, None]
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            mu = np.exp(eta)
            none = np.log1p(mu / phi)
            per_count = eta - np.log(phi) - none
            large = (mu >= LARGE_COUNT) & (mu > phi)
            per_count[large] = -np.log1p(phi / mu)[large]
            fixed = -phi * none
            y = cells.outcome
            rows = cells.row_of_cell
            by_value = _rising_table(cells.values, draws["phi"]) - log_factorial(cells.values)
            return by_value[:, cells.value_of_cell] + y * per_count[:, rows] + fixed[:, rows]

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        mu = predicted_mean(design, draw)
        phi = float(draw["phi"][0])
        return poisson_counts(mu * rng.gamma(phi, 1.0 / phi, size=len(mu)), rng)
