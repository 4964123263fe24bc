"""The native engine for a table under one clamp: NUTS a column at a time, the others given.

A clamp of the record's whole sum ties the columns together, each through the records that all
columns keep inside the window. The tie is loose, and the columns differ: one takes steps of a
hundredth part of another's. So each iteration of a chain moves the columns in turn, each by a step
of its own size on its own sampled scale, given the other columns' terms. Each move keeps the joint
target as it is, and its gradient costs one column's. The compiled code of a gradient lets the other
chains run.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import share_out
from pyvws.engines._nutpie_chains import NO_START, STARTS
from pyvws.engines._nuts_steps import Adaptation, PhasePoint, nuts_step
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError
from pyvws.models.model import SampledScale
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import joint_draws
from pyvws.posterior.diagnostics import Diagnostics, diagnose, together
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import ColumnValue, JointTarget

_JITTER = 0.1  # Chains start uniformly within this distance of the rough fit, as scaled.
_NEAR = 20  # Points around the start that a column's first variances come from.
_AT_ONCE = 5  # Iterations between two looks at progress and interrupts.
_REMEDY = (
    "Check that the weights leave enough of the data, take predictors out of columns that have "
    "many, or choose a larger epsilon."
)


def sample_joint(
    target: JointTarget,
    settings: SamplerSettings,
    *,
    seed: int,
    progress: Progress | None = None,
) -> Posterior:
    """S = chains x draws of a table's clamped target; the same seed gives the same on any core
    count.

    One iteration moves the parameters of all columns, which are named as "income.beta". Diagnostics
    are the worst over all columns; an iteration diverges where some column's step does. `progress`
    is called with iterations done and in all. Raises ConvergenceError if a chain cannot start, and
    InputError for a family whose terms cannot be clamped.
    """
    began = time.perf_counter()
    columns = [
        _Column(density, sampled_scale(start))
        for density, start in zip(target.column_densities(), target.starts(), strict=True)
    ]
    chains = [
        _Chain(columns, target, settings, np.random.default_rng(stream))
        for stream in np.random.SeedSequence(seed).spawn(settings.chains)
    ]
    each = settings.warmup + settings.draws
    for done in range(0, each, _AT_ONCE):
        count = min(_AT_ONCE, each - done)
        share_out(partial(_Chain.advance, iterations=count), chains)
        if progress is not None:
            progress((done + count) * settings.chains, each * settings.chains)
    q = np.stack([chain.drawn for chain in chains])
    if not np.isfinite(q).all():
        raise ConvergenceError(f"The sampler returned infinite draws. {_REMEDY}")
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
        diagnostics=_diagnosed(target, q, sum(chain.diverged for chain in chains)),
        seconds=time.perf_counter() - began,
        engine="native",
    )


class _Column:
    """A column's density on its sampled scale, given the other columns' terms."""

    def __init__(
        self, density: Callable[[Floats, Floats], ColumnValue], scale: SampledScale
    ) -> None:
        self._density, self._scale = density, scale

    def at(self, z: Floats, others: Floats) -> PhasePoint:
        """The point at z (D_k,); it has seen q (D_k,) and the column's own terms (M,)."""
        q = np.empty(len(z))
        restore, pull_back = self._scale.kernels
        jacobian, state = restore(z, *self._scale.data, q)
        joined = self._density(q, others)
        value, slope = joined.log_density + jacobian, joined.gradient
        pull_back(state, q, *self._scale.data, slope)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return PhasePoint(z, -np.inf, np.zeros(len(z)), (q, joined.terms))
        return PhasePoint(z, value, slope, (q, joined.terms))


class _Chain:
    """One chain: a point of each column, and the draws (draws, D) after the warm-up so far."""

    def __init__(
        self,
        columns: list[_Column],
        target: JointTarget,
        settings: SamplerSettings,
        rng: np.random.Generator,
    ) -> None:
        self._columns, self._settings, self._rng = columns, settings, rng
        self._blocks = target.blocks()
        self._done = 0
        self.drawn = np.empty((settings.draws, target.dimension))
        self.diverged = 0
        M = target.distinct_records
        self._points = [self._first(k, np.zeros(M)) for k in range(len(columns))]
        self._adaptations = [self._near(k) for k in range(len(columns))]

    def advance(self, iterations: int) -> None:
        """Make some iterations, of the warm-up first."""
        for _ in range(iterations):
            diverged = [self._moved(k) for k in range(len(self._columns))]
            at = self._done - self._settings.warmup
            self._done += 1
            if at >= 0:
                self.diverged += any(diverged)
                for block, point in zip(self._blocks, self._points, strict=True):
                    self.drawn[at, block] = point.seen[0]

    def _moved(self, k: int) -> bool:
        """Move column k, the others given; whether its trajectory broke off."""
        others, adapted = self._others(k), self._adaptations[k]
        column = self._columns[k]
        step = nuts_step(
            lambda z: column.at(z, others),
            column.at(self._points[k].z, others),
            variances=adapted.variances,
            size=adapted.size,
            rng=self._rng,
        )
        self._points[k] = step.point
        if self._done < self._settings.warmup:
            adapted.after(step)
        return step.diverged

    def _others(self, k: int) -> Floats:
        """The sum of the terms (M,) of all columns but k."""
        total = np.zeros(len(self._points[k].seen[1]))
        for j, point in enumerate(self._points):
            if j != k:
                total += point.seen[1]
        return total

    def _first(self, k: int, others: Floats) -> PhasePoint:
        """A point near the rough fit of column k with a finite density."""
        block = self._blocks[k]
        for _ in range(STARTS):
            z = self._rng.uniform(-_JITTER, _JITTER, block.stop - block.start)
            point = self._columns[k].at(z, others)
            if point.value > -np.inf and point.slope.any():
                return point
        raise ConvergenceError(f"{NO_START} {_REMEDY}")

    def _near(self, k: int) -> Adaptation:
        others = self._others(k)
        return Adaptation(
            [self._first(k, others) for _ in range(_NEAR)],
            warmup=self._settings.warmup,
            target_accept=self._settings.target_accept,
        )


def _diagnosed(target: JointTarget, q: Floats, divergences: int) -> Diagnostics:
    """The worst diagnostics over the columns of draws (chains, draws, D)."""
    by_column = []
    for at, (column, block) in enumerate(zip(target.columns, target.blocks(), strict=True)):
        flat = q[:, :, block].reshape(-1, block.stop - block.start)
        compared = column.model.diagnosed(flat, column.cells.n_coefficients)
        compared = compared.reshape(*q.shape[:2], -1)
        by_column.append(diagnose(compared, 0 if at else divergences))
    return together(by_column, [column.column for column in target.columns])
