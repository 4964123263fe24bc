"""SW: one weight for all records (section 3 of [vws2024])."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.mechanisms.lipschitz_weighted import refuse_constant
from pyvws.mechanisms.matching import MATCH, Match, bound_to_meet, checked_match, refuse_needless
from pyvws.mechanisms.mechanism import Claim, MechanismBase
from pyvws.mechanisms.unweighted import bound_risk
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.weights.weights import scalar_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarWeighted(MechanismBase):
    """SW: one weight for all records, the bound to meet divided by the unweighted bound."""

    name: ClassVar[str] = "sw"
    title: ClassVar[str] = "SW"
    explanation: ClassVar[str] = "One weight below 1 for all records [vws2024]."
    claim: ClassVar[Claim] = "asymptotic-dp"
    caveats: ClassVar[tuple[Phrase, ...]] = (Phrase("scalar"),)
    in_steps: ClassVar[bool] = True
    takes_units: ClassVar[bool] = True
    reweights: ClassVar[bool] = True
    takes_target: ClassVar[bool] = True

    match: Match = setting("lw", MATCH)

    def __post_init__(self) -> None:
        object.__setattr__(self, "match", checked_match(self.match))

    @property
    def names_bound(self) -> bool:
        """Whether `match` is a number. A target replaces LW's bound, the default of `match`."""
        return self.match != "lw"

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        """Refuse a constant outcome where the bound to meet is LW's."""
        if self.match == "lw":
            refuse_constant(y, column)

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The fit at the weight Delta_{alpha,x} / Delta_x, or at a weight that a search finds."""
        risk, window, n = bound_risk(loop), request.window, loop.cells.n_records
        if window is None:
            target = bound_to_meet(loop, self.match)
            unweighted = loop.unweighted().bounds.database
            weights = scalar_weights(n, target=target, unweighted=unweighted)
            return Weighting(loop.fit(weights, self.title), risk)
        refuse_needless(loop, window.high)
        fit, weight = loop.below(
            lambda weight: np.full(n, weight),
            window,
            symbol="weight",
            label=self.title,
            largest=1.0,
            confirm=request.confirm,
        )
        return Weighting(fit, risk, {"weight": weight})
