"""Where a weighted fit and its bounds come from: a model's own density."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws.bounds.joint import blockwise_joint_bounds, unit_terms
from pyvws.bounds.lipschitz import Accounting, LipschitzBounds
from pyvws.engines.engine import Engine, Progress, table_engine
from pyvws.engines.registry import STAN_ENGINES
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Likelihood, Model
from pyvws.models.registry import gives_probabilities
from pyvws.models.sequence import TableCells, TableModel, draws_of, joint_draws, whole_model
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior, together
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.log_likelihood import column_terms, shifted_blocks
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells
from pyvws.tables.design.units import Units, by_record

_SEEN_DRAWS = 100  # Draws that the share of records outside a window is taken over.


class FitProgress(Protocol):
    """Called while a fit runs: iterations done, in all, and the columns that are being sampled."""

    def __call__(self, done: int, total: int, doing: Sequence[str] = (), /) -> None: ...


class SampledFit(NamedTuple):
    """Draws, bounds of alpha_i l_i, and max_s |l_i| (N,), in nats."""

    posterior: Posterior
    bounds: LipschitzBounds
    maxima: Floats


class FitSource(Protocol):
    """A source of fits: it samples under weights (N,) and bounds the draws' log-likelihood.

    The source of a table also takes a weight for each column, (N, K). With `units` the weights and
    bounds are of H units, (H,) or (H, K), and a unit's records share its weight. With `exponents`
    (N,) the log-likelihood l_i of record i stands times e_i wherever l_i stands here.
    """

    @property
    def units(self) -> Units | None:
        """The units of privacy; None where a record is a unit."""

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: FitProgress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> SampledFit:
        """With a `clamp` the source clamps each term, in the fit and in the fit's bounds.

        The chains start from `previous`, a fit under other weights.
        """


@dataclass(frozen=True, slots=True)
class ModelSource:
    """The package's families under any engine: one fit a conditional, and bounds of them together.

    `model` and `cells` are a family and its cells, or those of all conditionals of a table. Given
    the weights the conditionals are independent, so their fits run side by side. The bounds of
    several are over all pairings of their draws. `accounting` says which figure searches aim at.
    """

    model: Model | TableModel
    cells: Cells | TableCells
    engine: Engine
    threshold: float = 1.0
    units: Units | None = None
    exponents: Floats | None = None
    accounting: Accounting = "papers"

    @property
    def whole(self) -> TableModel:
        """The model of all K conditionals, in the order of synthesis."""
        return whole_model(self.model, self.cells)

    def sample(
        self,
        weights: Floats,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: FitProgress | None,
        clamp: Clamp | None = None,
        previous: Posterior | None = None,
    ) -> SampledFit:
        """As `FitSource.sample`; draws of several conditionals are named "column.parameter"."""
        columns = self.whole.columns
        if clamp is None or (len(columns) == 1 and self.units is None):
            posterior = self._fitted(weights, settings, seed, progress, previous, clamp)
        else:
            target = JointTarget(columns, weights, clamp, self.cells.multiplicity, self.units)
            posterior = table_engine(self.engine, self.engine.name).sample_table(
                target, settings, seed=seed, progress=progress
            )
            if len(columns) == 1:
                posterior = replace(posterior, draws=draws_of(posterior.draws, columns[0].column))
        bounds, maxima = self.bounded(posterior, weights, clamp)
        return SampledFit(posterior, bounds if clamp is None else clamp.bounds(bounds), maxima)

    def bounded(
        self, posterior: Posterior, weights: Floats, clamp: Clamp | None = None
    ) -> tuple[LipschitzBounds, Floats]:
        """Bounds of alpha_i l_i at given draws before any clamp, and max_s |l_i| (N,), in nats."""
        columns = []
        for column in self.whole.columns:
            own = replace(posterior, draws=self.whole.own_draws(posterior.draws, column))
            places = column.places(self.cells.n_records)
            terms = column_terms(column.model, column.cells, own, clamp, places)
            discrete = clamp is None and gives_probabilities(column.model)
            columns.append(replace(terms, probability=discrete))
        if self.units is not None:
            pairs = zip(columns, self.units.kinds, strict=True)
            columns = [unit_terms(terms, kinds, posterior.n_draws) for terms, kinds in pairs]
        return blockwise_joint_bounds(
            columns,
            draws=posterior.n_draws,
            weights=weights,
            exponents=self.exponents if self.units is None else None,  # Sums of units have theirs.
            threshold=self.threshold,
            accounting=self.accounting,
        )

    def _fitted(
        self,
        weights: Floats,
        settings: SamplerSettings,
        seed: int,
        progress: FitProgress | None,
        previous: Posterior | None,
        clamp: Clamp | None,
    ) -> Posterior:
        columns = self.whole.columns
        K = len(columns)
        weights = by_record(weights, self.units)
        own = weights.T if weights.ndim == 2 else [weights] * K
        seeds = [seed]
        if K > 1:
            states = np.random.SeedSequence(seed).generate_state(K, np.uint64)
            seeds = [int(state >> np.uint64(1)) for state in states]
        tell = _Told(progress, [column.column for column in columns])

        def fit(place: int) -> Posterior:
            column = columns[place]
            before = previous
            if previous is not None and K > 1:
                before = replace(previous, draws=draws_of(previous.draws, column.column))
            return self.engine.sample(
                PseudoPosterior(
                    column.model,
                    column.cells,
                    column.own(own[place]),
                    clamp,
                    exponents=None if self.exponents is None else column.own(self.exponents),
                ),
                settings,
                seed=seeds[place],
                progress=progress if K == 1 else tell.of(place),
                previous=before,
            )

        if K == 1:
            return fit(0)

        if self.engine.name in STAN_ENGINES:  # Stan's programs run one after the other.
            return self._joined([fit(place) for place in range(K)], settings)
        sizes = [
            column.cells.n_cells * column.model.dimension(column.cells.n_coefficients)
            for column in columns
        ]
        longest_first = sorted(range(K), key=lambda place: -sizes[place])  # So none runs alone.
        contexts = [copy_context() for _ in columns]  # Threads do not inherit `one_core`.
        with ThreadPoolExecutor(min(K, usable_cores())) as pool:
            try:
                fits = pool.map(lambda place: contexts[place].run(fit, place), longest_first)
                posteriors = dict(zip(longest_first, fits, strict=True))
            except BaseException:
                tell.stop()
                raise
        return self._joined([posteriors[place] for place in range(K)], settings)

    def _joined(self, posteriors: list[Posterior], settings: SamplerSettings) -> Posterior:
        """The fits of all columns as one, whose draws are named "column.parameter"."""
        columns = self.whole.columns
        return Posterior(
            draws=joint_draws(
                {column.column: fit.draws for column, fit in zip(columns, posteriors, strict=True)}
            ),
            chains=settings.chains,
            diagnostics=together(
                [fit.diagnostics for fit in posteriors], [column.column for column in columns]
            ),
            seconds=sum(fit.seconds for fit in posteriors),
            engine=" and ".join(dict.fromkeys(fit.engine for fit in posteriors)),
            engines=tuple(fit.engine for fit in posteriors),
        )


class _Told:
    """Progress of several fits side by side, told as one; and the word that stops them all."""

    def __init__(self, progress: FitProgress | None, columns: Sequence[str]) -> None:
        self._progress, self._columns = progress, columns
        self._done: list[int | None] = [None] * len(columns)  # None before a fit begins.
        self._stopped = threading.Event()

    def stop(self) -> None:
        """End each fit the next time it tells its progress."""
        self._stopped.set()

    def of(self, place: int) -> Progress:
        """What the fit at a place tells its progress."""

        def tell(done: int, total: int) -> None:
            if self._stopped.is_set():
                raise KeyboardInterrupt
            self._done[place] = done
            if self._progress is not None:
                began = [
                    (column, done)
                    for column, done in zip(self._columns, self._done, strict=True)
                    if done is not None
                ]
                now = [column for column, done in began if done < total]
                self._progress(sum(done for _, done in began), total * len(self._columns), now)

        return tell


def clamps_everything(
    model: Likelihood,
    cells: Cells | TableCells | Units,
    posterior: Posterior,
    weights: Floats,
    clamp: Clamp,
) -> bool:
    """Whether the posterior is the prior: each term is one end of the window throughout.

    Terms at the high end under some draws and at the low end under others do tell draws apart.
    """
    least = cells.smallest_positive_weights(weights)
    used = np.isfinite(least)
    low, high = clamp.window
    first = np.empty(0)
    for rows, columns, block in shifted_blocks(model, posterior, cells, clamp):
        kept = used[columns]
        terms = np.nan_to_num(block()[:, kept] * least[columns][kept], nan=-np.inf)
        clamped = np.clip(terms, low, high)
        if rows.start == 0:
            first = clamped[0]
        if ((low < terms) & (terms < high)).any() or (clamped != first).any():
            return False
    return True


@dataclass(frozen=True, slots=True)
class OutsideShares:
    """How often terms lie outside a clamp's window, over evenly spaced draws.

    `by_draw` (S',) is the share of records, or units, outside at each of about a hundred draws, or
    of all draws where they are fewer. `by_record` (N,) is the share of these draws at which a
    record is outside: the larger, the less the fit takes from it. Records of weight 0 do not count
    in `by_draw`, and are never outside.
    """

    by_draw: Floats
    by_record: Floats


def share_outside(
    model: Likelihood,
    cells: Cells | TableCells | Units,
    posterior: Posterior,
    weights: Floats,
    clamp: Clamp,
) -> OutsideShares:
    """The shares of terms outside the window under weights (N,), or (H,) of units."""
    step = max(1, posterior.n_draws // _SEEN_DRAWS)
    seen = replace(posterior, draws=posterior.block(slice(None, None, step)))
    counted = np.ones(len(weights)) if cells.multiplicity is None else cells.multiplicity
    of_record = np.column_stack([cells.cell_of_record, weights])
    pairs, place = np.unique(of_record, axis=0, return_inverse=True)
    cell, weight = pairs[:, 0].astype(np.intp), pairs[:, 1]
    count = np.where(weight > 0, np.bincount(place.ravel(), weights=counted), 0.0)
    low, high = clamp.window
    by_draw, by_pair = np.zeros(seen.n_draws), np.zeros(len(pairs))
    for rows, columns, block in shifted_blocks(model, seen, cells, clamp):
        pairs_of = slice(*np.searchsorted(cell, [columns.start, columns.stop]))
        with np.errstate(invalid="ignore"):
            terms = block()[:, cell[pairs_of] - columns.start] * weight[pairs_of]
        outside = ~((low <= terms) & (terms <= high)) & (weight[pairs_of] > 0)
        by_draw[rows] += outside @ count[pairs_of]
        by_pair[pairs_of] += outside.sum(axis=0)
    by_record = (by_pair / seen.n_draws)[place.ravel()]
    return OutsideShares(by_draw / max(float(count.sum()), 1.0), by_record)
