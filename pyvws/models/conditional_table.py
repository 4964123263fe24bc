"""Conditional tables: each pattern of the predictors has its own shares of the outcome's levels."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Final

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike
from scipy.special import betaincinv, betaln

from pyvws._base.checks import Arrays, Floats, Ints, Places, distinct_labels, positive, same_length
from pyvws._base.kernels import kernel
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.models._special_functions import log_total
from pyvws.models.model import Draws, Family, Start, level_places
from pyvws.tables.design.cells import Cells

_MOST_SHARES: Final = 5 * 10**7  # Numbers of all draws together: 400 megabytes.
_PRIOR_COUNT: Final = 0.5  # Jeffreys' prior. With less, the level of a lone record tells of it.


def weighted_counts(
    pattern: ArrayLike, level: ArrayLike, weights: ArrayLike, P: int, L: int
) -> Floats:
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
            raise InputError.by("codes-outside", name=name, most=most - 1)
    sums = np.bincount(patterns * L + levels, weights=alpha, minlength=P * L)
    return np.asarray(sums.reshape(P, L), dtype=np.float64)


def median_maxima(own: ArrayLike, others: ArrayLike, S: int) -> Floats:
    """The median (C,) of the largest -log share of S draws from Beta(own, others), in nats.

    Half of all fits with S draws have a larger one. No draw moves it, and it falls as the weighted
    records `own` (C,) of a cell rise, prior included; `others` (C,) are those of its pattern.
    """
    a, b = np.asarray(own, np.float64), np.asarray(others, np.float64)
    below = -math.expm1(-math.log(2.0) / S)
    share = betaincinv(a, b, below)
    # Near 0 the share of the beta below x is x^a / (a B(a, b)).
    log_small = (math.log(below) + np.log(a) + betaln(a, b)) / a
    return -np.where(share > 1e-290, np.log(np.maximum(share, 1e-290)), log_small)


def log_dirichlet(shapes: Floats, S: int, rng: Generator) -> Floats:
    """S draws of the log shares (S, ..., L) under Dirichlet shapes (..., L)."""
    shape = np.broadcast_to(shapes, (S, *shapes.shape))
    # Of a small shape a, gamma(a) = gamma(a + 1) U^(1/a) can be 0 to a computer; its log not.
    log_theta = np.log(rng.standard_gamma(shape + 1.0))
    log_theta += np.log1p(-rng.random(shape.shape)) / shape
    log_theta -= np.logaddexp.reduce(log_theta, axis=-1)[..., None]
    return np.asarray(log_theta)


@kernel
def log_density(q: Floats, counts: Floats, prior: float, gradient: Floats) -> float:
    """Log density of q (P L,), up to a constant, under weighted counts (P, L) and the prior.

    exp(q) are independent gamma variables of shape `prior`, whose shares are the pattern's.
    """
    P, L = counts.shape
    value = 0.0
    for p in range(P):
        height = log_total(q, p * L, L)
        n = 0.0
        for level in range(L):
            n += counts[p, level]
        for level in range(L):
            at = p * L + level
            size = math.exp(q[at])
            share = q[at] - height
            value += prior * q[at] - size
            gradient[at] = prior - size - n * math.exp(share)
            if counts[p, level] > 0.0:
                value += counts[p, level] * share
                gradient[at] += counts[p, level]
    return value


@kernel
def cell_terms(
    q: Floats, rows: Floats, row_of_cell: Ints, data: tuple[Ints, int], terms: Arrays
) -> None:
    """The log share of each cell's level in its pattern."""
    level, L = data
    log_lik, log_totals, _ = terms
    for c in range(len(level)):
        first = int(rows[row_of_cell[c], 0]) * L
        if c > 0 and row_of_cell[c] == row_of_cell[c - 1]:
            log_totals[c] = log_totals[c - 1]
        else:
            log_totals[c] = log_total(q, first, L)
        log_lik[c] = q[first + level[c]] - log_totals[c]


@kernel
def cell_slopes(
    q: Floats,
    rows: Floats,
    row_of_cell: Ints,
    data: tuple[Ints, int],
    terms: Arrays,
    weight: Floats,
    grad: Floats,
) -> None:
    """Add the slopes of the weighted log shares."""
    level, L = data
    _, log_totals, _ = terms
    for c in range(len(level)):
        if weight[c] != 0.0:
            first = int(rows[row_of_cell[c], 0]) * L
            for other in range(L):
                grad[first + other] -= weight[c] * math.exp(q[first + other] - log_totals[c])
            grad[first + level[c]] += weight[c]


@dataclass(frozen=True, slots=True)
class ConditionalTable(Family):
    """P(y_i = l | pattern p) = theta_pl, and theta_p ~ Dirichlet(a, ..., a), where a = c / L.

    A pattern is one combination of the predictors' levels, which the one column of the design
    counts from 0 to P - 1. The pseudo posterior is known:
    theta_p ~ Dirichlet(a + sum alpha_i 1{pattern p, y_i = l}), independent over patterns. So
    draws are exact and independent, no chain has to converge, and many records cost no more than
    few. A pattern without records has the prior's shares. Under a clamp the posterior is not known,
    and a chain moves pattern by pattern. All interactions of the predictors are
    in the table, and nothing ties one pattern to another: choose few predictors.

    Parameters
    ----------
    levels : sequence of str
        Every label that the outcome can have, 2 or more, known without looking at the data.
    concentration : float, optional
        c, the number of records that the prior of each pattern counts for; by default L / 2, half a
        record for each level. Larger = shares nearer to 1 / L, and a smaller epsilon. Where the
        prior of a level counts for less than some 0.3, a lone record can lose more than is stated.

    Raises
    ------
    InputError
        For fewer than two levels, or a concentration that is not positive.
    """

    name: ClassVar[str] = "table"
    whole_numbers: ClassVar[bool] = True
    categorical: ClassVar[bool] = True
    predicts_from: ClassVar[tuple[str, ...]] = ("log_theta",)
    log_density: ClassVar[Callable[..., float]] = staticmethod(log_density)
    cell_terms: ClassVar[Callable[..., None]] = staticmethod(cell_terms)
    cell_slopes: ClassVar[Callable[..., None]] = staticmethod(cell_slopes)
    levels: tuple[str, ...] = setting(
        (), "Public labels of the outcome, all that there can be; the data's if not given."
    )
    concentration: float | None = setting(
        None, "Records that the prior of a pattern counts for; half a record a level if not given."
    )
    patterns: int | None = field(default=None, metadata={"prepared": True})

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", distinct_labels(self.levels))
        if self.concentration is not None:
            positive(self.concentration, "concentration")

    @property
    def outcome_labels(self) -> tuple[str, ...] | None:
        return self.levels

    def prepare(self, outcome: Floats, column: str) -> ConditionalTable:
        if self.patterns is None:
            raise InputError.by("table-without-schema")
        return self

    def dimension(self, K: int) -> int:
        return (self.patterns or 0) * len(self.levels)

    @property
    def most_draws(self) -> int:
        """How many draws of all shares are held at once."""
        return _MOST_SHARES // max(1, self.dimension(1))

    @property
    def prior_count(self) -> float:
        """a, the records that the prior counts for each level of a pattern."""
        if self.concentration is None:
            return _PRIOR_COUNT
        return self.concentration / len(self.levels)

    def counts(self, cells: Cells, weights: Floats) -> Floats:
        """The weighted records (P, L) of each pattern and level, from weights (N,)."""
        sums = cells.weight_sums(weights)
        P, L = self.patterns or 0, len(self.levels)
        return weighted_counts(patterns_of(cells), level_places(cells), sums, P, L)

    def median_maxima(self, cells: Cells, S: int) -> Floats:
        """Each cell's (C,) median of max_s |log share| over S draws of the unweighted posterior."""
        n = self.counts(cells, np.ones(len(cells.cell_of_record))) + self.prior_count
        pattern = patterns_of(cells)
        own = n[pattern, level_places(cells)]
        return median_maxima(own, n.sum(axis=1)[pattern] - own, S)

    def density_data(self, cells: Cells, weights: Floats) -> tuple[Any, ...]:
        return self.counts(cells, weights), self.prior_count

    def term_data(self, cells: Cells) -> tuple[Any, ...]:
        return level_places(cells), len(self.levels)

    def start(self, cells: Cells, weights: Floats) -> Start:
        return Start(np.log(self.counts(cells, weights) + self.prior_count).ravel())

    def constrain(self, q: Floats, K: int) -> Draws:
        log_theta = q.reshape(len(q), -1, len(self.levels))
        return {"log_theta": log_theta - np.logaddexp.reduce(log_theta, axis=2)[:, :, None]}

    def unconstrain(self, draws: Draws) -> Floats:
        return draws["log_theta"].reshape(len(draws["log_theta"]), -1)

    def exact_draws(self, cells: Cells, weights: Floats, S: int, rng: Generator) -> Draws | None:
        return {"log_theta": log_dirichlet(self.counts(cells, weights) + self.prior_count, S, rng)}

    def log_likelihood(self, draws: Draws, cells: Cells) -> Floats:
        return draws["log_theta"][:, patterns_of(cells), level_places(cells)]

    def log_shares(self, draw: Draws, design: Floats) -> Floats:
        return np.asarray(draw["log_theta"][0][design[:, 0].astype(np.intp)])

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


def patterns_of(cells: Cells) -> Places:
    """Each cell's pattern, counted from 0."""
    return cells.rows[cells.row_of_cell, 0].astype(np.intp)
