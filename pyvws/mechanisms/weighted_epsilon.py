"""Weighted-epsilon of [global2022]: LW without the records that have a bound above epsilon / 2."""

from __future__ import annotations

from dataclasses import dataclass, field

from pyvws._base.checks import finite_number, non_negative, positive
from pyvws._base.setting import about, setting
from pyvws.errors import InputError
from pyvws.mechanisms.lipschitz_weighted import BY_BOUND, SCALE, SHIFT, Shift
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.unweighted import bound_risk
from pyvws.mechanisms.weighing import Loop, Request, WeightedFit, Weighting
from pyvws.weights.weights import weighted_epsilon_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightedEpsilon(MechanismBase):
    """Weighted-epsilon: LW, then a weight of 0 where the by-record bound exceeds epsilon / 2.

    The truncation aims at epsilon. The refit has a new bound. Where this bound lies above
    epsilon / 2, a run ends without a release unless the user accepts the bound. The papers leave
    open how often to truncate. Here it is once, as the slides' "truncation of each weight". c and g
    are those of LW.
    """

    declared = Facts(
        name="weighted-epsilon",
        title="Weighted-ε",
        explanation="Weights as LW, and 0 for each record whose bound still exceeds half of "
        "epsilon.",
        claim="asymptotic-dp",
        caveats=(BY_BOUND,),
        refuses_constant=True,
        fits=3,
        in_steps=True,
        takes_units=True,
        reweights=True,
    )

    epsilon: float = field(metadata=about("What truncation aims at for a dataset."))
    c: float = setting(1.0, SCALE)
    g: float | None = setting(None, SHIFT)

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        non_negative(self.c, "c")
        if self.g is not None:
            finite_number(self.g, "g")

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The last truncated fit, or LW's where no record is above epsilon / 2."""
        risk = bound_risk(loop)
        shift = Shift.of(loop, self.g)
        fit = loop.once(self, lambda: self._truncated(loop, shift.at(self.c)))
        return Weighting(fit, risk, shift.noted(self.c))

    def _truncated(self, loop: Loop, g: float) -> WeightedFit:
        fit = loop.lipschitz(c=self.c, g=g)
        by_record = fit.bounds.aimed.by_record
        weights = weighted_epsilon_weights(fit.weights, by_record, epsilon=self.epsilon)
        if (weights == fit.weights).all():
            return fit  # No record is above the limit.
        if not weights.any():
            raise InputError.by("epsilon-below-all-bounds")
        lost = loop.lost(weights)
        if lost:
            named = " and of ".join(repr(name) for name in lost if name) or "the outcome"
            raise InputError.by("epsilon-below-bounds-of-level", named=named)
        return loop.fit(weights, "Weighted-epsilon")
