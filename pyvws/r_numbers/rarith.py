"""R's arithmetic, to the bit: sum, mean, var, quantile (type 7), ecdf.

R adds doubles one after another in the C type ``long double`` (80 bits wide on x86) and rounds
once at the end. NumPy's pairwise sums differ in the last bits, and so does ``numpy.quantile``.
`numpy.longdouble` is the same C type, and `numpy.add.accumulate` adds in order. So the functions
here give the bits of R on the same machine. Use these functions wherever you compare a number with
R.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector, vector
from pyvws.errors import InputError

_WIDE = np.longdouble
_ROUNDED = 100 * 2.0**-52


def extended_sum(x: NDArray[Any]) -> np.longdouble:
    """Sum of `x` (N,), added in order and left in extended precision; 0 for an empty array."""
    if x.size == 0:
        return _WIDE(0)
    with np.errstate(invalid="ignore", over="ignore"):
        total: np.longdouble = np.add.accumulate(x, dtype=_WIDE)[-1]
    return total


def sum_in_order(x: ArrayLike) -> float:
    """R's ``sum(x)`` of doubles x (N,), in the unit of x."""
    return float(extended_sum(vector(x, "x")))


def mean(x: ArrayLike) -> float:
    """R's ``mean(x)``: an extended-precision mean and one correction by the mean residual.

    x has shape (N,); the result is in the unit of x. Missing or infinite values follow IEEE
    arithmetic, as in R.
    """
    values = vector(x, "x")
    n = _WIDE(len(values))
    first = extended_sum(values) / n
    if not np.isfinite(first):
        return float(first)
    return float(first + extended_sum(values.astype(_WIDE) - first) / n)


def column_means(rows: Floats) -> Floats:
    """R's ``mean`` of each column of finite `rows` (L, N), shape (N,), without a loop over N."""
    n = _WIDE(len(rows))
    first = _column_sums(rows, 0) / n
    return np.asarray(first + _column_sums(rows, first) / n, dtype=np.float64)


def _column_sums(rows: Floats, centre: NDArray[np.longdouble] | float) -> NDArray[np.longdouble]:
    total = np.zeros(rows.shape[1], dtype=_WIDE)
    for row in rows:
        total += row - centre
    return total


def var(x: ArrayLike) -> float:
    """R's ``var(x)``, the variance with divisor N - 1, in the squared unit of x.

    Raises InputError for fewer than two values, where R gives NA.
    """
    values = vector(x, "x")
    if len(values) < 2:
        raise InputError.by("variance-of-one")
    with np.errstate(invalid="ignore", over="ignore"):
        centred = values.astype(_WIDE) - _WIDE(mean(values))
        return float(extended_sum(centred * centred) / _WIDE(len(values) - 1))


def quantile(x: ArrayLike, p: ArrayLike) -> Any:
    """R's ``quantile(x, p)``: type 7 of Hyndman and Fan [hyndman1996], the default in R.

    The quantile is (1 - f) x[floor h] + f x[floor h + 1] of the sorted values, with
    h = 1 + (N - 1) p and f = h - floor h. The function keeps R's order of operations.

    Parameters
    ----------
    x : array_like, shape (N,)
        Values without missing ones; infinite values are allowed, as in R.
    p : float or array_like, shape (P,)
        Probabilities in [0, 1]. As in R, a probability up to 100 roundings outside counts as 0 or
        1.

    Returns
    -------
    float or ndarray, shape (P,)
        Quantiles in the unit of x, larger for larger p.

    Raises
    ------
    InputError
        For missing values in x or a probability outside [0, 1].

    Examples
    --------
    >>> quantile([1.0, 2.0, 4.0], 0.75)
    3.0
    """
    values = vector(x, "x")
    if np.isnan(values).any():
        raise InputError.by("quantile-of-missing")
    single = np.isscalar(p) or (isinstance(p, np.ndarray) and p.ndim == 0)
    probabilities = finite_vector(np.atleast_1d(p) if single else p, "p")
    if ((probabilities < -_ROUNDED) | (probabilities > 1 + _ROUNDED)).any():
        raise InputError.by("p-range")
    probabilities = np.clip(probabilities, 0.0, 1.0)
    ordered = np.sort(values)
    index = (len(ordered) - 1) * probabilities
    index = 1.0 + index
    low = np.floor(index)
    below = ordered[low.astype(np.intp) - 1]
    above = ordered[np.ceil(index).astype(np.intp) - 1]
    fraction = index - low
    between = (index > low) & (above != below)
    result = below.copy()
    f = fraction[between]
    with np.errstate(invalid="ignore"):  # As in R, NaN between -Inf and Inf.
        result[between] = (1.0 - f) * below[between] + f * above[between]
    return float(result[0]) if single else result


def ecdf_at(x: Floats, points: Floats) -> Floats:
    """R's ``ecdf(x)(points)``: the share of x at or below each point.

    x (N,), points (P,); the result (P,) lies in [0, 1] and rises with the point.
    """
    counts = np.searchsorted(np.sort(x), points, side="right")
    return np.asarray(counts / len(x), dtype=np.float64)
