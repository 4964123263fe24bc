"""Proportional odds regression of an outcome in a few ordered levels."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from pyvws._base.checks import Arrays, Data, Floats, Ints, as_text, finite_vector
from pyvws._base.kernels import kernel
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models.model import Draws, Start, level_places
from pyvws.models.priors import coefficient_dimension, log_half_t, log_level_prior
from pyvws.models.regression import (
    LATENT,
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

_MOST_LEVELS = 50
_GAP_SCALE = 2.5  # Gaps between cuts ~ half-t(3, 0, 2.5).


@kernel
def _cuts(gaps: Floats) -> tuple[Any, Any]:
    """Cuts (J - 1,) from 0 up by the gaps (J - 2,), and log(1 - exp(-gap)) of each level (J,)."""
    J = len(gaps) + 2
    cuts, inner = np.zeros(J - 1), np.zeros(J)
    for j in range(1, J - 1):
        cuts[j] = cuts[j - 1] + gaps[j - 1]
        inner[j] = math.log(-math.expm1(-gaps[j - 1]))
    return cuts, inner


class _Level(NamedTuple):
    """Log-likelihood but for `inner`, and its derivatives in the cuts above and below."""

    value: float
    by_above: float
    by_below: float


@kernel
def _level(level: int, eta: float, cuts: Floats) -> _Level:
    """A level's part in the log-likelihood.

    P(level j) = F(b) - F(a) for F logistic and a < b the cuts around level j less eta. With
    g = b - a, P is F(b) (1 - F(a)) (1 - exp(-g)): three factors whose logarithms lose no digits in
    either tail; `inner` is the logarithm of the last factor.
    """
    value, by_above, by_below = 0.0, 0.0, 0.0
    if level < len(cuts):
        value, by_above = log_sigmoid(cuts[level] - eta)
    if level > 0:
        log_over, under = log_sigmoid(eta - cuts[level - 1])
        value += log_over
        by_below = -under
    return _Level(value, by_above, by_below)


@kernel
def _log_density(
    q: Floats,
    rows: Floats,
    row_of_cell: Ints,
    level: Ints,
    weight: Floats,
    level_weight: Floats,
    grad: Floats,
) -> float:
    """log prior + sum_i alpha_i log P(level_i); sums of alpha by cell (C,) and by level (J,)."""
    K, J = rows.shape[1], len(level_weight)
    first = len(q) - (J - 2)
    grad[:] = 0.0
    logp = log_level_prior(q, K, 1, grad)
    gaps = np.exp(q[first:])
    cuts, inner = _cuts(gaps)
    by_cut = np.zeros(J - 1)
    row, eta = -1, 0.0
    for c in range(len(level)):
        if weight[c] == 0.0:
            continue
        if row_of_cell[c] != row:  # Cells of a row follow each other.
            row = row_of_cell[c]
            eta = linear(q, rows, row)
        j = level[c]
        value, by_above, by_below = _level(j, eta, cuts)
        logp += weight[c] * value
        if j < J - 1:
            by_cut[j] += weight[c] * by_above
        if j > 0:
            by_cut[j - 1] += weight[c] * by_below
        add_slope(grad, -weight[c] * (by_above + by_below), rows, row)
    beyond = 0.0
    for j in range(J - 2, 0, -1):
        prior, slope = log_half_t(q[first + j - 1], _GAP_SCALE)
        logp += prior
        beyond += by_cut[j]
        inside = 0.0
        if level_weight[j] > 0.0:
            logp += level_weight[j] * inner[j]
            inside = level_weight[j] / math.expm1(gaps[j - 1])
        grad[first + j - 1] += slope + gaps[j - 1] * (beyond + inside)
    return logp


@kernel
def _records(parts: Data, row_of_cell: Ints, data: tuple[Ints, int], terms: Arrays) -> None:
    """log P(level) of each cell, and its derivatives in eta and in the log gaps; eta by row."""
    (eta, gaps), (level, J), (log_lik, by_eta, by_extra) = parts, data, terms
    cuts, inner = _cuts(gaps)
    for c in range(len(level)):
        j = level[c]
        value, by_above, by_below = _level(j, eta[row_of_cell[c]], cuts)
        log_lik[c] = value + inner[j]
        by_eta[c] = -(by_above + by_below)
        for m in range(J - 2):  # Gap m moves every cut after the first m + 1.
            change = 0.0
            if j > m and j < J - 1:
                change += by_above
            if j > m + 1:
                change += by_below
            if j == m + 1:
                change += 1.0 / math.expm1(gaps[m])
            by_extra[c, m] = gaps[m] * change


@kernel
def _cell_terms(
    q: Floats, rows: Floats, row_of_cell: Ints, data: tuple[Ints, int], terms: Arrays
) -> None:
    gaps = np.exp(q[len(q) - terms[2].shape[1] :])
    _records((predictors(q, rows), gaps), row_of_cell, data, terms)


@dataclass(frozen=True, slots=True)
class Ordinal(Regression, kernels=(_log_density, _cell_terms, _records)):
    """P(y_i <= j-th level) = 1 / (1 + exp(X_i beta - c_j)), c_1 = 0, rising cuts c_j.

    beta has the hierarchical LKJ prior of [vws2024] and the gaps c_{j+1} - c_j ~ half-t(3, 0, 2.5).
    The lowest cut is 0 since the design's intercept takes its place. In the terms of R's
    MASS::polr, which has no intercept, beta_1 = -zeta_1 and gaps are differences of zeta. The
    unconstrained vector is (beta, log sigma_beta, partial correlations of L_beta, log gaps).

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0. Then choose g above 0, or SW.

    Parameters
    ----------
    levels : sequence of whole numbers
        Every value that the outcome can have, 2 to 50 of them, known without looking at the data.
        An empty sequence takes the values in the data, and so releases these values.

    Raises
    ------
    InputError
        For levels that are not whole numbers, not distinct, or too many.
    """

    name: ClassVar[str] = "ordinal"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    own_prior: ClassVar[Any] = (log_half_t, _GAP_SCALE)
    levels: tuple[float, ...] = setting(
        (), "Public levels of the outcome; the data's if not given."
    )
    from_data: bool = field(default=False, metadata={"prepared": True})

    def __post_init__(self) -> None:
        given = tuple(self.levels)
        if given:
            values = finite_vector(given, "levels")
            distinct = np.unique(values)
            whole = bool((values == np.floor(values)).all())
            if not whole or len(distinct) < len(values) or not 2 <= len(values) <= _MOST_LEVELS:
                raise InputError.by(
                    "ordinal-levels", most_levels=_MOST_LEVELS, levels=as_text(self.levels)
                )
            given = tuple(distinct.tolist())
        object.__setattr__(self, "levels", given)

    @property
    def predicts_from(self) -> tuple[str, ...]:
        return ("beta", "gaps") if self.own_entries else ("beta",)

    @property
    def prepared_from_data(self) -> bool:
        return self.from_data or not self.levels

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return (Phrase("levels-from-data"),) if self.from_data else ()

    def prepare(self, outcome: Floats, column: str) -> Ordinal:
        if self.levels and not self.from_data:
            if other := int((~np.isin(outcome, self.levels)).sum()):
                raise InputError.by("values-no-level", column=column, other=other)
            return self
        if fractional := int((outcome != np.floor(outcome)).sum()):
            raise InputError.by("levels-with-fraction", column=column, fractional=fractional)
        distinct = np.unique(outcome)
        if not 2 <= len(distinct) <= _MOST_LEVELS:
            raise InputError.by(
                "ordinal-levels-number",
                column=column,
                distinct=len(distinct),
                most_levels=_MOST_LEVELS,
            )
        return replace(self, levels=tuple(distinct.tolist()), from_data=True)

    def encode(self, outcome: Floats) -> Floats:
        return np.asarray(np.searchsorted(self.levels, outcome) + 1.0, dtype=np.float64)

    def stan_settings(self, cells: Cells) -> dict[str, Any]:
        return {"J": len(self.levels)}

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        sums, places = cells.weight_sums(weights), level_places(cells)
        by_level = np.bincount(places, weights=sums, minlength=len(self.levels))
        return cells.rows, cells.row_of_cell, places, sums, by_level.astype(np.float64)

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return level_places(cells), len(self.levels)

    def parts(self, eta: Floats, draws: Draws) -> tuple[Floats, ...]:
        return eta, self._gaps(draws)

    def start(self, cells: Cells, weights: Floats) -> Start:
        places, by_level = self.density_data(cells, weights)[2::2]
        J = len(self.levels)
        share = np.cumsum(by_level + 0.5)[:-1] / (by_level.sum() + 0.5 * J)
        cuts = logit(share) - logit(share[0])
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        rows = cells.row_of_cell

        def scores(eta: Floats) -> tuple[Floats, Floats]:
            above, below = expit(eta[rows] - edges[places + 1]), expit(edges[places] - eta[rows])
            bend = above * (1.0 - above) + below * (1.0 - below)
            _, slope, information = row_totals(cells, weights, below - above, bend)
            return slope, information

        first = np.full(len(cells.rows), -logit(share[0]))
        rough = scoring_start(cells.rows, first, scores, link=LATENT, extra=J - 2)
        rough.centre[coefficient_dimension(cells.n_coefficients) :] = np.log(np.diff(cuts))
        return rough

    @property
    def own_entries(self) -> int:
        return max(len(self.levels) - 2, 0)

    def own_draws(self, entries: Floats) -> Draws:
        return {"gaps": np.exp(entries)} if self.own_entries else {}

    def own_logarithms(self, draws: Draws) -> tuple[Floats, ...]:
        return (np.log(self._gaps(draws)),)

    def log_shares(self, draw: Draws, design: Floats) -> Floats:
        eta, gaps = linear_predictor(draw["beta"], design)[0], self._gaps(draw)[0]
        above = np.concatenate([[0.0], np.cumsum(gaps)]) - eta[:, None]  # The cuts, less eta.
        shares = np.zeros((len(eta), len(self.levels)))
        shares[:, :-1] += log_expit(above)
        shares[:, 1:] += log_expit(-above)
        shares[:, 1:-1] += np.log(-np.expm1(-gaps))
        return shares

    def simulate(self, eta: Floats, draw: Draws, rng: np.random.Generator) -> Floats:
        cuts = np.concatenate([[0.0], np.cumsum(self._gaps(draw)[0])])
        places = np.searchsorted(cuts, eta + rng.logistic(size=len(eta)))
        return np.asarray(self.levels, dtype=np.float64)[places]

    def _gaps(self, draws: Draws) -> Floats:
        """(S, J - 2); draws of two levels have none."""
        return draws.get("gaps", np.empty((len(draws["beta"]), 0)))
