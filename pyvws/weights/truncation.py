"""Two rules that aim at epsilon: lower the weights of records with a bound above epsilon / 2.

The slides of [global2022] name both rules, Weighted-epsilon and downscaling, in a sentence each.
Each function's docstring says what the package infers. Both rules take the weights and by-record
bounds of one fit. The bounds of the refit differ, so neither rule promises epsilon: compute and
report the bound of the refit, never the target.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import (
    Floats,
    half_epsilon,
    positions,
    same_length,
    vector,
    weight_vector,
)
from pyvws.errors import InputError


def weighted_epsilon_weights(weights: ArrayLike, by_record: ArrayLike, *, epsilon: float) -> Floats:
    """Set the weights of records above a bound to 0 (Weighted-epsilon of [global2022]).

    alpha_i = 0 where Delta_{alpha,x_i} > epsilon / 2.

    The slides set a weight to 0 if the "log-likelihood contribution" exceeds epsilon / 2. The
    package infers that the contribution is the record's bound in the weighted fit, the largest
    |alpha_i l_i| over the draws. The package also infers that a record at just epsilon / 2 stays.

    Parameters
    ----------
    weights : array_like, shape (N,)
        alpha_i in [0, 1] of the weighted fit.
    by_record : array_like, shape (N,)
        Delta_{alpha,x_i} of the same fit, in nats; infinity for a record without a finite one.
    epsilon : float
        Above 0; larger = riskier. Infinity leaves all weights as they are.

    Returns
    -------
    ndarray, shape (N,)
        Each weight as it was, or 0, which takes the record out of the fit.

    Raises
    ------
    InputError
        If a weight is outside [0, 1], a bound is negative or missing, lengths differ, or epsilon is
        not above 0.

    Examples
    --------
    >>> weighted_epsilon_weights([1.0, 0.5, 0.8], [2.0, 4.0, 2.5], epsilon=5.0).tolist()
    [1.0, 0.0, 0.8]
    """
    alpha, bounds = _fitted(weights, by_record)
    return np.where(bounds > half_epsilon(epsilon), 0.0, alpha)


def downscale(weights: ArrayLike, by_record: ArrayLike, *, epsilon: float) -> Floats:
    """Lower the weights of records above a bound, each by its own factor (slides of [global2022]).

    The new weight is psi_i alpha_i with psi_i = min(1, (epsilon / 2) / Delta_{alpha,x_i}).

    The slides scale weights by factors psi_i below 1 and do not define the factors. The package
    infers that psi_i brings the record's own bound down to epsilon / 2 before the refit, so records
    below epsilon / 2 keep their weights. Downscaling and `pyvws.reweight` both multiply alpha_i by
    T / Delta_{alpha,x_i}. `reweight` raises bounds towards the database bound; downscaling lowers
    bounds to epsilon / 2.

    Parameters
    ----------
    weights : array_like, shape (N,)
        alpha_i in [0, 1] of the weighted fit.
    by_record : array_like, shape (N,)
        Delta_{alpha,x_i} of the same fit, in nats; infinity for a record without a finite one.
    epsilon : float
        Above 0; larger = riskier. Infinity leaves all weights as they are.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1], none larger than before; 0 where the bound is infinite.

    Raises
    ------
    InputError
        If a weight is outside [0, 1], a bound is negative or missing, lengths differ, or epsilon is
        not above 0.

    Examples
    --------
    >>> downscale([1.0, 0.5, 0.8], [2.0, 5.0, 2.5], epsilon=5.0).tolist()
    [1.0, 0.25, 0.8]
    """
    alpha, bounds = _fitted(weights, by_record)
    half = half_epsilon(epsilon)
    above = bounds > half
    factor = np.ones_like(bounds)
    factor[above] = half / bounds[above]
    return alpha * factor


def _fitted(weights: ArrayLike, by_record: ArrayLike) -> tuple[Floats, Floats]:
    alpha, bounds = weight_vector(weights), vector(by_record, "by_record")
    same_length(alpha, bounds, ("weights", "by_record"))
    wrong = ~(bounds >= 0)
    if wrong.any():
        raise InputError.by("by-record-values", wrong=positions(wrong))
    return alpha, bounds
