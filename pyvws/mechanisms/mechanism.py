"""The protocol of a mechanism, the record of what it declares, and the base class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Literal, Protocol

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.mechanisms.weighing import Loop, Request, Weighting, downscaled
from pyvws.posterior.clamp import Clamp

Claim = Literal["dp", "approximate-dp", "dp-if-bounded", "asymptotic-dp", "none"]
"""The statement's words for a guarantee, the strongest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What a mechanism declares of itself; the defaults promise nothing and refuse nothing.

    - `name`: The mechanism's word on the command line and in the statement.
    - `explanation`: A sentence or two for the reader of a release.
    - `title`: Its name on pages and figures; `name` with a capital if not given.
    - `claim`: The strongest claim that a statement may have; choices of a run can only weaken it.
    - `caveats`: Caveats of the statement; a user's own caveat brings its words.
    - `known`: Names of the columns that the mechanism reads beside the outcome.
    - `weight_column`: Name of a public column of weights that the mechanism reads.
    - `reference`: Path of public records that the mechanism has a model fitted to.
    - `weights_source`: The statement's word for the source of the weights; "table" for the whole
      table.
    - `own_epsilon`, `own_delta`: The epsilon among the mechanism's settings, and the delta of its
      claim.
    - `fits_model`: Whether it weighs fits of a model; the perturbed histogram has no model.
    - `fits`: How many fits to the table it makes, beside those of a search.
    - `takes_table`: Whether a mechanism without fits takes the columns of a schema.
    - `cap`: The most records of a unit that count; all do without it.
    - `in_steps`: Whether it can weigh a tally, where a row stands for several records.
    - `weights_from_data`: Whether any weight depends on confidential data that no epsilon accounts
      for. False where each weight is a function of its own record, of public values, and of draws
      that the ledger counts.
    - `clamps`, `clamps_every_fit`: Whether the fit that makes the datasets, and whether each fit,
      clamps its terms.
    - `windows`: The clamps of its fits to the table, as its settings name them.
    - `counts_in_radius`: Whether weights come from counts of outcomes within a radius, which
      refuses categories.
    - `refuses_constant`: Whether a constant outcome is refused, which gives LW no scale.
    - `reweights`, `takes_target`: Whether Algorithm 3 may raise its weights, and whether it can
      search its constant for a `Request.epsilon`.
    - `takes_units`: Whether it can weigh units of several records, such as households. Of its fits'
      bounds and weights (H,) it may then read nothing but the loop's.
    - `by_column`: Whether a record of a table has a weight for each column.
    - `names_bound`: Whether the settings name a bound to meet, which excludes a target.
    - `public_constant`: Name of a constant of the weights that is public: no target may decide it.
    - `needs_target`: Whether a search of its constant needs a `Request.epsilon`.
    - `protects_records`: Whether the mechanism protects the number of records too.
    """

    name: str
    explanation: str
    title: str = ""
    claim: Claim = "none"
    caveats: tuple[Phrase, ...] = ()
    known: tuple[str, ...] = ()
    weight_column: str | None = None
    reference: str | None = None
    weights_source: str = "table"
    own_epsilon: float | None = None
    own_delta: float = 0.0
    fits_model: bool = True
    fits: int = 1
    takes_table: bool = False
    cap: int | None = None
    in_steps: bool = False
    weights_from_data: bool = True
    clamps: bool = False
    clamps_every_fit: bool = False
    windows: tuple[Clamp, ...] = ()
    counts_in_radius: bool = False
    refuses_constant: bool = False
    reweights: bool = False
    takes_target: bool = False
    takes_units: bool = False
    by_column: bool = False
    names_bound: bool = False
    public_constant: str = ""
    needs_target: bool = False
    protects_records: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "title", self.title or self.name.capitalize())


_NAMES = frozenset(entry.name for entry in fields(Facts))


class Mechanism(Protocol):
    """A way to protect records. Instances are frozen dataclasses whose fields are the settings.

    A user's own mechanism inherits from `MechanismBase`, which has all but the weights.
    """

    @property
    def name(self) -> str: ...

    @property
    def facts(self) -> Facts:
        """What holds of the mechanism under its settings."""

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        """Raise InputError for an outcome (N,) that the mechanism cannot weigh; show no value.

        Of a table, `by_column` asks for the check of each column.
        """

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        """Raise InputError for predictors or released columns that the mechanism cannot have."""

    def run(self, loop: Loop, request: Request) -> Weighting:
        """Fit on the loop as the mechanism says."""


class MechanismBase:
    """A mechanism that declares its facts as data and gives `record_weights`, or a fit of its own.

    A setting with the name of a fact is that fact. `run` downscales the fit where asked.
    """

    __slots__ = ()

    declared: ClassVar[Facts]
    name: ClassVar[str]

    def __init_subclass__(cls) -> None:
        if "declared" in vars(cls):
            cls.name = cls.declared.name

    @property
    def facts(self) -> Facts:
        own: Any = self
        settings = {entry.name for entry in fields(own)} & _NAMES
        values = {name: getattr(own, name) for name in settings}
        return replace(self.declared, own_epsilon=getattr(own, "epsilon", None), **values)

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        facts = self.facts
        if facts.refuses_constant and (y == y[0]).all():
            raise InputError.by("bounds-of-constant-column", column=column)
        if facts.counts_in_radius and categories:
            raise InputError.by("counts-of-codes", name=self.name, column=column)

    def check_columns(self, predictors: Sequence[str], released: Sequence[str]) -> None:
        pass

    def record_weights(self, request: Request) -> Floats:
        """alpha (N,) in [0, 1] of the request's records; smaller = more protected."""
        raise NotImplementedError(f"{type(self).__name__} gives neither record_weights nor weigh.")

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The mechanism's own fit before any downscaling: by default under `record_weights`."""
        alpha = self.record_weights(request)
        return Weighting(loop.fit(alpha, self.facts.title), np.asarray(1.0 - alpha))

    def run(self, loop: Loop, request: Request) -> Weighting:
        own, rule = self.weigh(loop, request), request.downscaling
        if rule is None:
            return own
        fit = downscaled(loop, own.fit, rule, confirm=request.confirm)
        return Weighting(fit, own.risk, own.constants)


def data_weights(mechanism: Mechanism, *, downscaled: bool) -> bool:
    """Whether any weight of a run depends on confidential data that no epsilon accounts for."""
    return downscaled or mechanism.facts.weights_from_data
