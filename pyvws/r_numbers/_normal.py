"""Normal numbers by inversion, R's default ``normal.kind``.

Two uniform numbers make one uniform number of about 59 bits. Algorithm AS 241, in the version of 16
figures (PPND16), gives the normal quantile of this number [wichura1988].
"""

from __future__ import annotations

import math

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.kernels import inlined_kernel, kernel
from pyvws.r_numbers._parameters import at
from pyvws.r_numbers._stream import Stream, uniform

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
