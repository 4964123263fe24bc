"""A chain of a family's parameters that takes one step whenever its records have changed.

A step is a Hamiltonian trajectory on the scale that samplers see (`models/sampled_scale.py`), with
a Metropolis test, so it leaves the posterior given the records as it is. Where a family has exact
draws, a step is such a draw. While the chain is tuned, its scale follows the records and its step
size follows the acceptance. Afterwards both stay as they are.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import steady_sums
from pyvws.models.model import Draws, Model, SampledScale
from pyvws.models.sampled_scale import sampled_scale
from pyvws.tables.design.cells import Cells

_LOOKS: Final = (0, 5, 15, 40, 100)  # Tuned steps before which the scale follows the records.
_WANTED: Final = 0.8  # Share of trajectories to accept.
_FIRST_STEP: Final = 0.2
_GAIN: Final = 0.6
_LEAPS: Final = (6, 13)


class ShortRun:
    """The state of one family's chain."""

    def __init__(self, family: Model) -> None:
        self.family = family
        self._scale: SampledScale | None = None
        self._q = np.empty(0)
        self._steps, self._log_step = 0, math.log(_FIRST_STEP)

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
        data = self.family.density_data(cells, weights)
        accepted = self._trajectory(self._scale, data, rng)
        if tuning:
            self._log_step += _GAIN * (accepted - _WANTED) / math.sqrt(1.0 + self._steps)
            self._steps += 1
        return self.family.constrain(self._q[None], cells.n_coefficients)

    def _trajectory(
        self, scale: SampledScale, data: tuple[Any, ...], rng: np.random.Generator
    ) -> float:
        """Move by one trajectory, or stay; returns the probability of moving."""
        z = scale.inverse(self._q)
        momentum = rng.standard_normal(len(z))
        leaps = int(rng.integers(*_LEAPS))
        step = math.exp(self._log_step) * rng.uniform(0.8, 1.2)
        height, slope, _ = self._at(z, scale, data)
        before = height - 0.5 * float(momentum @ momentum)
        q = self._q
        for _ in range(leaps):
            momentum = momentum + 0.5 * step * slope
            z = z + step * momentum
            height, slope, q = self._at(z, scale, data)
            if not math.isfinite(height):
                break
            momentum = momentum + 0.5 * step * slope
        gain = height - 0.5 * float(momentum @ momentum) - before
        accepted = math.exp(min(gain, 0.0)) if math.isfinite(gain) else 0.0
        if rng.random() < accepted:
            self._q = q
        return accepted

    def _at(
        self, z: Floats, scale: SampledScale, data: tuple[Any, ...]
    ) -> tuple[float, Floats, Floats]:
        """The log density at z (D,), its slope there, and q (D,)."""
        restore, pull_back = scale.kernels
        q, slope = np.empty(len(z)), np.empty(len(z))
        jacobian, state = restore(z, *scale.data, q)
        height = self.family.log_density(q, *data, slope)
        pull_back(state, q, *scale.data, slope)
        return float(height + jacobian), slope, q
