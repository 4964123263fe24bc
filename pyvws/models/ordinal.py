"""Proportional odds regression of an outcome in a few ordered levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy.special import expit, logit

from pyvws._base.checks import Floats, finite_vector, told
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.models._coefficient_prior import (
    coefficient_dimension,
    constrain_coefficients,
    unconstrain_coefficients,
)
from pyvws.models._ordinal_kernels import ordinal_cell_terms, ordinal_log_density, ordinal_table
from pyvws.models.model import Draws, Family, Start
from pyvws.models.regression import IDENTITY, linear_predictor, row_totals, scoring_start
from pyvws.tables.cells import Cells

__all__ = ["Ordinal"]

_MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Ordinal(Family):
    """P(y_i <= j-th level) = 1 / (1 + exp(X_i beta - c_j)), c_1 = 0, rising cuts c_j.

    beta has the hierarchical LKJ prior of [vws2024] and the gaps c_{j+1} - c_j ~ half-t(3, 0, 2.5).
    The lowest cut is 0 since the design's intercept takes its place: in the terms of R's
    MASS::polr, which has no intercept, beta_1 = -zeta_1 and gaps are differences of zeta. The
    unconstrained vector is (beta, log sigma_beta, partial correlations of L_beta, log gaps).

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0: choose g above 0, or SW.

    Parameters
    ----------
    levels : sequence of whole numbers
        Every value that the outcome can have, 2 to 50 of them, known without looking at the data.
        An empty one takes the values in the data, and releases which they are.

    Raises
    ------
    InputError
        For levels that are not whole numbers, not distinct, or too many.
    """

    name: ClassVar[str] = "ordinal"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    levels: tuple[float, ...] = ()
    from_data: bool = field(default=False, metadata={"prepared": True})

    def __post_init__(self) -> None:
        given = tuple(self.levels)
        if given:
            values = finite_vector(given, "levels")
            distinct = np.unique(values)
            whole = bool((values == np.floor(values)).all())
            if not whole or len(distinct) < len(values) or not 2 <= len(values) <= _MOST_LEVELS:
                raise InputError(
                    f"levels must be 2 to {_MOST_LEVELS} different whole numbers. "
                    f"Got {told(self.levels)}."
                )
            given = tuple(distinct.tolist())
        object.__setattr__(self, "levels", given)

    @property
    def predicts_from(self) -> tuple[str, ...]:
        return ("beta", "gaps") if len(self.levels) > 2 else ("beta",)

    @property
    def prepared_from_data(self) -> bool:
        return self.from_data or not self.levels

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return (Phrase("levels-from-data"),) if self.from_data else ()

    @property
    def log_density(self) -> Callable[..., float]:
        return ordinal_log_density

    @property
    def cell_terms(self) -> Callable[..., None]:
        return ordinal_cell_terms

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return _places(cells), len(self.levels)

    def prepare(self, outcome: Floats, column: str) -> Ordinal:
        if self.levels and not self.from_data:
            other = int((~np.isin(outcome, self.levels)).sum())
            if other:
                raise InputError(
                    f"Column {column!r} has {other} values that are not among the given levels. "
                    "Give every possible level by --levels (levels=(...) in Python)."
                )
            return self
        fractional = int((outcome != np.floor(outcome)).sum())
        if fractional:
            raise InputError(
                f"Column {column!r} has {fractional} values with a fraction; ordinal takes whole "
                "numbers as levels. Recode the column or choose another model."
            )
        distinct = np.unique(outcome)
        if not 2 <= len(distinct) <= _MOST_LEVELS:
            raise InputError(
                f"Column {column!r} has {len(distinct)} different values; ordinal takes 2 to "
                f"{_MOST_LEVELS} levels. Group them or choose another model."
            )
        return replace(self, levels=tuple(distinct.tolist()), from_data=True)

    def encode(self, outcome: Floats) -> Floats:
        return np.asarray(np.searchsorted(self.levels, outcome) + 1.0, dtype=np.float64)

    def stan_settings(self) -> dict[str, Any]:
        return {"J": len(self.levels)}

    def dimension(self, K: int) -> int:
        return coefficient_dimension(K) + max(len(self.levels) - 2, 0)

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        sums, places = cells.weight_sums(weights), _places(cells)
        by_level = np.bincount(places, weights=sums, minlength=len(self.levels))
        return cells.rows, cells.row_of_cell, places, sums, by_level.astype(np.float64)

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
        rough = scoring_start(cells.rows, first, scores, link=IDENTITY, extra=J - 2)
        rough.centre[coefficient_dimension(cells.n_coefficients) :] = np.log(np.diff(cuts))
        return rough

    def constrain(self, q: Floats, K: int) -> Draws:
        draws = constrain_coefficients(q, K)
        if len(self.levels) > 2:
            draws["gaps"] = np.exp(q[:, coefficient_dimension(K) :])
        return draws

    def unconstrain(self, draws: Draws) -> Floats:
        return np.column_stack([unconstrain_coefficients(draws), np.log(self._gaps(draws))])

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        eta = linear_predictor(draws["beta"], cells.rows)
        made: Floats = ordinal_table(eta, self._gaps(draws), cells.row_of_cell, _places(cells))
        return made

    def predict(
        self,
        draw: Draws,
        design: Floats,
        rng: np.random.Generator,
        *,
        outcome: Floats | None = None,
    ) -> Floats:
        cuts = np.concatenate([[0.0], np.cumsum(self._gaps(draw)[0])])
        eta = linear_predictor(draw["beta"], design)[0]
        places = np.searchsorted(cuts, eta + rng.logistic(size=len(eta)))
        return np.asarray(self.levels, dtype=np.float64)[places]

    def _gaps(self, draws: Draws) -> Floats:
        """(S, J - 2); draws of two levels have none."""
        return draws.get("gaps", np.empty((len(draws["beta"]), 0)))


def _places(cells: Cells) -> Any:
    """Each cell's level, counted from 0."""
    return cells.outcome.astype(np.intp) - 1
