"""The Laplace engine: normal draws around the mode, resampled by smoothed importance weights.

Newton's approximation of the target is a normal around its mode, with the inverse of the negative
second derivatives as covariance, on the scale that samplers see (`models/sampled_scale.py`). Draws
from the normal are independent and cost one density each. Their importance ratios, target over
normal, are Pareto-smoothed [psis2024], and draws are resampled by the smoothed weights. The shape
khat of the ratios' tail says how good the approximation is: above 0.7 the draws are not to be
relied on.

A clamped target can have several modes. The proposals then come from a mixture with one normal a
mode, in equal shares, so that the ratios see all of the modes that `PseudoPosterior.starts` finds.
Of a mode that no proposal comes near, khat knows nothing, as no chain would.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np
import scipy  # Its parts are imported where they are first used, each for half a second.
from scipy.linalg import solve_triangular
from scipy.special import logsumexp

from pyvws._base.checks import Floats, Places
from pyvws._base.cores import quietly, share_out, steady_sums
from pyvws.engines.engine import Progress, failure_remedy
from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, InputError
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.normal_mixture import NormalMixture
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.draws import Posterior, resampled_draws
from pyvws.posterior.pseudo_posterior import PseudoPosterior

# Proposals a draw. A draw is repeated where its weight is above this many times the mean.
_POOL = 4
_STEP = 1e-3  # Of the differences that second derivatives come from, on the sampled scale.
_STEP_IN_WINDOW = 0.1  # Under a clamp: shorter ones see single records pass the window's ends.
_LEAST_CURVATURE = 0.05  # No direction is wider than this allows, where a prior alone has 1.
_APART = 1.0  # Two modes nearer than this, in standard deviations, are one.
_MOST_PARAMETERS = 4000  # Second derivatives of more would fill the memory.
_FEW = 25.0  # Sum of weights for each parameter, under which `auto` does not try the approximation.
_AT_ONCE = 64  # Densities between two looks at progress.


@dataclass(frozen=True, slots=True)
class LaplaceEngine:
    """Independent draws from an approximation, with khat; the same on any number of processors.

    The engine runs no chain: it does not read `warmup`, `target_accept` or a previous fit. Draws of
    a family whose posterior is known are exact, as the native engine's.
    """

    approximate: ClassVar[bool] = True
    name: str = "laplace"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        """As `Engine.sample`.

        Raises InputError for a mixture, whose components can swap, and for more parameters than
        the second derivatives can be had of; ConvergenceError where no mode is found.
        """
        began = time.perf_counter()
        model, D = target.model, target.dimension
        if isinstance(model, ConditionalTable):
            return NativeEngine().sample(target, settings, seed=seed, progress=progress)
        if isinstance(model, NormalMixture):
            raise InputError.by("laplace-components-swap", model=model.name)
        if D > _MOST_PARAMETERS:
            raise InputError.by(
                "laplace-too-many-parameters", d=D, most_parameters=_MOST_PARAMETERS
            )
        S = settings.chains * settings.draws
        starts = target.starts()
        scale = sampled_scale(starts[0])
        density = partial(scale.density, target.density_and_gradient())
        with steady_sums(), np.errstate(all="ignore"):
            step = _STEP if target.clamp is None else _STEP_IN_WINDOW
            peaks = _peaks(density, [scale.inverse(start.centre) for start in starts], step)
            if not peaks:
                raise ConvergenceError(
                    "The density has no mode near the rough fit, so there is no approximation. "
                    + failure_remedy(target.cells.rows)
                )
            rng = np.random.default_rng(seed)
            z = _proposals(peaks, rng, _POOL * S)
            heights = _log_proposal(peaks, z)
        values, q = np.empty(len(z)), np.empty_like(z)

        def evaluate(rows: slice) -> None:
            for at in range(rows.start, rows.stop):
                values[at] = density(z[at], q[at])[0]

        for first in range(0, len(z), S):  # Each share of the pool is told as done.
            stops = range(first, first + S, _AT_ONCE)
            share_out(evaluate, (slice(a, min(a + _AT_ONCE, first + S)) for a in stops))
            if progress is not None:
                progress((first + S) // _POOL, S)
        weights, khat = smoothed_weights(values - heights)
        kept = q[systematic(weights, S, float(rng.random()))]
        draws = model.constrain(kept, target.cells.n_coefficients)
        found, seconds = resampled_draws(weights, khat, S), time.perf_counter() - began
        return Posterior(draws, settings.chains, found, seconds, self.name)


@dataclass(frozen=True, slots=True)
class AutoEngine(NativeEngine):
    """Laplace where it is good, else NUTS; the posterior names the engine that drew.

    NUTS draws a table under one clamp, from a mixture, and where the weights add up to fewer than
    25 for each parameter. It draws too where no mode is found, and where the approximation's
    diagnostics find problems: khat above 0.7.
    """

    approximate: ClassVar[bool] = True
    name: str = "auto"

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        total = target.cells.weight_sums(target.weights).sum()
        fits = _FEW * target.dimension <= total and target.dimension <= _MOST_PARAMETERS
        if fits and not isinstance(target.model, NormalMixture):
            with suppress(ConvergenceError):
                approximated = LaplaceEngine().sample(target, settings, seed=seed)
                if not approximated.diagnostics.problems():
                    return approximated
        return NativeEngine().sample(
            target, settings, seed=seed, progress=progress, previous=previous
        )


def smoothed_weights(log_ratios: Floats) -> tuple[Floats, float]:
    """Weights (P,) of sum 1 from log ratios (P,), their largest ones smoothed, and khat.

    A ratio that is no number counts as 0. khat is infinite where no proposal reaches the target, or
    so few that their tail cannot be smoothed, and -infinity where all ratios are equal.
    """
    ratios = np.where(np.isfinite(log_ratios), log_ratios, -np.inf)
    if not np.isfinite(ratios).any():
        return np.full(len(ratios), 1.0 / len(ratios)), math.inf
    ratios = np.maximum(ratios - ratios.max(), -600.0)
    if np.ptp(ratios) < 1e-9:
        return np.full(len(ratios), 1.0 / len(ratios)), -math.inf
    with quietly():
        from arviz_stats.base import array_stats

        try:
            smoothed, khat = array_stats.psislw(-ratios)
        except ValueError:  # The largest ratios are equal: they have no tail.
            smoothed, khat = ratios, -math.inf
    if not np.isfinite(smoothed).all():
        smoothed, khat = ratios, math.inf
    weights = np.exp(smoothed - logsumexp(smoothed))
    return weights / weights.sum(), float(khat)


def systematic(weights: Floats, S: int, u: float) -> Places:
    """S places among weights (P,) of sum 1, in order: each is taken S times its weight, rounded.

    `u` in [0, 1) decides which way is rounded; on the average over u the counts are exact. A place
    is repeated only if its weight is above 1 / S.
    """
    ends = np.cumsum(weights)
    points = np.minimum((np.arange(S) + u) / S, np.nextafter(1.0, 0.0))
    return np.searchsorted(ends / ends[-1], points, side="right").astype(np.intp)


@dataclass(frozen=True, slots=True)
class _Peak:
    """A mode z (D,), the factor L of its precision L L', and the log density of the normal at z."""

    mode: Floats
    root: Floats
    height: float


_Density = Callable[[Floats, Floats], tuple[float, Floats]]
"""A function of z (D,) and q (D,), which it fills: the log density at z, and its gradient."""


def _peaks(density: _Density, places: list[Floats], step: float) -> list[_Peak]:
    """The modes that are found from places (D,), each once, by gradients `step` apart."""
    peaks: list[_Peak] = []
    for place in places:
        q = np.empty(len(place))

        def falling(z: Floats, q: Floats = q) -> tuple[float, Floats]:
            value, gradient = density(z, q)
            if not (np.isfinite(value) and np.isfinite(gradient).all()):
                return math.inf, np.zeros(len(z))
            return -value, -gradient

        if not (np.isfinite(place).all() and np.isfinite(falling(place)[0])):
            continue
        options = {"maxiter": 3000, "maxfun": 6000, "maxcor": 30, "gtol": 1e-5, "ftol": 1e-14}
        mode = scipy.optimize.minimize(
            falling, place, jac=True, method="L-BFGS-B", options=options
        ).x
        if any(np.linalg.norm(peak.root.T @ (mode - peak.mode)) < _APART for peak in peaks):
            continue
        steps = step * np.eye(len(mode))
        rows = [density(mode - d, q)[1] - density(mode + d, q)[1] for d in steps]
        curvature = np.array(rows) / (2.0 * step)
        if not np.isfinite(curvature).all():
            continue
        values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
        precision = (vectors * np.maximum(values, _LEAST_CURVATURE)) @ vectors.T
        try:
            root = np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:  # Curvatures too far apart for a factor.
            continue
        peaks.append(_Peak(mode, root, float(np.log(np.diag(root)).sum())))
    return peaks


def _proposals(peaks: list[_Peak], rng: np.random.Generator, count: int) -> Floats:
    """Draws (count, D) from the mixture of normals."""
    peak_of_draw = rng.integers(len(peaks), size=count)
    z = rng.standard_normal((count, len(peaks[0].mode)))
    for at, peak in enumerate(peaks):
        own = peak_of_draw == at
        z[own] = peak.mode + solve_triangular(peak.root.T, z[own].T).T
    return z


def _log_proposal(peaks: list[_Peak], z: Floats) -> Floats:
    """The log density (count,) of the mixture at z (count, D), up to a constant."""
    squares = [(((z - peak.mode) @ peak.root) ** 2).sum(axis=1) for peak in peaks]
    terms = [peak.height - 0.5 * square for peak, square in zip(peaks, squares, strict=True)]
    return np.asarray(logsumexp(terms, axis=0))
