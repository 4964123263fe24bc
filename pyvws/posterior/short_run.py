"""A chain of a family's parameters that takes one step whenever its records have changed.

A step is a Hamiltonian trajectory on the scale that samplers see (`models/sampled_scale.py`), with
a Metropolis test, so it leaves the posterior given the records as it is. Where a family has exact
draws, a step is such a draw. While the chain is tuned, its scale follows the records and its step
size follows the acceptance. Afterwards both stay as they are. A point near the present one can
be taken together with other records, where these keep the parameters from moving.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.models.model import Draws, Model, SampledScale
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells

_LOOKS: Final = (0, 5, 15, 40, 100)  # Tuned steps before which the scale follows the records.
_WANTED: Final = 0.8  # Share of trajectories to accept.
_FIRST_STEP: Final = 0.2
_GAIN: Final = 0.6
_LEAPS: Final = (6, 13)
_MOST_NEAR: Final = 20  # Parameters of a family for which points near the present one are tried.
_WANTED_NEAR: Final = 0.3  # Share of points near the present one to take.

_Density = Callable[[Floats, Floats], tuple[float, Floats]]


@dataclass(frozen=True, slots=True, eq=False)
class NearPoint:
    """Parameters as the family's draw, on both scales, and the log of their prior over the present
    ones' prior. They differ from these in coordinate `k` of z."""

    draw: Draws
    q: Floats
    z: Floats
    k: int
    log_ratio: float


class ShortRun:
    """The state of one family's chain."""

    def __init__(self, family: Model) -> None:
        self.family = family
        self._scale: SampledScale | None = None
        self._q, self._z = np.empty(0), np.empty(0)
        self._steps, self._log_step = 0, math.log(_FIRST_STEP)
        self._tries, self._log_reach = np.empty(0), np.empty(0)

    def move(self, cells: Cells, rng: np.random.Generator, *, tuning: bool) -> Draws:
        """The parameters (S = 1) after one step under the records of these cells."""
        weights = np.ones(cells.n_records)
        exact = self.family.exact_draws(cells, weights, 1, rng)
        if exact is not None:
            return exact
        if self._scale is None or (tuning and self._steps in _LOOKS):
            with steady_sums(), np.errstate(all="ignore"):
                start = self.family.start(cells, weights)
                if self._scale is None:
                    self._q = start.centre.copy()
                self._scale = sampled_scale(start)
                self._z = self._scale.inverse(self._q)
        density = self._density(self._scale, cells)
        with np.errstate(all="ignore"):  # A trajectory that leads nowhere is not accepted.
            accepted = self._trajectory(density, rng)
        if tuning:
            self._log_step += _GAIN * (accepted - _WANTED) / math.sqrt(1.0 + self._steps)
            self._steps += 1
        return self.family.constrain(self._q[None], cells.n_coefficients)

    def near(self, nobody: Cells, rng: np.random.Generator) -> NearPoint | None:
        """Parameters near the present ones, for a move together with records.

        `nobody` is a cell without a record. None where the family has exact draws, and for many
        parameters, of which a step along one moves too little.
        """
        if self._scale is None or len(self._z) > _MOST_NEAR:
            return None
        density = self._density(self._scale, nobody)
        if not len(self._tries):
            self._tries, self._log_reach = np.zeros(len(self._z)), np.zeros(len(self._z))
        z, k = self._z.copy(), int(rng.integers(len(self._z)))
        z[k] += math.exp(self._log_reach[k]) * rng.standard_exponential() * rng.standard_normal()
        with np.errstate(all="ignore"):
            q = np.empty(len(z))
            before, height = density(self._z, q)[0], density(z, q)[0]
            draw = self.family.constrain(q[None], nobody.n_coefficients)
        ratio = height - before
        return NearPoint(draw, q, z, k, ratio) if math.isfinite(ratio) else None

    def settle(self, point: NearPoint, chance: float, *, taken: bool, tuning: bool) -> None:
        """Take a point or not, whose chance of it was in [0, 1]; tune how far points lie."""
        if taken:
            self._q, self._z = point.q, point.z
        if tuning:
            k = point.k
            self._tries[k] += 1.0
            self._log_reach[k] += 2.0 * (chance - _WANTED_NEAR) / math.sqrt(self._tries[k])

    def _density(self, scale: SampledScale, cells: Cells) -> _Density:
        target = PseudoPosterior(self.family, cells, np.ones(cells.n_records))
        return partial(scale.density, target.density_and_gradient())

    def _trajectory(self, density: _Density, rng: np.random.Generator) -> float:
        """Move by one trajectory, or stay; returns the probability of moving."""
        z, q = self._z, np.empty(len(self._z))
        momentum = rng.standard_normal(len(z))
        leaps = int(rng.integers(*_LEAPS))
        step = math.exp(self._log_step) * rng.uniform(0.8, 1.2)
        height, slope = density(z, q)
        before = height - 0.5 * float(momentum @ momentum)
        for _ in range(leaps):
            momentum = momentum + 0.5 * step * slope
            z = z + step * momentum
            height, slope = density(z, q)
            if not math.isfinite(height):
                break
            momentum = momentum + 0.5 * step * slope
        gain = height - 0.5 * float(momentum @ momentum) - before
        accepted = math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0
        if rng.random() < accepted:
            self._q, self._z = q, z
        return accepted
