"""What a mechanism is: its settings, what it runs on the loop, what it refuses, claims and says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.mechanisms.weighing import Loop, Request, Weighting, downscaled

__all__ = ["Claim", "Mechanism", "MechanismBase", "data_weights"]

Claim = Literal["dp", "dp-if-bounded", "asymptotic-dp", "none"]
"""The statement's words for a guarantee, the strongest first."""


class Mechanism(Protocol):
    """How records are protected. Instances are frozen dataclasses, whose fields are the settings.

    `MechanismBase` has the usual answers. A mechanism of one's own inherits from it.
    """

    @property
    def name(self) -> str:
        """The word for it on the command line and in the statement."""

    @property
    def title(self) -> str:
        """Its name on pages and figures."""

    @property
    def explanation(self) -> str:
        """What it does, a sentence or two for the reader of a release."""

    @property
    def claim(self) -> Claim:
        """The strongest word that a statement may have. What a run does can only weaken it."""

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """What it adds to the caveats of a statement; one of a user's own brings its words."""

    @property
    def known(self) -> Sequence[str]:
        """Columns whose values it reads beside the outcome."""

    @property
    def own_epsilon(self) -> float | None:
        """The epsilon among its settings, if it has one."""

    @property
    def fits_model(self) -> bool:
        """Whether it weighs the fits of a model; the perturbed histogram has none."""

    @property
    def in_steps(self) -> bool:
        """Whether it can weigh a tally, whose rows stand for several records each."""

    @property
    def weights_from_data(self) -> bool:
        """Whether any weight depends on the confidential data."""

    @property
    def clamps(self) -> bool:
        """Whether the fit that makes the datasets clamps its terms."""

    @property
    def clamps_every_fit(self) -> bool:
        """Whether each of its fits clamps its terms."""

    @property
    def counts_in_radius(self) -> bool:
        """Whether its weights come from counts of outcomes within a radius."""

    @property
    def reweights(self) -> bool:
        """Whether Algorithm 3 may raise its weights."""

    @property
    def takes_target(self) -> bool:
        """Whether it can search its constant for a `Request.epsilon`."""

    @property
    def names_bound(self) -> bool:
        """Whether its settings name a bound to meet, which excludes a target."""

    @property
    def protects_records(self) -> bool:
        """Whether the number of records is protected too."""

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        """Raise InputError for an outcome (N,) that it cannot weigh; no value goes into it."""

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        """Raise InputError for predictors, or for columns to release, that it cannot have."""

    def run(self, loop: Loop, request: Request) -> Weighting:
        """Fit on the loop as the mechanism says."""


class MechanismBase:
    """The usual answers of a mechanism: those of one that promises nothing and refuses nothing.

    A mechanism of one's own says in `weigh` what it fits; `run` downscales that where asked.
    """

    __slots__ = ()

    name: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    claim: ClassVar[Any] = "none"
    caveats: ClassVar[Any] = ()
    known: Any = ()
    fits_model: ClassVar[bool] = True
    in_steps: ClassVar[bool] = False
    weights_from_data: ClassVar[Any] = True
    clamps: ClassVar[bool] = False
    clamps_every_fit: ClassVar[Any] = False
    counts_in_radius: ClassVar[Any] = False
    reweights: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False
    names_bound: ClassVar[Any] = False
    protects_records: ClassVar[Any] = False

    @property
    def own_epsilon(self) -> float | None:
        found: float | None = getattr(self, "epsilon", None)
        return found

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        pass

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        pass

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The mechanism's own fit, before any downscaling."""
        raise NotImplementedError

    def run(self, loop: Loop, request: Request) -> Weighting:
        made, rule = self.weigh(loop, request), request.downscaling
        if rule is None:
            return made
        fit = downscaled(loop, made.fit, rule, confirm=request.confirm)
        return Weighting(fit, made.risk, made.constants)


def data_weights(mechanism: Mechanism, *, downscaled: bool) -> bool:
    """Whether any weight of a run depends on the confidential data."""
    return downscaled or mechanism.weights_from_data
