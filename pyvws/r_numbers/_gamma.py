"""Gamma numbers: Algorithm GD [gd1982] for shapes of at least 1, GS [ahrens1974] below.

GD squares a normal number and accepts most squares at once. GD decides on the others by the
quotient of the densities, and replaces a rejected number by a double exponential number.
"""

from __future__ import annotations

import math

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._exponential import standard_exponential
from pyvws.r_numbers._normal import standard_normal
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform

_SQRT_32 = 5.656854
_INVERSE_E = 0.36787944117144233
_LEAST_T = -0.71874483771719
# Coefficients, highest power first, of the quotient's logarithm in v and of its constant q0 in 1/a.
_IN_V = np.array([0.1233795, -0.1367177, 0.1423657, -0.1662921, 0.2000062, -0.250003, 0.3333333])
_IN_R = np.array([2.424e-4, 2.4511e-4, -7.388e-5, 0.00144121, 0.00801191, 0.02083148, 0.04166669])


@inlined_kernel
def _below_one(stream: Stream, a: float) -> float:
    """Algorithm GS: shape a below 1."""
    b = 1.0 + _INVERSE_E * a
    while True:
        p = b * uniform(stream)
        if p >= 1.0:
            x = -math.log((b - p) / a)
            if standard_exponential(stream) >= (1.0 - a) * math.log(x):
                return x
        else:
            x = math.exp(math.log(p) / a)
            if standard_exponential(stream) >= x:
                return x


@inlined_kernel
def _log_quotient(t: float, s: float, s2: float, q0: float) -> float:
    v = t / (s + s)
    if abs(v) <= 0.25:
        total = _IN_V[0]
        for k in range(1, 7):
            total = total * v + _IN_V[k]
        return q0 + 0.5 * t * t * total * v
    return q0 - s * t + 0.25 * t * t + (s2 + s2) * math.log(1.0 + v)


@inlined_kernel
def _double_exponential(a: float, s: float, s2: float) -> tuple[float, float, float]:
    """Location, scale and acceptance factor of GD's double exponential numbers."""
    if a <= 3.686:
        return 0.463 + s + 0.178 * s2, 1.235, 0.195 / s - 0.079 + 0.16 * s
    if a <= 13.022:
        return 1.654 + 0.0076 * s2, 1.68 / s + 0.275, 0.062 / s + 0.024
    return 1.77, 0.75, 0.1515 / s


@inlined_kernel
def _from_one(stream: Stream, a: float, scale: float) -> float:
    """Algorithm GD: shape a of at least 1."""
    s2 = a - 0.5
    s = math.sqrt(s2)
    t = standard_normal(stream)
    x = s + 0.5 * t
    if t >= 0.0:
        return scale * (x * x)
    u = uniform(stream)
    if (_SQRT_32 - s * 12.0) * u <= t * t * t:
        return scale * (x * x)
    r = 1.0 / a
    q0 = _IN_R[0]
    for k in range(1, 7):
        q0 = q0 * r + _IN_R[k]
    q0 *= r
    if x > 0.0 and math.log(1.0 - u) <= _log_quotient(t, s, s2, q0):
        return scale * (x * x)
    b, sigma, c = _double_exponential(a, s, s2)
    while True:
        e = standard_exponential(stream)
        u = uniform(stream)
        u = u + u - 1.0
        t = b - sigma * e if u < 0.0 else b + sigma * e
        if t >= _LEAST_T:
            q = _log_quotient(t, s, s2, q0)
            if q > 0.0 and c * abs(u) <= math.expm1(q) * math.exp(e - 0.5 * t * t):
                x = s + 0.5 * t
                return scale * x * x


@inlined_kernel
def gamma(stream: Stream, shape: float, scale: float) -> float:
    """One gamma number; a shape or scale of 0 draws nothing."""
    if shape == 0.0 or scale == 0.0:
        return 0.0
    if shape < 1.0:
        return scale * _below_one(stream, shape)
    return _from_one(stream, shape, scale)


@kernel
def fill_gamma(stream: Stream, shape: Floats, scale: Floats, values: Floats) -> None:
    """Fill `values` with a gamma number for each pair of parameters."""
    for i in range(len(values)):
        values[i] = gamma(stream, at(shape, i), at(scale, i))
