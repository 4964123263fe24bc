"""Chains of the compiled NUTS, one thread a usable core, stopped with the caller.

A chain is one call of compiled code, which lets the other chains run.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Data, Floats
from pyvws._base.cores import usable_cores
from pyvws.engines import nuts_steps as compiled
from pyvws.engines.compiled_target import DRAW, CompiledTarget, function_list
from pyvws.engines.engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError

_STARTS = 50  # Points to try before a chain gives up.
_NEAR = 20  # Points around the start that the first variances come from.
_FIRST_WINDOW, _GROWTH = 10, 1.5
_LAST = 0.1  # Share of the warm-up in which the step size alone adapts.
_NO_WORDS = np.zeros(0, dtype=np.int64)
_POLL_SECONDS = 0.02  # Between two looks at progress and interrupts.
_NO_START = (
    "The sampler could not start: the density is not finite near the rough fit, or does not change "
    "there."
)


class Chain:
    """One chain over blocks of parameters, each with a `CompiledTarget`, and what it has drawn.

    `blocks` (K,) holds the widths. Chains start within `jitter` of 0, or at one of the points
    `first` (any, D) that come before. Blocks under a clamp have terms of M `records`.
    Where some are conditional tables, `rows` are those of `with_rows`, and only the others have a
    target among the `columns`.
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
        self._counts = np.zeros(5, dtype=np.int64)
        self.drawn = np.empty((settings.draws, D))

    def run(self) -> bool:
        """Fill `drawn`; ends early once stopped. Whether it could start."""
        words = [column.arguments.words for column in self._columns]
        # A copy, into which the chain writes; of a column without a clamp, none.
        own_words = np.concatenate([_NO_WORDS, *words]) if self._records else words[0]
        ends = window_ends(self._settings.warmup)
        started: bool = compiled.sample_chain(
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
            self.drawn,
            self._counts,
        )
        return started

    def stop(self) -> None:
        """Let `run` end at its next slope."""
        self._counts[compiled.STOP] = 1

    @property
    def done(self) -> int:
        """Iterations so far."""
        return int(self._counts[compiled.DONE])

    @property
    def diverged(self) -> int:
        """Iterations after the warm-up in which some block's trajectory broke off."""
        return int(self._counts[compiled.DIVERGED])

    @property
    def slopes(self) -> tuple[int, int]:
        """How often a slope was computed in the warm-up, and after it."""
        warm = int(self._counts[compiled.WARM])
        return warm, int(self._counts[compiled.LEAPFROGS]) - warm


def run_chains(
    chains: Sequence[Chain], settings: SamplerSettings, progress: Progress | None, remedy: str
) -> Floats:
    """Run all chains and return their draws (chains, draws, D); any exception stops them.

    Raises ConvergenceError, which ends in the remedy, if a chain cannot start or draws are
    infinite.
    """
    total = len(chains) * (settings.warmup + settings.draws)
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


def window_ends(warmup: int) -> NDArray[np.bool_]:
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
