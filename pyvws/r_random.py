"""R's random numbers, to the bit: ``set.seed``, ``runif`` and ``sample`` with replacement.

R's default generator is the Mersenne Twister [matsumoto1998], its 624 words filled from the seed
by a linear congruence. A uniform number is one word over 2^32, kept off 0 and 1. Since R 3.6
``sample`` draws just enough bits for n, 16 from each uniform number, and rejects what exceeds n.

R's stream is for reproducing R's results. It is neither secret nor fit to protect anything.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pyvws._checks import Floats, whole_number
from pyvws._kernels import kernel
from pyvws.errors import InputError

__all__ = ["RRandom"]

_WORDS = 624
_MIDDLE = 397
_FACTOR = 2.3283064365386963e-10  # 2^-32 as R writes it
_LEAST = 0.5 * 2.328306437080797e-10  # half of 1 / (2^32 - 1), R's distance from 0 and 1
_LARGEST = 2**31 - 1


class RRandom:
    """A stream of R's default generator after ``set.seed(seed)``.

    Parameters
    ----------
    seed : int
        R's integers, from -(2^31 - 1) to 2^31 - 1.

    Raises
    ------
    InputError
        If the seed is no whole number or outside that range.

    Examples
    --------
    >>> RRandom(123).runif(2).tolist()
    [0.28757752012461424, 0.7883051354438066]
    >>> RRandom(123).sample(10, 5).tolist()
    [3, 3, 10, 2, 6]
    """

    __slots__ = ("_place", "_state")

    def __init__(self, seed: int) -> None:
        value = whole_number(seed, "seed", least=-_LARGEST)
        if value > _LARGEST:
            raise InputError(f"seed must be at most {_LARGEST}, R's largest integer. Got {value}.")
        self._state = _scrambled(np.uint64(value % 2**32))
        self._place = np.array([_WORDS], dtype=np.int64)

    def runif(self, n: int) -> Floats:
        """R's ``runif(n)``: n uniform numbers strictly between 0 and 1, shape (n,)."""
        values = np.empty(whole_number(n, "n", least=0))
        _fill_uniform(self._state, self._place, values)
        return values

    def sample(self, n: int, size: int) -> NDArray[np.int64]:
        """R's ``sample.int(n, size, replace = TRUE)``: whole numbers 1, ..., n, shape (size,).

        n is at least 1 and at most 2^31 - 1. R's ``sample(x, size, replace = TRUE)`` of a vector
        with two or more values takes the values at these positions.
        """
        below = whole_number(n, "n", least=1)
        if below > _LARGEST:
            raise InputError(f"n must be at most {_LARGEST}. Got {below}.")
        values = np.empty(whole_number(size, "size", least=0), dtype=np.int64)
        _fill_index(self._state, self._place, below, (below - 1).bit_length(), values)
        return values


@kernel
def _scrambled(seed: np.uint64) -> NDArray[np.uint64]:
    """The words of the generator: 51 steps of the congruence unused, then one step a word."""
    mask = np.uint64(0xFFFFFFFF)
    state = np.empty(_WORDS, dtype=np.uint64)
    word = np.uint64(seed)
    for step in range(51 + _WORDS):
        word = (np.uint64(69069) * word + np.uint64(1)) & mask
        if step >= 51:
            state[step - 51] = word
    return state


@kernel
def _refill(state: NDArray[np.uint64]) -> None:
    """The next 624 words of the Mersenne Twister, in place."""
    for k in range(_WORDS):
        joined = (state[k] & np.uint64(0x80000000)) | (
            state[(k + 1) % _WORDS] & np.uint64(0x7FFFFFFF)
        )
        twist = np.uint64(0x9908B0DF) if joined & np.uint64(1) else np.uint64(0)
        state[k] = state[(k + _MIDDLE) % _WORDS] ^ (joined >> np.uint64(1)) ^ twist


@kernel
def _uniform(state: NDArray[np.uint64], place: NDArray[np.int64]) -> float:
    """One word, tempered, over 2^32."""
    if place[0] >= _WORDS:
        _refill(state)
        place[0] = 0
    word = state[place[0]]
    place[0] += 1
    word ^= word >> np.uint64(11)
    word ^= (word << np.uint64(7)) & np.uint64(0x9D2C5680)
    word ^= (word << np.uint64(15)) & np.uint64(0xEFC60000)
    word ^= word >> np.uint64(18)
    value = float(word) * _FACTOR
    if value <= 0.0:
        return _LEAST
    if 1.0 - value <= 0.0:
        return 1.0 - _LEAST
    return value


@kernel
def _fill_uniform(
    state: NDArray[np.uint64], place: NDArray[np.int64], values: NDArray[np.float64]
) -> None:
    for i in range(len(values)):
        values[i] = _uniform(state, place)


@kernel
def _fill_index(
    state: NDArray[np.uint64],
    place: NDArray[np.int64],
    below: int,
    bits: int,
    values: NDArray[np.int64],
) -> None:
    """Positions 1 to `below`, from `bits` bits each, until they are in range."""
    mask = (1 << bits) - 1
    for i in range(len(values)):
        drawn = below
        while drawn >= below:
            drawn = 0
            for _ in range(bits // 16 + 1):
                drawn = 65536 * drawn + int(np.floor(_uniform(state, place) * 65536))
            drawn &= mask
        values[i] = drawn + 1
