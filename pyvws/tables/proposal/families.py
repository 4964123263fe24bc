"""The family and the scale of a number by likelihood, among the families that a proposal makes.

Each candidate is fitted to the values by maximum likelihood, without predictors. The comparison is
of mean log densities in the number's own unit, so no unit of the number changes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import scipy  # Its parts are imported where they are first used, each for half a second.
from numpy.typing import ArrayLike
from scipy.special import betaln, digamma, gammaln, log_ndtr, ndtr

from pyvws._base.checks import Floats

NEAR: Final = 0.02
"""Nats of mean log density by which a family that stands later must be better."""

_BY_FEW: Final = 3.0  # Of few numbers so many nats in all.
_UNITS: Final = 7  # Powers of ten of the scale signed-log, from the largest size down.
_MOST_VALUES: Final = 20_000  # The likelihood of so many values, evenly spread, is that of all.
_LARGEST_SHAPE: Final = 1e4
_SHARE_BELOW_0: Final = 0.01  # A scale may differ so much from the numbers in the share below 0,
_BY_CHANCE: Final = 2.0  # or by so many standard errors.


@dataclass(frozen=True, slots=True)
class Candidate:
    """A family: its entries of a column, and its mean log density at the values.

    `unit` is the unit of its scale, None on the scale of the numbers themselves.
    """

    model: str
    scale: str | None
    unit: float | None
    log_density: float


def likeliest(
    values: Floats, ends: tuple[float, float], *, whole: bool, least: float | None = None
) -> Candidate:
    """The first family within 0.02 nats of the best for numbers (n,) in a range with these `ends`.

    `whole` says that the numbers are whole ones from 0 on, so that counts are candidates. A range
    from 0 on begins at `least` in its place for a truncated family on the scale log; None says that
    it cannot, and then the family is no candidate.
    """
    tried = list(candidates(values, ends, whole=whole, least=least))
    best = max(candidate.log_density for candidate in tried)
    near = max(NEAR, _BY_FEW / len(values))
    return next(candidate for candidate in tried if candidate.log_density >= best - near)


def candidates(
    values: Floats, ends: tuple[float, float], *, whole: bool, least: float | None = None
) -> Iterator[Candidate]:
    """Each family that can have the numbers (n,), the plainest first."""
    size = 1.0 if whole else float(np.abs(values).max())  # Squares of the largest float are none.
    of_log = ends[0] if ends[0] > 0.0 else least
    scaled = (ends[0] / size, ends[1] / size), None if of_log is None else of_log / size
    for candidate in _candidates(values / size, *scaled, whole=whole):
        unit = None if candidate.unit is None else candidate.unit * size
        yield replace(candidate, unit=unit, log_density=candidate.log_density - math.log(size))


def _candidates(
    values: Floats, ends: tuple[float, float], of_log: float | None, *, whole: bool
) -> Iterator[Candidate]:
    y = np.sort(values)
    if len(y) > _MOST_VALUES:
        y = y[np.linspace(0, len(y) - 1, _MOST_VALUES).round().astype(np.intp)]
    scales = list(_scales(y))
    if whole:
        yield Candidate("negative-binomial", None, None, _negative_binomial(y))
    for model in ("normal", "truncated-normal"):
        for scale, unit in scales:
            own, truncated = ends, model != "normal"
            if truncated and scale == "log":
                if of_log is None:
                    continue
                own = of_log, ends[1]
            density = _normal(y, own, scale, unit, truncated=truncated, whole=whole)
            yield Candidate(model, scale, unit, density)
    if y[0] > 0.0:
        yield Candidate("gamma", None, None, _gamma(y))
    shares = (y - ends[0]) / (ends[1] - ends[0])
    if shares[0] > 0.0 and shares[-1] < 1.0:
        yield Candidate("beta", None, None, _beta(shares, ends))


def _scales(y: Floats) -> Iterator[tuple[str | None, float | None]]:
    yield None, None
    if y[0] > 0.0:
        yield "log", float(np.median(y))
    if not y[0] < 0.0 < y[-1]:
        return
    share = float((y < 0.0).mean())
    near = max(_SHARE_BELOW_0, _BY_CHANCE * math.sqrt(share * (1.0 - share) / len(y)))
    for unit in 10.0 ** -np.arange(1.0, _UNITS + 1.0):
        v, _ = _to_scale(y, "signed-log", unit)
        if abs(float(ndtr(-v.mean() / v.std())) - share) <= near:
            yield "signed-log", float(unit)


def _to_scale(y: ArrayLike, scale: str | None, unit: float | None) -> tuple[Floats, Floats]:
    """Numbers (n,) on a scale of the normal families, and the log of its slope there."""
    y = np.asarray(y, dtype=np.float64)
    if scale is None:
        return y, np.zeros(len(y))
    if scale == "log":
        return np.log(y), -np.log(y)
    size = np.abs(y)
    return np.sign(y) * np.log1p(size / unit), -np.log(unit + size)


def _normal(
    y: Floats,
    ends: tuple[float, float],
    scale: str | None,
    unit: float | None,
    *,
    truncated: bool,
    whole: bool,
) -> float:
    """The mean log density of a normal on a scale, with the normaliser of the range or without.

    Of `whole` numbers it is the mean log probability of draws within the range that are rounded.
    """
    v, slopes = _to_scale(y, scale, unit)
    m, s = float(v.mean()), float(v.std())
    if s == 0.0:
        return -math.inf
    low, high = _scaled_ends(ends, scale, unit)
    loss = math.log(s) + 0.5
    if truncated:
        (m, s), loss = _truncated(v, (low, high))
    if not whole:
        return float(slopes.mean()) - 0.5 * math.log(2.0 * math.pi) - loss
    known, counts = np.unique(y, return_counts=True)
    edges = np.clip([known - 0.5, known + 0.5], *ends)
    with np.errstate(divide="ignore"):
        below, above = (_to_scale(edge, scale, unit)[0] for edge in edges)
    pairs = zip((below - m) / s, (above - m) / s, strict=True)
    shares = np.array([_log_share(*pair) for pair in pairs])
    return float(counts @ shares / len(y)) - _log_share((low - m) / s, (high - m) / s)


def _scaled_ends(
    ends: tuple[float, float], scale: str | None, unit: float | None
) -> tuple[float, float]:
    with np.errstate(divide="ignore"):
        low, high = _to_scale(np.array(ends), scale, unit)[0]
    return float(low), float(high)


def _truncated(v: Floats, ends: tuple[float, float]) -> tuple[tuple[float, float], float]:
    """Centre and width of a truncated normal of numbers (n,); and its loss without a constant."""
    (low, high), m, s = ends, float(v.mean()), float(v.std())

    def loss(at: Floats) -> float:
        centre, width = m + s * at[0], s * math.exp(at[1])
        squares = (s**2 + (m - centre) ** 2) / (2.0 * width**2)
        return (
            math.log(width) + squares + _log_share((low - centre) / width, (high - centre) / width)
        )

    optimum = scipy.optimize.minimize(
        loss,
        np.zeros(2),
        method="Nelder-Mead",
        bounds=[(-30.0, 30.0), (-3.0, 3.0)],
        options={"xatol": 1e-3, "fatol": 1e-5},
    )
    at = m + s * float(optimum.x[0]), s * math.exp(float(optimum.x[1]))
    return at, float(optimum.fun)


def _log_share(low: float, high: float) -> float:
    """log of a standard normal's share between two ends, without loss in either tail."""
    if low > 0.0:
        low, high = -high, -low
    above, below = float(log_ndtr(high)), float(log_ndtr(low))
    return above + math.log(-math.expm1(min(below - above, -1e-300)))


def _gamma(y: Floats) -> float:
    """The mean log density of a gamma law of numbers above 0."""
    mean, logs = float(y.mean()), float(np.log(y).mean())
    gap = math.log(mean) - logs
    if gap <= 0.0:
        return -math.inf
    shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(20):  # Newton's steps for log a - digamma(a) = gap.
        slope = 1.0 / shape - (digamma(shape + 1e-6 * shape) - digamma(shape)) / (1e-6 * shape)
        shape = max(shape - (math.log(shape) - digamma(shape) - gap) / slope, shape / 2.0)
    shape = min(shape, _LARGEST_SHAPE)
    return float(shape * math.log(shape / mean) - gammaln(shape) + (shape - 1.0) * logs - shape)


def _beta(u: Floats, ends: tuple[float, float]) -> float:
    """The mean log density of a beta law of shares within the range."""
    logs, rest = float(np.log(u).mean()), float(np.log1p(-u).mean())
    m, v = float(u.mean()), float(u.var())
    kappa = max(m * (1.0 - m) / max(v, 1e-12) - 1.0, 0.1)

    def loss(at: Floats) -> float:
        a, b = np.exp(at)
        return float(betaln(a, b) - (a - 1.0) * logs - (b - 1.0) * rest)

    start = np.log([m * kappa, (1.0 - m) * kappa])
    optimum = scipy.optimize.minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-3, "fatol": 1e-5}
    )
    return -float(optimum.fun) - math.log(ends[1] - ends[0])


def _negative_binomial(y: Floats) -> float:
    """The mean log probability of a negative binomial law, of which a Poisson law is an end."""
    m = float(y.mean())
    known, counts = np.unique(y, return_counts=True)
    shares = counts / len(y)

    def loss(log_phi: float) -> float:
        phi = math.exp(log_phi)
        terms = gammaln(known + phi) - gammaln(phi) - gammaln(known + 1.0)
        terms += phi * math.log(phi / (phi + m)) + known * math.log(m / (phi + m))
        return -float(shares @ terms)

    return -float(scipy.optimize.minimize_scalar(loss, bounds=(-8.0, 14.0), method="bounded").fun)
