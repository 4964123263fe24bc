"""Censored of [global2022]: the fit clamps each record's weighted log-likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np

from pyvws._base.checks import Floats, choice, positive
from pyvws._base.setting import about, setting
from pyvws.mechanisms.count_weighted import Counting
from pyvws.mechanisms.lipschitz_weighted import refuse_constant
from pyvws.mechanisms.mechanism import Claim
from pyvws.mechanisms.weighing import Loop, Request, Weighting, downscaled
from pyvws.weights.weights import risk_weights, scaled_bounds

__all__ = ["CENSORED_WEIGHTS", "Censored"]

CENSORED_WEIGHTS = ("lw", "cw", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Censored(Counting):
    """Censored: the fit clamps each record's alpha_i l_i to [-epsilon / 2, epsilon / 2].

    `weights` says which weights the fit has: LW's (Censor_w of the slides, and the default that the
    slides recommend), CW's at the given radius, or "none" (Censor_uw), where no weight depends on
    the data. c scales the weights and g shifts them.
    """

    name: ClassVar[str] = "censored"
    title: ClassVar[str] = "Censored"
    explanation: ClassVar[str] = (
        "Each record's weighted log-likelihood is clamped at half of epsilon within the fit, for "
        "any data and any parameters [global2022]."
    )
    clamps: ClassVar[bool] = True

    epsilon: float = field(metadata=about("Twice the limit at which each term is clamped."))
    weights: str = setting(
        "lw",
        "Weights inside the clamp; none depends on no data and keeps a strict guarantee.",
        choices=CENSORED_WEIGHTS,
    )

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.weights, "weights", CENSORED_WEIGHTS)
        super(Censored, self).__post_init__()

    @property
    def claim(self) -> Claim:
        """The claim, which is strict only where no weight comes from the data."""
        return "asymptotic-dp" if self.weights_from_data else "dp"

    @property
    def weights_from_data(self) -> bool:
        """Whether the mechanism has weights other than 1."""
        return self.weights != "none"

    @property
    def counts_in_radius(self) -> bool:
        """Whether the weights are CW's."""
        return self.weights == "cw"

    @property
    def clamps_every_fit(self) -> bool:
        """Whether the weights need no fit of their own."""
        return self.weights != "lw"

    def check_outcome(self, y: Floats, column: str, *, categories: bool) -> None:
        """Refuse a constant outcome under LW's weights, and categories under CW's."""
        if self.weights == "lw":
            refuse_constant(y, column)
        super(Censored, self).check_outcome(y, column, categories=categories)

    def run(self, loop: Loop, request: Request) -> Weighting:
        """Make the clamped fit under the weights of LW, CW or none, downscaled where asked."""
        rule = request.downscaling
        fit, n = None, loop.cells.n_records
        if self.weights == "lw":
            risk, label = scaled_bounds(loop.unweighted().bounds.by_record), "Censored LW"
            if rule is None:
                weights = loop.lipschitz_weights(c=self.c, g=self.g)
            else:
                fit = loop.lipschitz(c=self.c, g=self.g)
        elif self.weights == "cw":
            risk, label = self.counted_risk(loop, request), "Censored CW"
            weights = risk_weights(risk, c=self.c, g=self.g)
            fit = None if rule is None else loop.fit(weights, "CW")
        else:
            risk, weights, label = np.ones(n), np.ones(n), "Censored"
            fit = None if rule is None else loop.unweighted()
        if rule is not None and fit is not None:
            weights = downscaled(loop, fit, rule, confirm=False).weights
        return Weighting(loop.fit(weights, label, bound=0.5 * self.epsilon), risk)
