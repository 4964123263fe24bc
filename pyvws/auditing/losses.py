"""The privacy loss of one posterior draw between two runs, each with its own weights.

With weights alpha on a table D and alpha' on its neighbour D', both recomputed, a draw theta loses

    L(theta) = sum_j alpha_j l_j(theta) - sum_j alpha'_j l_j(theta) - log(Z / Z'),

where each sum is over its own table's records. The priors are the same and cancel. Conditional
tables have Dirichlet posteriors, so their loss is exact. Elsewhere the ratio of the normalizers is
estimated from draws of both sides by Bennett's acceptance ratio [bennett1976].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, gammaln

from pyvws._base.checks import Floats
from pyvws.models.conditional_table import ConditionalTable, log_dirichlet
from pyvws.models.sequence import Conditional, TableCells, TableModel, draws_of
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.posterior.log_likelihood import log_likelihood_blocks, shifted_blocks
from pyvws.release.posterior import FittedRun
from pyvws.tables.design.units import Units, by_record

_DRAWS = 4_000  # Of a closed form, from each side.
_TAIL = 0.99
_HALVINGS = 3  # Of the path of weights between two runs.
_UNKNOWN = 0.5  # Nats of standard error, above which a ratio of normalizers is not told.

Between = Callable[[float], "Fitted"]
"""The fit under weights that lie a share between those of two runs."""


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weighted posterior that a run drew from.

    Its weights (N,) or (N, K) are of the records, in its K conditionals. Under a clamp they are of
    the units, (H,), where a run has any, and `model` and `cells` have the terms that are clamped.
    """

    model: TableModel
    cells: TableCells | Units
    weights: Floats
    posterior: Posterior
    clamp: Clamp | None

    @classmethod
    def of(cls, run: FittedRun) -> Fitted:
        """The last fit of a run; survey weights that are exponents are in its weights."""
        return cls.weighted(run, run.final.weights, run.final.posterior)

    @classmethod
    def weighted(cls, run: FittedRun, weights: Floats, posterior: Posterior) -> Fitted:
        """A fit of a run's table under other weights of its records, or units."""
        clamp, exponents = run.final.clamp, run.table.exponents
        if clamp is None:
            weights = by_record(weights, run.loop.source.units)
        if exponents is not None:
            weights = (weights.T * exponents).T
        return cls(run.loop.model, run.loop.cells, weights, posterior, clamp)

    @property
    def columns(self) -> tuple[Conditional, ...]:
        """The K conditionals."""
        return self.model.columns

    @property
    def exact(self) -> bool:
        """Whether each conditional is a table, whose posterior is known without a clamp."""
        tables = all(isinstance(column.model, ConditionalTable) for column in self.columns)
        return tables and self.clamp is None

    @property
    def prior_count(self) -> float | None:
        """The fewest records that a conditional table's prior counts for a level; None without."""
        models = (column.model for column in self.columns)
        counts = (model.prior_count for model in models if isinstance(model, ConditionalTable))
        return min(counts, default=None)

    @property
    def parameters(self) -> list[Floats]:
        """The Dirichlet parameters (P, L) of each conditional that is a table."""
        return [
            column.model.prior_count + column.model.counts(column.cells, self.own_weights(place))
            for place, column in enumerate(self.columns)
            if isinstance(column.model, ConditionalTable)
        ]

    def own_weights(self, place: int) -> Floats:
        """The weights (n,) of the records of the conditional at a place."""
        weights = self.weights if self.weights.ndim == 1 else self.weights[:, place]
        return self.columns[place].own(weights)

    def weighted_sums(self, posterior: Posterior) -> Floats:
        """sum_j alpha_j l_j (S,) of this run's records at any draws, in nats; of clamped terms."""
        sums = np.zeros(posterior.n_draws)
        if self.clamp is not None:
            of_record = np.column_stack([self.cells.cell_of_record, self.weights])
            pairs, counts = np.unique(of_record, axis=0, return_counts=True)
            cell, low, high = pairs[:, 0].astype(np.intp), *self.clamp.window
            for rows, cells, block in shifted_blocks(self.model, posterior, self.cells, self.clamp):
                own = (cells.start <= cell) & (cell < cells.stop) & (pairs[:, 1] > 0.0)
                terms = block()[:, cell[own] - cells.start] * pairs[own, 1]
                sums[rows] += np.clip(terms, low, high) @ counts[own]
            return sums
        for place, column in enumerate(self.columns):
            several = len(self.columns) > 1
            draws = draws_of(posterior.draws, column.column) if several else posterior.draws
            weights = column.cells.weight_sums(self.own_weights(place))
            own = replace(posterior, draws=draws)
            for rows, cells, block in log_likelihood_blocks(column.model, own, column.cells):
                counted = weights[cells] > 0.0  # A record of weight 0 counts not at all.
                sums[rows] += block()[:, counted] @ weights[cells][counted]
        return sums


@dataclass(frozen=True, slots=True)
class Loss:
    """The loss of one draw in nats, at draws of either run; larger = less private.

    - `medians`: The median at draws of the first run, and at those of the second.
    - `tail`: The loss that 99 % of draws stay below, the larger of both.
    - `delta`: E[(1 - exp(epsilon - L))_+] at an epsilon, the share that the epsilon leaves out.
    - `standard_error`: Of the ratio of normalizers: 0 for a closed form, infinite where draws of
      the two runs do not meet, so that the loss is not estimated.
    """

    medians: tuple[float, float]
    tail: float
    delta: float
    standard_error: float

    @property
    def known(self) -> bool:
        """Whether the figures tell something: the loss is exact, or its error is at most 1/2."""
        return self.standard_error <= _UNKNOWN


def loss(
    first: Fitted,
    second: Fitted,
    epsilon: float,
    rng: np.random.Generator,
    *,
    between: Between | None = None,
) -> Loss:
    """The loss between two runs; `delta` is at `epsilon`.

    Where draws of the two do not meet, `between` makes fits on the way, three halvings at most.
    """
    if first.exact and second.exact:
        both = (_of_tables(first, second, rng), _of_tables(second, first, rng))
        return _told(*both, epsilon, 0.0)
    at_first, at_second = _gaps(first, second)
    ratio, error = _along(first, second, between, (0.0, 1.0), _HALVINGS)
    return _told(at_first - ratio, ratio - at_second, epsilon, error)


def _gaps(first: Fitted, second: Fitted) -> tuple[Floats, Floats]:
    """log q - log q' at the draws of each side, where q and q' are not normalized."""
    at = (first.posterior, second.posterior)
    at_first, at_second = (first.weighted_sums(x) - second.weighted_sums(x) for x in at)
    return at_first, at_second


def _effective(fitted: Fitted) -> float:
    """How many independent draws the fit's are worth."""
    return min(fitted.posterior.diagnostics.ess_bulk_min, float(fitted.posterior.n_draws))


def _told(at_first: Floats, at_second: Floats, epsilon: float, error: float) -> Loss:
    both = (at_first, at_second)
    return Loss(
        medians=(float(np.median(at_first)), float(np.median(at_second))),
        tail=max(float(np.quantile(each, _TAIL)) for each in both),
        delta=max(float(np.maximum(-np.expm1(epsilon - each), 0.0).mean()) for each in both),
        standard_error=error,
    )


def _of_tables(first: Fitted, second: Fitted, rng: np.random.Generator) -> Floats:
    """log p(theta) - log p'(theta) (S,) at draws of the first run, of conditional tables."""
    found = np.zeros(_DRAWS)
    for own, other in zip(first.parameters, second.parameters, strict=True):
        for pattern in np.flatnonzero((own != other).any(axis=1)):
            a, b = own[pattern], other[pattern]
            found += log_dirichlet(a, _DRAWS, rng) @ (a - b)
            found += gammaln(a.sum()) - gammaln(a).sum() - gammaln(b.sum()) + gammaln(b).sum()
    return found


def log_ratio(
    at_first: Floats, at_second: Floats, first_size: float, second_size: float
) -> tuple[float, float]:
    """log(Z / Z') and its standard error, from log q - log q' at draws of each side.

    The sizes are effective numbers of draws. Where the draws do not overlap, the error is large or
    infinite.
    """
    every = np.concatenate([at_first, at_second])
    if not np.isfinite(every).all():
        return float("nan"), float("inf")
    offset = np.log(len(at_first) / len(at_second))

    def gap(ratio: float) -> float:
        left = expit(-(at_first - ratio + offset)).sum()
        return float(left - expit(at_second - ratio + offset).sum())

    reach = 50.0 + abs(offset)
    ratio = float(brentq(gap, every.min() - reach, every.max() + reach))
    apart = np.clip(0.5 * (every - ratio + offset), -350.0, 350.0)
    overlap = max(float((0.25 / np.cosh(apart) ** 2).mean()), 1e-300)
    size = first_size + second_size
    share = first_size / size
    variance = (1.0 / overlap - 1.0 / (share * (1.0 - share))) / size
    return ratio, float(np.sqrt(max(variance, 0.0)))


def _along(
    first: Fitted, second: Fitted, between: Between | None, span: tuple[float, float], halvings: int
) -> tuple[float, float]:
    """`log_ratio` of two fits on a path of weights, by fits between where draws are apart."""
    gaps = _gaps(first, second)
    ratio, error = log_ratio(*gaps, _effective(first), _effective(second))
    if between is None or error <= 0.5 * _UNKNOWN or not halvings:
        return ratio, error
    middle = 0.5 * (span[0] + span[1])
    fit = between(middle)
    halves = (
        _along(first, fit, between, (span[0], middle), halvings - 1),
        _along(fit, second, between, (middle, span[1]), halvings - 1),
    )
    ratios, errors = zip(*halves, strict=True)
    return sum(ratios), float(np.hypot(*errors))
