"""The mechanisms as frozen settings, checked when they are made.

Names follow [vws2024]: LW (section 2.1), CW (section 2.2), SW (section 3); and [risk2024]: Marginal
and Pairwise.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

from pyvws._checks import choice, finite_number, non_negative, positive
from pyvws.errors import InputError
from pyvws.identification_risk import RADIUS_KINDS

__all__ = [
    "MECHANISMS",
    "CountWeighted",
    "LipschitzWeighted",
    "MarginalWeighted",
    "Mechanism",
    "PairwiseWeighted",
    "ScalarWeighted",
    "Unweighted",
    "make_mechanism",
]

Match = Literal["lw"] | float
"""A bound to meet: that of an LW fit to the same data, or a number in nats."""


def _checked_match(match: Any) -> Match:
    if match == "lw":
        return "lw"
    if isinstance(match, str):
        raise InputError(f"match must be 'lw' or a number above 0. Got {match!r}.")
    return positive(match, "match")


@dataclass(frozen=True, slots=True, kw_only=True)
class Unweighted:
    """The ordinary posterior: every weight is 1, and no guarantee is claimed."""

    name: ClassVar[str] = "unweighted"


@dataclass(frozen=True, slots=True, kw_only=True)
class LipschitzWeighted:
    """LW: weights fall with the by-record bounds of the unweighted fit (Algorithm 1).

    c (at least 0) scales and g shifts the weights; larger = less protected.
    """

    name: ClassVar[str] = "lw"
    c: float = 1.0
    g: float = 0.0

    def __post_init__(self) -> None:
        non_negative(self.c, "c")
        finite_number(self.g, "g")


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWeighted:
    """CW: weights fall with the identification risks of the confidential data (Algorithm 2).

    radius, radius_kind and known (column names) define the risk; c and g the weights. With
    `match`, c is found so that the database bound meets it, and the field c is not read.
    """

    name: ClassVar[str] = "cw"
    c: float = 1.0
    g: float = 0.0
    radius: float = 0.2
    radius_kind: str = "percentage"
    known: tuple[str, ...] = ()
    match: Match | None = None

    def __post_init__(self) -> None:
        non_negative(self.c, "c")
        finite_number(self.g, "g")
        positive(self.radius, "radius")
        choice(self.radius_kind, "radius_kind", RADIUS_KINDS)
        known = (self.known,) if isinstance(self.known, str) else tuple(self.known)
        object.__setattr__(self, "known", known)
        if self.match is not None:
            object.__setattr__(self, "match", _checked_match(self.match))


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalWeighted(CountWeighted):
    """Marginal weights of [risk2024]: CW under that paper's name; patterns from `known`."""

    name: ClassVar[str] = "marginal"


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseWeighted(CountWeighted):
    """Pairwise weights of [risk2024]: risks of a record averaged over its pairs in a pattern."""

    name: ClassVar[str] = "pairwise"


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarWeighted:
    """SW: one weight for all records, the bound to meet over the unweighted bound."""

    name: ClassVar[str] = "sw"
    match: Match = "lw"

    def __post_init__(self) -> None:
        object.__setattr__(self, "match", _checked_match(self.match))


Mechanism = Unweighted | LipschitzWeighted | CountWeighted | ScalarWeighted

MECHANISMS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        Unweighted,
        LipschitzWeighted,
        CountWeighted,
        MarginalWeighted,
        PairwiseWeighted,
        ScalarWeighted,
    )
}


def make_mechanism(mechanism: str | Mechanism, **settings: Any) -> Mechanism:
    """A mechanism by its short name with the settings that apply to it; others raise InputError.

    A setting of None counts as not given. An instance is returned as it is.
    """
    if not isinstance(mechanism, str):
        if not isinstance(mechanism, tuple(MECHANISMS.values())):
            raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)} or an instance.")
        return mechanism
    kind = MECHANISMS[choice(mechanism, "mechanism", tuple(MECHANISMS))]
    if settings.get("match") is not None and settings.get("c") is not None:
        raise InputError("match finds c, so both cannot be given. Leave one out.")
    given = {name: value for name, value in settings.items() if value is not None}
    takes = [field.name for field in fields(kind)]
    unused = sorted(set(given) - set(takes))
    if unused:
        raise InputError(
            f"mechanism {mechanism!r} does not take {', '.join(unused)}. "
            f"It takes {', '.join(takes) or 'no settings'}."
        )
    made: Mechanism = kind(**given)
    return made
