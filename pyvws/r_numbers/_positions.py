"""Samples of positions, each as probable as the others."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._base.kernels import kernel
from pyvws.r_numbers._stream import Stream, whole_below

__all__ = ["Positions", "fill_distinct", "fill_distinct_of_many", "fill_positions"]

Positions = NDArray[np.int64]


@kernel
def fill_positions(stream: Stream, below: int, bits: int, values: Positions) -> None:
    """Positions 1, ..., below with replacement."""
    for i in range(len(values)):
        values[i] = whole_below(stream, below, bits) + 1


@kernel
def fill_distinct(stream: Stream, below: int, bits: int, values: Positions) -> None:
    """Positions without replacement: the last of those left takes the place of the one drawn."""
    left = np.arange(1, below + 1)
    for i in range(len(values)):
        while bits > 0 and (below - 1) >> (bits - 1) == 0:
            bits -= 1
        drawn = whole_below(stream, below, bits)
        values[i] = left[drawn]
        below -= 1
        left[drawn] = left[below]


@kernel
def fill_distinct_of_many(stream: Stream, below: int, bits: int, values: Positions) -> None:
    """Positions without replacement out of many: what was drawn before is drawn again."""
    slots = 8
    while slots < 2 * len(values):
        slots *= 2
    seen = np.zeros(slots, dtype=np.int64)
    for i in range(len(values)):
        repeated = True
        while repeated:
            drawn = whole_below(stream, below, bits) + 1
            place = drawn * 2654435761 % slots
            while seen[place] != 0 and seen[place] != drawn:
                place = (place + 1) % slots
            repeated = seen[place] == drawn
        seen[place] = drawn
        values[i] = drawn
