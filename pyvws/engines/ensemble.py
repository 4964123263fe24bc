"""The ensemble engine: emcee's walkers, which need no gradient, for clamped densities.

Where a record's term meets its clamp the density has a kink and beyond it a flat stretch, on which
NUTS can fall short. Walkers propose differences of each other's positions, so kinks and flat
stretches do not matter. In many dimensions walkers mix slowly: elsewhere NUTS is the better engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.engine import Progress
from pyvws.engines.remedies import failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, MissingDependencyError
from pyvws.models.model import SampledScale, Start
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.diagnostics import diagnose
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

_THIN = 20  # Steps between draws of one walker.
_WALKERS_A_DIMENSION = 3
_WALKERS_BETWEEN_MODES = 40  # So many that no mode of some weight is left without one.
_JITTER = 1.0
_SHARE_OF_JUMPS = 0.2  # Steps by the whole difference of two walkers, from one mode to another.


def emcee_version() -> str:
    """emcee with its version. Raises MissingDependencyError where it is missing."""
    try:
        import emcee  # noqa: F401
    except ImportError:
        raise MissingDependencyError("emcee is not installed. Run: pip install emcee") from None
    return f"emcee {version('emcee')}"


@dataclass(frozen=True, slots=True)
class EnsembleEngine:
    """Affine-invariant differential evolution, one ensemble of walkers a chain.

    A chain holds the draws of its walkers, one walker after the other; diagnostics compare
    walkers. The engine does not read `target_accept` or a previous fit.
    """

    name: str = "ensemble"

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
        D, K = target.dimension, target.cells.n_coefficients
        starts = target.starts()
        walkers = _walkers(D, settings.draws, modes=len(starts))
        each = -(-settings.draws // walkers)
        total = settings.chains * (settings.warmup + settings.draws)
        scale = sampled_scale(starts[0])
        log_density, restore = _density(target, scale)
        places = _places(scale, starts)
        remedy = failure_remedy(target.cells.rows)
        kept = []
        for chain, stream in enumerate(np.random.SeedSequence(seed).spawn(settings.chains)):
            done = chain * (settings.warmup + settings.draws)

            def tick(share: float, done: int = done) -> None:
                if progress is not None:
                    progress(done + int(share * (settings.warmup + settings.draws)), total)

            z = _run(log_density, places, walkers, settings.warmup, each, stream, tick, remedy)
            kept.append(np.array([[restore(point) for point in walker] for walker in z]))
        if progress is not None:
            progress(total, total)
        q = np.concatenate(kept)  # (chains x walkers, each, D)
        if not np.isfinite(q).all():
            raise ConvergenceError(f"The sampler returned infinite draws. {remedy}")
        compared = target.model.diagnosed(q.reshape(-1, D), K).reshape(*q.shape[:2], -1)
        flat = np.concatenate([part.reshape(-1, D)[: settings.draws] for part in kept])
        return Posterior(
            draws=target.model.constrain(flat, K),
            chains=settings.chains,
            diagnostics=diagnose(compared, 0),
            seconds=time.perf_counter() - began,
            engine=self.name,
        )


def _walkers(D: int, draws: int, modes: int) -> int:
    """An even number of walkers, each with at least four draws where there are enough."""
    least, wanted = 2 * (D + 1), 2 * ((_WALKERS_A_DIMENSION * D + 1) // 2)
    if modes > 1:
        wanted = max(wanted, _WALKERS_BETWEEN_MODES)
    return max(least, min(wanted, 2 * (draws // 8)))


def _places(scale: SampledScale, starts: tuple[Start, ...]) -> Floats:
    """The starts on the sampled scale, (M, D); only those that it can reach."""
    places = np.array([scale.inverse(start.centre) for start in starts])
    return np.asarray(places[np.isfinite(places).all(axis=1)])


def _density(target: PseudoPosterior, scale: SampledScale) -> tuple[Any, Any]:
    """The log density on the sampled scale, -inf where it is not finite, and the way back to q."""
    evaluate = target.density_and_gradient()
    q = np.empty(target.dimension)

    def log_density(z: Floats) -> float:
        jacobian = scale.restore(z, q)
        value = evaluate(q)[0] + jacobian
        return float(value) if np.isfinite(value) else -np.inf

    def restore(z: Floats) -> Floats:
        point = np.empty(target.dimension)
        scale.restore(z, point)
        return point

    return log_density, restore


def _run(
    log_density: Callable[[Floats], float],
    places: Floats,
    walkers: int,
    warmup: int,
    each: int,
    stream: np.random.SeedSequence,
    tick: Callable[[float], None],
    remedy: str,
) -> Floats:
    """Positions (walkers, each, D) after `warmup` steps from around `places` (M, D), thinned."""
    import emcee

    rng = np.random.default_rng(stream)
    moves = [(emcee.moves.DEMove(), 0.8), (emcee.moves.DESnookerMove(), 0.2)]
    if len(places) > 1:
        moves[0] = (emcee.moves.DEMove(), 0.8 - _SHARE_OF_JUMPS)
        moves.append((emcee.moves.DEMove(gamma0=1.0), _SHARE_OF_JUMPS))
    D = places.shape[1]
    sampler = emcee.EnsembleSampler(walkers, D, log_density, moves=moves)
    first = emcee.State(
        places[np.arange(walkers) % len(places)] + rng.uniform(-_JITTER, _JITTER, (walkers, D)),
        random_state=np.random.RandomState(stream.generate_state(8)).get_state(),
    )
    steps = warmup + each * _THIN
    try:
        for step, _state in enumerate(sampler.sample(first, iterations=steps), start=1):
            if step % 50 == 0:
                tick(step / steps)
    except ValueError as error:
        raise ConvergenceError(
            f"The sampler could not start: the density is not finite near the rough fit. {remedy}"
        ) from error
    chain = sampler.get_chain(discard=warmup, thin=_THIN)
    return np.ascontiguousarray(np.swapaxes(chain, 0, 1))
