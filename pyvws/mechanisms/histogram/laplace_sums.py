"""Sums over disjoint public cells by the Laplace mechanism, in whole numbers.

Each record adds a number within a public range to one cell, or to none. A number enters as a whole
multiple of a public step: the larger size of the range's ends, over 2^20. So a record that is left
out changes one sum, by at most 2^20 steps. Discrete Laplace noise of scale 2^20 / epsilon on every
sum costs epsilon for all cells together, since no record is in two of them. Sums of doubles would
not do: their rounding depends on other records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, finite_vector
from pyvws.errors import InputError
from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace
from pyvws.mechanisms.histogram.perturbed_histogram import noise_scale

_STEPS: Final = 2**20

LaplaceNoise = Callable[..., NDArray[Any]]
"""Adds noise to whole numbers (C,) at a `scale`; `add_discrete_laplace` for a release."""


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums:
    """Sums (C,) with noise, and the standard deviation of the noise of each, in the same unit."""

    sums: Floats
    noise: float


def noisy_sums(
    values: Any,
    cells: NDArray[np.intp],
    *,
    count: int,
    range: tuple[float, float],
    epsilon: float,
    noise: LaplaceNoise = add_discrete_laplace,
) -> NoisySums:
    """Sum `values` (N,) in `count` cells and add Laplace noise that costs `epsilon`.

    `cells` (N,) has each record's cell from 0, and -1 for a record in no cell. A value outside the
    public `range` counts as its nearest end. Neighbours are two tables of which one lacks a record
    of the other. Raises InputError for missing values or an epsilon not above 0, and
    MissingDependencyError where OpenDP is not installed.
    """
    low, high = range
    step = max(abs(low), abs(high)) / _STEPS
    if not 0.0 < step < inf:
        raise InputError("The ends of a public range must be numbers of moderate size, not both 0.")
    scale = noise_scale(epsilon, "loo") * _STEPS  # A product with a power of 2 is exact.
    sums = np.zeros(count, dtype=np.int64)
    inside = np.flatnonzero(cells >= 0)
    if len(inside):
        kept = np.clip(finite_vector(values, "values")[inside], low, high)
        steps = np.clip(np.rint(kept / step), -_STEPS, _STEPS).astype(np.int64)
        np.add.at(sums, cells[inside], steps)
    return NoisySums(np.asarray(noise(sums, scale=scale) * step), sqrt(2.0) * scale * step)
