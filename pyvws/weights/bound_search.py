"""Refit until the database bound comes near one to meet, from either side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from pyvws._base.checks import Floats
from pyvws.errors import SearchError
from pyvws.weights.search import SMALLEST_SCALE, Try, foreseen, scale_to_meet

__all__ = ["TRIES", "Window", "kept_up", "meet", "unreached"]

TRIES = 20
_Fit = TypeVar("_Fit")


@dataclass(frozen=True, slots=True)
class Window:
    """Where a bound may end, in nats: between `low` and `high`; `aim` is what is tried for."""

    low: float
    aim: float
    high: float

    @classmethod
    def around(cls, target: float, tolerance: float) -> Window:
        """Within a share `tolerance` of the target, on either side."""
        return cls(target * (1.0 - tolerance), target, target * (1.0 + tolerance))

    @classmethod
    def below(cls, target: float, tolerance: float) -> Window:
        """At most the target, and less by at most a share `tolerance` of it."""
        return cls(target * (1.0 - tolerance), target * (1.0 - 0.2 * tolerance), target)


def meet(
    refit: Callable[[Floats], tuple[_Fit, float, Floats]],
    weights_at: Callable[[float], Floats],
    *,
    window: Window,
    first: float | None,
    largest: float,
    maxima: Floats,
    symbol: str,
    label: str,
    tell: Callable[[Try], None],
) -> tuple[_Fit, float]:
    """Refit at one value of `symbol` after the other, each predicted from the last fit.

    The bound of the fit that it returns has been chosen for lying in the window: fresh draws under
    the same weights often give more.

    Parameters
    ----------
    refit : callable
        Fits under weights (N,); the fit, its database bound and max_s |l_i| (N,), in nats.
    weights_at : callable
        Weights (N,) that rise with the value.
    window : Window
        Where the bound has to end.
    first : float, optional
        First value; predicted from `maxima` (N,) without it.
    largest : float
        Largest value to try.
    tell : callable
        Called with each try.

    Returns
    -------
    fit, float
        The first fit within the window, and the value that gave it.

    Raises
    ------
    SearchError
        If the weights reach 1, or a shift g keeps them up, or 20 refits did not suffice.
    """

    def predict(maxima: Floats) -> float | None:
        return scale_to_meet(
            lambda at: foreseen(weights_at(at), maxima), window.aim, largest=largest
        )

    value = first
    for _ in range(TRIES):
        if value is None:
            value = predict(maxima)
        if value is None:
            raise SearchError(unreached(symbol))
        fit, reached, maxima = refit(weights_at(value))
        tell(Try(label, symbol, value, reached, window.aim))
        if window.low <= reached <= window.high:
            return fit, value
        if value <= 2.0 * SMALLEST_SCALE:
            raise SearchError(kept_up(symbol))
        tried = value
        value = predict(maxima)
        if value is None and reached < window.low:
            value = largest if tried < largest else None
    raise SearchError(
        f"{TRIES} refits brought no {label} bound where it should be. Raise the tolerance "
        "(--tolerance), or name a target with epsilon, whose search allows for the bound's noise."
    )


def unreached(symbol: str) -> str:
    """What to say where no value of `symbol` brings the bound up."""
    remedy = (
        "Leave re-weighting out, or raise the tolerance (--tolerance) above what the last try "
        "lacks."
        if symbol == "k"
        else "Ask for a smaller bound, a larger tolerance, or a larger radius."
    )
    return f"No {symbol} brings the bound up to its target: the weights reach 1 first. {remedy}"


def kept_up(symbol: str) -> str:
    """What to say where no value of `symbol` brings the bound down."""
    return (
        f"Even a {symbol} near 0 leaves the bound above its target: g keeps every weight up, or "
        "the outcome has a density without limit. Lower g, ask for a larger bound, or choose "
        "mechanism censored, whose bound holds whatever the weights."
    )
