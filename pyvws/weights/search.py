"""The searches for a scale of the weights, k or c, at which the database bound meets a target.

`fit` fits under weights (N,), and `weights_at` gives weights that rise with the value of `symbol`.
A search tries values up to `largest`. The first value is `first`, or the value that the fit `start`
under other weights predicts. The search passes each try to `tell`, and returns the last fit and its
value. A search raises SearchError where the weights reach 1, where a shift g keeps the weights up,
or after 20 refits. A last fit below its target is safe, and may end a search instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import SearchError

LONGER = 4
"""A confirming fit makes this many times as many draws as another fit."""

_Fit = TypeVar("_Fit")

_TRIES = 20
_SMALLEST_SCALE = 1e-6
_HALVINGS = 60

# Where the logs of draws have an exponential tail of mean b, the log of the largest of S draws has
# a Gumbel distribution. Its mean lies 0.58 b above its mode, its standard deviation is 1.28 b, and
# L S draws add b log L.
_MISSES = 0.1  # The share of confirming fits that exceed the target under this room.
_ROOM = math.log(1 + LONGER) - math.log(-math.log(1.0 - _MISSES)) - float(np.euler_gamma)
_NOISE = math.pi / math.sqrt(6.0)
_DRIFT = 0.3  # The error of a prediction, as a share of the log distance that it bridges.
_FAR = 50.0  # The largest log distance that counts.
_NEAR = 0.2  # Errors of predictions over at most this log distance tell the noise of bounds.


@dataclass(frozen=True, slots=True)
class Try:
    """One refit of a search: the value of k or c, the bound reached, and the bound to meet."""

    label: str
    symbol: str
    value: float
    reached: float
    target: float

    def __str__(self) -> str:
        off = f" ({self.reached / self.target - 1.0:+.1%})" if self.target > 0 else ""
        return (
            f"{self.label} {self.symbol} = {self.value:.4f}: bound {self.reached:.4f} for "
            f"{self.target:.4f}{off}"
        )


def leveled(weights: Floats, by_record: Floats, bound: float) -> Floats:
    """Weights (N,) that bring every record's bound (N,) to `bound`, in nats, before a refit.

    The weights are alpha_i bound / Delta_{alpha,x_i}, at most 1. This is Algorithm 3 of [vws2024],
    where `bound` stands for k Delta_{alpha,x}. A weight of 0 stays 0. A positive weight with a
    bound of 0 becomes 1.
    """
    lowered = np.where(weights > 0, 1.0, 0.0)
    moved = (weights > 0) & (by_record > 0)
    with np.errstate(over="ignore", invalid="ignore"):
        lowered[moved] = np.fmin(1.0, weights[moved] * (bound / by_record[moved]))
    return lowered


def foreseen(weights: Floats, maxima: Floats) -> float:
    """max_i alpha_i f_i in nats: the bound under weights (N,), before a refit changes f (N,)."""
    kept = weights > 0
    return float(np.max(weights[kept] * maxima[kept], initial=0.0))


def scale_to_meet(
    bound: Callable[[float], float], target: float, *, largest: float
) -> float | None:
    """The scale in (0, largest] at which `bound(scale)` meets `target`, both in nats.

    The bound must rise with the scale. The search bisects on the log scale. The function returns
    None where even `largest` stays below the target.
    """
    low, high = np.log(_SMALLEST_SCALE), np.log(largest)
    if bound(largest) < target:
        return None
    for _ in range(_HALVINGS):
        middle = 0.5 * (low + high)
        if bound(float(np.exp(middle))) < target:
            low = middle
        else:
            high = middle
    return float(np.exp(low))


@dataclass(frozen=True, slots=True)
class Window:
    """The range from `low` to `high`, in nats, where a bound may end; a search tries for `aim`."""

    low: float
    aim: float
    high: float

    @classmethod
    def around(cls, target: float, tolerance: float) -> Window:
        """A window of a share `tolerance` of the target on either side of the target."""
        return cls(target * (1.0 - tolerance), target, target * (1.0 + tolerance))

    @classmethod
    def below(cls, target: float, tolerance: float) -> Window:
        """A window that ends at the target and starts a share `tolerance` below the target."""
        return cls(target * (1.0 - tolerance), target * (1.0 - 0.2 * tolerance), target)


@dataclass(frozen=True, slots=True)
class Reached(Generic[_Fit]):
    """A fit, its database bound and max_s |l_i| (N,) in nats, and the `log_spread` of its draws.

    `longer` is the number of this fit's draws over the number of another fit's draws.
    """

    fit: _Fit
    bound: float
    maxima: Floats
    spread: float
    longer: int = 1


def log_spread(by_draw: Floats) -> float:
    """The heaviness of the tail of the draws' bounds (S,), in nats; larger = less settled maximum.

    This is Hill's estimate, the mean excess of the largest draws' logs over the next log. Twice the
    draws add about 0.7 of the estimate to the log of the maximum. The log of the maximum of as many
    other draws differs by about 1.3 of the estimate. The estimate is 0 for fewer than 40 draws, or
    where the largest bound is not finite.
    """
    top = min(20, len(by_draw) // 20)
    falling = np.sort(by_draw)[::-1][: top + 1]
    if top < 2 or not (np.isfinite(falling[0]) and falling[-1] > 0):
        return 0.0
    logs = np.log(falling)
    return float(logs[:-1].mean() - logs[-1])


def room_below(spread: float, missed: int = 0) -> float:
    """The share of a target, at most 1, to aim for so that a fit with more draws stays below it.

    At this share nine in ten confirming fits lie at or below the target. `spread` comes from
    `log_spread`. The share falls with each confirming fit that `missed` the target.
    """
    return math.exp(-(_ROOM + missed) * spread)


def meet(
    fit: Callable[[Floats], Reached[_Fit]],
    weights_at: Callable[[float], Floats],
    *,
    window: Window,
    first: float | None,
    largest: float,
    start: Reached[_Fit],
    symbol: str,
    label: str,
    tell: Callable[[Try], None],
    below: bool = False,
) -> tuple[_Fit, float]:
    """Refit until the bound lies in the window; the last fit predicts each next value.

    The search selects its last fit for a bound in the window. So fresh draws under the same weights
    often give a larger bound. With `below` a last fit that lies below the window is a result too,
    where no further value brings the bound up.
    """

    def predict(maxima: Floats) -> float | None:
        return scale_to_meet(
            lambda at: foreseen(weights_at(at), maxima), window.aim, largest=largest
        )

    value, maxima = first, start.maxima
    last: tuple[_Fit, float] | None = None
    for _ in range(_TRIES):
        if value is None:
            value = predict(maxima)
        if value is None:
            if last is not None:
                return last
            raise SearchError(_unreached(symbol))
        reached = fit(weights_at(value))
        maxima = reached.maxima
        tell(Try(label, symbol, value, reached.bound, window.aim))
        if window.low <= reached.bound <= window.high:
            return reached.fit, value
        if value <= 2.0 * _SMALLEST_SCALE:
            raise SearchError(_kept_up(symbol))
        last = (reached.fit, value) if below and reached.bound < window.low else None
        tried = value
        value = predict(maxima)
        if value is None and reached.bound < window.low:
            value = largest if tried < largest else None
    if last is not None:
        return last
    raise SearchError(
        f"{_TRIES} refits brought no {label} bound within the tolerance of its target. Raise the "
        "tolerance (--tolerance), or name a target with epsilon. The search for an epsilon allows "
        "for the bound's noise."
    )


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
    """Refit until the bound lies just below the window's `high`, and confirm it with fresh draws.

    The first fit inside a window is often a fit whose largest draw happened to be low. So the aim
    leaves room for the noise of the bound, and for the rise that more draws bring. All fits so far
    predict the bound at a value, and fits near the aim count for more.

    A fit within noise of its aim is confirmed. `confirm` fits under the same weights from a fresh
    seed, with `LONGER` times the draws, none of which the search has seen. `confirm` gives the
    larger figures of the two fits. Where these figures exceed the window, the search predicts from
    them too and goes on under other weights. Without `confirm` the search ends at the first fit
    within noise of its aim. The bound ends at most at the window's `high`, and at least at `low`
    but for noise, or where the weights of the largest value bring it no higher.
    """
    seen, surprises, value = list[Reached[_Fit]](), list[float](), first
    tried, missed = 0.0, 0
    while len(seen) < _TRIES:
        pool = _Pool(seen or [start], window.aim, surprises)
        aim = room_below(pool.spread, missed) * window.aim
        if value is None:
            value = pool.scale(weights_at, aim, largest)
        if value is None:
            if tried == largest:
                raise SearchError(_unreached(symbol))
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
        ends = value == largest and bool((weights < 1.0).any())  # Weights of 1 protect nobody.
        if (ends or least <= pool.bound(weights) <= most) and reached.bound <= window.high:
            if confirm is None:
                return reached.fit, value
            reached = confirm(reached)
            tell(Try(f"{label}, confirmed", symbol, value, reached.bound, window.high))
            if (ends or least <= reached.bound) and reached.bound <= window.high:
                return reached.fit, value
            seen.append(reached)
            missed += reached.bound > window.high
        if value <= 2.0 * _SMALLEST_SCALE:
            raise SearchError(_kept_up(symbol))
        value = None
    raise SearchError(
        f"{_TRIES} refits brought no {label} bound to its target. Ask for another epsilon, raise "
        "the tolerance (--tolerance), or join rare levels of the predictors. Or let downscale "
        "(--downscale) lower the weights."
    )


class _Pool:
    """Predictions of the bound under other weights: a mean of fits in logs, near fits first.

    `spread` is the spread of the fits near the aim, or a larger one where the `surprises` (errors
    of earlier predictions, in logs) ask for it.
    """

    def __init__(self, seen: list[Reached[_Fit]], aim: float, surprises: list[float]) -> None:
        far = np.array([min(_FAR, abs(_log(fit.bound) - _log(aim))) for fit in seen])
        self.nearest = float(far.min())
        near = 1.0 / (0.1 + far) ** 2
        self.spread = float(near @ [fit.spread for fit in seen] / near.sum())
        self._shares = 1.0 / ((_NOISE * self.spread) ** 2 + (_DRIFT * far) ** 2 + 1e-12)
        self._shares /= self._shares.sum()
        self._seen = seen
        if len(surprises) > 2:  # Each surprise holds the noise of two fits.
            off = math.sqrt(np.square(surprises).mean() / 2.0)
            self.spread = max(self.spread, off / _NOISE)

    def bound(self, weights: Floats) -> float:
        """The bound, in nats, that a usual fit is likely to reach under weights (N,)."""
        logs = [
            _log(foreseen(weights, fit.maxima)) - self.spread * math.log(fit.longer)
            for fit in self._seen
        ]
        return math.exp(float(self._shares @ logs))

    def scale(
        self, weights_at: Callable[[float], Floats], target: float, largest: float
    ) -> float | None:
        """The value at which the predicted bound is `target`."""
        return scale_to_meet(lambda at: self.bound(weights_at(at)), target, largest=largest)


def _log(bound: float) -> float:
    """The logarithm of a bound, made finite for bounds of 0 and of infinity."""
    return math.log(min(max(bound, 1e-300), 1e300))


def _unreached(symbol: str) -> str:
    """The message where no value of `symbol` brings the bound up."""
    remedy = (
        "Leave re-weighting out, or raise the tolerance (--tolerance) above what the last try "
        "lacks."
        if symbol == "k"
        else "Ask for a smaller bound, a larger tolerance, or a larger radius."
    )
    return f"No {symbol} brings the bound up to its target: the weights reach 1 first. {remedy}"


def _kept_up(symbol: str) -> str:
    """The message where no value of `symbol` brings the bound down."""
    return (
        f"Even a {symbol} near 0 leaves the bound above its target: g keeps every weight up, or "
        "the outcome has a density without limit. Lower g, ask for a larger bound, or choose "
        "mechanism censored, whose bound holds whatever the weights."
    )
