"""Poisson, negative binomial, binomial and multinomial numbers, as R draws them.

Poisson numbers come by Algorithm PD [pd1982] for means of at least 10, else by cumulated
probabilities. PD rounds normal numbers down and accepts most at once. PD decides on the others by
the quotient of the probabilities, and replaces a rejected number by a double exponential number.
Negative binomial numbers are Poisson numbers with a gamma mean.

Binomial numbers come by Algorithm BTPE [btpe1988] where n min(p, 1 - p) is at least 30, else by
inversion. BTPE draws from a hat: a triangle, two parallelograms and two exponential tails. The hat
lies above the probabilities, scaled to 1 at their mode. BTPE tests a draw by cheap bounds
(squeezes) before it computes the probability.
"""

from __future__ import annotations

import math

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._continuous import gamma, standard_exponential, standard_normal
from pyvws.r_numbers._stream import Stream, at, uniform

_LARGEST_BELOW_TEN = 35
_DENSITY_AT_0 = 0.3989422804014327  # 1 / sqrt(2 pi)
_FACTORIALS = np.array([float(math.factorial(k)) for k in range(10)])
# Coefficients of (log(1 + v) - v) / v^2 in v, highest power first.
_IN_V = np.array(
    [0.1250060, -0.1384794, 0.1421878, -0.1661269, 0.2000118, -0.2500068, 0.3333333, -0.5]
)


@inlined_kernel
def _below_ten(stream: Stream, mu: float) -> float:
    """The first k whose cumulated probability reaches a uniform number, for a mean below 10."""
    while True:
        u = uniform(stream)
        probability = math.exp(-mu)
        total = probability
        for k in range(_LARGEST_BELOW_TEN + 1):
            if u <= total:
                return float(k)
            probability *= mu / (k + 1)
            total += probability


@inlined_kernel
def _of_poisson(k: float, mu: float) -> tuple[float, float]:
    """PD's procedure F: px and py of the Poisson distribution."""
    if k < 10.0:
        return -mu, mu**k / _FACTORIALS[int(k)]
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
    return px, _DENSITY_AT_0 / math.sqrt(k)


@inlined_kernel
def _of_normal(k: float, mu: float, s: float) -> tuple[float, float]:
    """PD's procedure F: fx and fy of the discrete normal distribution."""
    x = (0.5 - (mu - k)) / s
    x *= x
    b1 = 1.0 / (24.0 * mu)
    b2 = 0.3 * b1 * b1
    c3 = b1 * b2 / 7.0
    c2 = b2 - 15.0 * c3
    c1 = b1 - 6.0 * b2 + 45.0 * c3
    c0 = 1.0 - b1 + 3.0 * b2 - 15.0 * c3
    return -0.5 * x, _DENSITY_AT_0 / s * (((c3 * x + c2) * x + c1) * x + c0)


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
        (px, py), (fx, fy) = _of_poisson(k, mu), _of_normal(k, mu, s)
        if fy - u * fy <= py * math.exp(px - fx):
            return k
    while True:
        e = standard_exponential(stream)
        u = 2.0 * uniform(stream) - 1.0
        t = 1.8 + math.copysign(e, u)
        if t > -0.6744:
            k = np.floor(mu + s * t)
            (px, py), (fx, fy) = _of_poisson(k, mu), _of_normal(k, mu, s)
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
    for i in range(len(values)):
        values[i] = poisson(stream, at(mu, i))


@kernel
def fill_negative_binomial(stream: Stream, size: Floats, scale: Floats, values: Floats) -> None:
    """Fill `values` with Poisson numbers of mean Gamma(size, scale); a scale of 0 draws nothing."""
    for i in range(len(values)):
        values[i] = poisson(stream, gamma(stream, at(size, i), at(scale, i)))


_LARGEST_BY_INVERSION = 110

# The entries of a hat are the middle, half the triangle's base, the height of the parallelograms,
# and the rates of the left and the right tail. Then come three cumulated areas: up to the
# parallelograms, up to the left tail, and of all parts.
_Hat = tuple[float, float, float, float, float, float, float, float]


@kernel
def _power(base: float, n: int) -> float:
    """base^n by squaring; for billions of trials the rounding of another order would show."""
    result = 1.0
    while n > 0:
        if n & 1:
            result *= base
        base *= base
        n >>= 1
    return result


@inlined_kernel
def _by_inversion(stream: Stream, n: float, p: float) -> float:
    q = 1.0 - p
    odds = p / q
    g = odds * (n + 1.0)
    at_zero = _power(q, int(n))
    while True:
        probability = at_zero
        u = uniform(stream)
        for k in range(_LARGEST_BY_INVERSION + 1):
            if u < probability:
                return float(k)
            u -= probability
            probability *= g / (k + 1) - odds


@inlined_kernel
def _stirling(x: float) -> float:
    """The first terms of Stirling's series in BTPE's form."""
    y = x * x
    return (13860.0 - (462.0 - (132.0 - (99.0 - 140.0 / y) / y) / y) / y) / x / 166320.0


@inlined_kernel
def _accepted(k: float, v: float, n: float, p: float) -> bool:
    """BTPE's step 5: whether v is at most the probability of k over the mode's probability."""
    q = 1.0 - p
    npq = n * p * q
    centre = n * p + p
    mode = np.floor(centre)
    distance = abs(k - mode)
    if distance <= 20.0 or distance >= npq / 2.0 - 1.0:
        odds = p / q
        g = odds * (n + 1.0)
        quotient = 1.0
        for i in range(int(mode) + 1, int(k) + 1):
            quotient *= g / i - odds
        for i in range(int(k) + 1, int(mode) + 1):
            quotient /= g / i - odds
        return v <= quotient
    margin = distance / npq * ((distance * (distance / 3.0 + 0.625) + 0.1666666666666) / npq + 0.5)
    # R 4.2 squares within 32 bits, so that distances beyond 46340 wrap around.
    square = np.int32(np.int64(distance) * np.int64(distance))
    bell = -float(square) / (2.0 * npq)
    log_v = math.log(v)
    if log_v < bell - margin:
        return True
    if log_v > bell + margin:
        return False
    x1, f1, z, w = k + 1.0, mode + 1.0, n + 1.0 - mode, n - k + 1.0
    exact = (mode + 0.5) * math.log(f1 / x1) + (n - mode + 0.5) * math.log(z / w)
    exact += (k - mode) * math.log(w * p / (x1 * q))
    return log_v <= exact + _stirling(f1) + _stirling(z) + _stirling(x1) + _stirling(w)


@inlined_kernel
def _hat(n: float, p: float) -> _Hat:
    """The hat that BTPE sets up once for n and p."""
    q = 1.0 - p
    centre = n * p + p
    middle = np.floor(centre) + 0.5
    half = np.floor(2.195 * math.sqrt(n * p * q) - 4.6 * q) + 0.5
    left, right = middle - half, middle + half
    height = 0.134 + 20.5 / (15.3 + np.floor(centre))
    slope = (centre - left) / (centre - left * p)
    rate_left = slope * (1.0 + 0.5 * slope)
    slope = (right - centre) / (right * q)
    rate_right = slope * (1.0 + 0.5 * slope)
    p2 = half * (1.0 + height + height)
    p3 = p2 + height / rate_left
    return middle, half, height, rate_left, rate_right, p2, p3, p3 + height / rate_right


@inlined_kernel
def _btpe(stream: Stream, n: float, p: float, hat: _Hat) -> float:
    """Algorithm BTPE for p of at most 1/2."""
    middle, half, height, rate_left, rate_right, p2, p3, p4 = hat
    while True:
        u = uniform(stream) * p4
        v = uniform(stream)
        if u <= half:
            return np.floor(middle - half * v + u)
        if u <= p2:
            x = middle - half + (u - half) / height
            v = v * height + 1.0 - abs(middle - x) / half
            if v > 1.0 or v <= 0.0:
                continue
            k = np.floor(x)
        elif u <= p3:
            k = np.floor(middle - half + math.log(v) / rate_left)
            if k < 0.0:
                continue
            v *= (u - p2) * rate_left
        else:
            k = np.floor(middle + half - math.log(v) / rate_right)
            if k > n:
                continue
            v *= (u - p3) * rate_right
        if _accepted(k, v, n, p):
            return k


@inlined_kernel
def _is_few(n: float, p: float) -> bool:
    """Whether the rarer of the two outcomes is expected less than 30 times."""
    return n * min(p, 1.0 - p) < 30.0


@inlined_kernel
def _few(stream: Stream, n: float, p: float) -> float:
    """A binomial number by inversion; 0 trials or a certain outcome draw nothing."""
    if n == 0.0 or p == 0.0:
        return 0.0
    if p == 1.0:
        return n
    successes = _by_inversion(stream, n, min(p, 1.0 - p))
    return n - successes if p > 0.5 else successes


@inlined_kernel
def binomial(stream: Stream, n: float, p: float) -> float:
    if _is_few(n, p):
        return _few(stream, n, p)
    rarer = min(p, 1.0 - p)
    successes = _btpe(stream, n, rarer, _hat(n, rarer))
    return n - successes if p > 0.5 else successes


@kernel
def fill_binomial(stream: Stream, size: Floats, prob: Floats, values: Floats) -> None:
    """Fill `values` with a binomial number for each pair; equal neighbours share their hat."""
    last_n, last = 60.0, 0.5
    hat = _hat(last_n, last)
    for i in range(len(values)):
        n, p = at(size, i), at(prob, i)
        if _is_few(n, p):
            values[i] = _few(stream, n, p)
            continue
        rarer = min(p, 1.0 - p)
        if n != last_n or rarer != last:
            last_n, last = n, rarer
            hat = _hat(n, rarer)
        successes = _btpe(stream, n, rarer, hat)
        values[i] = n - successes if p > 0.5 else successes


def conditional_shares(shares: Floats) -> Floats:
    """Each category's share of the rest after earlier categories; R sums in extended precision."""
    exact = shares.astype(np.longdouble)
    total = np.add.accumulate(exact)[-1]
    left = np.subtract.accumulate(np.concatenate([[total], exact[:-1]]))
    part = np.divide(exact, left, out=np.ones_like(exact), where=left > 0.0)
    return np.asarray(np.minimum(part, 1.0), dtype=np.float64)


@kernel
def fill_multinomial(stream: Stream, size: float, shares: Floats, values: Floats) -> None:
    """Fill each column of `values` (K, n) with a vector of counts."""
    categories, n = values.shape
    for i in range(n):
        left = size
        for k in range(categories - 1):
            drawn = 0.0
            if left > 0.0 and shares[k] > 0.0:
                drawn = binomial(stream, left, shares[k])
            values[k, i] = drawn
            left -= drawn
        values[categories - 1, i] = left
