"""Exponentials of many numbers, several at a time: most of the time of a logit and a mixture."""

from __future__ import annotations

from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel

_LOWEST: Final = -700.0  # exp() of it is still a normal number.
_LOG2_E: Final = 1.4426950408889634
_LOG_2_HIGH: Final = 0.693147180369123816490
_LOG_2_LOW: Final = 1.90821492927058770002e-10
_TO_WHOLE: Final = 6755399441055744.0  # Added to a number and taken off again, it rounds it.
_EXPONENT: Final = 52  # Where a double keeps the exponent of 2.


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
