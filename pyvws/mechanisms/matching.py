"""The setting `match`, a bound to meet: the bound of an LW fit to the same data, or a number."""

from __future__ import annotations

from typing import Literal

from pyvws._base.checks import positive
from pyvws._base.setting import about
from pyvws.errors import InputError
from pyvws.mechanisms.weighing import Loop

Match = Literal["lw"] | float
"""A bound to meet: "lw" for the bound of an LW fit to the same data, or a number in nats."""

MATCH = about("Bound to meet by the search for the weights' constant: that of lw, or a number.")
"""The setting `match` of every mechanism that takes it."""


def checked_match(match: object) -> Match:
    """A valid `match`; InputError for another word than "lw", or for a number not above 0."""
    if match == "lw":
        return "lw"
    if isinstance(match, str):
        raise InputError.by("match-words", match=match)
    return positive(match, "match")


def bound_to_meet(loop: Loop, match: Match) -> float:
    """The bound of `match` in nats; InputError unless it is below the unweighted bound."""
    bound = loop.lipschitz().bounds.aimed.database if match == "lw" else float(match)
    refuse_needless(loop, bound)
    return bound


def refuse_needless(loop: Loop, bound: float) -> None:
    """Raise InputError for a bound to meet, in nats, that the unweighted fit meets already."""
    if not bound < loop.unweighted().bounds.aimed.database:
        raise InputError.by("match-above-unweighted")
