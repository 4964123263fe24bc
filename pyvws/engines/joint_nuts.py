"""The native engine for a table under one clamp: a column moves at a time, the others given.

A clamp of the record's whole sum ties the columns together, each through the records that all
columns keep inside the window. The tie is loose, and the columns differ: one takes steps of a
hundredth part of another's. So each iteration of a chain moves the columns in turn, given the other
columns' terms. A conditional table moves row by row (`pyvws.engines.table_rows`), and needs no
warm-up of its own. Another column moves by a step of NUTS, of its own size on its own sampled
scale, whose gradient costs one column's. Each move keeps the joint target as it is. A chain is one
call of compiled code, which lets the other chains run.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

import numpy as np
from numba.core import types
from numba.typed import List
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws.engines import _nuts_steps as compiled
from pyvws.engines._compiled_target import DENSITY, DRAW, CompiledTarget
from pyvws.engines._nutpie_chains import NO_START, STARTS
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.table_rows import TableRows, rows_of, with_rows
from pyvws.errors import ConvergenceError
from pyvws.models.conditional_table import ConditionalTable, patterns_of
from pyvws.models.model import level_places
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import joint_draws
from pyvws.posterior.diagnostics import Diagnostics, diagnose, together
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget

_JITTER = 0.1  # Chains start uniformly within this distance of the rough fit, as scaled.
_NEAR = 20  # Points around the start that a column's first variances come from.
_FIRST_WINDOW, _GROWTH = 10, 1.5
_LAST = 0.1  # Share of the warm-up in which the step size alone adapts.
_POLL_SECONDS = 0.02  # Between two looks at progress and interrupts.
_REMEDY = (
    "Check that the weights leave enough of the data, take predictors out of columns that have "
    "many, or choose a larger epsilon."
)


def sample_joint(
    target: JointTarget, settings: SamplerSettings, *, seed: int, progress: Progress | None = None
) -> Posterior:
    """S = chains x draws of a table's clamped target; the same seed gives the same on any core
    count.

    One iteration moves the parameters of all columns, which are named as "income.beta". Diagnostics
    are the worst over all columns; an iteration diverges where some column's step does. `progress`
    is called with iterations done and in all. Raises ConvergenceError if a chain cannot start, and
    InputError for a family whose terms cannot be clamped.
    """
    began = time.perf_counter()
    rows = rows_of(target)
    scales: list[Any] = [None] * len(rows)  # Tables have none, and start at draws of their own.
    if None in rows:
        scales = [sampled_scale(start) for start in target.starts()]
    chains = [
        _Chain(target, rows, scales, settings, np.random.default_rng(stream))
        for stream in np.random.SeedSequence(seed).spawn(settings.chains)
    ]
    _run(chains, settings, progress)
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
        diagnostics=diagnosed(target, q, sum(chain.diverged for chain in chains)),
        seconds=time.perf_counter() - began,
        engine="native",
    )


class _Chain:
    """One chain: what its compiled code reads, its counts, and its draws (draws, D)."""

    def __init__(
        self,
        target: JointTarget,
        rows: Sequence[TableRows | None],
        scales: Sequence[Any],
        settings: SamplerSettings,
        rng: np.random.Generator,
    ) -> None:
        self._settings, self._rng = settings, rng
        self._others, self._own = np.zeros((2, target.distinct_units))
        self._columns = [
            CompiledTarget(given, scale)
            for given, scale, own in zip(
                target.given_others(self._others, self._own), scales, rows, strict=True
            )
            if own is None
        ]
        self._blocks = np.array([0, *(block.stop for block in target.blocks())])
        self._rows = with_rows(target, rows, rng)
        self._counts = np.zeros(4, dtype=np.int64)
        self.drawn = np.empty((settings.draws, target.dimension))

    def run(self) -> None:
        """Fill `drawn`; ends early once stopped. Raises ConvergenceError if it cannot start."""
        words = [column.arguments.words for column in self._columns]
        started = compiled.sample_chain(
            function_list(DENSITY, [column.density for column in self._columns]),
            function_list(DRAW, [column.draw for column in self._columns]),
            np.concatenate([np.zeros(0, np.int64), *words]),
            np.cumsum([0, *map(len, words)]),
            self._blocks,
            self._rows,
            self._rng,
            self._others,
            self._own,
            window_ends(self._settings.warmup),
            _JITTER,
            STARTS,
            _NEAR,
            self._settings.target_accept,
            self.drawn,
            self._counts,
        )
        if not started:
            raise ConvergenceError(f"{NO_START} {_REMEDY}")

    def stop(self) -> None:
        """Let `run` end at its next slope."""
        self._counts[compiled.STOP] = 1

    @property
    def done(self) -> int:
        """Iterations so far."""
        return int(self._counts[compiled.DONE])

    @property
    def diverged(self) -> int:
        """Iterations after the warm-up in which some column's trajectory broke off."""
        return int(self._counts[compiled.DIVERGED])


def _run(chains: Sequence[_Chain], settings: SamplerSettings, progress: Progress | None) -> None:
    """Run all chains, one thread a usable core; any exception stops them and is passed on."""
    total = len(chains) * (settings.warmup + settings.draws)
    with ThreadPoolExecutor(min(len(chains), usable_cores())) as pool:
        waiting = {pool.submit(chain.run) for chain in chains}
        try:
            while waiting:
                ended, waiting = wait(waiting, _POLL_SECONDS, FIRST_EXCEPTION)
                for future in ended:
                    future.result()
                if progress is not None:
                    progress(sum(chain.done for chain in chains), total)
        finally:
            for future in waiting:
                future.cancel()
            for chain in chains:
                chain.stop()


def function_list(signature: Any, functions: Sequence[Any]) -> Any:
    """C functions of one signature, as a list that compiled code reads."""
    pointers = List.empty_list(types.FunctionType(signature))
    for function in functions:
        pointers.append(function)
    return pointers


def window_ends(warmup: int) -> NDArray[np.bool_]:
    """The iterations (warmup,) after which the variances of a window take effect."""
    ends, length, last = [], float(_FIRST_WINDOW), (1.0 - _LAST) * warmup
    at = length
    while at <= last:
        ends.append(int(at))
        length *= _GROWTH
        at += length
    if ends and at - length < last - 0.5 * length:
        ends.append(int(last))
    is_end = np.zeros(warmup, dtype=np.bool_)
    is_end[np.array(ends, dtype=np.intp) - 1] = True
    return is_end


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
