"""The mechanisms as frozen settings, checked when they are made.

Names follow [vws2024]: LW (section 2.1), CW (section 2.2), SW (section 3); [risk2024]: Marginal and
Pairwise; [global2022]: Weighted-epsilon, Censored, perturbed histogram.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any, ClassVar, Literal

from pyvws._base.checks import choice, finite_number, non_negative, positive, whole_number
from pyvws.errors import InputError
from pyvws.risks.balls import RADIUS_KINDS

__all__ = [
    "CENSORED_WEIGHTS",
    "MECHANISMS",
    "Censored",
    "CountWeighted",
    "LipschitzWeighted",
    "MarginalWeighted",
    "Mechanism",
    "PairwiseWeighted",
    "PerturbedHistogram",
    "ScalarWeighted",
    "Unweighted",
    "WeightedEpsilon",
    "make_mechanism",
    "mechanism_settings",
]

Match = Literal["lw"] | float
"""A bound to meet: that of an LW fit to the same data, or a number in nats."""


def _check_counting(made: CountWeighted | Censored) -> None:
    """Check what defines identification risks and their weights; `known` becomes a tuple."""
    non_negative(made.c, "c")
    finite_number(made.g, "g")
    positive(made.radius, "radius")
    choice(made.radius_kind, "radius_kind", RADIUS_KINDS)
    known = (made.known,) if isinstance(made.known, str) else tuple(made.known)
    object.__setattr__(made, "known", known)


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
        _check_counting(self)
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedEpsilon:
    """Weighted-epsilon: LW, then a weight of 0 where the by-record bound exceeds epsilon / 2.

    epsilon is what the truncation aims at. The bound of the refit is computed anew; where it lies
    above, a run ends without a release unless it is told to accept that. The papers leave open how
    often to truncate: `passes` (1 unless given, the slides' "truncation of each weight") repeats
    it. c and g as for LW.
    """

    name: ClassVar[str] = "weighted-epsilon"
    epsilon: float
    passes: int = 1
    c: float = 1.0
    g: float = 0.0

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        object.__setattr__(self, "passes", whole_number(self.passes, "passes", least=1))
        non_negative(self.c, "c")
        finite_number(self.g, "g")


CENSORED_WEIGHTS = ("lw", "cw", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Censored:
    """Censored: each record's alpha_i l_i is clamped to [-epsilon / 2, epsilon / 2] in the fit.

    `weights` are LW's (Censor_w of the slides; the default, as they recommend it), CW's at the
    given radius, or "none" (Censor_uw), where no weight depends on the data. c and g scale and
    shift them.
    """

    name: ClassVar[str] = "censored"
    epsilon: float
    weights: str = "lw"
    c: float = 1.0
    g: float = 0.0
    radius: float = 0.2
    radius_kind: str = "percentage"
    known: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.weights, "weights", CENSORED_WEIGHTS)
        _check_counting(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerturbedHistogram:
    """Noisy bin counts of a bounded outcome; synthetic values are uniform within bins.

    `range` (L, U) is public knowledge; `bins` a number, by rule where None. One noisy histogram
    makes all datasets, so together they cost epsilon once. Under "replace" neighbours, the usual
    ones of [wasserman2010], the noise has scale 2 / epsilon; under "loo" 1 / epsilon.
    `edges_from_data` takes the range from the data and gives up the guarantee; `allow_outside`
    counts values outside the range in the first and last bins. `noise` is "secret" (exact and
    unseeded) for a release; "seeded-float" is for comparison with R, never published.
    """

    name: ClassVar[str] = "perturbed-histogram"
    epsilon: float
    range: tuple[float, float] | None = None
    bins: int | None = None
    neighbours: str = "replace"
    edges_from_data: bool = False
    allow_outside: bool = False
    noise: str = "secret"

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.neighbours, "neighbours", ("replace", "loo"))
        choice(self.noise, "noise", ("secret", "seeded-float"))
        if self.bins is not None:
            object.__setattr__(self, "bins", whole_number(self.bins, "bins", least=1))
        if self.range is not None:
            low, high = (finite_number(end, "range") for end in self.range)
            if not low < high:
                raise InputError("range must be two numbers, the smaller first.")
            object.__setattr__(self, "range", (low, high))
        if (self.range is None) != self.edges_from_data:
            raise InputError(
                "perturbed-histogram needs the public range of the outcome: range (--range L,U), "
                "or edges_from_data (--edges-from-data), which gives up the guarantee, not both."
            )


Mechanism = (
    Unweighted
    | LipschitzWeighted
    | CountWeighted
    | ScalarWeighted
    | WeightedEpsilon
    | Censored
    | PerturbedHistogram
)

MECHANISMS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        Unweighted,
        LipschitzWeighted,
        CountWeighted,
        MarginalWeighted,
        PairwiseWeighted,
        ScalarWeighted,
        WeightedEpsilon,
        Censored,
        PerturbedHistogram,
    )
}


_NAMES = tuple(MECHANISMS)


def mechanism_settings(name: str) -> tuple[str, ...]:
    """Names of the settings that the mechanism of that name takes."""
    return tuple(field.name for field in fields(MECHANISMS[choice(name, "mechanism", _NAMES)]))


def make_mechanism(mechanism: str | Mechanism, **settings: Any) -> Mechanism:
    """A mechanism by its short name with the settings that apply to it; others raise InputError.

    A setting of None counts as not given. An instance is returned as it is.
    """
    if not isinstance(mechanism, str):
        if not isinstance(mechanism, tuple(MECHANISMS.values())):
            raise InputError(f"mechanism must be one of {', '.join(MECHANISMS)} or an instance.")
        return mechanism
    takes = mechanism_settings(mechanism)
    kind = MECHANISMS[mechanism]
    if settings.get("match") is not None and settings.get("c") is not None:
        raise InputError("match finds c, so both cannot be given. Leave one out.")
    given = {name: value for name, value in settings.items() if value is not None}
    unused = sorted(set(given) - set(takes))
    if unused:
        raise InputError(
            f"mechanism {mechanism!r} does not take {', '.join(unused)}. "
            f"It takes {', '.join(takes) or 'no settings'}."
        )
    needed = [
        field.name for field in fields(kind) if field.default is MISSING and field.name not in given
    ]
    if needed:
        raise InputError(
            f"mechanism {mechanism!r} needs {', '.join(needed)}. Set it by "
            + ", ".join(f"--{name} ({name}=... in Python)" for name in needed)
            + "."
        )
    made: Mechanism = kind(**given)
    return made
