"""SW: one weight for all records (section 3 of [vws2024])."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.mechanisms.matching import MATCH, Match, bound_to_meet, checked_match, refuse_needless
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.unweighted import bound_risk
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.weights.weights import scalar_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalarWeighted(MechanismBase):
    """SW: one weight for all records, the bound to meet divided by the unweighted bound."""

    declared = Facts(
        name="sw",
        title="SW",
        explanation="One weight below 1 for all records [vws2024].",
        claim="asymptotic-dp",
        caveats=(Phrase("scalar"),),
        in_steps=True,
        takes_units=True,
        reweights=True,
        takes_target=True,
    )

    match: Match = setting("lw", MATCH)

    def __post_init__(self) -> None:
        object.__setattr__(self, "match", checked_match(self.match))

    @property
    def facts(self) -> Facts:
        """A target replaces LW's bound, the default, which needs an outcome that varies."""
        lw = self.match == "lw"
        facts = super(ScalarWeighted, self).facts
        return replace(facts, names_bound=not lw, refuses_constant=lw, fits=3 if lw else 2)

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The fit at the weight Delta_{alpha,x} / Delta_x, or at a weight that a search finds."""
        risk, window, n = bound_risk(loop), request.window, loop.cells.n_records
        if window is None:
            target = bound_to_meet(loop, self.match)
            unweighted = loop.unweighted().bounds.aimed.database
            weights = scalar_weights(n, target=target, unweighted=unweighted)
            return Weighting(loop.fit(weights, "SW"), risk)
        refuse_needless(loop, window.high)
        fit, weight = loop.below(
            lambda weight: np.full(n, weight),
            window,
            symbol="weight",
            label="SW",
            largest=1.0,
            confirm=request.confirm,
        )
        return Weighting(fit, risk, {"weight": weight})
