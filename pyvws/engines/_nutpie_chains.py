"""Chains of nutpie's NUTS: run in the background, stopped with the caller, and read."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any, Final

import numpy as np
import platformdirs

from pyvws._base.checks import Floats
from pyvws._base.cores import quietly, usable_cores
from pyvws._base.private_folder import private_folder
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError

LEAST_SLOPE = 1e-9  # First steps scale by the first gradient: 2e-10 was seen to lead far off.
NO_SLOPE = float(np.finfo(np.float64).tiny)
"""What stands for a slope of 0, where nuts-rs would panic; too small to move a draw."""

STARTS = 50
"""Points to try before the sampler gives up."""

NO_START = (
    "The sampler could not start: the density is not finite near the rough fit, or does not change "
    "there."
)
_POLL_SECONDS = 0.02


_IMPORTING: Final = threading.Lock()  # Fits of a table's columns begin side by side.


def known_nutpie() -> Any:
    """The package nutpie; its arviz stops where it cannot write to the user's cache folder."""
    with _IMPORTING:
        return _imported()


@cache
def _imported() -> Any:
    with quietly(FutureWarning), _cache_elsewhere():  # arviz, on its own successor
        import nutpie
    return nutpie


@contextmanager
def _cache_elsewhere() -> Iterator[None]:
    """Give code that asks for the user's cache folder a temporary folder, removed afterwards."""
    before = platformdirs.user_cache_dir
    with private_folder() as folder:
        platformdirs.user_cache_dir = lambda *_, **__: str(folder)
        try:
            yield
        finally:
            platformdirs.user_cache_dir = before


def run_chains(
    model: Any, settings: SamplerSettings, seed: int, tick: Callable[[], Any], remedy: str
) -> Any:
    """Sample in the background, so that an interrupt stops the chains and is passed on."""
    sampler = known_nutpie().sample(
        model,
        draws=settings.draws,
        tune=settings.warmup,
        chains=settings.chains,
        cores=min(settings.chains, usable_cores()),
        seed=seed,
        save_warmup=False,
        progress_bar=False,
        target_accept=settings.target_accept,
        return_raw_trace=True,
        blocking=False,
    )
    try:
        tick()
        while True:
            try:
                return sampler.wait(timeout=_POLL_SECONDS)
            except TimeoutError:
                tick()
    except RuntimeError as error:
        raise ConvergenceError(f"{NO_START} {remedy}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # nutpie's threads are gone.
            raise ConvergenceError(
                f"The sampler broke off. {remedy} Or choose another engine."
            ) from error
        sampler.cancel()
        raise


def read_chains(trace: Any, settings: SamplerSettings) -> tuple[Floats, int]:
    """Unconstrained draws (chains, draws, D) and the number of divergences after warm-up."""
    batches, statistics = trace.get_arrow_trace()
    kept = []
    divergences = 0
    for batch, stats in zip(batches, statistics, strict=True):
        rows = batch.num_rows
        after = slice(rows - settings.draws, rows)
        values = np.asarray(_flat(batch.column("q")), dtype=np.float64).reshape(rows, -1)
        kept.append(values[after])
        divergences += int(np.asarray(stats.column("diverging").to_numpy())[after].sum())
    return np.stack(kept), divergences


def _flat(column: Any) -> Any:
    import pyarrow

    return pyarrow.array(column).flatten().to_numpy(zero_copy_only=False)
