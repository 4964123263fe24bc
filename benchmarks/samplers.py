"""The package's own sampler beside nutpie's, on columns of many families.

Both take the same compiled densities on the same scale. Four chains run on one thread: 1,000 draws
after a warm-up of 1,000, or half of both where there are more than 50 parameters, under each of
five seeds. The two take turns seed by seed, so that a busy spell meets both alike. A draw counts by
the smallest bulk ESS over the parameters that diagnostics compare, among the chains that start in
one mode; where there are several modes, their mean counts. Slopes are counted, and seconds are of
the processor. Each ratio is one of means over the seeds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np

from benchmarks._found import Entry, Found, Plan, Table
from pyvws import SamplerSettings
from pyvws._base.checks import Floats
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.nuts import Chain
from pyvws.models.model import Start
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import diagnose
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

__all__ = ["TARGETS", "run"]

_USUAL: Final = SamplerSettings(draws=1000, warmup=1000, chains=4)
_HALF: Final = SamplerSettings(draws=500, warmup=500, chains=4)
_BRIEF: Final = SamplerSettings(draws=4, warmup=100, chains=1)
_WIDE: Final = 50
_SEEDS: Final = range(1, 6)
_SMALL: Final = ("poisson", "ordinal", "poisson, deviance clamp 1")


class _Spent(NamedTuple):
    """What a fit took: effective draws, slopes of the draws and of the warm-up, seconds."""

    ess: float
    slopes: float
    warm: float
    seconds: float


def _design(n: int, K: int, rng: np.random.Generator) -> Floats:
    if K > 4:
        return np.column_stack([np.ones(n), rng.normal(size=(n, K - 1))])
    groups = rng.integers(0, 2, (2, n))
    return np.column_stack([np.ones(n), *groups, rng.integers(0, 5, n) / 2.5 - 1.0])[:, :K]


def _target(
    name: str, y: Floats, X: Floats, weight: float, clamp: Clamp | None = None, **settings: Any
) -> PseudoPosterior:
    model = find_model(name, **settings).prepare(y, "y")
    cells = make_cells(model.encode(y), np.ascontiguousarray(X, dtype=np.float64))
    return PseudoPosterior(model, cells, np.full(len(y), weight), clamp)


def _levels(count: int) -> PseudoPosterior:
    """A nominal column of so many levels."""
    rng = np.random.default_rng(7)
    X = _design(3000, 4, rng)
    heights = X @ (rng.normal(size=(count, 4)) * [1.0, 0.5, 0.5, 0.5]).T
    y = 1.0 + np.argmax(heights + rng.gumbel(size=heights.shape), axis=1)
    return _target("nominal", y, X, 0.9, levels=tuple(map(str, range(count))))


def _counts(
    name: str, weight: float = 0.9, clamp: Clamp | None = None, K: int = 4
) -> PseudoPosterior:
    """Counts of K predictors."""
    rng = np.random.default_rng(7)
    X = _design(1000, K, rng)
    mean = np.exp(X @ np.array([3.0, 0.3, -0.2, 0.4, *rng.normal(0.0, 0.1, K)])[:K])
    shape = 5.0 if name == "negative-binomial" else 1e9
    y = rng.negative_binomial(shape, shape / (shape + mean)).astype(np.float64)
    return _target(name, y, X, weight, clamp)


def _two_kinds(weight: float, clamp: Clamp) -> PseudoPosterior:
    """Counts of two kinds, of which the window keeps one at most places."""
    rng = np.random.default_rng(7)
    mean = np.where(rng.random(1000) < 0.55, 3.0, 60.0)
    y = rng.negative_binomial(8.0, 8.0 / (8.0 + mean)).astype(np.float64)
    return _target("negative-binomial", y, np.ones((1000, 1)), weight, clamp)


def _ordered() -> PseudoPosterior:
    rng = np.random.default_rng(7)
    X = _design(1000, 4, rng)
    y = np.digitize(X @ [0.2, 0.8, -0.5, 0.6] + rng.logistic(size=1000), [-1.5, -0.3, 0.7, 2.0])
    return _target("ordinal", y + 1.0, X, 0.9, levels=(1, 2, 3, 4, 5))


def _shares(clamp: Clamp | None) -> PseudoPosterior:
    rng = np.random.default_rng(7)
    X = _design(1000, 4, rng)
    mean = 1.0 / (1.0 + np.exp(-X @ [0.2, 0.8, -0.5, 0.6]))
    y = np.clip(rng.beta(3.0 * mean, 3.0 * (1.0 - mean)), 1e-4, 1.0 - 1e-4)
    return _target("beta", y, X, 1.0, clamp)


def _two_modes() -> PseudoPosterior:
    """A normal density that the window fits to either of two groups."""
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(0.3, 0.6, 208), rng.normal(3.0, 0.4, 170)])
    clamp = Clamp(4.0, "deviance")
    return _target("normal", y, np.ones((len(y), 1)), 1.0, clamp, smallest_sd=0.1)


def _mixture() -> PseudoPosterior:
    rng = np.random.default_rng(7)
    y = np.where(rng.random(1000) < 0.3, -2.0, 1.0) + rng.normal(size=1000)
    return _target("normal-mixture", y, np.ones((1000, 1)), 1.0, components=2)


TARGETS: Final[dict[str, Callable[[], PseudoPosterior]]] = {
    "poisson": lambda: _counts("poisson"),
    "negative binomial": lambda: _counts("negative-binomial"),
    "negative binomial, 11 columns": lambda: _counts("negative-binomial", K=11),
    "ordinal": _ordered,
    "nominal, 5 levels": lambda: _levels(5),
    "nominal, 20 levels": lambda: _levels(20),
    "mixture of two normals": _mixture,
    "poisson, deviance clamp 1": lambda: _counts("poisson", 0.3, Clamp(1.0, "deviance")),
    "poisson of weight 1, deviance clamp 1": lambda: _counts(
        "poisson", 1.0, Clamp(1.0, "deviance")
    ),
    "poisson, half clamp 1": lambda: _counts("poisson", 0.15, Clamp(1.0, "half")),
    "counts of two kinds, deviance clamp 3": lambda: _two_kinds(1.0, Clamp(3.0, "deviance")),
    "counts of two kinds, half clamp 3": lambda: _two_kinds(0.4, Clamp(3.0, "half")),
    "beta, deviance clamp 5": lambda: _shares(Clamp(5.0, "deviance")),
    "normal of two modes, deviance clamp 4": _two_modes,
}
"""By what a column is: the target of its fit."""


def _own(
    compiled: CompiledTarget, D: int, settings: SamplerSettings, seed: int, jitter: float
) -> tuple[Floats, int, int]:
    """Draws (chains, draws, D) by one thread, and slopes before and in them."""
    streams = np.random.SeedSequence(seed).spawn(settings.chains)
    chains = [
        Chain([compiled], [D], settings, np.random.default_rng(stream), jitter=jitter)
        for stream in streams
    ]
    for chain in chains:
        chain.run()
    slopes = np.array([chain.slopes for chain in chains]).sum(axis=0)
    return np.stack([chain.drawn for chain in chains]), int(slopes[0]), int(slopes[1])


def _fit(sampler: str, target: PseudoPosterior, settings: SamplerSettings, seed: int) -> _Spent:
    """What one fit by that sampler takes, over the modes that the target's starts show."""
    modes = target.starts()[: settings.chains]
    spent = [_fit_mode(sampler, target, start, settings, seed) for start in modes]
    return _Spent(*np.mean(spent, axis=0))


def _fit_mode(
    sampler: str, target: PseudoPosterior, start: Start, settings: SamplerSettings, seed: int
) -> _Spent:
    scale, D = sampled_scale(start), target.dimension
    compiled, jitter = CompiledTarget(target, scale), 1.0 if target.clamp is None else 0.1
    began = time.process_time()
    if sampler == "own":
        q, warm, slopes = _own(compiled, D, settings, seed, jitter)
        spent = time.process_time() - began
    else:
        from benchmarks._nutpie import nutpie_chains

        def first_point(own_seed: int) -> Floats:
            return np.random.default_rng(own_seed).uniform(-jitter, jitter, D)

        began = time.process_time()
        z, warm, slopes = nutpie_chains(compiled, first_point, settings, seed)
        spent = time.process_time() - began
        q = np.empty_like(z)
        for chain in range(len(z)):
            for at in range(len(z[chain])):
                scale.restore(z[chain, at], q[chain, at])
    compared = target.model.diagnosed(q.reshape(-1, D), target.cells.n_coefficients)
    made = diagnose(compared.reshape(*q.shape[:2], -1), 0)
    return _Spent(made.ess_bulk_min, slopes, warm, spent)


def run(plan: Plan) -> Found:
    """Both samplers on every target."""
    try:
        import nutpie  # noqa: F401
    except ImportError:
        return Found([], {}, ["nutpie, which is not installed"])
    rows: list[tuple[Entry, ...]] = []
    for name in _SMALL if plan.small else TARGETS:
        target = TARGETS[name]()
        settings = _HALF if target.dimension > _WIDE else _USUAL
        spent: dict[str, list[_Spent]] = {"own": [], "nutpie": []}
        for sampler in spent:
            _fit(sampler, target, _BRIEF, 1)  # Compiles.
        for seed in _SEEDS[: 2 if plan.small else None]:
            for sampler, fits in spent.items():
                fits.append(_fit(sampler, target, settings, seed))
        own, other = (_Spent(*np.mean(fits, axis=0)) for fits in spent.values())
        ratio = own.ess / other.ess
        by_slope = ratio * other.slopes / own.slopes
        by_second = ratio * other.seconds / own.seconds
        rows.append(
            (
                name,
                target.dimension,
                by_slope,
                by_second,
                own.warm / other.warm,
                own.ess,
                own.seconds,
            )
        )
        plan.say(f"  {name}: {by_slope:.3f} a slope, {by_second:.3f} a second")
    columns = (
        *("column", "parameters", "draws a slope", "draws a second", "slopes of the warm-up"),
        *("ESS", "processor s"),
    )
    ratios = np.array([row[2:5] for row in rows], dtype=np.float64)
    means = np.exp(np.log(ratios).mean(axis=0))
    rows.append(("geometric mean", "", *map(float, means), "", ""))
    figures = {
        "samplers: draws a slope over nutpie's, worst": ratios[:, 0].min(),
        "samplers: draws a second over nutpie's, worst": ratios[:, 1].min(),
        "samplers: draws a slope over nutpie's, mean": means[0],
        "samplers: draws a second over nutpie's, mean": means[1],
        "samplers: slopes of the warm-up over nutpie's, most": ratios[:, 2].max(),
    }
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    table = Table("The own sampler over nutpie's", columns, rows, note)
    return Found([table], {name: float(value) for name, value in figures.items()})
