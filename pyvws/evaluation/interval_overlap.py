"""Overlap of confidence intervals from confidential and from synthetic data [karr2006]."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats
from pyvws.errors import InputError


def interval_overlap(original: ArrayLike, synthetic: ArrayLike) -> Any:
    """The share of an interval that lies in the other interval, averaged over the two intervals.

    The overlap is (I / length of the original interval + I / length of the synthetic interval) / 2.
    I is the length of the intersection, or 0 where there is none.

    Parameters
    ----------
    original, synthetic : array_like, shape (2,) or (K, 2)
        Lower and upper end of one interval, or of K, in the unit of the estimate.

    Returns
    -------
    float or ndarray, shape (K,)
        In [0, 1]; larger = more useful; 1 = the same interval.

    Raises
    ------
    InputError
        For another shape, a missing end, or an upper end that is not above the lower end.

    Examples
    --------
    >>> interval_overlap((0.0, 4.0), (3.0, 5.0))
    0.375
    """
    first, second = _intervals(original, "original"), _intervals(synthetic, "synthetic")
    if first.shape != second.shape:
        raise InputError.by(
            "intervals-differ-in-number", size=first.size // 2, size2=second.size // 2
        )
    low = np.maximum(first[..., 0], second[..., 0])
    high = np.minimum(first[..., 1], second[..., 1])
    common = np.maximum(high - low, 0.0)
    shares = (
        common / (first[..., 1] - first[..., 0]) + common / (second[..., 1] - second[..., 0])
    ) / 2.0
    return float(shares) if first.ndim == 1 else shares


def _intervals(values: ArrayLike, name: str) -> Floats:
    try:
        ends = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("interval-not-numbers", name=name) from None
    if ends.ndim not in (1, 2) or ends.shape[-1] != 2:
        raise InputError.by("interval-shape", name=name, shape=ends.shape)
    if not (np.isfinite(ends).all() and (ends[..., 0] < ends[..., 1]).all()):
        raise InputError.by("interval-ends", name=name)
    with np.errstate(over="ignore"):
        if not np.isfinite(ends[..., 1] - ends[..., 0]).all():
            raise InputError.by("interval-length", name=name)
    return ends
