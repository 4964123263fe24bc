"""Normal, exponential, gamma and beta numbers, as R draws them.

Normal numbers come by inversion, R's default ``normal.kind``. Two uniform numbers make one uniform
number of about 59 bits. Algorithm AS 241, in the version of 16 figures (PPND16), gives the normal
quantile of this number [wichura1988].

An exponential number of mean 1, by Algorithm SA [ahrens1972], is k ln 2 plus ln 2 times the least
of some uniform numbers. k is the number of leading zeros of another uniform number. A table of
Poisson probabilities at ln 2 gives the number of uniform numbers to compare.

Gamma numbers come by Algorithm GD [gd1982] for shapes of at least 1, by GS [ahrens1974] below. GD
squares a normal number and accepts most squares at once. GD decides on the others by the quotient
of the densities, and replaces a rejected number by a double exponential number.

Beta numbers come by rejection from a log-logistic number [cheng1978]. Algorithm BB serves pairs of
shapes that are both above 1, and BC serves other pairs.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._stream import Stream, at, uniform

_BIG = 134217728.0  # 2^27

# The three rational approximations, each with numerator and denominator, highest power first.
_MIDDLE = np.array(
    [
        [2509.0809287301226727, 5226.4952788528545610],
        [33430.575583588128105, 28729.085735721942674],
        [67265.770927008700853, 39307.895800092710610],
        [45921.953931549871457, 21213.794301586595867],
        [13731.693765509461125, 5394.1960214247511077],
        [1971.5909503065514427, 687.18700749205790830],
        [133.14166789178437745, 42.313330701600911252],
        [3.3871328727963666080, 1.0],
    ]
)
_OUTER = np.array(
    [
        [7.74545014278341407640e-4, 1.05075007164441684324e-9],
        [0.0227238449892691845833, 5.47593808499534494600e-4],
        [0.241780725177450611770, 0.0151986665636164571966],
        [1.27045825245236838258, 0.148103976427480074590],
        [3.64784832476320460504, 0.689767334985100004550],
        [5.76949722146069140550, 1.67638483018380384940],
        [4.63033784615654529590, 2.05319162663775882187],
        [1.42343711074968357734, 1.0],
    ]
)
_FAR = np.array(
    [
        [2.01033439929228813265e-7, 2.04426310338993978564e-15],
        [2.71155556874348757815e-5, 1.42151175831644588870e-7],
        [0.00124266094738807843860, 1.84631831751005468180e-5],
        [0.0265321895265761230930, 7.86869131145613259100e-4],
        [0.296560571828504891230, 0.0148753612908506148525],
        [1.78482653991729133580, 0.136929880922735805310],
        [5.46378491116411436990, 0.599832206555887937690],
        [6.65790464350110377720, 1.0],
    ]
)


@inlined_kernel
def _ratio(powers: Floats, r: float, factor: float) -> float:
    above, below = powers[0, 0], powers[0, 1]
    for k in range(1, 8):
        above = above * r + powers[k, 0]
        below = below * r + powers[k, 1]
    return factor * above / below


@inlined_kernel
def normal_quantile(p: float) -> float:
    """The quantile of the standard normal distribution at p, for 0 < p < 1."""
    q = p - 0.5
    if abs(q) <= 0.425:
        return _ratio(_MIDDLE, 0.180625 - q * q, q)
    tail, sign = (p, -1.0) if q < 0.0 else (1.0 - p, 1.0)
    r = math.sqrt(-math.log(tail))
    return _ratio(_OUTER, r - 1.6, sign) if r <= 5.0 else _ratio(_FAR, r - 5.0, sign)


@inlined_kernel
def standard_normal(stream: Stream) -> float:
    """One number of the standard normal distribution, from two uniform numbers."""
    first = np.floor(_BIG * uniform(stream))
    return normal_quantile((first + uniform(stream)) / _BIG)


@kernel
def fill_normal(stream: Stream, mean: Floats, sd: Floats, values: Floats) -> None:
    """Fill `values` with a normal number for each pair; a standard deviation of 0 draws nothing."""
    for i in range(len(values)):
        centre, spread = at(mean, i), at(sd, i)
        values[i] = centre if spread == 0.0 else centre + spread * standard_normal(stream)


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
def _double_exponential(a: float, s: float, s2: float) -> tuple[float, float]:
    """Location and scale of GD's double exponential numbers."""
    if a <= 3.686:
        return 0.463 + s + 0.178 * s2, 1.235
    if a <= 13.022:
        return 1.654 + 0.0076 * s2, 1.68 / s + 0.275
    return 1.77, 0.75


@inlined_kernel
def _acceptance(a: float, s: float) -> float:
    """The factor by which GD accepts its double exponential numbers."""
    if a <= 3.686:
        return 0.195 / s - 0.079 + 0.16 * s
    return 0.062 / s + 0.024 if a <= 13.022 else 0.1515 / s


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
    b, sigma = _double_exponential(a, s, s2)
    c = _acceptance(a, s)
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
