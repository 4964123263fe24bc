"""The native engine: NUTS in compiled code over this package's compiled densities.

Coefficients are sampled through `pyvws.models.sampled_scale`, a change of variables that leaves the
target as it is, so predictors in any unit mix alike and small scales make no funnel.

A clamped target can have several modes. Chains then start in each of the modes that
`PseudoPosterior.starts` finds, and where the chains disagree they go on by steps that lead from one
mode to another.

A clamp of the record's whole sum ties a table's columns together, each through the records that all
columns keep inside the window. The tie is loose, and the columns differ: one takes steps of a
hundredth part of another's. So each iteration of a chain moves the columns in turn, given the other
columns' terms. A conditional table moves row by row (`pyvws.engines.table_rows`), and a rare level
with all rows that are its own (`pyvws.engines.table_groups`). Another column moves by a step of
NUTS, of its own size on its own sampled scale, whose gradient costs one column's. Each move keeps
the joint target as it is.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from importlib.metadata import version
from threading import Timer
from typing import Any

import numpy as np
from scipy.special import logsumexp

from pyvws._base.checks import Bools, Data, Floats
from pyvws._base.cores import steady_sums, usable_cores
from pyvws.engines import nuts_steps
from pyvws.engines.compiled_target import DRAW, CompiledTarget, function_list
from pyvws.engines.engine import Progress, failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.table_groups import groups_of
from pyvws.engines.table_rows import rows_of, with_rows
from pyvws.errors import ConvergenceError
from pyvws.models.conditional_table import ConditionalTable, patterns_of
from pyvws.models.model import SampledScale, Start, level_places
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import draws_of, joint_draws
from pyvws.posterior.draws import (
    ESS_LIMIT,
    RHAT_LIMIT,
    Diagnostics,
    Posterior,
    diagnose,
    independent_draws,
    together,
)
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior, of_one_record

_STARTS = 50  # Points to try before a chain gives up.
_NEAR = 20  # Points around the start that the first variances come from.
_FIRST_WINDOW, _GROWTH = 10, 1.5
_LAST = 0.1  # Share of the warm-up in which the step size alone adapts.
_TRIED, _LONGEST_TRIAL = 100, 2.0  # Iterations of each phase of a trial, and its seconds.
_NO_WORDS = np.zeros(0, dtype=np.int64)
_POLL_SECONDS = 0.02  # Between two looks at progress and interrupts.
_NO_START = (
    "The sampler could not start: the density is not finite near the rough fit, or does not change "
    "there."
)


class Chain:
    """One chain over blocks of parameters, each with a `CompiledTarget`, and what it has drawn.

    `blocks` (K,) holds the widths. Chains start within `jitter` of 0, or at one of the points
    `first` (any, D) that come before. Blocks under a clamp have terms of M `records`. A chain keeps
    the last of each `thin` iterations. Where some are conditional tables, `rows` are those of
    `with_rows`, and only the others have a target among the `columns`.
    """

    def __init__(
        self,
        columns: Sequence[CompiledTarget],
        blocks: Sequence[int],
        settings: SamplerSettings,
        rng: np.random.Generator,
        *,
        jitter: float,
        first: Floats | None = None,
        records: int = 0,
        rows: Data | None = None,
        thin: int = 1,
    ) -> None:
        D = sum(blocks)
        self._columns, self._settings, self._rng = columns, settings, rng
        self._blocks = np.cumsum([0, *blocks])
        self._starts = rng.uniform(-jitter, jitter, (_STARTS, D))
        self._near = rng.uniform(-jitter, jitter, (_NEAR, D))
        if first is not None:
            self._starts = np.concatenate([first, self._starts])
        self._records = max([records, *(column.records for column in columns)])
        if rows is None:
            rows = np.arange(len(blocks)), np.empty(D), None
        self._density_of, self._first, self._rows = rows
        self._counts, self._thin = np.zeros(5, dtype=np.int64), thin
        self.drawn = np.empty((settings.draws, D))

    def run(self) -> bool:
        """Fill `drawn`; ends early once stopped. Whether it could start."""
        words = [column.arguments.words for column in self._columns]
        # A copy, into which the chain writes; of a column without a clamp, none.
        own_words = np.concatenate([_NO_WORDS, *words]) if self._records else words[0]
        ends = window_ends(self._settings.warmup)
        started: bool = nuts_steps.sample_chain(
            function_list([column.density for column in self._columns]),
            function_list([column.draw for column in self._columns], DRAW),
            own_words,
            np.cumsum([0, *map(len, words)]),
            self._blocks,
            self._density_of,
            self._first,
            self._rows,
            self._rng,
            self._starts,
            self._near,
            self._records,
            ends,
            round((1.0 - _LAST) * len(ends)),
            self._settings.target_accept,
            self._thin,
            self.drawn,
            self._counts,
        )
        return started

    def stop(self) -> None:
        """Let `run` end at its next slope."""
        self._counts[nuts_steps.STOP] = 1

    @property
    def iterations(self) -> int:
        """Iterations in all."""
        return self._settings.warmup + self._thin * self._settings.draws

    @property
    def done(self) -> int:
        """Iterations so far."""
        return int(self._counts[nuts_steps.DONE])

    @property
    def diverged(self) -> int:
        """Iterations after the warm-up in which some block's trajectory broke off."""
        return int(self._counts[nuts_steps.DIVERGED])

    @property
    def slopes(self) -> tuple[int, int]:
        """How often a slope was computed in the warm-up, and after it."""
        warm = int(self._counts[nuts_steps.WARM])
        return warm, int(self._counts[nuts_steps.LEAPFROGS]) - warm


def run_chains(chains: Sequence[Chain], progress: Progress | None, remedy: str) -> Floats:
    """Run all chains and return their draws (chains, draws, D); any exception stops them.

    A chain is one call of compiled code in a thread, as many at once as there are usable cores.
    Raises ConvergenceError, which ends in the remedy, if a chain cannot start or draws are
    infinite.
    """
    total = sum(chain.iterations for chain in chains)
    if progress is not None:
        progress(0, total)  # A fit that ends before the first look has been told of as well.
    with ThreadPoolExecutor(min(len(chains), usable_cores())) as pool:
        waiting = {pool.submit(chain.run) for chain in chains}
        try:
            while waiting:
                ended, waiting = wait(waiting, _POLL_SECONDS, FIRST_EXCEPTION)
                if not all(future.result() for future in ended):
                    raise ConvergenceError(f"{_NO_START} {remedy}")
                if progress is not None:
                    progress(sum(chain.done for chain in chains), total)
        finally:
            for future in waiting:
                future.cancel()
            for chain in chains:
                chain.stop()
    q = np.stack([chain.drawn for chain in chains])
    if not np.isfinite(q).all():
        raise ConvergenceError(f"The sampler returned infinite draws. {remedy}")
    return q


@dataclass(frozen=True, slots=True)
class Trial:
    """Seconds of a fit's start and of one slope, and how many `slopes` an iteration takes.

    They are a processor's, of a short chain on the target of a run.
    """

    start: float
    slope: float
    slopes: float

    @classmethod
    def of(cls, target: PseudoPosterior, settings: SamplerSettings) -> Trial:
        """A trial of at most 200 iterations, which ends after two seconds of the clock."""
        began = time.thread_time()
        start, D = target.starts()[0], target.dimension
        started = time.thread_time() - began
        compiled = CompiledTarget(target, sampled_scale(start))
        settings = replace(settings, warmup=_TRIED, draws=_TRIED)
        for stops in (True, False):  # The first one compiles.
            chain = Chain([compiled], [D], settings, np.random.default_rng(1), jitter=_JITTER)
            timer = Timer(_LONGEST_TRIAL, chain.stop)
            chain.stop() if stops else timer.start()
            began = time.thread_time()
            chain.run()
            spent = time.thread_time() - began
            timer.cancel()
        slopes, drawn = sum(chain.slopes), chain.done - _TRIED
        each = chain.slopes[1] / drawn if drawn > 0 else slopes / max(1, chain.done)
        return cls(started, spent / max(1, slopes), each)


def window_ends(warmup: int) -> Bools:
    """The iterations (warmup,) after which a window of the variances ends, each 1.5 times as long.

    The variances take the window before with the one that runs, so the last end leaves room.
    """
    is_end = np.zeros(warmup, dtype=np.bool_)
    at = length = float(_FIRST_WINDOW)
    while at + length <= (1.0 - _LAST) * warmup:
        is_end[int(at) - 1] = True
        length *= _GROWTH
        at += length
    return is_end


_PICKS = 50  # Draws of an earlier fit that a chain tries to start from.
REFIT_SHARE = 0.5  # Share of the warm-up kept in a fit that starts from another.
_JITTER = 1.0  # Chains start uniformly within this distance of the rough fit, as scaled.
_JITTER_IN_WINDOW = 0.1  # Under a clamp: further out, records can leave the window for good.


def native_version() -> str:
    return f"numba {version('numba')}"


def evaluate_one_record() -> None:
    """Evaluate the compiled density of a table of one record: what fails here fails in a run."""
    target = of_one_record(find_model("poisson"))
    target.density_and_gradient()(np.zeros(target.dimension))


@dataclass(frozen=True, slots=True)
class NativeEngine:
    """NUTS without R, Stan or a compiler. The same seed gives the same draws on any core count."""

    name: str = "native"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        began = time.perf_counter()
        if target.clamp is not None:
            previous = None  # Its draws can lie where a clamp leaves no slope.
        else:
            S, alone = settings.chains * settings.draws, np.random.default_rng(seed)
            exact = target.model.exact_draws(target.cells, target.weights, S, alone)
            if exact is not None:
                seconds = time.perf_counter() - began
                return Posterior(exact, settings.chains, independent_draws(S), seconds, self.name)
        if isinstance(target.model, ConditionalTable):
            fit = sample_joint(target.joint(), settings, seed=seed, progress=progress)
            return replace(fit, draws=draws_of(fit.draws, "y"))
        starts = target.starts()
        scale_of_start = starts[0].scale if target.clamp is None else None
        shaped = scale_of_start is not None and scale_of_start.shaped
        settings = settings.after(previous, share=REFIT_SHARE, shaped=shaped)
        D, K = target.dimension, target.cells.n_coefficients
        jitter = _JITTER if target.clamp is None else _JITTER_IN_WINDOW
        drawn = None if previous is None else target.model.unconstrain(previous.draws)
        chains = []
        for start, count, stream in _shared(starts, settings.chains, seed):
            scale = sampled_scale(start)
            compiled = CompiledTarget(target, scale)
            for own in stream.spawn(count):
                rng = np.random.default_rng(own)
                first = None if drawn is None else _picked(drawn, scale, own)
                chains.append(Chain([compiled], [D], settings, rng, jitter=jitter, first=first))
        q = run_chains(chains, progress, failure_remedy(target.cells.rows))
        diverging = sum(chain.diverged for chain in chains)

        def judged(q: Floats, divergences: int) -> Diagnostics:
            compared = target.model.diagnosed(q.reshape(-1, D), K)
            return diagnose(compared.reshape(*q.shape[:2], -1), divergences)

        diagnostics = judged(q, diverging)
        if target.clamp is not None and not diagnostics.rhat_max <= RHAT_LIMIT:
            moved = moved_between_modes(target, q, seed)
            again = judged(moved, 0)
            if again.rhat_max < diagnostics.rhat_max:
                q, diagnostics = moved, again
        draws, seconds = target.model.constrain(q.reshape(-1, D), K), time.perf_counter() - began
        return Posterior(draws, settings.chains, diagnostics, seconds, self.name)

    def sample_table(
        self,
        target: JointTarget,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> Posterior:
        return sample_joint(target, settings, seed=seed, progress=progress)


def _shared(
    starts: Sequence[Start], chains: int, seed: int
) -> Iterator[tuple[Start, int, np.random.SeedSequence]]:
    """Each start with its share of the chains, and a source of their seeds."""
    used = starts[:chains]
    streams = np.random.SeedSequence(seed).spawn(len(used))
    for at, (start, stream) in enumerate(zip(used, streams, strict=True)):
        yield start, len(range(at, chains, len(used))), stream


def _picked(drawn: Floats, scale: SampledScale, stream: np.random.SeedSequence) -> Floats:
    """Points (few, D) of a previous fit's draws (S, D) on a scale, for a chain to start from."""
    picks = np.random.default_rng(stream.spawn(1)[0]).integers(len(drawn), size=_PICKS)
    return np.stack([scale.inverse(drawn[at]) for at in picks])


_REMEDY = (
    "Check that the weights leave enough of the data, take predictors out of columns that have "
    "many, or choose a larger epsilon."
)


_LONGER = 4  # Times the iterations where chains of conditional tables alone fail.


def sample_joint(
    target: JointTarget, settings: SamplerSettings, *, seed: int, progress: Progress | None = None
) -> Posterior:
    """S = chains x draws of a table's clamped target; the same seed gives the same on any core
    count.

    One iteration moves the parameters of all columns, which are named as "income.beta". Diagnostics
    are the worst over all columns; an iteration diverges where some column's step does. Where
    chains of conditional tables alone fail them, they are made once more, four times as long, and
    every fourth iteration is a draw. `progress` is called with iterations done and in all. Raises
    ConvergenceError if a chain cannot start, and InputError for a family that cannot be clamped.
    """
    began = time.perf_counter()
    rows = rows_of(target)
    others, own = np.zeros((2, target.distinct_units))
    groups = groups_of(target, rows)
    columns = []
    if None in rows:  # Tables have no scale, and start at draws of their own.
        by_column = zip(target.given_others(others, own), target.starts(), rows, strict=True)
        columns = [
            CompiledTarget(given, sampled_scale(start))
            for given, start, table in by_column
            if table is None
        ]
    widths = [block.stop - block.start for block in target.blocks()]
    for thin in (1,) if None in rows else (1, _LONGER):
        streams = np.random.SeedSequence(seed).spawn(settings.chains)
        chains = [
            Chain(
                *(columns, widths, settings, rng),
                jitter=_JITTER_IN_WINDOW,
                records=len(own),
                rows=with_rows(target, rows, groups, rng),
                thin=thin,
            )
            for rng in map(np.random.default_rng, streams)
        ]
        q = run_chains(chains, progress, _REMEDY)
        diagnostics = diagnosed(target, q, sum(chain.diverged for chain in chains))
        if settings.chains * settings.draws < ESS_LIMIT or not diagnostics.problems():
            break
    flat = q.reshape(-1, target.dimension)
    return Posterior(
        draws=joint_draws(
            {
                column.column: column.model.constrain(
                    np.ascontiguousarray(flat[:, block]), column.cells.n_coefficients
                )
                for column, block in zip(target.columns, target.blocks(), strict=True)
            }
        ),
        chains=settings.chains,
        diagnostics=diagnostics,
        seconds=time.perf_counter() - began,
        engine="native",
    )


def diagnosed(target: JointTarget, q: Floats, divergences: int) -> Diagnostics:
    """The worst diagnostics over the columns of draws (chains, draws, D).

    A conditional table's are of the log shares that some record has.
    """
    by_column = []
    for at, (column, block) in enumerate(zip(target.columns, target.blocks(), strict=True)):
        flat, cells = q[:, :, block].reshape(-1, block.stop - block.start), column.cells
        if isinstance(column.model, ConditionalTable) and cells.n_cells:
            shares = column.model.constrain(flat, cells.n_coefficients)["log_theta"]
            compared = shares[:, patterns_of(cells), level_places(cells)]
        else:
            compared = column.model.diagnosed(flat, cells.n_coefficients)
        by_column.append(diagnose(compared.reshape(*q.shape[:2], -1), 0 if at else divergences))
    return together(by_column, [column.column for column in target.columns])


_FREEDOM = 5.0  # Degrees of freedom of the components: heavier tails than a posterior has.
_STEPS = 10  # Proposals for each draw that is kept.
_FIRST = 100  # Draws that are dropped.


def moved_between_modes(target: PseudoPosterior, q: Floats, seed: int) -> Floats:
    """Draws (chains, draws, D) of the target from draws q (chains, draws, D) of separate chains.

    Each chain knows the shape of its own mode, and no chain the modes' shares. So each chain goes
    on by independence Metropolis steps: a proposal comes from a mixture with one heavy-tailed
    component a chain, a t distribution with the chain's mean and covariance, whatever the state.
    The steps keep the target as it is and go from one mode to another at once. In many dimensions,
    or where a mode is far from elliptic, few proposals are accepted, which the diagnostics show.
    """
    chains, draws, _ = q.shape
    density = target.density_and_gradient()
    with steady_sums():
        proposals = _Proposals(q)
        moved = np.empty_like(q)
        for chain, stream in enumerate(np.random.SeedSequence(seed).spawn(chains)):
            rng = np.random.default_rng(stream)
            state = q[chain, -1]
            weight = density(state)[0] - proposals.log_density(state[None])[0]
            for at in range(-_FIRST, draws):
                points = proposals.draw(rng, _STEPS)
                tests = np.log(rng.random(_STEPS))
                likely = proposals.log_density(points)
                for point, test, below in zip(points, tests, likely, strict=True):
                    new = density(point)[0] - below
                    if test < new - weight:  # Not where the density is not a number.
                        state, weight = point, new
                if at >= 0:
                    moved[chain, at] = state
    return moved


class _Proposals:
    """The mixture of t distributions, one component a chain of q (chains, draws, D)."""

    def __init__(self, q: Floats) -> None:
        self._means = q.mean(axis=1)
        self._roots = np.array([_root(chain) for chain in q])
        self._log_scales = np.log(np.diagonal(self._roots, axis1=1, axis2=2)).sum(axis=1)

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """Points (count, D)."""
        D = self._means.shape[1]
        mode = rng.integers(len(self._means), size=count)
        steps = rng.standard_normal((count, D))
        steps /= np.sqrt(rng.chisquare(_FREEDOM, size=(count, 1)) / _FREEDOM)
        return np.asarray(self._means[mode] + np.einsum("nij,nj->ni", self._roots[mode], steps))

    def log_density(self, points: Floats) -> Any:
        """The log density of points (n, D), up to a constant."""
        D = points.shape[1]
        gaps = points[None] - self._means[:, None]
        scaled = np.linalg.solve(self._roots, np.swapaxes(gaps, 1, 2))
        squares = (scaled**2).sum(axis=1)
        terms = -0.5 * (_FREEDOM + D) * np.log1p(squares / _FREEDOM)
        return logsumexp(terms - self._log_scales[:, None], axis=0) - math.log(len(self._means))


def _root(draws: Floats) -> Floats:
    """The Cholesky factor (D, D) of the draws' covariance, never singular."""
    spread = np.maximum(draws.std(axis=0), 1e-12 * (1.0 + np.abs(draws.mean(axis=0))))
    standard = (draws - draws.mean(axis=0)) / spread
    correlation = standard.T @ standard / len(draws) + 1e-6 * np.eye(len(spread))
    return np.asarray(spread[:, None] * np.linalg.cholesky(correlation))
