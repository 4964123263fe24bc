"""The protocol of a mechanism, and the base class with the usual answers to the protocol."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal, Protocol

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.mechanisms.weighing import Loop, Request, Weighting, downscaled
from pyvws.posterior.clamp import Clamp

Claim = Literal["dp", "dp-if-bounded", "asymptotic-dp", "none"]
"""The statement's words for a guarantee, the strongest first."""


class Mechanism(Protocol):
    """A way to protect records. Instances are frozen dataclasses whose fields are the settings.

    `MechanismBase` has the usual answers. A user's own mechanism inherits from `MechanismBase`.
    """

    @property
    def name(self) -> str:
        """The mechanism's short name on the command line and in the statement."""

    @property
    def title(self) -> str:
        """The mechanism's name on pages and figures."""

    @property
    def explanation(self) -> str:
        """A sentence or two for the reader of a release that explain the mechanism."""

    @property
    def claim(self) -> Claim:
        """The strongest claim that a statement may have; choices of a run can only weaken it."""

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """Caveats that the mechanism adds to a statement; a user's own caveat brings its words."""

    @property
    def known(self) -> Sequence[str]:
        """Names of the columns that the mechanism reads beside the outcome."""

    @property
    def weight_column(self) -> str | None:
        """Name of a public column of weights that the mechanism reads, or None."""

    @property
    def reference(self) -> str | None:
        """Path of public records that the mechanism has a model fitted to, or None."""

    @property
    def weights_source(self) -> str:
        """The statement's word for the source of the weights; "table" for the whole table."""

    @property
    def own_epsilon(self) -> float | None:
        """The epsilon among the mechanism's settings, or None."""

    @property
    def fits_model(self) -> bool:
        """Whether the mechanism weighs fits of a model; the perturbed histogram has no model."""

    @property
    def in_steps(self) -> bool:
        """Whether the mechanism can weigh a tally, where a row stands for several records."""

    @property
    def weights_from_data(self) -> bool:
        """Whether any weight depends on confidential data that no epsilon accounts for.

        False where each weight is a function of its own record, of public values, and of draws that
        the ledger counts.
        """

    @property
    def clamps(self) -> bool:
        """Whether the fit that makes the datasets clamps its terms."""

    @property
    def clamps_every_fit(self) -> bool:
        """Whether each fit of the mechanism clamps its terms."""

    @property
    def windows(self) -> tuple[Clamp, ...]:
        """The clamps of the mechanism's fits to the table, as its settings name them."""

    @property
    def counts_in_radius(self) -> bool:
        """Whether the weights come from counts of outcomes within a radius."""

    @property
    def reweights(self) -> bool:
        """Whether Algorithm 3 may raise the mechanism's weights."""

    @property
    def takes_target(self) -> bool:
        """Whether the mechanism can search its constant for a `Request.epsilon`."""

    @property
    def takes_units(self) -> bool:
        """Whether the mechanism can weigh units of several records, such as households.

        Of its fits' bounds and weights (H,) it may then read nothing but the loop's.
        """

    @property
    def by_column(self) -> bool:
        """Whether a record of a table has a weight for each column."""

    @property
    def names_bound(self) -> bool:
        """Whether the settings name a bound to meet, which excludes a target."""

    @property
    def protects_records(self) -> bool:
        """Whether the mechanism protects the number of records too."""

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        """Raise InputError for an outcome (N,) that the mechanism cannot weigh; show no value.

        Of a table, `by_column` asks for the check of each column.
        """

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        """Raise InputError for predictors or released columns that the mechanism cannot have."""

    def run(self, loop: Loop, request: Request) -> Weighting:
        """Fit on the loop as the mechanism says."""


class MechanismBase:
    """The answers of a mechanism that promises nothing and refuses nothing.

    A user's own mechanism makes its fit in `weigh`; `run` downscales this fit where asked.
    """

    __slots__ = ()

    name: ClassVar[str]
    title: ClassVar[str]
    explanation: ClassVar[str]
    claim: ClassVar[Any] = "none"
    caveats: ClassVar[Any] = ()
    known: Any = ()
    weight_column: Any = None
    reference: Any = None
    weights_source: Any = "table"
    fits_model: ClassVar[bool] = True
    in_steps: ClassVar[bool] = False
    weights_from_data: ClassVar[Any] = True
    clamps: ClassVar[bool] = False
    clamps_every_fit: ClassVar[Any] = False
    windows: Any = ()
    counts_in_radius: ClassVar[Any] = False
    reweights: ClassVar[bool] = False
    takes_target: ClassVar[bool] = False
    takes_units: ClassVar[bool] = False
    by_column: Any = False
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
    """Whether any weight of a run depends on confidential data that no epsilon accounts for."""
    return downscaled or mechanism.weights_from_data
