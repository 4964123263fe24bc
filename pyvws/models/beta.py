"""Beta regression of an outcome on a public range, the beta synthesizer of [global2022]."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, polygamma, psi

from pyvws._base.checks import Arrays, Data, Floats, Ints, finite_number, positive
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import ConvergenceError, InputError
from pyvws.models._outcome_scale import check_within, known_range
from pyvws.models._special_functions import stirling_gap
from pyvws.models.model import Draws, Start
from pyvws.models.priors import log_half_cauchy, log_level_prior
from pyvws.models.regression import (
    LOGIT,
    Regression,
    add_slope,
    linear,
    log_sigmoid,
    predictors,
    row_totals,
    scoring_start,
)
from pyvws.tables.design.cells import Cells

_INSIDE = 2.0**-53  # How near an end a rough fit looks for a record that lies at it.
_FAR, _HALVINGS = 50.0, 60  # logit mu is sought in [-50, 50], to 1e-16.
_CAUCHY_SCALE = 5.0  # 1/kappa ~ half-Cauchy(0, 5), as 1/phi of the negative binomial.


@kernel
def _side_gap(share: float, log_share: float, kappa: float) -> tuple[float, float]:
    """`stirling_gap` of share x kappa; near log(share x kappa) where that is too small a number."""
    x = share * kappa
    return stirling_gap(x) if x > 0.0 else (log_share + math.log(kappa), math.inf)


@kernel
def _row(eta: float, kappa: float, whole: tuple[float, float]) -> tuple[float, ...]:
    """The parts of a design row: m, r, log m, log r, the gap h(a) + h(b) - h(kappa), and the gap's
    derivatives in logit m and in kappa; `whole` is stirling_gap(kappa).

    No large terms cancel: with m = mu, r = 1 - mu, a = m kappa, b = r kappa and h(x) = x log x - x
    - log Gamma(x), log Gamma(kappa) - log Gamma(a) - log Gamma(b) + a log v + b log(1 - v) is
    h(a) + h(b) - h(kappa) + kappa (m (log v - log m) + r (log(1 - v) - log r)).
    """
    log_m, r = log_sigmoid(eta)
    log_r, m = log_sigmoid(-eta)
    gap_a, slope_a = _side_gap(m, log_m, kappa)
    gap_b, slope_b = _side_gap(r, log_r, kappa)
    by_eta = kappa * m * r * (slope_a - slope_b)
    by_kappa = m * slope_a + r * slope_b - whole[1]
    return m, r, log_m, log_r, gap_a + gap_b - whole[0], by_eta, by_kappa


class _Term(NamedTuple):
    """log Beta(v | m kappa, r kappa), m (log v - log m) + r (log(1 - v) - log r), and logit v."""

    log_lik: float
    miss: float
    odds: float


@kernel
def _term(part: tuple[float, ...], kappa: float, log_v: float, log_rest: float) -> _Term:
    """A cell's term from `_row`'s m, r, log m, log r and gap.

    At v = 0 the term is infinite, with the sign of 1 - m kappa, or finite where m kappa is 1; at
    v = 1 likewise with r. The parts for its derivatives are then those of its finite part.
    """
    m, r, log_m, log_r, gap = part
    at_0, at_1 = log_v == -math.inf, log_rest == -math.inf
    near, far = 0.0 if at_0 else log_v, 0.0 if at_1 else log_rest
    miss = m * (near - log_m) + r * (far - log_r)
    term = gap + kappa * miss - near - far
    excess = 0.0
    if at_0:
        excess = m * kappa - 1.0
    elif at_1:
        excess = r * kappa - 1.0
    if excess != 0.0:
        term = -math.inf if excess > 0.0 else math.inf
    return _Term(term, miss, near - far)


@kernel
def _log_density(
    q: Floats, rows: Floats, weight: Floats, log_v: Floats, log_rest: Floats, grad: Floats
) -> float:
    """log prior + sum_i alpha_i log Beta(v_i | mu_i kappa, (1 - mu_i) kappa), mu by design row."""
    grad[:] = 0.0
    logp = log_level_prior(q, rows.shape[1], 1, grad)
    kappa = math.exp(-q[-1])
    prior, slope = log_half_cauchy(q[-1], _CAUCHY_SCALE)
    logp += prior
    whole = stirling_gap(kappa)
    for r in range(len(rows)):
        if weight[r] == 0.0:
            continue
        eta = linear(q, rows, r)
        mu, rest, log_mu, log_rest_mu, gap, by_eta, by_kappa = _row(eta, kappa, whole)
        miss = mu * (log_v[r] - log_mu) + rest * (log_rest[r] - log_rest_mu)
        logp += weight[r] * (gap + kappa * miss)
        by_eta += kappa * mu * rest * (log_v[r] - log_rest[r] - eta)
        slope -= kappa * weight[r] * (by_kappa + miss)
        add_slope(grad, weight[r] * by_eta, rows, r)
    grad[-1] += slope
    return logp


@kernel
def _records(parts: Data, row_of_cell: Ints, data: Data, terms: Arrays) -> None:
    """log Beta(v | mu kappa, (1 - mu) kappa) of each cell, derivatives in eta and log 1/kappa."""
    (eta, kappa), (log_v, log_rest), (log_lik, by_eta, by_extra) = parts, data, terms
    whole = stirling_gap(kappa)
    row = -1
    part = _row(eta[0], kappa, whole)
    for c in range(len(row_of_cell)):
        if row_of_cell[c] != row:  # Cells of a row follow each other.
            row = row_of_cell[c]
            part = _row(eta[row], kappa, whole)
        log_lik[c], miss, odds = _term(part[:5], kappa, log_v[c], log_rest[c])
        mu, rest, gap_by_eta, by_kappa = part[0], part[1], part[5], part[6]
        by_eta[c] = gap_by_eta + kappa * mu * rest * (odds - eta[row])
        by_extra[c, 0] = -kappa * (by_kappa + miss)


@kernel
def _cell_terms(q: Floats, rows: Floats, *rest: Any) -> None:
    _records((predictors(q, rows), math.exp(-q[-1])), *rest)


@dataclass(frozen=True, slots=True)
class Beta(Regression, kernels=(_log_density, _cell_terms, _records)):
    """v_i ~ Beta(mu_i kappa, (1 - mu_i) kappa), logit mu_i = X_i beta, v = (y - L)/(U - L).

    beta has the hierarchical LKJ prior of [vws2024]. 1/kappa ~ half-Cauchy(0, 5), in parallel with
    the negative binomial's 1/phi. The published description of this synthesizer leaves kappa's
    prior open, and censored likelihoods need a proper one. The unconstrained vector is (beta, log
    sigma_beta, partial correlations of L_beta, log of inv_kappa = 1/kappa).

    Parameters
    ----------
    range : (float, float)
        L and U, known without looking at the data. An outcome outside is an
        error, never moved. Synthetic outcomes are L + (U - L) v.
    squeeze : float
        s in [0, 0.5). The family models every v as s + (1 - 2 s) v, and undoes that change for a
        synthetic v, no further than 0 or 1. The constant s is public and never read off the data.
        At 0, the default, no outcome is moved. An outcome at L or U then has an infinite
        likelihood, which only a clamp can take.

    largest_kappa : float
        The largest kappa of the public range that the deviance clamp takes; the model itself has
        no largest kappa. A record loses about log(largest_kappa / kappa) / 2 nats of epsilon.

    Raises
    ------
    InputError
        For a range that is not two finite numbers in rising order, or a squeeze outside [0, 0.5).
    """

    name: ClassVar[str] = "beta"
    whole_numbers: ClassVar[bool] = False
    scale: ClassVar[str] = "kappa"
    own_prior: ClassVar[Any] = (log_half_cauchy, _CAUCHY_SCALE)
    public_settings: ClassVar[tuple[str, ...]] = ("range", "squeeze", "largest_kappa")
    range: tuple[float, float] = setting(
        (0.0, 1.0), "Public range of the outcome, known without looking at the data."
    )
    squeeze: float = setting(
        0.0, "Share of `range` by which every outcome is moved inwards, below 0.5."
    )

    largest_kappa: float = setting(
        100.0, "Largest kappa of the public range that the deviance clamp takes."
    )

    def __post_init__(self) -> None:
        positive(self.largest_kappa, "largest_kappa")
        object.__setattr__(self, "range", known_range(self.range))
        squeeze = finite_number(self.squeeze, "squeeze")
        if not 0.0 <= squeeze < 0.5:
            raise InputError.by("squeeze-range", squeeze=squeeze)
        object.__setattr__(self, "squeeze", squeeze)

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        moved = (Phrase("squeezed"),) if self.squeeze else ()
        return Phrase("public-range"), *moved, Phrase("no-upper-limit")

    def prepare(self, outcome: Floats, column: str) -> Beta:
        check_within(outcome, column, self.range, self.name)
        return self

    def encode(self, outcome: Floats) -> Floats:
        low, high = self.range
        return self.squeeze + (1.0 - 2.0 * self.squeeze) * ((outcome - low) / (high - low))

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, *sums = row_totals(cells, weights, *self.term_data(cells))
        if not np.isfinite(sums).all():
            raise InputError.by("beta-at-end")
        share = np.where(weight > 0, weight, 1.0)
        return cells.rows, weight, *(total / share for total in sums)

    def saturated(self, cells: Cells) -> Floats:
        """The largest log Beta(v | mu kappa, (1 - mu) kappa) over mu, for kappa = largest_kappa.

        0 for an outcome at an end of the range, where the density is 0 or infinite.
        """
        log_v, log_rest = self.term_data(cells)
        highest_of_cell = np.zeros(len(log_v))
        inside = np.isfinite(log_v) & np.isfinite(log_rest)
        eta = _best_logit(log_v[inside] - log_rest[inside], self.largest_kappa)
        slopes = np.empty(len(eta)), np.empty((len(eta), 1))
        highest = np.empty(len(eta))
        data = log_v[inside], log_rest[inside]
        if len(eta):
            _records((eta, self.largest_kappa), np.arange(len(eta)), data, (highest, *slopes))
        highest_of_cell[inside] = highest
        return highest_of_cell

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        with np.errstate(divide="ignore"):  # v may lie at an end of the range.
            return np.log(cells.outcome), np.log1p(-cells.outcome)

    def start(self, cells: Cells, weights: Floats) -> Start:
        inside = replace(cells, values=np.clip(cells.values, _INSIDE, 1.0 - _INSIDE))
        rows, weight, log_v, log_rest = self.density_data(inside, weights)
        _, total = row_totals(cells, weights, cells.outcome)
        first = (total + 0.25) / (weight + 0.5)
        everywhere = np.full(len(weight), (total.sum() + 0.25) / (weight.sum() + 0.5))
        inverse = _inverse_kappa(cells, weights, everywhere)
        for _ in (1, 2):
            kappa = 1.0 / inverse

            def scores(mean: Floats, kappa: float = kappa) -> tuple[Floats, Floats]:
                a, b = mean * kappa, (1.0 - mean) * kappa
                steep = kappa * mean * (1.0 - mean)
                slope = weight * steep * (log_v - log_rest - psi(a) + psi(b))
                return slope, weight * steep**2 * (polygamma(1, a) + polygamma(1, b))

            rough = scoring_start(rows, first, scores, link=LOGIT, extra=1)
            eta = np.clip(rows @ rough.centre[: cells.n_coefficients], -30.0, 30.0)
            inverse = _inverse_kappa(cells, weights, expit(eta))
        rough.centre[-1] = math.log(inverse)
        return rough

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        kappa = float(draw["kappa"][0])
        least = np.finfo(np.float64).tiny
        a, b = (np.maximum(kappa * expit(side), least) for side in (eta, -eta))
        if not np.isfinite(a + b).all():
            raise ConvergenceError(
                "A posterior draw has an infinite precision: the outcome is constant given its "
                "predictors. Choose another model."
            )
        low, high = self.range
        place = (rng.beta(a, b) - self.squeeze) / (1.0 - 2.0 * self.squeeze)
        return np.clip(low + (high - low) * place, low, high)


def _best_logit(logit_v: Floats, kappa: float) -> Floats:
    """logit mu (C,) where digamma(mu kappa) - digamma((1 - mu) kappa) is logit v, by bisection."""
    low, high = np.full(len(logit_v), -_FAR), np.full(len(logit_v), _FAR)
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        below = psi(kappa * expit(middle)) - psi(kappa * expit(-middle)) < logit_v
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray(0.5 * (low + high))


def _inverse_kappa(cells: Cells, weights: Floats, mean: Floats) -> float:
    """1/kappa by moments, from the squares around the rows' means (R,)."""
    gaps = (cells.outcome - mean[cells.row_of_cell]) ** 2
    spread = float(cells.weight_sums(weights) @ gaps)
    (weight,) = row_totals(cells, weights)
    share = (spread + 0.01) / (float(weight @ (mean * (1.0 - mean))) + 0.05)
    return min(max(share / max(1.0 - share, 1e-3), 1e-6), 10.0)
