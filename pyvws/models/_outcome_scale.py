"""The scale and the public range of a continuous outcome, and the scale's effect on bounds.

The supplement of [risk2024] models the logarithm of income; "signed-log" does the same for outcomes
of either sign. A public centre and unit move the outcome to where the priors are. The likelihood is
of the encoded outcome and has no Jacobian of the scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

import numpy as np

from pyvws._base.checks import Floats, as_text, choice, finite_number, positive
from pyvws._base.phrase import Phrase
from pyvws._base.setting import about
from pyvws.errors import ConvergenceError, InputError
from pyvws.tables.design.cells import Cells

OUTCOME_SCALES: Final = ("identity", "log", "signed-log")
"""x as it is, log x for x > 0, and sign(x) log(1 + |x|), for x = (y - centre) / unit."""

DECLARED: Final = about(
    "Scale on which the outcome is modelled: identity, log or signed-log.", choices=OUTCOME_SCALES
)
"""The setting `outcome_scale` of each family that takes it."""

CENTRE: Final = about(
    "Public number that is taken off the outcome before the scale, known without looking at the "
    "data."
)
"""The setting `outcome_centre` of each family with an outcome scale."""

UNIT: Final = about(
    "Public number above 0 by which the outcome is divided before the scale, known without looking "
    "at the data.",
    more="Priors expect numbers of moderate size. Bounds are of the outcome in this unit.",
)
"""The setting `outcome_unit` of each family with an outcome scale."""

SMALLEST_SD: Final = 0.05
DECLARED_SD: Final = about(
    "Least standard deviation on the outcome's scale, known without looking at the data.",
    more="Each component of normal-mixture lies above it. For normal it ends the public range of "
    "the deviance clamp.",
)
"""The setting `smallest_sd` of the normal families, and its default."""

_ENCODE: Final[dict[str, Callable[[Floats], Floats]]] = {
    "identity": lambda y: y,
    "log": lambda y: np.asarray(np.log(y)),
    "signed-log": lambda y: np.asarray(np.sign(y) * np.log1p(np.abs(y))),
}

_DECODE: Final[dict[str, Callable[[Floats], Floats]]] = {
    "identity": lambda v: v,
    "log": lambda v: np.asarray(np.exp(v)),
    "signed-log": lambda v: np.asarray(np.sign(v) * np.expm1(np.abs(v))),
}


class Scaled:
    """A family whose outcome is modelled on the scale that its settings name."""

    __slots__ = ()

    outcome_scale: str
    outcome_centre: float
    outcome_unit: float

    @property
    def measured(self) -> OutcomeScale:
        """How v follows from the outcome."""
        return OutcomeScale(self.outcome_scale, self.outcome_centre, self.outcome_unit)

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        return self.measured.caveats

    def encode(self, outcome: Floats) -> Floats:
        return self.measured.encode(outcome)


@dataclass(frozen=True, slots=True)
class OutcomeScale:
    """The outcome y as v = s((y - centre) / unit), s the scale `name`, one of OUTCOME_SCALES."""

    name: str = "identity"
    centre: float = 0.0
    unit: float = 1.0

    def __post_init__(self) -> None:
        name = choice(str(self.name).replace("_", "-"), "outcome_scale", OUTCOME_SCALES)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "centre", finite_number(self.centre, "outcome_centre"))
        positive(self.unit, "outcome_unit")
        object.__setattr__(self, "unit", float(self.unit))

    def settle(self, family: Scaled) -> None:
        """Keep the checked settings in the family that gave them."""
        object.__setattr__(family, "outcome_scale", self.name)
        object.__setattr__(family, "outcome_centre", self.centre)
        object.__setattr__(family, "outcome_unit", self.unit)

    def check(self, outcome: Floats, column: str, model: str) -> None:
        """Raise InputError where an outcome (N,) has no value on the scale."""
        too_low = int((outcome <= self.centre).sum())
        if self.name == "log" and too_low:
            least = "0" if self.centre == 0.0 else f"outcome_centre = {self.centre:g}"
            raise InputError.by(
                "log-values-too-low", column=column, too_low=too_low, least=least, model=model
            )
        with np.errstate(over="ignore"):
            too_large = int(np.isinf((outcome - self.centre) / self.unit).sum())
        if too_large:
            raise InputError.by("values-beyond-units", column=column, too_large=too_large)

    def encode(self, outcome: Floats) -> Floats:
        """Outcomes (N,) on the scale of the likelihood."""
        return _ENCODE[self.name]((outcome - self.centre) / self.unit)

    def decode(self, encoded: Floats) -> Floats:
        """The inverse of `encode`. Raises ConvergenceError for an outcome beyond any float."""
        with np.errstate(over="ignore", invalid="ignore"):
            return representable(self.centre + self.unit * _DECODE[self.name](encoded))

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """The caveats of the privacy statement about a density on the scale."""
        plain = (self.centre, self.unit) == (0.0, 1.0)
        moved = () if plain else (Phrase("centre-and-unit"),)
        return Phrase(f"unit-{self.name}"), *moved, Phrase("no-upper-limit")


def representable(outcome: Floats) -> Floats:
    """The outcomes. Raises ConvergenceError where one is beyond any float."""
    if not np.isfinite(outcome).all():
        raise ConvergenceError(
            "A posterior draw predicts outcomes beyond any number: the weights leave too little of "
            "the data. Raise c or g, or the bound to meet."
        )
    return outcome


def highest_normal(cells: Cells, smallest_sd: float) -> Floats:
    """The largest normal log density (C,), in nats, at an sd of at least smallest_sd."""
    if smallest_sd == 0.0:
        raise InputError.by("deviance-without-least-sd")
    return np.full(cells.n_cells, -math.log(smallest_sd) - 0.5 * math.log(2.0 * math.pi))


def known_range(given: Iterable[float]) -> tuple[float, float]:
    """The two ends, in the outcome's unit; InputError unless they are finite and rise."""
    try:
        low, high = (finite_number(end, "range") for end in given)
    except (TypeError, ValueError):
        low, high = 0.0, 0.0
    if not low < high or math.isinf(high - low):
        raise InputError.by("model-range", given=as_text(given))
    return low, high


def check_within(outcome: Floats, column: str, known: tuple[float, float], model: str) -> None:
    """Raise InputError, with their count, for outcomes (N,) outside the range."""
    low, high = known
    if outside := int(((outcome < low) | (outcome > high)).sum()):
        raise InputError.by(
            "values-outside-range", column=column, outside=outside, low=low, high=high, model=model
        )
