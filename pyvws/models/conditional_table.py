"""Conditional tables: each pattern of the predictors has its own shares of the outcome's levels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from pyvws._base.checks import Floats, distinct_labels, positive, same_length
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models.model import Draws, Family, Start, level_places
from pyvws.tables.design.cells import Cells

_MOST_SHARES: Final = 5 * 10**7  # Numbers of all draws together: 400 megabytes.


def weighted_counts(pattern: Any, level: Any, weights: Any, P: int, L: int) -> Floats:
    """n (P, L): the sum of alpha_i over the records with pattern p and level l, both counted from
    0.

    The Dirichlet(a, ..., a) prior of a pattern's shares then has the pseudo posterior Dirichlet(a +
    n_p1, ..., a + n_pL). Raises InputError for other lengths, and for a place outside the table.
    """
    patterns, levels = np.asarray(pattern, np.intp), np.asarray(level, np.intp)
    alpha = np.asarray(weights, np.float64)
    same_length(patterns, levels, ("pattern", "level"))
    same_length(patterns, alpha, ("pattern", "weights"))
    for places, most, name in ((patterns, P, "pattern"), (levels, L, "level")):
        if ((places < 0) | (places >= most)).any():
            raise InputError(f"{name} must be whole numbers from 0 to {most - 1}.")
    sums = np.bincount(patterns * L + levels, weights=alpha, minlength=P * L)
    return np.asarray(sums.reshape(P, L), dtype=np.float64)


_NO_SAMPLER: Final = (
    "Draws of model table are exact, so no sampler and no clamp takes the model. Choose engine "
    "native, and a mechanism other than censored; or model nominal."
)


def _refused(*_: Any) -> float:
    raise InputError(_NO_SAMPLER)


@dataclass(frozen=True, slots=True)
class ConditionalTable(Family):
    """P(y_i = l | pattern p) = theta_pl, and theta_p ~ Dirichlet(c / L, ..., c / L).

    A pattern is one combination of the predictors' levels, which the one column of the design
    counts from 0 to P - 1. The pseudo posterior is known:
    theta_p ~ Dirichlet(c / L + sum alpha_i 1{pattern p, y_i = l}), independent over patterns. So
    draws are exact and independent, no chain has to converge, and many records cost no more than
    few. A pattern without records has the prior's shares. All interactions of the predictors are
    in the table, and nothing ties one pattern to another: choose few predictors.

    With few predictors there are few kinds of records, and LW at g = 0 gives all records of the
    riskiest kind weight 0: choose g above 0, or SW.

    Parameters
    ----------
    levels : sequence of str
        Every label that the outcome can have, 2 or more, known without looking at the data.
    concentration : float
        c, the number of records that the prior of each pattern counts for. Larger = shares nearer
        to 1 / L, and a smaller epsilon.

    Raises
    ------
    InputError
        For fewer than two levels, or a concentration that is not positive.
    """

    name: ClassVar[str] = "table"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    predicts_from: ClassVar[tuple[str, ...]] = ("log_theta",)
    log_density: ClassVar[Callable[..., float]] = staticmethod(_refused)
    levels: tuple[str, ...] = setting(
        (), "Public labels of the outcome, all that there can be; the data's if not given."
    )
    concentration: float = setting(1.0, "Records that the prior of a pattern counts for.")
    patterns: int | None = field(default=None, metadata={"prepared": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", distinct_labels(self.levels))
        positive(self.concentration, "concentration")

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        return self.levels

    def prepare(self, outcome: Floats, column: str) -> ConditionalTable:
        if self.patterns is None:
            raise InputError(
                "Model table takes the levels of its predictors from a schema. Give a schema, or "
                "choose model nominal."
            )
        return self

    def dimension(self, K: int) -> int:
        return (self.patterns or 0) * len(self.levels)

    @property
    def most_draws(self) -> int:
        """How many draws of all shares are held at once."""
        return _MOST_SHARES // max(1, self.dimension(1))

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        raise InputError(_NO_SAMPLER)

    def start(self, cells: Cells, weights: Floats) -> Start:
        raise InputError(_NO_SAMPLER)

    def constrain(self, q: Floats, K: int) -> Draws:
        return {"log_theta": q.reshape(len(q), -1, len(self.levels))}

    def unconstrain(self, draws: Draws) -> Floats:
        return draws["log_theta"].reshape(len(draws["log_theta"]), -1)

    def exact_draws(self, cells: Cells, weights: Floats, S: int, rng: Generator) -> Draws | None:
        P, L = self.patterns or 0, len(self.levels)
        counts = weighted_counts(
            _patterns(cells), level_places(cells), cells.weight_sums(weights), P, L
        )
        shape = np.broadcast_to(counts + self.concentration / L, (S, P, L))
        # Of a small shape a, gamma(a) = gamma(a + 1) U^(1/a) can be 0 to a computer; its log not.
        log_theta = np.log(rng.standard_gamma(shape + 1.0))
        log_theta += np.log1p(-rng.random((S, P, L))) / shape
        log_theta -= np.logaddexp.reduce(log_theta, axis=2)[:, :, None]
        return {"log_theta": log_theta}

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        return draws["log_theta"][:, _patterns(cells), level_places(cells)]

    def predict(
        self, draw: Draws, design: Floats, rng: Generator, *, outcome: Floats | None = None
    ) -> Floats:
        below = np.cumsum(np.exp(draw["log_theta"][0]), axis=1)
        below /= below[:, -1:]
        P, L = below.shape
        below[:, -1] = 1.0
        u = rng.random(len(design))
        pattern = design[:, 0]
        # Of all patterns in a row: the shares below a level, and the whole patterns before it.
        place = np.searchsorted((below + np.arange(P)[:, None]).ravel(), pattern + u, side="right")
        return np.clip(place - pattern * L, 0.0, L - 1.0) + 1.0


def _patterns(cells: Cells) -> NDArray[np.intp]:
    """Each cell's pattern, counted from 0."""
    return cells.rows[cells.row_of_cell, 0].astype(np.intp)
