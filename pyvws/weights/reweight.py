"""Algorithm 3 of [vws2024], the subject of [vws2020]: raise weights of records below the bound."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, finite_vector, open_unit_interval, same_length, weight_vector
from pyvws.errors import InputError


def reweight(weights: ArrayLike, by_record: ArrayLike, *, k: float) -> Floats:
    """Raise weights of records whose bound is below the largest (Equation 6 of [vws2024]).

    alpha^w_i = min(1, k alpha_i Delta_{alpha,x} / Delta_{alpha,x_i}).

    Parameters
    ----------
    weights : array_like, shape (N,)
        alpha_i in [0, 1] of the weighted fit.
    by_record : array_like, shape (N,)
        Delta_{alpha,x_i} of the same fit, in nats; the largest of these is Delta_{alpha,x}.
    k : float
        Strictly between 0 and 1; larger = larger weights and a larger bound after the refit.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]. A weight of 0 stays 0. A record with a positive weight and a bound of 0
        gets a weight of 1.

    Raises
    ------
    InputError
        If a weight is outside [0, 1], a bound is negative or not finite, lengths differ, or k is
        not strictly between 0 and 1.

    Examples
    --------
    >>> reweight([1.0, 0.5, 0.0], [2.0, 4.0, 0.0], k=0.5).tolist()
    [1.0, 0.25, 0.0]
    """
    alpha = weight_vector(weights)
    bounds = finite_vector(by_record, "by_record")
    same_length(alpha, bounds, ("weights", "by_record"))
    if (bounds < 0).any():
        raise InputError.by("by-record-negative")
    factor = open_unit_interval(k, "k")
    database = bounds.max()
    result = np.where(alpha > 0, 1.0, 0.0)
    moved = (alpha > 0) & (bounds > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        result[moved] = np.fmin(1.0, factor * alpha[moved] * (database / bounds[moved]))
    return result
