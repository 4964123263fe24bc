"""The sampler of a table under one clamp with steps in Python, beside the compiled one.

Both make the same moves from the same kernels (`pyvws/engines/nuts.py`); here Python takes
the steps and calls each kernel. Here the variances are renewed at the end of a window alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import SampledScale
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.joint_target import GivenOthers, JointTarget, add_sums_inside

__all__ = ["sample_joint_in_python"]

_JITTER, _NEAR, _STARTS = 0.1, 20, 50

_DEEPEST = 10  # Doublings of a trajectory at most.
_LOST = 1000.0  # Nats of energy that an error of a trajectory may take.
_FIRST_WINDOW, _GROWTH = 10, 1.5
_LAST = 0.1  # Share of the warm-up in which the step size alone adapts.
_NARROWEST, _WIDEST = 1e-8, 1e4


@dataclass(frozen=True, slots=True)
class PhasePoint:
    """A point z (D,), its log density (-inf where not finite) and slope (D,), and what it has
    `seen`.
    """

    z: Floats
    value: float
    slope: Floats
    seen: Any = None


@dataclass(frozen=True, slots=True)
class Step:
    """The point that a step ends in, its mean acceptance, and whether its trajectory broke off."""

    point: PhasePoint
    leapfrogs: int
    acceptance: float
    diverged: bool


@dataclass(frozen=True, slots=True)
class _Moving:
    """A point with its momentum (D,)."""

    point: PhasePoint
    momentum: Floats


@dataclass(frozen=True, slots=True)
class _Branch:
    """A part of a trajectory, in the order of its steps.

    `log_weight` is of all its points, `drawn` one of them, and `total` (D,) their momenta's sum.
    """

    first: _Moving
    last: _Moving
    drawn: PhasePoint
    log_weight: float
    total: Floats


def nuts_step(
    density: Callable[[Floats], PhasePoint],
    point: PhasePoint,
    *,
    variances: Floats,
    size: float,
    rng: np.random.Generator,
) -> Step:
    """One step from a point; `variances` (D,) scale the steps, and `size` is in their unit."""
    tree = _Tree(density, point, variances, size, rng)
    return tree.step()


class _Tree:
    def __init__(
        self,
        density: Callable[[Floats], PhasePoint],
        point: PhasePoint,
        variances: Floats,
        size: float,
        rng: np.random.Generator,
    ) -> None:
        self._density, self._variances, self._size, self._rng = density, variances, size, rng
        self._start = _Moving(point, rng.standard_normal(len(point.z)) / np.sqrt(variances))
        self._energy = self._height(self._start)
        self._leapfrogs, self._accepted, self._diverged = 0, 0.0, False

    def step(self) -> Step:
        start = self._start
        whole = _Branch(start, start, start.point, 0.0, start.momentum)
        for depth in range(_DEEPEST):
            forward = bool(self._rng.random() < 0.5)
            sign = 1.0 if forward else -1.0
            more = self._grown(whole.last if forward else whole.first, depth, sign)
            if more is None:
                break
            drawn = whole.drawn
            if math.log(self._rng.random()) < more.log_weight - whole.log_weight:
                drawn = more.drawn
            if not forward:
                more = _Branch(more.last, more.first, more.drawn, more.log_weight, more.total)
            early, late = (whole, more) if forward else (more, whole)
            turned = self._turned(early, late)
            whole = self._joined(early, late, drawn)
            if turned:
                break
        share = self._accepted / max(1, self._leapfrogs)
        return Step(whole.drawn, self._leapfrogs, share, self._diverged)

    def _grown(self, edge: _Moving, depth: int, sign: float) -> _Branch | None:
        """The 2^depth points beyond an edge; None where they turn back or break off."""
        if depth == 0:
            new = self._leapfrog(edge, sign)
            gain = self._height(new) - self._energy
            if not gain > -_LOST:
                self._diverged = True
                return None
            self._accepted += math.exp(min(0.0, gain))
            return _Branch(new, new, new.point, gain, new.momentum)
        near = self._grown(edge, depth - 1, sign)
        far = None if near is None else self._grown(near.last, depth - 1, sign)
        if near is None or far is None or self._turned(near, far):
            return None
        share = far.log_weight - np.logaddexp(near.log_weight, far.log_weight)
        drawn = far.drawn if math.log(self._rng.random()) < share else near.drawn
        return self._joined(near, far, drawn)

    def _leapfrog(self, at: _Moving, sign: float) -> _Moving:
        self._leapfrogs += 1
        size = sign * self._size
        half = at.momentum + 0.5 * size * at.point.slope
        point = self._density(at.point.z + size * self._variances * half)
        return _Moving(point, half + 0.5 * size * point.slope)

    def _height(self, at: _Moving) -> float:
        """The log density of point and momentum; no product of BLAS, whose bits can differ."""
        return float(at.point.value - 0.5 * (self._variances * at.momentum**2).sum())

    def _turned(self, early: _Branch, late: _Branch) -> bool:
        """Whether two parts of a trajectory, or one with the next point of the other, turn back."""
        a, b, c, d = (at.momentum for at in (early.first, early.last, late.first, late.last))
        return (
            self._back(a, d, early.total + late.total)
            or self._back(a, c, early.total + c)
            or self._back(b, d, late.total + b)
        )

    def _back(self, first: Floats, last: Floats, total: Floats) -> bool:
        way = self._variances * total
        return bool((first * way).sum() <= 0.0 or (last * way).sum() <= 0.0)

    @staticmethod
    def _joined(early: _Branch, late: _Branch, drawn: PhasePoint) -> _Branch:
        weight = float(np.logaddexp(early.log_weight, late.log_weight))
        return _Branch(early.first, late.last, drawn, weight, early.total + late.total)


class Adaptation:
    """The next step `size` and the `variances` (D,) of a chain, from points near its start on and
    while it warms up.
    """

    size: float
    _count: int  # Steps since the variances last changed.
    _middle: float
    _error: float
    _average: float

    def __init__(self, near: Sequence[PhasePoint], *, warmup: int, target_accept: float) -> None:
        D = len(near[0].z)
        self._moments = _Moments(D)
        for point in near:
            self._moments.see(point)
        self.variances = self._moments.variances()
        self._moments = _Moments(D)
        self._warmup, self._accept = warmup, target_accept
        self._ends = _window_ends(warmup)
        self._done = 0
        self._average_from(0.5 * D**-0.25)

    def after(self, step: Step) -> None:
        """Learn from a step of the warm-up; the last one fixes size and variances."""
        self._done += 1
        self._count += 1
        share = 1.0 / (self._count + 10.0)
        self._error += share * (self._accept - step.acceptance - self._error)
        log_size = self._middle - 20.0 * math.sqrt(self._count) * self._error
        share = self._count**-0.75
        self._average += share * (log_size - self._average)
        self.size = math.exp(log_size)
        self._moments.see(step.point)
        if self._done in self._ends:
            self.variances = self._moments.variances()
            self._moments = _Moments(len(self.variances))
            self._average_from(math.exp(self._average))
        if self._done == self._warmup:
            self.size = math.exp(self._average)

    def _average_from(self, size: float) -> None:
        self.size, self._middle = size, math.log(2.0 * size)
        self._count, self._error, self._average = 0, 0.0, math.log(size)


def _window_ends(warmup: int) -> frozenset[int]:
    """The iterations after which the variances of a window take effect."""
    ends, length, last = [], float(_FIRST_WINDOW), (1.0 - _LAST) * warmup
    at = length
    while at <= last:
        ends.append(int(at))
        length *= _GROWTH
        at += length
    if ends and at - length < last - 0.5 * length:
        ends.append(int(last))
    return frozenset(ends)


class _Moments:
    """Running means and sums of squares of points and of their slopes."""

    def __init__(self, D: int) -> None:
        self._count = 0
        self._means, self._squares = np.zeros((2, D)), np.zeros((2, D))

    def see(self, point: PhasePoint) -> None:
        self._count += 1
        gaps = np.stack([point.z, point.slope]) - self._means
        self._means += gaps / self._count
        self._squares += gaps * (np.stack([point.z, point.slope]) - self._means)

    def variances(self) -> Floats:
        """sqrt(var(z) / var(slope)) of each parameter (D,); 1 where neither has moved."""
        z, slope = self._squares
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.sqrt(z / slope)
        return np.clip(np.nan_to_num(ratio, nan=1.0, posinf=1.0), _NARROWEST, _WIDEST)


def sample_joint_in_python(target: JointTarget, settings: SamplerSettings, *, seed: int) -> Floats:
    """Unconstrained draws (chains, draws, D) of a table's clamped target."""
    scales = [sampled_scale(start) for start in target.starts()]
    return np.stack(
        [
            _Chain(target, scales, settings, np.random.default_rng(stream)).run()
            for stream in np.random.SeedSequence(seed).spawn(settings.chains)
        ]
    )


class _Column:
    """A column's density on its sampled scale, given the other columns' terms."""

    def __init__(self, target: GivenOthers, scale: SampledScale) -> None:
        self._target, self._scale = target, scale
        self._kernels, self._groups = target.kernels()

    def at(self, z: Floats) -> PhasePoint:
        """The point at z (D_k,); it has seen q (D_k,) and the column's own terms (M,)."""
        log_density, terms, slopes = self._kernels
        prior, (rows, row_of_cell, *data), (*clamped, width, others, own) = self._groups
        start, cell, times, weight, count, low, high, shift = clamped
        clamps = (start, cell, times), (weight, count), (low, high), shift
        C, q, slope = len(row_of_cell), np.empty(len(z)), np.empty(len(z))
        found, inside = (np.empty(C), np.empty(C), np.empty((C, width))), np.empty(C)
        restore, pull_back = self._scale.kernels
        jacobian, state = restore(z, *self._scale.data, q)
        value = jacobian + log_density(q, *prior, slope)
        terms(q, rows, row_of_cell, tuple(data), found)
        value += add_sums_inside(*clamps, found[0], others, own, inside)
        slopes(q, rows, row_of_cell, tuple(data), found, inside, slope)
        pull_back(state, q, *self._scale.data, slope)
        if not (np.isfinite(value) and np.isfinite(slope).all()):
            return PhasePoint(z, -np.inf, np.zeros(len(z)), (q, own.copy()))
        return PhasePoint(z, value, slope, (q, own.copy()))


class _Chain:
    """One chain: a point of each column."""

    def __init__(
        self,
        target: JointTarget,
        scales: Sequence[SampledScale],
        settings: SamplerSettings,
        rng: np.random.Generator,
    ) -> None:
        self._settings, self._rng, self._blocks = settings, rng, target.blocks()
        self._others, own = np.zeros((2, target.distinct_units))
        given = target.given_others(self._others, own)
        self._columns = [_Column(*pair) for pair in zip(given, scales, strict=True)]
        self._points = [self._near(k) for k in range(len(self._columns))]
        self._adaptations = []
        for k in range(len(self._columns)):
            self._see_others(k)
            near = [self._near(k) for _ in range(_NEAR)]
            self._adaptations.append(
                Adaptation(near, warmup=settings.warmup, target_accept=settings.target_accept)
            )

    def run(self) -> Floats:
        """The draws (draws, D) after the warm-up."""
        drawn = np.empty((self._settings.draws, self._blocks[-1].stop))
        for done in range(-self._settings.warmup, self._settings.draws):
            for k in range(len(self._columns)):
                self._move(k, warm=done >= 0)
            if done >= 0:
                for block, point in zip(self._blocks, self._points, strict=True):
                    drawn[done, block] = point.seen[0]
        return drawn

    def _move(self, k: int, *, warm: bool) -> None:
        self._see_others(k)
        column, adapted = self._columns[k], self._adaptations[k]
        step = nuts_step(
            column.at,
            column.at(self._points[k].z),
            variances=adapted.variances,
            size=adapted.size,
            rng=self._rng,
        )
        self._points[k] = step.point
        if not warm:
            adapted.after(step)

    def _see_others(self, k: int) -> None:
        self._others[:] = 0.0
        for j, point in enumerate(self._points):
            if j != k:
                self._others += point.seen[1]

    def _near(self, k: int) -> PhasePoint:
        block = self._blocks[k]
        for _ in range(_STARTS):
            point = self._columns[k].at(
                self._rng.uniform(-_JITTER, _JITTER, block.stop - block.start)
            )
            if point.value > -np.inf and point.slope.any():
                return point
        raise ValueError("There is no start.")
