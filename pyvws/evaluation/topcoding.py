"""Topcoding: values above a threshold become the threshold; a release method to compare with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, finite_number, finite_vector, open_unit_interval
from pyvws.errors import InputError
from pyvws.r_numbers import rarith


@dataclass(frozen=True, slots=True)
class Topcoded:
    """Topcoded `values` (N,) and `threshold` in the outcome's unit.

    `share` in [0, 1] is that of the values changed; larger = more of the tail is hidden.
    """

    values: Floats
    threshold: float
    share: float


def topcode(
    original: ArrayLike, *, value: float | None = None, quantile: float | None = None
) -> Topcoded:
    """Replace the values above a threshold by the threshold (section 1 of [risk2024]).

    The released values below the threshold are true values. So topcoding protects the tail alone
    and has no privacy guarantee. `pyvws.identification_risk(original, [topcoded.values])` gives the
    risks.

    Parameters
    ----------
    original : array_like, shape (N,)
        Confidential outcome.
    value : float, optional
        The threshold itself, chosen without the data.
    quantile : float, optional
        Level in (0, 1). The type 7 quantile at this level is the threshold, and is thus revealed.

    Returns
    -------
    Topcoded

    Raises
    ------
    InputError
        For missing values, or unless exactly one of value and quantile is given.

    Examples
    --------
    >>> topcode([1.0, 5.0, 9.0], value=6.0).values.tolist()
    [1.0, 5.0, 6.0]
    """
    y = finite_vector(original, "original")
    if (value is None) == (quantile is None):
        raise InputError.by("value-or-quantile")
    if value is not None:
        threshold = finite_number(value, "value")
    else:
        threshold = float(rarith.quantile(y, open_unit_interval(quantile, "quantile")))
    return Topcoded(np.minimum(y, threshold), threshold, float((y > threshold).mean()))
