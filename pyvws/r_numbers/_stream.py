"""R's Mersenne Twister [matsumoto1998] and the numbers that come straight from its words.

A linear congruence fills the 624 words from the seed. A uniform number is one word over 2^32, kept
off 0 and 1. Since R 3.6 a whole number below n takes just enough bits for n, 16 from each uniform
number; R draws again until the number is below n. Earlier versions of R took floor(n u).

Samples of positions come from such whole numbers, with equal probabilities or with a probability
for each position. With probabilities, a search in descending order serves few positions, and
Walker's alias method serves many [ripley1987]. Heapsort decides the order of equal probabilities
[williams1964].
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel

Stream = NDArray[np.uint64]  # The generator's words, the tempered words, and how many are used.

LARGEST: Final = 2**31 - 1  # R's largest integer

_FULL = 624
_MIDDLE = 397
_USED = 2 * _FULL
_FACTOR = 2.3283064365386963e-10  # 2^-32
_LEAST = 0.5 * 2.328306437080797e-10  # half of 1 / (2^32 - 1), for the word 0


@kernel
def fresh_stream(seed: np.uint64) -> Stream:
    """The generator after a seed: 51 unused steps of the congruence, then one step a word."""
    mask = np.uint64(0xFFFFFFFF)
    stream = np.zeros(_USED + 1, dtype=np.uint64)
    word = np.uint64(seed)
    for step in range(51 + _FULL):
        word = (np.uint64(69069) * word + np.uint64(1)) & mask
        if step >= 51:
            stream[step - 51] = word
    stream[_USED] = np.uint64(_FULL)
    return stream


@inlined_kernel
def _twisted(word: np.uint64, following: np.uint64, middle: np.uint64) -> np.uint64:
    joined = (word & np.uint64(0x80000000)) | (following & np.uint64(0x7FFFFFFF))
    odd = np.uint64(0) - (joined & np.uint64(1))  # all bits or none
    return middle ^ (joined >> np.uint64(1)) ^ (odd & np.uint64(0x9908B0DF))


@kernel
def _refill(stream: Stream) -> None:
    """Replace the words by the next 624 words of the Mersenne Twister, and temper these words."""
    last = _FULL - 1
    for k in range(_FULL - _MIDDLE):
        stream[k] = _twisted(stream[k], stream[k + 1], stream[k + _MIDDLE])
    for k in range(_FULL - _MIDDLE, last):
        stream[k] = _twisted(stream[k], stream[k + 1], stream[k + _MIDDLE - _FULL])
    stream[last] = _twisted(stream[last], stream[0], stream[_MIDDLE - 1])
    for k in range(_FULL):
        word = stream[k]
        word ^= word >> np.uint64(11)
        word ^= (word << np.uint64(7)) & np.uint64(0x9D2C5680)
        word ^= (word << np.uint64(15)) & np.uint64(0xEFC60000)
        stream[_FULL + k] = word ^ (word >> np.uint64(18))
    stream[_USED] = np.uint64(0)


@inlined_kernel
def uniform(stream: Stream) -> float:
    """One tempered word over 2^32: a number strictly between 0 and 1."""
    if stream[_USED] >= np.uint64(_FULL):
        _refill(stream)
    used = np.int64(stream[_USED])
    stream[_USED] = np.uint64(used + 1)
    word = np.int64(stream[_FULL + used])
    return word * _FACTOR if word > 0 else _LEAST


@inlined_kernel
def whole_below(stream: Stream, below: int, bits: int) -> int:
    """A whole number 0, ..., below - 1, from `bits` bits; -1 bits stands for floor(below u)."""
    if bits < 0:
        return int(np.floor(below * uniform(stream)))
    drawn = below
    while drawn >= below:
        drawn = 0
        for _ in range(bits // 16 + 1):
            drawn = 65536 * drawn + int(np.floor(uniform(stream) * 65536))
        drawn &= (1 << bits) - 1
    return drawn


@inlined_kernel
def at(values: Floats, i: int) -> float:
    """The value at place i of parameters (n,), or of one parameter (1,) for all places."""
    return values[i if len(values) > 1 else 0]


@kernel
def fill_uniform(stream: Stream, low: Floats, high: Floats, values: Floats) -> None:
    """Fill `values` with a uniform number for each pair of ends; equal ends draw nothing."""
    for i in range(len(values)):
        least, most = at(low, i), at(high, i)
        values[i] = least if least == most else least + (most - least) * uniform(stream)


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
