"""Beta numbers by rejection from a log-logistic number: Algorithms BB and BC [cheng1978].

BB serves pairs of shapes that are both above 1; BC serves other pairs.
"""

from __future__ import annotations

import math

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform

_LARGEST = 1.7976931348623157e308
_LARGEST_EXPONENT = 1024.0 * math.log(2.0)
_LOG_4 = 1.3862944
_ONE_PLUS_LOG_5 = 2.609438


@inlined_kernel
def _odds(u: float, power: float, shape: float) -> tuple[float, float]:
    """v = power log(u / (1 - u)) and w = shape exp(v), kept finite."""
    v = power * math.log(u / (1.0 - u))
    w = shape * math.exp(v) if v <= _LARGEST_EXPONENT else _LARGEST
    return v, min(w, _LARGEST)


@inlined_kernel
def _both_above_one(stream: Stream, first: float, second: float) -> float:
    """Algorithm BB."""
    low, high = min(first, second), max(first, second)
    total = low + high
    power = math.sqrt((total - 2.0) / (2.0 * low * high - total))
    slope = low + 1.0 / power
    while True:
        u1 = uniform(stream)
        u2 = uniform(stream)
        v, w = _odds(u1, power, low)
        z = u1 * u1 * u2
        r = slope * v - _LOG_4
        s = low + r - w
        if s + _ONE_PLUS_LOG_5 >= 5.0 * z:
            break
        t = math.log(z)
        if s > t or r + total * math.log(total / (high + w)) >= t:
            break
    return w / (high + w) if first == low else high / (high + w)


@inlined_kernel
def _one_at_most_one(stream: Stream, first: float, second: float) -> float:
    """Algorithm BC."""
    low, high = min(first, second), max(first, second)
    total = low + high
    power = 1.0 / low
    delta = 1.0 + high - low
    k1 = delta * (0.0138889 + 0.0416667 * low) / (high * power - 0.777778)
    k2 = 0.25 + (0.5 + 0.25 / delta) * low
    while True:
        u1 = uniform(stream)
        u2 = uniform(stream)
        if u1 < 0.5:
            y = u1 * u2
            z = u1 * y
            if 0.25 * u2 + z - y >= k1:
                continue
        else:
            z = u1 * u1 * u2
            if z <= 0.25:
                v, w = _odds(u1, power, high)
                break
            if z >= k2:
                continue
        v, w = _odds(u1, power, high)
        if total * (math.log(total / (low + w)) + v) - _LOG_4 >= math.log(z):
            break
    return low / (low + w) if first == low else w / (low + w)


@kernel
def fill_beta(stream: Stream, first: Floats, second: Floats, values: Floats) -> None:
    """Fill `values` with a beta number for each pair of shapes."""
    for i in range(len(values)):
        a, b = at(first, i), at(second, i)
        if min(a, b) > 1.0:
            values[i] = _both_above_one(stream, a, b)
        else:
            values[i] = _one_at_most_one(stream, a, b)
