"""Samples of positions, with equal probabilities or with a probability for each position.

With probabilities, a search in descending order serves few positions, and Walker's alias method
serves many [ripley1987]. Heapsort decides the order of equal probabilities [williams1964].
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._stream import Stream, uniform, whole_below

Positions = NDArray[np.int64]


@kernel
def fill_positions(stream: Stream, below: int, bits: int, values: Positions) -> None:
    """Draw positions 1, ..., below with replacement."""
    for i in range(len(values)):
        values[i] = whole_below(stream, below, bits) + 1


@kernel
def fill_distinct(stream: Stream, below: int, bits: int, values: Positions) -> None:
    """Draw positions without replacement; the last position left replaces the drawn position."""
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
    """Draw positions without replacement out of many; a repeated position is drawn anew."""
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


# Samples with probabilities


@inlined_kernel
def _sift(p: Floats, order: Positions, start: int, size: int, share: float, position: int) -> None:
    """Put a pair into the heap below `start`; the top of the heap has the smallest probability."""
    gap = start
    below = 2 * gap + 1
    while below < size:
        if below + 1 < size and p[below] > p[below + 1]:
            below += 1
        if share <= p[below]:
            break
        p[gap], order[gap] = p[below], order[below]
        gap = below
        below = 2 * gap + 1
    p[gap], order[gap] = share, position


@kernel
def _descending(p: Floats, order: Positions) -> None:
    """Sort probabilities and their positions by heapsort, the largest probability first."""
    size = len(p)
    for start in range(size // 2 - 1, -1, -1):
        _sift(p, order, start, size, p[start], order[start])
    for last in range(size - 1, 0, -1):
        share, position = p[last], order[last]
        p[last], order[last] = p[0], order[0]
        _sift(p, order, 0, last, share, position)


@kernel
def fill_by_search(stream: Stream, shares: Floats, values: Positions) -> None:
    """Draw positions with replacement: the first whose cumulated probability reaches a uniform."""
    p = shares.copy()
    order = np.arange(1, len(p) + 1)
    _descending(p, order)
    total = np.cumsum(p)
    last = len(p) - 1
    for i in range(len(values)):
        u = uniform(stream)
        k = 0
        while k < last and u > total[k]:
            k += 1
        values[i] = order[k]


@kernel
def fill_by_alias(stream: Stream, shares: Floats, bits: int, values: Positions) -> None:
    """Draw positions with replacement by Walker's alias method; `bits` as in `whole_below`."""
    n = len(shares)
    level = shares * n
    alias = np.arange(n)
    # The queue holds levels below 1 from the front, and the other levels from the back.
    queue = np.empty(n, dtype=np.int64)
    few, many = 0, n
    for k in range(n):
        if level[k] < 1.0:
            queue[few] = k
            few += 1
        else:
            many -= 1
            queue[many] = k
    if few > 0 and many < n:
        for done in range(n - 1):
            poor, rich = queue[done], queue[many]
            alias[poor] = rich
            level[rich] += level[poor] - 1.0
            if level[rich] < 1.0:
                many += 1
            if many >= n:
                break
    for i in range(len(values)):
        if bits < 0:  # Before R 3.6 one uniform number gave both.
            u = uniform(stream) * n
            k = int(u)
            kept = u < level[k] + k
        else:
            k = whole_below(stream, n, bits)
            kept = uniform(stream) < level[k]
        values[i] = (k if kept else alias[k]) + 1


@kernel
def fill_distinct_by_search(stream: Stream, shares: Floats, values: Positions) -> None:
    """Draw positions without replacement; the positions after a drawn position move up."""
    p = shares.copy()
    order = np.arange(1, len(p) + 1)
    _descending(p, order)
    total = 1.0
    last = len(p) - 1
    for i in range(len(values)):
        u = total * uniform(stream)
        mass = 0.0
        k = 0
        while k < last:
            mass += p[k]
            if u <= mass:
                break
            k += 1
        values[i] = order[k]
        total -= p[k]
        for j in range(k, last):
            p[j], order[j] = p[j + 1], order[j + 1]
        last -= 1
