"""Beta regression of an outcome on a public range, the beta synthesizer of [global2022]."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, polygamma, psi

from pyvws._base.checks import Floats, finite_number, told
from pyvws._base.phrase import Phrase
from pyvws.errors import ConvergenceError, InputError
from pyvws.models._beta_kernels import beta_cell_terms, beta_log_density, beta_table
from pyvws.models._coefficient_prior import coefficient_dimension
from pyvws.models._scale_prior import constrain_with_inverse, unconstrain_with_log
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import LOGIT, linear_predictor, row_totals, scoring_start
from pyvws.tables.cells import Cells

__all__ = ["Beta"]

_INSIDE = 2.0**-53  # How near an end a rough fit looks for a record that lies at it.


@dataclass(frozen=True, slots=True)
class Beta(Family):
    """v_i ~ Beta(mu_i kappa, (1 - mu_i) kappa), logit mu_i = X_i beta, v = (y - L)/(U - L).

    beta has the hierarchical LKJ prior of [vws2024]. 1/kappa ~ half-Cauchy(0, 5), in parallel with
    the negative binomial's 1/phi: the published description of this synthesizer leaves kappa's
    prior open, and a proper one is needed where likelihoods are censored. The unconstrained vector
    is (beta, log sigma_beta, partial correlations of L_beta, log of inv_kappa = 1/kappa).

    Parameters
    ----------
    range : (float, float)
        L and U, known without looking at the data. Outcomes outside are an error, never moved.
        Synthetic outcomes are L + (U - L) v.
    squeeze : float
        s in [0, 0.5): every v is modelled as s + (1 - 2 s) v, and the way back is taken for a
        synthetic v, no further than 0 or 1. A public constant, never read off the data. At 0, the
        default, no outcome is moved; one at L or U then has an infinite likelihood, which only a
        clamp can take.

    Raises
    ------
    InputError
        For a range that is not two finite numbers in rising order, or a squeeze outside [0, 0.5).
    """

    name: ClassVar[str] = "beta"
    predicts_from: ClassVar[tuple[str, ...]] = ("beta", "kappa")
    whole_numbers: ClassVar[bool] = False
    range: tuple[float, float] = (0.0, 1.0)
    squeeze: float = 0.0

    def __post_init__(self) -> None:
        try:
            low, high = (finite_number(end, "range") for end in self.range)
        except (TypeError, ValueError):
            low, high = 0.0, 0.0
        if not low < high:
            raise InputError(
                f"range must be two finite numbers, the lower one first. Got {told(self.range)}."
            )
        object.__setattr__(self, "range", (low, high))
        squeeze = finite_number(self.squeeze, "squeeze")
        if not 0.0 <= squeeze < 0.5:
            raise InputError(f"squeeze must be at least 0 and below 0.5. Got {squeeze:g}.")
        object.__setattr__(self, "squeeze", squeeze)

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        moved = (Phrase("squeezed"),) if self.squeeze else ()
        return Phrase("public-range"), *moved, Phrase("no-upper-limit")

    @property
    def log_density(self) -> Callable[..., float]:
        return beta_log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return beta_cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        with np.errstate(divide="ignore"):  # At an end.
            return np.log(cells.outcome), np.log1p(-cells.outcome)

    def prepare(self, outcome: Floats, column: str) -> Beta:
        low, high = self.range
        outside = int(((outcome < low) | (outcome > high)).sum())
        if outside:
            raise InputError(
                f"Column {column!r} has {outside} values outside the range from {low:g} to "
                f"{high:g}; beta takes outcomes on a public range. Give it by --range L,U "
                "(range=(L, U) in Python), wide enough for every possible record."
            )
        return self

    def encode(self, outcome: Floats) -> Floats:
        low, high = self.range
        return self.squeeze + (1.0 - 2.0 * self.squeeze) * ((outcome - low) / (high - low))

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + 1

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        weight, *sums = row_totals(cells, weights, *self.term_data(cells))
        if not np.isfinite(sums).all():
            raise InputError(
                "Some outcomes lie at an end of the range, where a beta likelihood is infinite, "
                "and this fit clamps no term. Set a squeeze, --squeeze 0.001 "
                "(Beta(squeeze=0.001) in Python), give a wider range, or choose mechanism censored "
                "with weights none or cw, which takes outcomes at an end as they are."
            )
        share = np.where(weight > 0, weight, 1.0)
        return cells.rows, weight, *(total / share for total in sums)

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

    def constrain(self, q: Floats, K: int) -> Draws:
        return constrain_with_inverse(q, K, "kappa")

    def unconstrain(self, draws: Draws) -> Floats:
        return unconstrain_with_log(draws, "inv_kappa")

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        made: Floats = beta_table(eta, draws["kappa"], cells.row_of_cell, *self.term_data(cells))
        return made

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        eta = linear_predictor(draw["beta"], design)[0]
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


def _inverse_kappa(cells: Cells, weights: Floats, mean: Floats) -> float:
    """1/kappa by moments, from the squares around the rows' means (R,)."""
    gaps = (cells.outcome - mean[cells.row_of_cell]) ** 2
    spread = float(cells.weight_sums(weights) @ gaps)
    (weight,) = row_totals(cells, weights)
    share = (spread + 0.01) / (float(weight @ (mean * (1.0 - mean))) + 0.05)
    return min(max(share / max(1.0 - share, 1e-3), 1e-6), 10.0)
