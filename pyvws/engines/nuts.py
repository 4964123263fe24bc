"""The native engine: nutpie's NUTS over this package's compiled densities.

Coefficients are sampled through `pyvws.models.sampled_scale`, a change of variables that leaves the
target as it is, so predictors in any unit mix alike and small scales make no funnel.

A clamped target can have several modes. Chains then start in each of the modes that
`PseudoPosterior.starts` finds, and where the chains disagree they go on by steps that lead from one
mode to another (`engines/_between_modes.py`).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np
import platformdirs

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws._base.private_folder import private_folder
from pyvws.engines._between_modes import moved_between_modes
from pyvws.engines._compiled_target import CompiledTarget
from pyvws.engines._engine import Progress
from pyvws.engines._remedies import failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, MissingDependencyError
from pyvws.models.model import SampledScale, Start
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.diagnostics import RHAT_LIMIT, Diagnostics, diagnose
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

__all__ = ["NativeEngine", "nutpie_version"]

_NUTPIE = ("0.16.", "nutpie>=0.16,<0.16.9")  # Start of known versions; what to install.
_POLL_SECONDS = 0.02
_REFIT_SHARE = 0.5  # Share of the warm-up kept in a fit that starts from another.
_STARTS = 50  # Points to try before the engine gives up.
_NO_START = (
    "The sampler could not start: the density is not finite near the rough fit, or does not change "
    "there."
)
_JITTER = 1.0  # Chains start uniformly within this distance of the rough fit, as scaled.
_JITTER_IN_WINDOW = 0.1  # Under a clamp: further out, records can leave the window for good.


def nutpie_version() -> str:
    """nutpie with its version."""
    return f"nutpie {version('nutpie')}"


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
        settings = settings.after(previous, share=_REFIT_SHARE)
        remedy = failure_remedy(target.cells.rows)
        total = settings.chains * (settings.draws + settings.warmup)
        parts, diverging, done = [], 0, 0
        for start, part, own_seed in _shared(target.starts(), settings, seed):
            scale = sampled_scale(start)
            compiled = CompiledTarget(target, scale)
            first_point = _first_points(target, scale, compiled, previous)
            if not compiled.moves(first_point(own_seed)):
                raise ConvergenceError(f"{_NO_START} {remedy}")
            model = _sampler_model(compiled, first_point, target.dimension)

            def tick(before: int = done, at: CompiledTarget = compiled) -> None:
                if progress is not None:
                    progress(before + at.arguments.count, total)

            found, bad = _read(_run(model, part, own_seed, tick, remedy), part)
            parts.append(found)
            diverging += bad
            done += part.chains * (part.draws + part.warmup)
        q = np.concatenate(parts)
        if not np.isfinite(q).all():
            raise ConvergenceError(f"The sampler returned infinite draws. {remedy}")
        D, K = target.dimension, target.cells.n_coefficients

        def judged(q: Floats, divergences: int) -> Diagnostics:
            compared = target.model.diagnosed(q.reshape(-1, D), K)
            return diagnose(compared.reshape(*q.shape[:2], -1), divergences)

        diagnostics = judged(q, diverging)
        if target.clamp is not None and not diagnostics.rhat_max <= RHAT_LIMIT:
            moved = moved_between_modes(target, q, seed)
            again = judged(moved, 0)
            if again.rhat_max < diagnostics.rhat_max:
                q, diagnostics = moved, again
        return Posterior(
            draws=target.model.constrain(q.reshape(-1, D), K),
            chains=settings.chains,
            diagnostics=diagnostics,
            seconds=time.perf_counter() - began,
            engine=self.name,
        )


def _shared(
    starts: Sequence[Start], settings: SamplerSettings, seed: int
) -> Iterator[tuple[Start, SamplerSettings, int]]:
    """Each start with its share of the chains and a seed; the first start has the run's own."""
    used = starts[: settings.chains]
    for at, start in enumerate(used):
        chains = len(range(at, settings.chains, len(used)))
        own = np.random.SeedSequence((seed, at)).generate_state(1, np.uint64)[0] >> np.uint64(1)
        yield start, replace(settings, chains=chains), int(own) if at else seed


def _first_points(
    target: PseudoPosterior,
    scale: SampledScale,
    compiled: CompiledTarget,
    previous: Posterior | None,
) -> Callable[[int], Floats]:
    """Where a chain starts, by its seed: at a draw of the previous fit, else near the rough one."""
    drawn = np.empty((0, target.dimension))
    if previous is not None:
        drawn = target.model.unconstrain(previous.draws)

    jitter = _JITTER if target.clamp is None else _JITTER_IN_WINDOW

    def point(seed: int) -> Floats:
        picks = np.random.default_rng(seed)
        for _ in range(_STARTS if len(drawn) else 0):
            z = scale.inverse(drawn[picks.integers(len(drawn))])
            if np.isfinite(z).all() and compiled.moves(z):
                return z
        rng = np.random.default_rng(seed)
        for _ in range(_STARTS):
            z = rng.uniform(-jitter, jitter, target.dimension)
            if compiled.moves(z):
                break
        return z

    return point


@cache
def known_nutpie() -> Any:
    """The package nutpie; its arviz stops where it cannot write to the user's cache folder."""
    with warnings.catch_warnings(), _cache_elsewhere():
        warnings.simplefilter("ignore", FutureWarning)  # arviz, on its own successor
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


def _sampler_model(compiled: CompiledTarget, first_point: Callable[[int], Floats], D: int) -> Any:
    """nutpie's model: densities on the sampled scale, draws on Stan's unconstrained one.

    Raises MissingDependencyError for a nutpie whose model may read other fields.
    """
    known, install = _NUTPIE
    try:
        if not version("nutpie").startswith(known):
            raise TypeError("Its C functions may be called in another way.")
        return known_nutpie().compile_pymc.CompiledPyMCModel(
            dims=None,
            compiled_logp_func=compiled.density,
            compiled_expand_func=compiled.draw,
            initial_point_func=first_point,
            shared_data={"arguments": compiled.arguments},  # Kept for as long as a chain runs.
            user_data=compiled.arguments.words,
            n_expanded=D,
            shape_info=(["q"], [slice(0, D)], [(D,)]),
            logp_func=None,
            expand_func=None,
            _n_dim=D,
            _shapes={"q": (D,)},
            _coords=None,
        )
    except (AttributeError, TypeError) as error:
        raise MissingDependencyError(
            f"The native engine knows nutpie {known}* and not {nutpie_version()}, whose "
            f"model has other fields. Run: pip install '{install}', or choose another engine."
        ) from error


def _run(
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
        while True:
            try:
                return sampler.wait(timeout=_POLL_SECONDS)
            except TimeoutError:
                tick()
    except RuntimeError as error:
        raise ConvergenceError(f"{_NO_START} {remedy}") from error
    except BaseException as error:
        if type(error).__name__ == "PanicException":  # nutpie's threads are gone.
            raise ConvergenceError(
                f"The sampler broke off. {remedy} Or choose another engine."
            ) from error
        sampler.cancel()
        raise


def _read(trace: Any, settings: SamplerSettings) -> tuple[Floats, int]:
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
