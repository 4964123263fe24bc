"""Refit until the database bound stays below a target, and confirm that it does.

A first fit inside a window is often one whose largest draw happened to be low. So what is aimed for
leaves room for the noise of the bound, and what is reported comes from draws that the search has
not seen.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import SearchError
from pyvws.weights.bound_search import TRIES, Window, kept_up, unreached
from pyvws.weights.search import SMALLEST_SCALE, Try, foreseen, scale_to_meet

__all__ = ["LONGER", "Reached", "log_spread", "room_below", "stay_below"]

LONGER = 4
"""A confirming fit draws so many times as much as another."""

_Fit = TypeVar("_Fit")

# Where the logs of draws have an exponential tail of mean b, the log of the largest of S is Gumbel:
# its mean lies 0.58 b above its mode, its standard deviation is 1.28 b, and L S draws add b log L.
_MISSES = 0.1  # How often confirming fits exceed a target that is aimed for with this room.
_ROOM = math.log(1 + LONGER) - math.log(-math.log(1.0 - _MISSES)) - float(np.euler_gamma)
_NOISE = math.pi / math.sqrt(6.0)
_DRIFT = 0.3  # What a prediction is wrong by, as a share of the log distance that it bridges.
_FAR = 50.0  # No log distance counts as larger.
_NEAR = 0.2  # Predictions that bridge no more say how noisy bounds are.


@dataclass(frozen=True, slots=True)
class Reached(Generic[_Fit]):
    """A fit, its database bound and max_s |l_i| (N,) in nats, and the `log_spread` of its draws.

    `longer` is by how many times its draws outnumber those of other fits.
    """

    fit: _Fit
    bound: float
    maxima: Floats
    spread: float
    longer: int = 1


def log_spread(by_draw: Floats) -> float:
    """How heavy the tail of the draws' bounds (S,), in nats, is: larger = a less settled maximum.

    Hill's estimate: the mean excess of the largest draws' logs over the next one. Twice the draws
    add about 0.7 of it to the log of their maximum, and the maximum of as many other draws differs
    by about 1.3 of it. 0 for fewer than 40 draws, or where the largest is not finite.
    """
    top = min(20, len(by_draw) // 20)
    falling = np.sort(by_draw)[::-1][: top + 1]
    if top < 2 or not (np.isfinite(falling[0]) and falling[-1] > 0):
        return 0.0
    logs = np.log(falling)
    return float(logs[:-1].mean() - logs[-1])


def room_below(spread: float, missed: int = 0) -> float:
    """The share of a target, at most 1, that usual fits should reach for more draws to keep to it.

    At this share nine in ten confirming fits lie at or below the target; `spread` as of
    `log_spread`. It falls with each confirming fit that `missed`.
    """
    return math.exp(-(_ROOM + missed) * spread)


def stay_below(
    fit: Callable[[Floats], Reached[_Fit]],
    confirm: Callable[[Reached[_Fit]], Reached[_Fit]] | None,
    weights_at: Callable[[float], Floats],
    *,
    window: Window,
    first: float | None,
    largest: float,
    start: Reached[_Fit],
    symbol: str,
    label: str,
    tell: Callable[[Try], None],
) -> tuple[_Fit, float]:
    """Refit until the bound is usually as high as it may be, and confirm that it stays below.

    All fits so far predict the bound at any value, near ones before far ones. What is aimed for
    leaves room for the noise of the bound and for what more draws add. A fit within noise of its
    aim is confirmed, by draws that the search has not seen. Where those exceed the window they are
    one more fit to predict from, and the search goes on under other weights.

    Parameters
    ----------
    fit : callable
        Fits under weights (N,).
    confirm : callable, optional
        Fits under the weights of an earlier fit from a fresh seed, with `LONGER` times the draws,
        and gives the larger figures of both. Without it the first fit within noise of its aim is
        the last.
    weights_at : callable
        Weights (N,) that rise with the value.
    window : Window
        The confirmed bound lies at most at `high`, and at least at `low` but for noise.
    first : float, optional
        First value; predicted from `start` without it.
    largest : float
        Largest value to try.
    start : Reached
        A fit under other weights.
    tell : callable
        Called with each try.

    Returns
    -------
    fit, float
        The confirmed fit, and the value that gave it.

    Raises
    ------
    SearchError
        If the weights reach 1, or a shift g keeps them up, or 20 refits did not suffice.
    """
    seen, surprises, value = list[Reached[_Fit]](), list[float](), first
    tried, missed = 0.0, 0
    while len(seen) < TRIES:
        pool = _Pool(seen or [start], window.aim, surprises)
        aim = room_below(pool.spread, missed) * window.aim
        if value is None:
            value = pool.scale(weights_at, aim, largest)
        if value is None:
            if tried == largest:
                raise SearchError(unreached(symbol))
            value = largest
        weights, tried = weights_at(value), value
        predicted = pool.bound(weights)
        reached = fit(weights)
        if pool.nearest < _NEAR:
            surprises.append(_log(reached.bound) - _log(predicted))
        tell(Try(label, symbol, value, reached.bound, aim))
        seen.append(reached)
        pool = _Pool(seen, window.aim, surprises)
        room, noise = room_below(pool.spread, missed), math.exp(pool.spread)
        least, most = window.low * room / noise, window.high * room * noise
        if least <= pool.bound(weights) <= most and reached.bound <= window.high:
            if confirm is None:
                return reached.fit, value
            reached = confirm(reached)
            tell(Try(f"{label}, confirmed", symbol, value, reached.bound, window.high))
            if least <= reached.bound <= window.high:
                return reached.fit, value
            seen.append(reached)
            missed += reached.bound > window.high
        if value <= 2.0 * SMALLEST_SCALE:
            raise SearchError(kept_up(symbol))
        value = None
    raise SearchError(
        f"{TRIES} refits brought no {label} bound to its target. Ask for another epsilon, raise "
        "the tolerance (--tolerance), join rare levels of the predictors, or let downscale "
        "(--downscale) lower the weights instead."
    )


class _Pool:
    """What fits say of the bound under other weights: their mean in logs, near ones before far.

    `spread` is that of the fits near the aim, or what `surprises` of earlier predictions, in logs,
    make of it where they are larger.
    """

    def __init__(self, seen: list[Reached[_Fit]], aim: float, surprises: list[float]) -> None:
        far = np.array([min(_FAR, abs(_log(made.bound) - _log(aim))) for made in seen])
        self.nearest = float(far.min())
        near = 1.0 / (0.1 + far) ** 2
        self.spread = float(near @ [made.spread for made in seen] / near.sum())
        self._shares = 1.0 / ((_NOISE * self.spread) ** 2 + (_DRIFT * far) ** 2 + 1e-12)
        self._shares /= self._shares.sum()
        self._seen = seen
        if len(surprises) > 2:  # Each holds the noise of two fits.
            off = math.sqrt(np.square(surprises).mean() / 2.0)
            self.spread = max(self.spread, off / _NOISE)

    def bound(self, weights: Floats) -> float:
        """What a usual fit is likely to reach under weights (N,), in nats."""
        logs = [
            _log(foreseen(weights, made.maxima)) - self.spread * math.log(made.longer)
            for made in self._seen
        ]
        return math.exp(float(self._shares @ logs))

    def scale(
        self, weights_at: Callable[[float], Floats], target: float, largest: float
    ) -> float | None:
        """The value at which that is `target`."""
        return scale_to_meet(lambda at: self.bound(weights_at(at)), target, largest=largest)


def _log(bound: float) -> float:
    """The logarithm of a bound, finite, since bounds of 0 and of infinity are averaged too."""
    return math.log(min(max(bound, 1e-300), 1e300))
