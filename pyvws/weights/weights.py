"""Likelihood weights alpha_i in [0, 1] of LW, CW, Marginal and SW, and rules that change them.

A larger weight leaves more of a record's likelihood in the pseudo posterior: larger = less
protected. Weights of 1 give the ordinary posterior. A weight of 0 takes the record out.

Three rules change the weights of a fit by its by-record bounds. Algorithm 3 of [vws2024], the
subject of [vws2020], raises weights of records below the bound. Weighted-epsilon and downscaling
lower those of records with a bound above epsilon / 2. The slides of [global2022] name these two in
a sentence each, and each function's docstring says what the package infers. The bounds of the
refit differ, so neither promises epsilon: compute and report the bound of the refit.
"""

from __future__ import annotations

import math
from typing import Final, Literal

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import (
    Floats,
    choice,
    finite_number,
    finite_vector,
    half_epsilon,
    non_negative,
    open_unit_interval,
    positions,
    positive,
    same_length,
    vector,
    weight_vector,
    whole_number,
)
from pyvws.bounds.lipschitz import centre_and_spread, lipschitz_bounds
from pyvws.errors import InputError

MAPS: Final = ("linear", "softmax", "logistic")
"""The maps of bounds to risks; the second and third are those of [lipschitzweights2020]."""

_STEEPNESS: Final = 1.69897  # Of softmax, for each standard deviation of the bounds.

KEEPING_SHIFT = 0.5
"""The shift g over c by which a run keeps kinds of records that the papers' g = 0 takes out."""


def lipschitz_weights(
    log_lik: ArrayLike,
    *,
    c: float = 1.0,
    g: float = 0.0,
    threshold: float = 1.0,
    map: Literal["linear", "softmax", "logistic"] = "linear",
) -> Floats:
    """LW weights from the unweighted fit (Algorithm 1, steps 1 to 4 of [vws2024]).

    The bounds are f_i = max_s |l_i(theta_s)|. `map` makes risks of the bounds, and the weights are
    alpha_i = c (1 - risk_i) + g, kept within [0, 1].

    Parameters
    ----------
    log_lik : array_like, shape (S, N)
        Log-likelihood of N records at S draws of the unweighted posterior, in nats.
    c : float
        Scale of the weights, at least 0; larger = less protected.
    g : float
        Shift of the weights; larger = less protected.
    threshold : float
        Level of a quantile of the draws' largest |l_i|. The function first drops the draws above
        the quantile; 1 keeps all draws.
    map : {"linear", "softmax", "logistic"}
        The map of bounds to risks in [0, 1]; a larger bound has a larger risk under each.
        "linear" is the paper's (f_i - min f) / (max f - min f). The other two are those of the R
        package LipschitzWeights [lipschitzweights2020]: "softmax" is
        1 / (1 + exp(-1.69897 (f_i - mean f) / sd f)). "logistic" is 2 / (1 + exp(-f_i / 2)) - 1, of
        the record's own bound alone.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]; a record with a non-finite log-likelihood gets 0.

    Raises
    ------
    InputError
        If all bounds are equal, so that "linear" and "softmax" have no scale, or an argument is out
        of range.

    Examples
    --------
    >>> log_lik = [[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0]]
    >>> lipschitz_weights(log_lik).tolist()
    [1.0, 0.75, 0.0]
    >>> lipschitz_weights(log_lik, map="softmax").round(3).tolist()
    [0.796, 0.633, 0.13]
    >>> lipschitz_weights(log_lik, map="logistic").round(3).tolist()
    [0.538, 0.365, 0.095]
    """
    bounds = lipschitz_bounds(log_lik, threshold=threshold).by_record
    return weights_from_bounds(bounds, c=c, g=g, map=map)


def weights_from_bounds(
    by_record: ArrayLike,
    *,
    c: float = 1.0,
    g: float = 0.0,
    map: str = "linear",
    counts: Floats | None = None,
) -> Floats:
    """LW weights from by-record bounds f_i (N,) in nats: steps 3 and 4 of Algorithm 1.

    An infinite bound marks a record with a non-finite log-likelihood. Such a record gets a weight
    of 0 and does not enter the scaling. `map` and `counts` are those of `scaled_bounds`. The
    function returns shape (N,), and raises InputError when all finite bounds are equal.
    """
    bounds = vector(by_record, "by_record")
    weights = _scaled(1.0 - scaled_bounds(bounds, map=map, counts=counts), c, g)
    weights[~np.isfinite(bounds)] = 0.0
    return weights


def scaled_bounds(
    by_record: ArrayLike, *, map: str = "linear", counts: Floats | None = None
) -> Floats:
    """Risks (N,) in [0, 1] from by-record bounds f_i (N,): step 3 of Algorithm 1; larger = riskier.

    `map` is that of `lipschitz_weights`, over the finite bounds; a risk is 1 where a bound is
    infinite. `counts` (N,) says how many records of the table each bound stands for, by default 1;
    only the mean and the standard deviation of "softmax" read it. The function raises InputError
    when no bound is finite, or all finite bounds are equal and the map is not "logistic".
    """
    bounds = vector(by_record, "by_record")
    choice(map, "map", MAPS)
    finite = np.isfinite(bounds)
    if not finite.any():
        raise InputError.by("no-finite-record")
    f = bounds[finite]
    risk = np.ones_like(bounds)
    if map == "logistic":
        risk[finite] = (1.0 / (1.0 + _exp(-0.5 * f))) * 2.0 - 1.0
        return risk
    low, high = f.min(), f.max()
    if low == high:
        raise InputError.by("bounds-all-equal")
    if map == "linear":
        risk[finite] = (f - low) / (high - low)
        return risk
    centre, spread = centre_and_spread(f, None if counts is None else counts[finite])
    if not 0 < spread < np.inf:
        raise InputError.by("bounds-without-spread")
    risk[finite] = 1.0 / (1.0 + _exp(-_STEEPNESS * (f - centre) / spread))
    return risk


def inverse_weights(by_record: ArrayLike, *, t: float, power: float = 1.0) -> Floats:
    """Weights that fall with one over a record's bound above a public t; a map of this package.

    alpha_i = min(1, (t / Delta_i)^power), where Delta_i is the record's bound by section 2.1 of
    [vws2024]. No paper has the map itself. Each weight depends on the record's own bound and on
    constants alone. The least and the largest bound, by which LW scales, do not enter.

    Parameters
    ----------
    by_record : array_like, shape (N,)
        Delta_i of the unweighted fit, in nats; infinity for a record without a finite one.
    t : float
        In nats, above 0: the bound up to which a weight is 1. Larger = less protected. No search on
        the table may give it: one record would then move all weights.
    power : float
        Above 0. Larger = bounds above t are more protected. At 1 no alpha_i Delta_i exceeds t.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1], which fall as the bounds rise: 1 at a bound of 0, and 0 at infinity.

    Raises
    ------
    InputError
        If a bound is negative or missing, no bound is finite, or t or power is not a finite number
        above 0.

    Examples
    --------
    >>> inverse_weights([0.5, 2.0, 8.0], t=2.0).tolist()
    [1.0, 1.0, 0.25]
    >>> inverse_weights([0.5, 2.0, 8.0], t=2.0, power=0.5).tolist()
    [1.0, 1.0, 0.5]
    """
    bounds = vector(by_record, "by_record")
    level, exponent = positive(t, "t"), positive(power, "power")
    wrong = ~(bounds >= 0)
    if wrong.any():
        raise InputError.by("by-record-values", wrong=positions(wrong))
    if not np.isfinite(bounds).any():
        raise InputError.by("no-finite-record")
    weights = np.ones_like(bounds)
    above = bounds > level
    weights[above] = _power(level / bounds[above], exponent)
    return weights


def _power(values: Floats, exponent: float) -> Floats:
    """Each value to a power, as R takes it: a product at 2, and else by the C library."""
    if exponent == 2.0:
        return values * values
    return np.array([math.pow(value, exponent) for value in values.tolist()])


def _exp(values: Floats) -> Floats:
    """exp of each value by the C library, as R takes it: NumPy's own may differ in the last bit."""

    def of(value: float) -> float:
        try:
            return math.exp(value)
        except OverflowError:
            return math.inf

    return np.array([of(value) for value in values.tolist()])


def risk_weights(risk: ArrayLike, *, c: float = 1.0, g: float = 0.0) -> Floats:
    """CW and marginal weights (Algorithm 2, step 4 of [vws2024]; [risk2024]).

    alpha_i = c (1 - IR_i) + g, kept within [0, 1].

    Parameters
    ----------
    risk : array_like, shape (N,)
        Identification risks IR_i in [0, 1]; larger = riskier.
    c : float
        Scale of the weights, at least 0; larger = less protected.
    g : float
        Shift of the weights; larger = less protected.

    Returns
    -------
    ndarray, shape (N,)
        Weights in [0, 1]; the weights fall as the risks rise.

    Raises
    ------
    InputError
        If a risk is outside [0, 1] or missing, or c is negative.

    Examples
    --------
    >>> risk_weights([0.2, 0.9], c=2.0).tolist()
    [1.0, 0.19999999999999996]
    """
    values = vector(risk, "risk")
    if not ((values >= 0) & (values <= 1)).all():
        raise InputError.by("risk-range")
    return _scaled(1.0 - values, c, g)


def scalar_weights(n: int, *, target: float, unweighted: float) -> Floats:
    """SW: one weight for all records, alpha_i = Delta_{alpha,x} / Delta_x (section 3 of [vws2024]).

    Parameters
    ----------
    n : int
        Number of records.
    target : float
        The database bound to meet, Delta_{alpha,x}, in nats.
    unweighted : float
        The database bound of the unweighted fit, Delta_x, in nats.

    Returns
    -------
    ndarray, shape (n,)
        The same weight n times, at most 1; smaller = more protected.

    Raises
    ------
    InputError
        If n is not a positive whole number or a bound is not above 0.

    Examples
    --------
    >>> scalar_weights(2, target=3.0, unweighted=12.0).tolist()
    [0.25, 0.25]
    """
    records = whole_number(n, "n", least=1)
    weight = positive(target, "target") / positive(unweighted, "unweighted")
    return np.full(records, min(1.0, weight))


def column_weights(column: ArrayLike, *, c: float = 1.0, g: float = 0.0) -> Floats:
    """Weights alpha_i = c w_i + g (N,), kept within [0, 1], from a public column of weights w_i.

    Each weight depends on the record's own w_i and on constants alone; larger = less protected.
    Raises InputError for a w_i outside [0, 1] or missing, or a negative c.

    >>> column_weights([0.0, 0.5, 1.0], c=1.5, g=0.1).tolist()
    [0.1, 0.85, 1.0]
    """
    return _scaled(weight_vector(column, "column"), c, g)


def fixed_scale_risks(sizes: ArrayLike, *, low: float = 0.0, high: float) -> Floats:
    """Risks (N,) in [0, 1] from sizes f_i (N,) of terms in nats, by constants; larger = riskier.

    The risks are (f_i - low) / (high - low), kept within [0, 1], and 1 where f_i is not finite.
    Step 3 of Algorithm 1 of [vws2024] takes min f and max f of the table. Here `low` and `high` are
    constants that the table does not change, so each risk depends on the record's own f_i alone.
    Raises InputError unless both are finite and low < high.
    """
    bottom, top = finite_number(low, "low"), finite_number(high, "high")
    if not bottom < top:
        raise InputError.by("low-above-high", bottom=bottom, top=top)
    values = vector(sizes, "sizes")
    risk = np.ones_like(values)
    finite = np.isfinite(values)
    risk[finite] = np.clip((values[finite] - bottom) / (top - bottom), 0.0, 1.0)
    return risk


def fixed_scale_weights(
    sizes: ArrayLike, *, low: float = 0.0, high: float, c: float = 1.0, g: float = 0.0
) -> Floats:
    """Weights alpha_i = c (1 - risk_i) + g (N,), kept within [0, 1]; risks by `fixed_scale_risks`.

    A record whose f_i is not finite gets weight 0, as under LW. Larger = less protected.

    >>> fixed_scale_weights([0.0, 1.0, 9.0, float("inf")], high=4.0, g=0.1).tolist()
    [1.0, 0.85, 0.1, 0.0]
    """
    values = vector(sizes, "sizes")
    weights = _scaled(1.0 - fixed_scale_risks(values, low=low, high=high), c, g)
    weights[~np.isfinite(values)] = 0.0
    return weights


def _scaled(shares: Floats, c: float, g: float) -> Floats:
    with np.errstate(over="ignore"):
        weights = non_negative(c, "c") * shares + finite_number(g, "g")
    return np.clip(weights, 0.0, 1.0)


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
    return alpha * np.divide(half, bounds, out=np.ones_like(bounds), where=bounds > half)


def _fitted(weights: ArrayLike, by_record: ArrayLike) -> tuple[Floats, Floats]:
    alpha, bounds = weight_vector(weights), vector(by_record, "by_record")
    same_length(alpha, bounds, ("weights", "by_record"))
    wrong = ~(bounds >= 0)
    if wrong.any():
        raise InputError.by("by-record-values", wrong=positions(wrong))
    return alpha, bounds
