"""What several draws of one strict fit cost together, at a public delta."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np
from scipy.special import gammaln

from pyvws._base.checks import Floats, open_unit_interval, positive, whole_number

_STEPS = 60  # Halvings of an interval: the end is exact to the last digits of a float.
_ROUNDING = 1e-9  # Relative: far above the error of the sums.


def total_epsilon(epsilon: float, draws: int, *, delta: float = 0.0) -> float:
    """Epsilon of all draws of one fit together; larger = less private.

    Each draw alone costs epsilon. The logarithm of the ratio of a clamped draw's densities under
    neighbours lies in an interval of width w = epsilon. For m exact and independent draws

        delta(e') = max_t sum_k C(m, k) q^k (1 - q)^(m - k) [1 - exp(e' - k t - (m - k)(t - w))]_+,

    where q = (e^(w - t) - 1) / (e^(w - t) - e^(-t)) and the best t is one of
    (e' + (l + 1) w) / (m + 1), l = 0 .. m. The result is the smallest e' with delta(e') <= `delta`,
    rounded up. At `delta=0` it is m epsilon. The formula is for strict claims and draws of one fit:
    add what a first stage and a noisy number of records cost. For replacement of a record, give
    2 epsilon.

    Parameters
    ----------
    epsilon : float
        Epsilon of one draw, in nats, above 0.
    draws : int
        The number m of draws, at least 1. Datasets of the same draw count once.
    delta : float
        The public delta, at least 0 and below 1.

    Returns
    -------
    float
        Epsilon of all draws together, in nats: never above m epsilon.

    Raises
    ------
    InputError
        If a number lies outside its range.

    References
    ----------
    Dong, Durfee and Rogers (2020), the optimal composition of mechanisms of bounded range
    [dong2020]_.

    Examples
    --------
    >>> round(total_epsilon(0.5, 20, delta=1e-6), 2)
    5.39
    >>> total_epsilon(0.5, 20)
    10.0
    """
    width, m = positive(epsilon, "epsilon"), whole_number(draws, "draws", least=1)
    if delta == 0:
        return m * width
    share = open_unit_interval(delta, "delta")
    return _smallest_total(width, m, share, largest_delta)


@lru_cache
def _smallest_total(
    width: float, m: int, share: float, delta_of: Callable[[float, float, int], float]
) -> float:
    """The smallest epsilon at which the delta of m draws is at most a share."""
    if delta_of(0.0, width, m) <= share:
        return 0.0
    return _last_that_holds(lambda total: delta_of(total, width, m) <= share, m * width, 0.0)


def epsilon_per_draw(total: float, draws: int, *, delta: float = 0.0) -> float:
    """The largest epsilon of a draw with which all draws together cost at most `total`.

    It inverts `total_epsilon` [dong2020], and is rounded down. Larger = less private.

    Parameters
    ----------
    total : float
        Epsilon of all draws together, in nats, above 0.
    draws : int
        The number m of draws, at least 1.
    delta : float
        The public delta, at least 0 and below 1.

    Returns
    -------
    float
        Epsilon of one draw, in nats: total / m at `delta=0`, and never less.

    Raises
    ------
    InputError
        If a number lies outside its range.

    Examples
    --------
    >>> round(epsilon_per_draw(1, 5, delta=1e-6), 3)
    0.233
    """
    most, m = positive(total, "total"), whole_number(draws, "draws", least=1)
    each = most / m
    if delta == 0:
        return each
    share = open_unit_interval(delta, "delta")
    more = 2 * each
    while largest_delta(most, more, m) <= share:
        each, more = more, 2 * more
    return _last_that_holds(lambda width: largest_delta(most, width, m) <= share, each, more)


def largest_delta(total: float, width: float, m: int) -> float:
    """The delta of m draws at epsilon `total`, under the worst mechanism of range `width`."""
    places = (total + np.arange(1, m + 2) * width) / (m + 1)
    places = places[places < width]
    if places.size == 0:
        return 0.0
    return float(deltas_at(places, total, width, m).max()) * (1 + _ROUNDING)


def deltas_at(t: Floats, total: float, width: float, m: int) -> Floats:
    """The delta of m draws of a two-point mechanism, whose log ratios are t and t - width."""
    k = np.arange(m + 1)
    choices = gammaln(m + 1) - gammaln(k + 1) - gammaln(m - k + 1)
    high = np.log(np.expm1(t - width) / np.expm1(-width))[:, None]
    low = (t - width + np.log(np.expm1(-t) / np.expm1(-width)))[:, None]
    loss = m * t[:, None] - (m - k) * width
    exceeds = -np.expm1(np.minimum(total - loss, 0.0))
    return (np.exp(choices + k * high + (m - k) * low) * exceeds).sum(axis=1)


def _last_that_holds(holds: Callable[[float], bool], holding: float, failing: float) -> float:
    """The number next to where a condition begins to fail, on the side where it holds."""
    for _ in range(_STEPS):
        middle = (holding + failing) / 2
        holding, failing = (middle, failing) if holds(middle) else (holding, middle)
    return holding
