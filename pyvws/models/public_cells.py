"""Probabilities of public cells of numbers under a family, and draws within a cell.

A cell is an interval of the likelihood's scale: low < v <= high. Of a family of whole numbers both
ends are whole numbers. An infinite end takes all that lies beyond.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
from scipy.special import (
    betainc,
    betaincinv,
    expit,
    gammainc,
    gammaincc,
    gammainccinv,
    gammaincinv,
    gammaln,
    log_expit,
    log_ndtr,
    ndtr,
    ndtri_exp,
)

from pyvws._base.checks import Floats
from pyvws.models._outcome_scale import Scaled
from pyvws.models.beta import Beta
from pyvws.models.model import Draws, Model

_TINY: Final = np.finfo(np.float64).tiny
_INSIDE: Final = 2.0**-53
_LARGEST: Final = 2.0**53
_NEAR: Final = 128.0  # Whole numbers of a cell whose probabilities are summed one by one.
_OPEN: Final = {
    "normal": (-math.inf, math.inf),
    "gamma": (0.0, math.inf),
    "beta": (0.0, 1.0),
    "poisson": (-1.0, math.inf),
    "negative-binomial": (-1.0, math.inf),
}
"""Where the values of a family end, on the likelihood's scale; beyond its range too."""

_BY_RANGE: Final = "truncated-normal"

CELL_FAMILIES: Final = (*_OPEN, _BY_RANGE)
"""Families of numbers whose probability of a cell is known."""


@dataclass(frozen=True, slots=True)
class _Law:
    """P(V <= v) and P(V > v) of each record, and what draws V.

    Of numbers that are not whole that is the v of either probability, and of whole ones log P(V =
    k) up to a constant of the record, as h(k) + k slope.
    """

    below: Callable[[Floats], Floats]
    above: Callable[[Floats], Floats]
    of_below: Callable[[Floats], Floats] | None = None
    of_above: Callable[[Floats], Floats] | None = None
    h: Callable[[Floats], Floats] | None = None
    slope: Floats | None = None


def _law(family: Model, draw: Draws, eta: Floats) -> _Law:
    """The distribution of records of eta at a single draw (S = 1)."""
    if family.name == "normal":
        sigma = float(draw["sigma"][0])
        return _Law(lambda v: ndtr((v - eta) / sigma), lambda v: ndtr((eta - v) / sigma))
    if family.name == "gamma":
        a = float(draw["shape"][0])
        rate = a * np.exp(-eta)
        return _Law(
            lambda v: gammainc(a, np.maximum(v, 0.0) * rate),
            lambda v: gammaincc(a, np.maximum(v, 0.0) * rate),
            lambda p: np.maximum(gammaincinv(a, p) / rate, _TINY),
            lambda p: np.maximum(gammainccinv(a, p) / rate, _TINY),
        )
    if family.name == "beta":
        kappa = float(draw["kappa"][0])
        a, b = kappa * expit(eta) + _TINY, kappa * expit(-eta) + _TINY
        return _Law(
            lambda v: betainc(a, b, np.clip(v, 0.0, 1.0)),
            lambda v: betainc(b, a, 1.0 - np.clip(v, 0.0, 1.0)),
            lambda p: np.clip(betaincinv(a, b, p), _TINY, 1.0 - _INSIDE),
            lambda p: np.clip(1.0 - betaincinv(b, a, p), _TINY, 1.0 - _INSIDE),
        )
    if family.name == "poisson":
        mu = np.exp(eta)
        return _Law(
            lambda k: gammaincc(k + 1.0, mu),
            lambda k: gammainc(k + 1.0, mu),
            h=lambda k: -gammaln(k + 1.0),
            slope=eta,
        )
    phi = float(draw["phi"][0])
    none = expit(math.log(phi) - eta)  # phi / (phi + mu)
    some = expit(eta - math.log(phi))
    return _Law(
        lambda k: betainc(phi, k + 1.0, none),
        lambda k: betainc(k + 1.0, phi, some),
        h=lambda k: gammaln(k + phi) - gammaln(k + 1.0),
        slope=log_expit(eta - math.log(phi)),
    )


def open_ends(family: Model, low: Floats, high: Floats) -> tuple[Floats, Floats]:
    """Ends of neighbouring cells (C,), the first and the last of which take what lies beyond.

    Under a family that its range truncates nothing lies beyond.
    """
    if family.name == _BY_RANGE:
        return low, high
    first, last = _OPEN[family.name]
    low, high = np.maximum(low, first), np.minimum(high, last)
    low[0], high[-1] = first, last
    return low, high


def cell_probabilities(
    family: Model, draw: Draws, eta: Floats, low: Floats, high: Floats
) -> Floats:
    """The probability (R, C), in [0, 1], of each cell for each eta (R,), at a single draw (S = 1).

    Cells stand side by side: high[c] is low[c + 1]. Those of a family that its range truncates add
    up to 1.
    """
    if family.name == _BY_RANGE:
        return _normal_shares(eta[:, None], float(draw["sigma"][0]), low, high)
    law = _law(family, draw, eta[:, None])
    ends = np.concatenate([low, high[-1:]])[None, :]
    with np.errstate(over="ignore", invalid="ignore"):
        below, above = _at(law.below, ends, 0.0, 1.0), _at(law.above, ends, 1.0, 0.0)
    probabilities = np.where(below[:, :-1] > 0.5, above[:, :-1] - above[:, 1:], np.diff(below))
    return np.asarray(np.clip(probabilities, 0.0, 1.0))


def _lower_tail(eta: Floats, sigma: float, low: Floats, high: Floats) -> tuple[Any, ...]:
    """Whether cells are mirrored, so that each lies in the lower tail of a normal distribution, and
    the logarithms of what lies below their ends: no cell is too far away for these."""
    a, b = (low - eta) / sigma, (high - eta) / sigma
    mirrored = -a < b
    a, b = np.where(mirrored, -b, a), np.where(mirrored, -a, b)
    return mirrored, log_ndtr(a), log_ndtr(b)


def _normal_shares(eta: Floats, sigma: float, low: Floats, high: Floats) -> Floats:
    """Shares (R, C) of cells by a normal distribution, of what it has in all of them."""
    _, below, until = _lower_tail(eta, sigma, low, high)
    log_mass = until + np.log(-np.expm1(np.minimum(below - until, -_TINY)))
    mass = np.exp(log_mass - log_mass.max(axis=1, keepdims=True))
    return np.asarray(mass / mass.sum(axis=1, keepdims=True))


def _at(probability: Callable[[Floats], Floats], ends: Floats, first: float, last: float) -> Floats:
    """A probability at ends, where an infinite end needs no function."""
    at_finite = np.asarray(probability(np.where(np.isfinite(ends), ends, 0.0)))
    return np.where(ends == -np.inf, first, np.where(ends == np.inf, last, at_finite))


def drawn_in_cells(
    family: Model, draw: Draws, eta: Floats, low: Floats, high: Floats, rng: np.random.Generator
) -> Floats:
    """A number (N,) within low < v <= high (N,) for each eta (N,), at a single draw (S = 1).

    In a cell too far away for any floating number it lies at the nearer end.
    """
    if family.name in ("normal", _BY_RANGE):
        return _normal_within(eta, float(draw["sigma"][0]), low, high, rng.random(len(eta)))
    law = _law(family, draw, eta)
    if law.h is None or law.slope is None:
        return _inverted(law, low, high, rng.random(len(eta)))
    numbers = np.empty(len(eta))
    near = high - low <= _NEAR
    for at, drawn in ((near, _among_few), (~near, _halved)):
        if at.any():
            own = _law(family, draw, eta[at])
            numbers[at] = drawn(own, low[at], high[at], rng.random(int(at.sum())))
    return numbers


def _normal_within(eta: Floats, sigma: float, low: Floats, high: Floats, u: Floats) -> Floats:
    """Normal numbers within cells, by the inverse of the logarithm of the distribution function."""
    mirrored, below, until = _lower_tail(eta, sigma, low, high)
    z = ndtri_exp(until + np.log(u + (1.0 - u) * np.exp(below - until)))
    return np.asarray(np.clip(eta + sigma * np.where(mirrored, -z, z), low, high))


def _inverted(law: _Law, low: Floats, high: Floats, u: Floats) -> Floats:
    """Numbers by the inverse of the distribution function, of the nearer tail."""
    assert law.of_below is not None
    assert law.of_above is not None
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        under, until = (_at(law.below, ends, 0.0, 1.0) for ends in (low, high))
        over, beyond = (_at(law.above, ends, 1.0, 0.0) for ends in (low, high))
        v = np.where(
            under > 0.5,
            law.of_above(over - u * (over - beyond)),
            law.of_below(under + u * (until - under)),
        )
    v = np.clip(v, low, high)
    nearer = np.where(np.isfinite(low), low, high)
    return np.asarray(np.where(np.isfinite(v), v, nearer))


def _among_few(law: _Law, low: Floats, high: Floats, u: Floats) -> Floats:
    """Whole numbers by the probability of each in the cell."""
    assert law.h is not None
    assert law.slope is not None
    within = 1.0 + np.arange(int((high - low).max()))
    first, row = np.unique(low, return_inverse=True)
    log_p = law.h(first[:, None] + within)[row] + law.slope[:, None] * within
    log_p[within > (high - low)[:, None]] = -np.inf
    sums = np.cumsum(np.exp(log_p - log_p.max(axis=1, keepdims=True)), axis=1)
    return np.asarray(low + 1.0 + (sums[:, :-1] < u[:, None] * sums[:, -1:]).sum(axis=1))


def _halved(law: _Law, low: Floats, high: Floats, u: Floats) -> Floats:
    """The least whole numbers above low whose probability reaches one in the cell, by halving."""
    with np.errstate(over="ignore", invalid="ignore"):
        under, until = (_at(law.below, ends, 0.0, 1.0) for ends in (low, high))
        over, beyond = (_at(law.above, ends, 1.0, 0.0) for ends in (low, high))
        upper = under > 0.5
        p = np.where(upper, over - u * (over - beyond), under + u * (until - under))

        def reaches(k: Floats) -> Any:
            return np.where(upper, law.above(k) <= p, law.below(k) >= p)

        below, most = low.copy(), np.minimum(high, _LARGEST)
        reach, step = np.minimum(below + 1.0, most), np.ones(len(low))
        short = ~reaches(reach) & (reach < most)
        while short.any():
            step = np.where(short, 2.0 * step, step)
            below = np.where(short, reach, below)
            reach = np.where(short, np.minimum(reach + step, most), reach)
            short &= ~reaches(reach) & (reach < most)
        while (reach - below > 1.0).any():
            middle = np.where(reach - below > 1.0, np.floor(0.5 * (below + reach)), reach)
            reached = reaches(middle)
            below = np.where(reached, np.minimum(below, middle - 1.0), middle)
            reach = np.where(reached, middle, reach)
    return reach


def decoded(family: Model, v: Floats) -> Floats:
    """Outcomes (N,) from numbers of the likelihood's scale, the inverse of `encode`."""
    if isinstance(family, Scaled):
        return family.measured.decode(v)
    if isinstance(family, Beta):
        low, high = family.range
        place = (v - family.squeeze) / (1.0 - 2.0 * family.squeeze)
        return np.asarray(np.clip(low + (high - low) * place, low, high))
    return v
