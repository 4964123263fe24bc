"""LW: weights from the by-record bounds of the unweighted fit (section 2.1 of [vws2024])."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyvws._base.checks import choice, finite_number, non_negative
from pyvws._base.phrase import Phrase
from pyvws._base.setting import about, setting
from pyvws.mechanisms.matching import refuse_needless
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.unweighted import bound_risk
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.weights.weights import MAPS, weights_from_bounds

SCALE = about("Scale of the weights. Larger = less protected.", found_by="match")
SHIFT = about(
    "Shift of the weights; at 0 the riskiest records leave the fit. Larger = less protected.",
    more="0 if not given. Half of `c` where weights by bounds would take out a whole level of a "
    "category at 0, or more than 1 % of the records.",
)
"""The settings c and g of every mechanism that takes them."""

BY_BOUND = Phrase("not-sparse-by-bound")
"""The caveat of weights that fall with bounds: at any number of records nearly all lie below 1."""


@dataclass(frozen=True, slots=True)
class Shift:
    """The shift g of LW's weights: as the settings give it, or by the loop's default."""

    g: float | None
    share: float

    @classmethod
    def of(
        cls, loop: Loop, g: float | None, *, by_column: bool = False, map: str = "linear"
    ) -> Shift:
        return cls(g, 0.0 if g is not None else loop.shift(by_column=by_column, map=map))

    def at(self, c: float) -> float:
        """g where the scale is c. The default is a share of c, so that small weights stay small."""
        return self.share * c if self.g is None else self.g

    def noted(self, c: float) -> dict[str, float]:
        """g among the constants that the data decided; empty where it is the papers' or given."""
        return {"g": self.at(c)} if self.share else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class LipschitzWeighted(MechanismBase):
    """LW: weights fall with the by-record bounds of the unweighted fit (Algorithm 1).

    c (at least 0) scales and g shifts the weights; larger = less protected. With `by_column` record
    i of a table has a weight alpha_ik for each column, from the column's own bounds Delta_ik. `map`
    makes risks of bounds (`pyvws.lipschitz_weights`).
    """

    declared = Facts(
        name="lw",
        title="LW",
        explanation="Weights fall with each record's Lipschitz bound in an unweighted fit: records "
        "that move the posterior most count least (Algorithm 1 of [vws2024]).",
        claim="asymptotic-dp",
        caveats=(BY_BOUND,),
        refuses_constant=True,
        fits=2,
        in_steps=True,
        takes_units=True,
        reweights=True,
        takes_target=True,
    )

    c: float = setting(1.0, SCALE)
    g: float | None = setting(None, SHIFT)
    by_column: bool = setting(
        False,
        "Give each column of a table weights of its own, from the column's own bounds.",
        more="A record can then be protected in one column and not in another. Only with `schema`, "
        "and without `reweight`, `downscale` and a searched `epsilon`.",
    )
    map: str = setting(
        "linear",
        "The map of bounds to risks: linear is the paper's, the others LipschitzWeights'.",
        choices=MAPS,
    )

    def __post_init__(self) -> None:
        choice(self.map, "map", MAPS)
        non_negative(self.c, "c")
        if self.g is not None:
            finite_number(self.g, "g")

    @property
    def facts(self) -> Facts:
        """Weights by column, and another map than the paper's, have a caveat of their own."""
        facts = super(LipschitzWeighted, self).facts
        caveats = facts.caveats
        if self.by_column:
            caveats += (Phrase("weights-by-column"),)
        if self.map != "linear":
            caveats += (Phrase("map-of-bounds", {"map": self.map}),)
        return replace(facts, caveats=caveats)

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The LW fit at the setting c, or at the c that brings the bound below the target."""
        risk, window = bound_risk(loop, self.map), request.window
        shift = Shift.of(loop, self.g, by_column=self.by_column, map=self.map)
        if window is None:
            fit = loop.lipschitz(
                c=self.c, g=shift.at(self.c), by_column=self.by_column, map=self.map
            )
            return Weighting(fit, risk, shift.noted(self.c))
        bounds = loop.unweighted().bounds.by_record
        refuse_needless(loop, window.high)
        fit, c = loop.below(
            lambda c: weights_from_bounds(
                bounds, c=c, g=shift.at(c), map=self.map, counts=loop.cells.multiplicity
            ),
            window,
            symbol="c",
            label="LW",
            confirm=request.confirm,
        )
        return Weighting(fit, risk, {"c": c, **shift.noted(c)})
