"""Make mechanisms from their names on the command line, and accept a user's own mechanisms."""

from __future__ import annotations

import re
from dataclasses import MISSING, fields
from typing import Any

from pyvws._base.checks import choice, near, one_of_a_kind
from pyvws.errors import InputError, UsageError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.count_weighted import CountWeighted, MarginalWeighted, PairwiseWeighted
from pyvws.mechanisms.given_weights import GivenWeights
from pyvws.mechanisms.inverse_weighted import InverseWeighted
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.scalar_weighted import ScalarWeighted
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon

MECHANISMS: dict[str, type[Any]] = {
    kind.name: kind
    for kind in (
        Unweighted,
        LipschitzWeighted,
        InverseWeighted,
        CountWeighted,
        MarginalWeighted,
        PairwiseWeighted,
        ScalarWeighted,
        WeightedEpsilon,
        Censored,
        PerturbedHistogram,
        NoisyCounts,
    )
}


_NAMES = tuple(MECHANISMS)
_IN_PYTHON = (GivenWeights,)  # Their settings are no text, so a file holds them.


def mechanism_settings(name: str) -> tuple[str, ...]:
    return tuple(field.name for field in fields(MECHANISMS[choice(name, "mechanism", _NAMES)]))


def named(mechanism: str | Mechanism | None) -> str | Mechanism:
    """The mechanism as it was given; UsageError for none."""
    if mechanism is None:
        raise UsageError.by("mechanism-missing")
    return mechanism


def is_own(mechanism: Mechanism) -> bool:
    """Whether the mechanism is a user's own, whose claim the package does not check."""
    return type(mechanism) not in (*MECHANISMS.values(), *_IN_PYTHON)


def make_mechanism(mechanism: str | Mechanism | None, **settings: Any) -> Mechanism:
    """A mechanism by its short name with its settings, or an instance as it is.

    A setting of None counts as not given. Raises InputError for settings of others, and UsageError
    where no mechanism is named.
    """
    mechanism = named(mechanism)
    if not isinstance(mechanism, str):
        one_of_a_kind(mechanism, Mechanism, "mechanism", MECHANISMS)
        if is_own(mechanism):
            facts = mechanism.facts
            if not facts.fits_model:
                raise InputError.by("own-mechanism-without-fit")
            if not all(own.words and re.fullmatch("[a-z-]+", own.key) for own in facts.caveats):
                raise InputError.by("own-caveat")
        return mechanism
    takes = mechanism_settings(mechanism)
    kind = MECHANISMS[mechanism]
    if settings.get("match") is not None and settings.get("c") is not None:
        raise InputError.by("match-and-c")
    given = {name: value for name, value in settings.items() if value is not None}
    constant = kind.declared.public_constant
    if constant and "match" in given:
        raise InputError.by("match-of-public-constant", mechanism=mechanism, name=constant)
    unused = sorted(set(given) - set(takes))
    if unused:
        raise InputError.by(
            "mechanism-unknown-setting",
            mechanism=mechanism,
            unused=", ".join(unused),
            takes=", ".join(takes) or "no settings",
            hint=near(unused[0], takes),
        )
    needed = [
        field.name for field in fields(kind) if field.default is MISSING and field.name not in given
    ]
    if needed:
        raise InputError.by(
            "mechanism-needs",
            mechanism=mechanism,
            needed=", ".join(needed),
            how=", ".join(f"--{name} ({name}=... in Python)" for name in needed),
        )
    instance: Mechanism = kind(**given)
    return instance


def mechanisms_that(have: str) -> list[str]:
    """Names of the mechanisms that have a property."""
    return [name for name, kind in MECHANISMS.items() if getattr(kind.declared, have) is True]
