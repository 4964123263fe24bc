"""The native engine: nutpie's NUTS over this package's compiled densities.

Coefficients are sampled through `pyvws.models.sampled_scale`, a change of variables that leaves the
target as it is, so predictors in any unit mix alike and small scales make no funnel.

A clamped target can have several modes. Chains then start in each of the modes that
`PseudoPosterior.starts` finds, and where the chains disagree they go on by steps that lead from one
mode to another (`engines/_between_modes.py`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields, replace
from functools import cache
from importlib.metadata import version
from threading import Lock
from typing import Any, Final, cast

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines._between_modes import moved_between_modes
from pyvws.engines._compiled_target import CompiledTarget, normal_functions
from pyvws.engines._nutpie_chains import NO_START, STARTS, known_nutpie, read_chains, run_chains
from pyvws.engines.engine import Progress
from pyvws.engines.joint_nuts import sample_joint
from pyvws.engines.remedies import failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, MissingDependencyError
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Draws, SampledScale, Start
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.models.sequence import Conditional, draws_of
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.diagnostics import RHAT_LIMIT, Diagnostics, diagnose, independent_draws
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior, of_one_record

_NUTPIE = "nutpie>=0.16,<0.17"  # What to install where a trial fails.
_TRIAL = 5  # Draws.
_TRYING: Final = Lock()  # Fits of a table's columns begin side by side.
_REFIT_SHARE = 0.5  # Share of the warm-up kept in a fit that starts from another.
_JITTER = 1.0  # Chains start uniformly within this distance of the rough fit, as scaled.
_JITTER_IN_WINDOW = 0.1  # Under a clamp: further out, records can leave the window for good.


def nutpie_version() -> str:
    return f"nutpie {version('nutpie')}"


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
            column = Conditional("y", target.model, target.cells)
            given = target.weights, cast(Clamp, target.clamp), target.cells.multiplicity
            joint = JointTarget((column,), *given)
            fit = sample_joint(joint, settings, seed=seed, progress=progress)
            return replace(fit, draws=draws_of(fit.draws, column.column))
        starts = target.starts()
        scale_of_start = starts[0].scale if target.clamp is None else None
        shaped = scale_of_start is not None and scale_of_start.shaped
        settings = settings.after(previous, share=_REFIT_SHARE, shaped=shaped)
        remedy = failure_remedy(target.cells.rows)
        total = settings.chains * (settings.draws + settings.warmup)
        parts, diverging, done = [], 0, 0
        for start, part, own_seed in _shared(starts, settings, seed):
            scale = sampled_scale(start)
            compiled = CompiledTarget(target, scale)
            first_point = _first_points(target, scale, compiled, previous)
            if not compiled.moves(first_point(own_seed)):
                raise ConvergenceError(f"{NO_START} {remedy}")
            model = _sampler_model(compiled, first_point, target.dimension)

            def tick(before: int = done, at: CompiledTarget = compiled) -> None:
                if progress is not None:
                    progress(before + at.arguments.count, total)

            chains, bad = read_chains(run_chains(model, part, own_seed, tick, remedy), part)
            parts.append(chains)
            diverging += bad
            done += part.chains * (part.draws + part.warmup)
        if progress is not None:
            progress(total, total)
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
        for _ in range(STARTS if len(drawn) else 0):
            z = scale.inverse(drawn[picks.integers(len(drawn))])
            if np.isfinite(z).all() and compiled.moves(z):
                return z
        rng = np.random.default_rng(seed)
        for _ in range(STARTS):
            z = rng.uniform(-jitter, jitter, target.dimension)
            if compiled.moves(z):
                break
        return z

    return point


def _sampler_model(compiled: CompiledTarget, first_point: Callable[[int], Floats], D: int) -> Any:
    """nutpie's model: densities on the sampled scale, draws on Stan's."""
    with _TRYING:
        try_nutpie()
    arguments = compiled.arguments
    return _filled(compiled.density, compiled.draw, arguments, arguments.words, first_point, D)


def _filled(
    density: Any, draw: Any, kept: Any, words: Any, first_point: Callable[[int], Floats], D: int
) -> Any:
    """nutpie's model of C functions, its fields filled by name; one that is unknown by its default.

    An unknown field without a default is None. `kept` lives for as long as a chain runs.
    """
    model_class = known_nutpie().compile_pymc.CompiledPyMCModel
    known = {
        "dims": None,
        "compiled_logp_func": density,
        "compiled_expand_func": draw,
        "initial_point_func": first_point,
        "shared_data": {"arguments": kept},
        "user_data": words,
        "n_expanded": D,
        "shape_info": (["q"], [slice(0, D)], [(D,)]),
        "_n_dim": D,
        "_shapes": {"q": (D,)},
    }
    unknown = [
        field.name
        for field in fields(model_class)
        if field.init and field.default is MISSING and field.default_factory is MISSING
    ]
    return model_class(**dict.fromkeys(unknown) | known)


@cache
def try_nutpie() -> None:
    """Let nutpie draw five times from a normal density, once a process; what fails is refused."""
    D, seed = 2, 1
    settings = SamplerSettings(draws=_TRIAL, warmup=100, chains=1)
    try:
        model = _filled(*normal_functions(), None, np.zeros(1, np.int64), lambda _: np.ones(D), D)
        q, _ = read_chains(run_chains(model, settings, seed, lambda: None, ""), settings)
        if q.shape != (1, _TRIAL, D) or not np.isfinite(q).all() or len(np.unique(q)) < D * 2:
            raise ValueError("The trial's draws are none.")
    except Exception as error:
        raise MissingDependencyError(
            f"The native engine cannot sample with {nutpie_version()}: a trial of {_TRIAL} draws "
            f"failed. Run: pip install '{_NUTPIE}', or choose another engine."
        ) from error
