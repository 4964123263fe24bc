"""CW, Marginal and Pairwise: weights from identification risks of the confidential data.

CW stands in section 2.2 of [vws2024], Marginal and Pairwise stand in [risk2024].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, choice, finite_number, non_negative, positive
from pyvws._base.phrase import Phrase
from pyvws._base.setting import setting
from pyvws.mechanisms.lipschitz_weighted import SCALE, SHIFT
from pyvws.mechanisms.matching import MATCH, Match, bound_to_meet, checked_match, refuse_needless
from pyvws.mechanisms.mechanism import Facts, MechanismBase
from pyvws.mechanisms.weighing import Loop, Request, Weighting
from pyvws.risks.balls import RADIUS_KINDS
from pyvws.risks.identification_risk import identification_risk
from pyvws.risks.pairwise import pairwise_weights
from pyvws.weights.search import Window
from pyvws.weights.weights import risk_weights


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(MechanismBase):
    """Settings and risks that all mechanisms share which count outcomes within a radius."""

    c: float = setting(1.0, SCALE)
    g: float | None = setting(0.0, SHIFT)
    radius: float = setting(
        0.2,
        "Radius in which a value counts as found: a share, 0.2 = 20 %, or in the outcome's unit. "
        "Larger = risks fall.",
    )
    radius_kind: str = setting(
        "percentage",
        "Whether `radius` is a share (percentage) or a distance (absolute).",
        choices=("percentage", "absolute"),
    )
    known: tuple[str, ...] = setting((), "Public columns that an intruder knows.")

    def __post_init__(self) -> None:
        if self.c is not None:  # Public records may give it.
            non_negative(self.c, "c")
        if self.g is not None:
            finite_number(self.g, "g")
        positive(self.radius, "radius")
        choice(self.radius_kind, "radius_kind", RADIUS_KINDS)
        known = (self.known,) if isinstance(self.known, str) else tuple(self.known)
        object.__setattr__(self, "known", known)

    def counted_risk(self, loop: Loop, request: Request) -> Floats:
        """Risks (N,) among all records of the table, where a record counts by its multiplicity."""
        each = loop.cells.one_by_one()
        risk = np.empty(len(request.y))
        y, radius = self._outcomes(request)
        ball = {
            "radius": radius,
            "radius_kind": self.radius_kind,
            "known": [column[each] for column in request.known] or None,
        }
        risk[each] = self._risk(y[each], ball)  # Equal records have equal risks.
        return risk

    def _outcomes(self, request: Request) -> tuple[Floats, Any]:
        """The outcomes (N,) or (N, P) and the radius of each: a table's balls are products.

        A category is inside a ball when it is equal: a radius below the distance of two codes. The
        categories come first, and of these the one with the most levels, since a search along the
        first outcome finds the records whose other outcomes are compared.
        """
        if not request.levels:
            return request.y, self.radius
        finest = sorted(request.levels, key=lambda codes: -codes.max())
        numbers = [self.radius] * (request.y.shape[1] if request.y.ndim == 2 else 1)
        equal = [0.5 / max(float(codes.max()), 1.0) for codes in finest]
        return np.column_stack([*finest, request.y]), [*equal, *numbers]

    def _risk(self, y: Floats, ball: dict[str, Any]) -> Floats:
        return identification_risk(y, **ball)


@dataclass(frozen=True, slots=True, kw_only=True)
class CountWeighted(Counting):
    """CW: weights fall with the identification risks of the confidential data (Algorithm 2).

    radius, radius_kind and known (column names) define the risk; c and g define the weights. With
    `match` a search finds the c whose database bound meets `match`, and does not read the field c.
    """

    declared = Facts(
        name="cw",
        title="CW",
        explanation="Weights fall with each record's identification risk: isolated records count "
        "least (Algorithm 2 of [vws2024]).",
        claim="asymptotic-dp",
        caveats=(Phrase("not-sparse-by-risk"),),
        in_steps=True,
        counts_in_radius=True,
        reweights=True,
        takes_target=True,
    )

    match: Match | None = setting(None, MATCH)

    def __post_init__(self) -> None:
        super(CountWeighted, self).__post_init__()
        if self.match is not None:
            object.__setattr__(self, "match", checked_match(self.match))

    @property
    def facts(self) -> Facts:
        """`match` names a bound; LW's needs an outcome that varies."""
        given, lw = self.match is not None, self.match == "lw"
        return replace(super(CountWeighted, self).facts, names_bound=given, refuses_constant=lw)

    def weigh(self, loop: Loop, request: Request) -> Weighting:
        """The fit at c, or at the c whose bound meets `match` or stays below the target."""
        risk, window = self.counted_risk(loop, request), request.window

        def weights_at(c: float) -> Floats:
            return risk_weights(risk, c=c, g=self.g or 0.0)

        if window is not None:
            refuse_needless(loop, window.high)
            fit, c = loop.below(
                weights_at, window, symbol="c", label=self.declared.title, confirm=request.confirm
            )
        elif self.match is None:
            return Weighting(loop.fit(weights_at(self.c), self.declared.title), risk)
        else:
            near = Window.around(bound_to_meet(loop, self.match), request.tolerance)
            fit, c = loop.met(weights_at, near, symbol="c", label=self.declared.title)
        return Weighting(fit, risk, {"c": c})


@dataclass(frozen=True, slots=True, kw_only=True)
class MarginalWeighted(CountWeighted):
    """Marginal weights of [risk2024]: CW under that paper's name, with patterns from `known`."""

    declared = replace(
        CountWeighted.declared,
        name="marginal",
        title="Marginal",
        explanation="Weights fall with each record's identification risk within its pattern of "
        "known columns [risk2024].",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class PairwiseWeighted(CountWeighted):
    """Pairwise weights of [risk2024]: a record's risk is the mean over its pairs in a pattern."""

    declared = replace(
        CountWeighted.declared,
        name="pairwise",
        title="Pairwise",
        explanation="Weights fall with identification risks averaged over pairs of records in a "
        "pattern [risk2024].",
    )

    def _risk(self, y: Floats, ball: dict[str, Any]) -> Floats:
        return np.asarray(1.0 - pairwise_weights(y, **ball))
