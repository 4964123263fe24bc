"""R's Mersenne Twister [matsumoto1998] and the numbers that come straight from its words.

A linear congruence fills the 624 words from the seed. A uniform number is one word over 2^32, kept
off 0 and 1. Since R 3.6 a whole number below n takes just enough bits for n, 16 from each uniform
number; R draws again until the number is below n. Earlier versions of R took floor(n u).
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
