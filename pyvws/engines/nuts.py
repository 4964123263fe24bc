"""The native engine: NUTS in compiled code over this package's compiled densities.

Coefficients are sampled through `pyvws.models.sampled_scale`, a change of variables that leaves the
target as it is, so predictors in any unit mix alike and small scales make no funnel.

A clamped target can have several modes. Chains then start in each of the modes that
`PseudoPosterior.starts` finds, and where the chains disagree they go on by steps that lead from one
mode to another (`engines/_between_modes.py`).
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines._between_modes import moved_between_modes
from pyvws.engines._block_chains import Chain, run_chains
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.engine import Progress
from pyvws.engines.joint_nuts import sample_joint
from pyvws.engines.remedies import failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Draws, SampledScale, Start
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import draws_of
from pyvws.posterior.diagnostics import RHAT_LIMIT, Diagnostics, diagnose, independent_draws
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior, of_one_record

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
        exact = _exact_draws(target, settings, seed)
        if exact is not None:
            return Posterior(
                draws=exact,
                chains=settings.chains,
                diagnostics=independent_draws(settings.chains * settings.draws),
                seconds=time.perf_counter() - began,
                engine=self.name,
            )
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
        q = run_chains(chains, settings, progress, failure_remedy(target.cells.rows))
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
        return Posterior(
            draws=target.model.constrain(q.reshape(-1, D), K),
            chains=settings.chains,
            diagnostics=diagnostics,
            seconds=time.perf_counter() - began,
            engine=self.name,
        )

    def sample_table(
        self,
        target: JointTarget,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> Posterior:
        return sample_joint(target, settings, seed=seed, progress=progress)


def _exact_draws(target: PseudoPosterior, settings: SamplerSettings, seed: int) -> Draws | None:
    """Independent draws where the pseudo posterior is known; a clamp leaves none that is."""
    if target.clamp is not None:
        return None
    S, rng = settings.chains * settings.draws, np.random.default_rng(seed)
    return target.model.exact_draws(target.cells, target.weights, S, rng)


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
