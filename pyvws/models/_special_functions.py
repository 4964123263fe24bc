"""Special functions for kernels.

These are logarithms of the gamma function with their derivatives, by Stirling's series, and
exponentials of many numbers, several at a time: most of the time of a logit and a mixture.
"""

from __future__ import annotations

import math
from typing import Final

import numpy as np
from scipy.special import gammaln

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel

LARGE_COUNT: Final = 1e6
"""From here on y log y - y is left out of `log_factorial` and `log_rising` alike: it is in both,
and beside so large a term the rest would lose its digits.
"""

_LARGE = 10.0  # The series is used from here on; smaller arguments are moved up first.
_HALF_LOG_TWO_PI = 0.9189385332046727


@kernel
def _tail(r: float) -> float:
    """Terms of log Gamma(1/r) beyond (x - 1/2) log x - x + log(2 pi)/2, in powers of r = 1/x."""
    q = r * r
    far = 1 / 1188 + q * (-691 / 360360 + q * (1 / 156 - q * 3617 / 122400))
    near = -1 / 360 + q * (1 / 1260 + q * (-1 / 1680 + q * far))
    return r * (1 / 12 + q * near)


@kernel
def _tail_slope(r: float) -> float:
    """Derivative of `_tail` in x = 1/r."""
    q = r * r
    far = 1 / 132 + q * (-691 / 32760 + q * (1 / 12 - q * 3617 / 8160))
    near = -1 / 120 + q * (1 / 252 + q * (-1 / 240 + q * far))
    return -q * (1 / 12 + q * near)


@kernel
def log_gamma(x: float) -> tuple[float, float]:
    """log Gamma(x) and its derivative for x > 0."""
    product = 1.0
    slope = 0.0
    while x < _LARGE:
        product *= x
        slope -= 1.0 / x
        x += 1.0
    log_x = math.log(x)
    r = 1.0 / x
    value = (x - 0.5) * log_x - x + _HALF_LOG_TWO_PI + _tail(r)
    if product != 1.0:
        value -= math.log(product)
    return value, slope + log_x - 0.5 * r + _tail_slope(r)


@kernel
def stirling_gap(x: float) -> tuple[float, float]:
    """x log x - x - log Gamma(x) and its derivative log x - digamma(x), for x > 0: what is left
    where the large terms of a beta or gamma density cancel by algebra.
    """
    log_x = math.log(x)
    if x >= _LARGE:
        r = 1.0 / x
        return 0.5 * log_x - _HALF_LOG_TWO_PI - _tail(r), 0.5 * r - _tail_slope(r)
    high, product, product_slope = x, 1.0, 0.0
    while high < _LARGE:
        product_slope = product_slope * high + product
        product *= high
        high += 1.0
    r, log_high = 1.0 / high, math.log(high)
    value = (high - 0.5) * log_high - high + _HALF_LOG_TWO_PI + _tail(r) - math.log(product)
    slope = log_high - 0.5 * r + _tail_slope(r) - product_slope / product
    return x * log_x - x - value, log_x - slope


def log_factorial(y: Floats) -> Floats:
    """log y! of counts (V,); from LARGE_COUNT on, log y! minus (y log y - y)."""
    large = y >= LARGE_COUNT
    positive = np.where(large, y, 1.0)
    rest = _HALF_LOG_TWO_PI + 0.5 * np.log(positive) + 1.0 / (12.0 * positive)
    return np.where(large, rest, gammaln(np.where(large, 0.0, y) + 1.0))


@kernel
def log_rising(y: float, phi: float, base: float, base_slope: float) -> tuple[float, float]:
    """log Gamma(y + phi) - log Gamma(phi) and its derivative in phi; `base` is log_gamma(phi).

    From phi = 10 on, the difference is taken term by term, so nothing cancels where phi is large
    against y (the Poisson limit). From y = LARGE_COUNT on, y log y - y is subtracted.
    """
    share = 0.0
    if phi < _LARGE:
        value, slope = log_gamma(y + phi)
        value, slope = value - base, slope - base_slope
    else:
        share = math.log1p(y / phi)
        r_top = 1.0 / (y + phi)
        r_base = 1.0 / phi
        value = y * math.log(phi) + (phi + y - 0.5) * share - y + (_tail(r_top) - _tail(r_base))
        slope = share + 0.5 * y * r_base * r_top + (_tail_slope(r_top) - _tail_slope(r_base))
    if y >= LARGE_COUNT and not math.isinf(y):
        top = y + phi
        value = y * math.log1p(phi / y) + _tail(1.0 / top)
        if phi < _LARGE:
            value += (phi - 0.5) * math.log(top) - phi + _HALF_LOG_TWO_PI - base
        else:
            value += (phi - 0.5) * share - _tail(1.0 / phi)
    return value, slope


@kernel
def log_rising_sum(y: Floats, weight: Floats, phi: float) -> tuple[float, float]:
    """sum_v weight_v log_rising(y_v, phi) and its derivative in phi; y, weight (V,)."""
    base, base_slope = log_gamma(phi)
    total = 0.0
    total_slope = 0.0
    for v in range(len(y)):
        if weight[v] > 0.0:
            value, slope = log_rising(y[v], phi, base, base_slope)
            total += weight[v] * value
            total_slope += weight[v] * slope
    return total, total_slope


_LOWEST: Final = -700.0  # exp() of it is still a normal number.
_LOG2_E: Final = 1.4426950408889634
_LOG_2_HIGH: Final = 0.693147180369123816490
_LOG_2_LOW: Final = 1.90821492927058770002e-10
_TO_WHOLE: Final = 6755399441055744.0  # Added to a number and taken off again, it rounds it.
_EXPONENT: Final = 52  # Where a double keeps the exponent of 2.


@kernel
def log_total(q: Floats, first: int, count: int) -> float:
    """The logarithm of the sum of exp(q) over so many entries from `first` on."""
    largest = q[first]
    for entry in range(first + 1, first + count):
        largest = max(largest, q[entry])
    total = 0.0
    for entry in range(first, first + count):
        total += math.exp(q[entry] - largest)
    return largest + math.log(total)


@inlined_kernel
def exponentials(x: Floats, out: Floats, n: int) -> None:
    """out = exp(max(x, -700)) (n,), for x at most 0, within 1.5 ulp; out may be x itself.

    exp(x) = 2^k exp(r), |r| < log(2) / 2. Each number's bits depend on it alone.
    """
    for i in range(n):
        at = max(x[i], _LOWEST)
        shifted = at * _LOG2_E + _TO_WHOLE
        k = shifted - _TO_WHOLE
        r = (at - k * _LOG_2_HIGH) - k * _LOG_2_LOW
        p = 1.0 / 6227020800.0
        p = p * r + 1.0 / 479001600.0
        p = p * r + 1.0 / 39916800.0
        p = p * r + 1.0 / 3628800.0
        p = p * r + 1.0 / 362880.0
        p = p * r + 1.0 / 40320.0
        p = p * r + 1.0 / 5040.0
        p = p * r + 1.0 / 720.0
        p = p * r + 1.0 / 120.0
        p = p * r + 1.0 / 24.0
        p = p * r + 1.0 / 6.0
        p = p * r + 0.5
        p = p * r + 1.0
        p = p * r + 1.0
        exponent = np.float64(shifted).view(np.int64) << _EXPONENT
        out[i] = np.int64(np.float64(p).view(np.int64) + exponent).view(np.float64)
