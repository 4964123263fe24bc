"""Poisson numbers: Algorithm PD [pd1982] for means of at least 10, else cumulated probabilities.

Negative binomial numbers are Poisson numbers with a gamma mean.

PD rounds normal numbers down and accepts most at once. PD decides on the others by the quotient of
the probabilities, and replaces a rejected number by a double exponential number.
"""

from __future__ import annotations

import math

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._exponential import standard_exponential
from pyvws.r_numbers._gamma import gamma
from pyvws.r_numbers._normal import standard_normal
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform

_LARGEST_IN_TABLE = 35
_DENSITY_AT_0 = 0.3989422804014327  # 1 / sqrt(2 pi)
_FACTORIALS = np.array([float(math.factorial(k)) for k in range(10)])
# Coefficients of (log(1 + v) - v) / v^2 in v, highest power first.
_IN_V = np.array(
    [0.1250060, -0.1384794, 0.1421878, -0.1661269, 0.2000118, -0.2500068, 0.3333333, -0.5]
)


@kernel
def _cumulated(mu: float) -> Floats:
    """The cumulated probabilities of 0, ..., 35 at a mean below 10."""
    table = np.empty(_LARGEST_IN_TABLE + 1)
    probability = math.exp(-mu)
    table[0] = probability
    for k in range(1, len(table)):
        probability *= mu / k
        table[k] = table[k - 1] + probability
    return table


@inlined_kernel
def _from_table(stream: Stream, table: Floats) -> float:
    """The first k whose cumulated probability reaches a uniform number."""
    while True:
        u = uniform(stream)
        for k in range(len(table)):
            if u <= table[k]:
                return float(k)


@inlined_kernel
def _below_ten(stream: Stream, mu: float) -> float:
    """A Poisson number of a mean below 10 without a table, for a mean that is used once."""
    while True:
        u = uniform(stream)
        probability = math.exp(-mu)
        total = probability
        for k in range(_LARGEST_IN_TABLE + 1):
            if u <= total:
                return float(k)
            probability *= mu / (k + 1)
            total += probability


@inlined_kernel
def _quotient(k: float, mu: float, s: float) -> tuple[float, float, float, float]:
    """PD's procedure F: px and py of Poisson, fx and fy of the discrete normal distribution."""
    if k < 10.0:
        px = -mu
        py = mu**k / _FACTORIALS[int(k)]
    else:
        rest = 0.083333333333333333 / k
        rest -= 4.8 * rest * rest * rest
        v = (mu - k) / k
        if abs(v) <= 0.25:
            total = _IN_V[0]
            for i in range(1, 8):
                total = total * v + _IN_V[i]
            px = k * v * v * total - rest
        else:
            px = k * math.log(1.0 + v) - (mu - k) - rest
        py = _DENSITY_AT_0 / math.sqrt(k)
    x = (0.5 - (mu - k)) / s
    x *= x
    b1 = 1.0 / (24.0 * mu)
    b2 = 0.3 * b1 * b1
    c3 = b1 * b2 / 7.0
    c2 = b2 - 15.0 * c3
    c1 = b1 - 6.0 * b2 + 45.0 * c3
    c0 = 1.0 - b1 + 3.0 * b2 - 15.0 * c3
    fy = _DENSITY_AT_0 / s * (((c3 * x + c2) * x + c1) * x + c0)
    return px, py, -0.5 * x, fy


@inlined_kernel
def _from_ten(stream: Stream, mu: float) -> float:
    """Algorithm PD."""
    s = math.sqrt(mu)
    g = mu + s * standard_normal(stream)
    if g >= 0.0:
        k = np.floor(g)
        if k >= np.floor(mu - 1.1484):
            return k
        difference = mu - k
        u = uniform(stream)
        if 6.0 * mu * mu * u >= difference * difference * difference:
            return k
        px, py, fx, fy = _quotient(k, mu, s)
        if fy - u * fy <= py * math.exp(px - fx):
            return k
    while True:
        e = standard_exponential(stream)
        u = 2.0 * uniform(stream) - 1.0
        t = 1.8 + math.copysign(e, u)
        if t > -0.6744:
            k = np.floor(mu + s * t)
            px, py, fx, fy = _quotient(k, mu, s)
            if 0.1069 / mu * abs(u) <= py * math.exp(px + e) - fy * math.exp(fx + e):
                return k


@inlined_kernel
def poisson(stream: Stream, mu: float) -> float:
    """One Poisson number; a mean of 0 draws nothing."""
    if mu == 0.0:
        return 0.0
    return _from_ten(stream, mu) if mu >= 10.0 else _below_ten(stream, mu)


@kernel
def fill_poisson(stream: Stream, mu: Floats, values: Floats) -> None:
    """Fill `values` with a Poisson number for each mean."""
    if len(mu) == 1 and 0.0 < mu[0] < 10.0:
        table = _cumulated(mu[0])
        for i in range(len(values)):
            values[i] = _from_table(stream, table)
    else:
        for i in range(len(values)):
            values[i] = poisson(stream, at(mu, i))


@kernel
def fill_negative_binomial(stream: Stream, size: Floats, scale: Floats, values: Floats) -> None:
    """Fill `values` with Poisson numbers of mean Gamma(size, scale); a scale of 0 draws nothing."""
    for i in range(len(values)):
        values[i] = poisson(stream, gamma(stream, at(size, i), at(scale, i)))
