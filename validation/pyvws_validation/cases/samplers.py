"""Samplers beside sums: the moments of what they draw, by quadrature and by enumeration.

Rows of claims replace the sampler, so these rows are those that it is there for. A family's target
has few parameters and weighted records. Its moments are sums over a grid on the scale that samplers
see, and the draws are compared with them in Monte Carlo standard errors. Steps of NUTS are also
taken at variances that are far from the target's, where the momentum's own scale shows. A step is
as large as it can be, where trajectories lose energy and the ratio of their parts shows. Tiny steps
hardly lose energy, whatever the target.
"""

from __future__ import annotations

import ctypes
import warnings
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines import nuts_steps
from pyvws.engines.compiled_target import CompiledTarget, function_list
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import SampledScale
from pyvws.models.nominal import Nominal
from pyvws.models.ordinal import Ordinal
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells
from pyvws_validation._draws import Draws
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._moments import errors_apart, with_products
from pyvws_validation._stan_case import seeded_target
from pyvws_validation.report import Measurement

LIMIT: Final = 5.0  # Standard errors; the seeds are fixed, so the verdict is fixed too.
_RECORDS: Final = 40
_CHAINS: Final = 4
_STEPS: Final = 4_000
_SETTINGS: Final = SamplerSettings(draws=1_500, warmup=400, chains=_CHAINS)
_WIDE: Final = np.linspace(-14.0, 14.0, 29)
_POINTS: Final = 41
_NO_MASS: Final = 1e-7
_APART: Final = 2.0  # How far the variances of a step are from the target's, up and down.
_LARGE, _TINY = 1.2, 0.05  # Steps, in standard deviations.


@dataclass(frozen=True)
class _Known:
    """Means and standard deviations (D,) of a target on a scale, and its other moments."""

    target: PseudoPosterior
    scale: SampledScale
    mean: Floats
    sd: Floats
    moments: Floats

    @classmethod
    def of(cls, target: PseudoPosterior) -> _Known:
        """By sums over a grid: a coarse one finds where the target is, and a fine one is there."""
        scale, D = sampled_scale(target.starts()[0]), target.dimension
        axes = [_WIDE] * D
        coarse, _ = _weighed(target, scale, axes)
        for d in range(D):
            mass = coarse.sum(axis=tuple(other for other in range(D) if other != d))
            found = np.flatnonzero(mass > _NO_MASS)
            low, high = max(found[0] - 1, 0), min(found[-1] + 1, len(_WIDE) - 1)
            axes[d] = np.linspace(_WIDE[low], _WIDE[high], _POINTS)
        fine, z = _weighed(target, scale, axes)
        p = fine.ravel()
        mean = p @ z
        sd = np.sqrt(p @ (z - mean) ** 2)
        return cls(target, scale, mean, sd, p @ _bounded((z - mean) / sd))

    def apart(self, z: Floats) -> float:
        """The largest distance of the moments of draws (chains, draws, D), in standard errors."""
        return errors_apart(_bounded((z - self.mean) / self.sd), self.moments)


def _weighed(
    target: PseudoPosterior, scale: SampledScale, axes: list[Floats]
) -> tuple[Floats, Floats]:
    """The probabilities of the points of a grid, by axis, and the points (G, D)."""
    density = target.density_and_gradient()
    z = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))
    q, height = np.empty(len(axes)), np.empty(len(z))
    for at, point in enumerate(z):
        jacobian = scale.restore(point, q)
        height[at] = density(q)[0] + jacobian
    height[~np.isfinite(height)] = -np.inf
    p = np.exp(height - height.max())
    return np.asarray(p / p.sum()).reshape([len(axis) for axis in axes]), z


def _bounded(u: Floats) -> Floats:
    """tanh of standardised parameters (..., D), which is bounded, and its products."""
    return with_products(np.tanh(u))


@dataclass(frozen=True, kw_only=True)
class SamplerMoments(MeasuredRow):
    """The native engine and its steps on a target of one family, beside quadrature."""

    kind: str = "statement"
    source: str = "quadrature"
    shapes: tuple[tuple[int, ...], ...] = ((_RECORDS, 1),)
    outside: str = "Not the moments of the target"
    family: str
    paper: str = "vws2024, section 2"

    @property
    def function(self) -> str:
        return "pyvws.engines.nuts:NativeEngine"

    def found(self) -> Findings:
        target = _target(self.family)
        known = _Known.of(target)
        with warnings.catch_warnings(action="ignore"):
            fit = NativeEngine().sample(target, _SETTINGS, seed=3)
            q = target.model.unconstrain(fit.draws)
            drawn = np.array([known.scale.inverse(point) for point in q])
            engine = known.apart(drawn.reshape(_CHAINS, -1, target.dimension))
            variances = known.sd**2 * np.resize([_APART, 1.0 / _APART], target.dimension)
            steps, _ = _stepped(known, variances, _LARGE, _STEPS)
            direct = known.apart(steps)
            _, acceptance = _stepped(known, known.sd**2, _TINY, _STEPS // 20)
        return Findings(
            (
                Measurement("the engine, standard errors", engine, 0.0, LIMIT),
                Measurement("large steps, standard errors", direct, 0.0, LIMIT),
                Measurement("acceptance of tiny steps", acceptance, 0.99, 1.0),
            ),
            seeds=(3,),
        )


def _stepped(known: _Known, variances: Floats, size: float, steps: int) -> tuple[Floats, float]:
    """Points (chains, steps, D) of steps of NUTS from the mean, and their mean acceptance."""
    compiled = CompiledTarget(known.target, known.scale)
    density, words = function_list([compiled.density])[0], compiled.arguments.words
    D, nothing = len(known.mean), np.empty(0)
    drawn, accepted = np.empty((_CHAINS, steps, D)), 0.0
    counts = np.zeros(5, dtype=np.int64)
    for chain, points in enumerate(drawn):
        rng = np.random.default_rng(chain)
        z, slope = known.mean.copy(), np.empty(D)
        value = _value(compiled, z, slope)
        given = slope, nothing, nothing, variances, size, False, counts
        for point in points:
            value, share, _ = nuts_steps.nuts_step(density, words, rng, z, value, *given)
            accepted += share
            point[:] = z
    return drawn, accepted / (_CHAINS * steps)


def _value(compiled: CompiledTarget, z: Floats, slope: Floats) -> float:
    """The log density at z (D,); fills its slope (D,)."""
    value = np.empty(1)
    doubles = ctypes.POINTER(ctypes.c_double)
    at = [array.ctypes.data_as(doubles) for array in (z, slope, value)]
    compiled.density.ctypes(len(z), *at, compiled.arguments.words.ctypes.data)
    return float(value[0])


def _target(family: str) -> PseudoPosterior:
    """Weighted records without predictors; categories have two or three levels."""
    if family not in _LEVELS:
        return seeded_target(family, _RECORDS, 1, seed=5)
    model = _LEVELS[family]
    draws = Draws(5)
    weights = np.clip(draws.uniform(_RECORDS, -0.3, 1.3), 0.0, 1.0)
    y = 1.0 + draws.whole(_RECORDS, len(model.levels)).astype(np.float64)
    return PseudoPosterior(model, make_cells(y, np.ones((_RECORDS, 1))), weights)


_LEVELS: Final[dict[str, Any]] = {
    "ordinal": Ordinal(levels=(1.0, 2.0, 3.0)),
    "nominal": Nominal(levels=("a", "b")),
}
_FAMILIES: Final = (
    *("poisson", "negative-binomial", "normal", "truncated-normal"),
    *("gamma", "beta", "logistic", "ordinal", "nominal"),
)


CASES: Final[tuple[MeasuredRow, ...]] = tuple(
    SamplerMoments(id=f"statement/sampler-{family}", family=family) for family in _FAMILIES
)
