"""Inverse: weights that fall with one over the bound above a public t; a map of this package."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pyvws._base.checks import Floats, positive
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.errors import InputError
from pyvws.mechanisms.matching import refuse_needless
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.unweighted import bound_risk
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.weights.weights import inverse_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseWeighted(MechanismBase):
    """Inverse: alpha_i = min(1, (t / Delta_i)^power), Delta_i the bounds of the unweighted fit.

    `t` (nats, above 0) is public, and epsilon is what comes of it; larger = less protected. The
    least and the largest bound of the table enter no weight, so one record moves the weights of
    others no further than it moves their bounds. Where all columns are conditional tables, Delta_i
    is the median of what draws give, so no draw moves a weight. With `search_t` the run finds t for
    an epsilon in the place of a given t. Then one record can move t, and with it all weights.
    """

    declared = Facts(
        name="inverse",
        explanation="A record keeps weight 1 up to a bound t; beyond it the weight falls with one "
        "over the record's Lipschitz bound in an unweighted fit. The map is pyvws's own.",
        claim="asymptotic-dp",
        fits=2,
        in_steps=True,
        takes_units=True,
        public_constant="t",
    )

    t: float | None = setting(
        None,
        "Bound in nats up to which a record keeps weight 1, chosen without the table. Larger = "
        "less protected.",
        more="Epsilon is what comes of it.",
    )
    power: float = setting(
        1.0, "Power of t over a record's bound. Larger = large bounds are more protected."
    )
    search_t: bool = setting(
        False,
        "Search t for the `epsilon` of a dataset. One record can then move all weights.",
        more="The statement's caveat says the loss.",
    )

    def __post_init__(self) -> None:
        if (self.t is not None) == bool(self.search_t):
            raise InputError.by("t-or-search-t")
        if self.t is not None:
            object.__setattr__(self, "t", positive(self.t, "t"))
        object.__setattr__(self, "power", positive(self.power, "power"))

    @property
    def facts(self) -> Facts:
        """Under a search the constant is not public, and its caveat says what that costs."""
        own = Phrase("searched-t") if self.search_t else Phrase("public-t", {"t": self.t})
        return replace(
            super(InverseWeighted, self).facts,
            caveats=(Phrase("inverse-map", {"power": self.power}), own),
            public_constant="" if self.search_t else "t",
            takes_target=self.search_t,
            needs_target=self.search_t,
        )

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The fit at the public t, or at the t that brings the bound below the target."""
        risk, window = bound_risk(loop), request.window
        closed = loop.closed_bounds()
        bounds = loop.unweighted().bounds.by_record if closed is None else closed

        def weights_at(t: float) -> Floats:
            return inverse_weights(bounds, t=t, power=self.power)

        if self.t is not None:
            return Weighting(loop.fit(weights_at(self.t), self.declared.title), risk)
        assert window is not None  # The plan refuses a search without a target.
        refuse_needless(loop, window.high)
        fit, t = loop.below(
            weights_at, window, symbol="t", label=self.declared.title, confirm=request.confirm
        )
        return Weighting(fit, risk, {"t": t})
