"""Exponential numbers by Algorithm SA [ahrens1972].

A number of mean 1 is k ln 2 plus ln 2 times the least of some uniform numbers. k is the number of
leading zeros of another uniform number. A table of Poisson probabilities at ln 2 gives the number
of uniform numbers to compare.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform


def _partial_sums(count: int) -> Floats:
    """The sums over i = 1, ..., k of (ln 2)^i / i!, for k = 1, ..., count; the last is 1."""
    # The sum over i of 1 / (i 2^i) gives ln 2 to more digits than a double has.
    ln2 = sum((Fraction(1, i * 2**i) for i in range(1, 90)), Fraction(0))
    terms = [ln2**i / math.factorial(i) for i in range(1, count + 1)]
    return np.array([float(sum(terms[:k], Fraction(0))) for k in range(1, count + 1)])


_SUMS = _partial_sums(16)


@inlined_kernel
def standard_exponential(stream: Stream) -> float:
    """One number of the exponential distribution of mean 1."""
    whole = 0.0
    u = uniform(stream)
    while True:
        u += u
        if u > 1.0:
            break
        whole += _SUMS[0]
    u -= 1.0
    if u <= _SUMS[0]:
        return whole + u
    least = uniform(stream)
    k = 0
    while True:
        least = min(least, uniform(stream))
        k += 1
        if u <= _SUMS[k]:
            return whole + least * _SUMS[0]


@kernel
def fill_exponential(stream: Stream, mean: Floats, values: Floats) -> None:
    """Fill `values` with an exponential number for each mean."""
    for i in range(len(values)):
        values[i] = at(mean, i) * standard_exponential(stream)
