"""Sums over disjoint public cells by the Laplace mechanism, in whole numbers.

Each record adds a number within a public range to one cell, or to none. A number enters as a whole
multiple of a public step: the larger size of the range's ends, over 2^20. So a record that is left
out changes one sum, by at most 2^20 steps. Discrete Laplace noise of scale 2^20 / epsilon on every
sum costs epsilon for all cells together, since no record is in two of them. Sums of doubles would
not do: their rounding depends on other records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import inf, sqrt
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector
from pyvws.errors import InputError
from pyvws.privacy.budget import Budget
from pyvws.privacy.seller import AddNoise, PricedMeasurement, Seller

_STEPS: Final = 2**20


@dataclass(frozen=True, slots=True, eq=False)
class NoisySums:
    """Sums (C,) with noise, and the standard deviation of the noise of each, in the same unit."""

    sums: Floats
    noise: float


def seller_of_sums(
    budget: Budget, shares: Mapping[str, Fraction], *, add: AddNoise | None = None
) -> Seller[None]:
    """The seller of sums by name, each of which has a share of the budget's epsilon."""
    goods = []
    for name, share in shares.items():
        scale = budget.scale(share)
        goods.append(
            PricedMeasurement(name, budget.price(scale), scale * _STEPS)
        )  # An exact product.
    return Seller(goods, budget=budget, records=None, add=add)


def noisy_sums(
    seller: Seller[None],
    name: str,
    values: ArrayLike,
    cells: NDArray[np.intp],
    *,
    count: int,
    range: tuple[float, float],
) -> NoisySums:
    """Buy the sums of `values` (N,) in `count` cells under the `name` that they have a price for.

    `cells` (N,) has each record's cell from 0, and -1 for a record in no cell. A value outside the
    public `range` counts as its nearest end. Raises InputError for missing values, and
    MissingDependencyError where OpenDP is not installed.
    """
    low, high = range
    step = max(abs(low), abs(high)) / _STEPS
    if not 0.0 < step < inf:
        raise InputError.by("range-ends-size")
    sums = np.zeros(count, dtype=np.int64)
    inside = np.flatnonzero(cells >= 0)
    if len(inside):
        kept = np.clip(finite_vector(values, "values")[inside], low, high)
        steps = np.clip(np.rint(kept / step), -_STEPS, _STEPS).astype(np.int64)
        np.add.at(sums, cells[inside], steps)
    noisy = seller.numbers(name, sums)
    return NoisySums(np.asarray(noisy * step), sqrt(2.0) * seller.scale(name) * step)
