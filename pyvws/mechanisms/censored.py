"""Censored of [global2022]: the fit clamps each record's weighted term to a window."""

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
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.weights.weights import risk_weights, scaled_bounds

__all__ = ["CENSORED_WEIGHTS", "Censored"]

CENSORED_WEIGHTS = ("lw", "cw", "none")


@dataclass(frozen=True, slots=True, kw_only=True)
class Censored(Counting):
    """Censored: the fit keeps each record's term in a window that is epsilon wide.

    `clamp` says which term. "half" is the slides': alpha_i l_i in [-epsilon / 2, epsilon / 2].
    "deviance" takes the saturated log-likelihood a_i off first: alpha_i (l_i - a_i), minus half the
    unit deviance, in [-epsilon, 0]. The deviance clamp is the default where no weight depends on
    the data; it costs the same epsilon and keeps more of the model.

    `weights` says which weights the fit has: LW's (Censor_w of the slides, and the default that the
    slides recommend), CW's at the given radius, or "none" (Censor_uw), where no weight depends on
    the data. c scales the weights and g shifts them.
    """

    name: ClassVar[str] = "censored"
    title: ClassVar[str] = "Censored"
    explanation: ClassVar[str] = (
        "Each record's weighted term is clamped to a window of width epsilon within the fit, for "
        "any data and any parameters [global2022]."
    )
    clamps: ClassVar[bool] = True

    epsilon: float = field(
        metadata=about("Width of the window that each record's term is clamped to.")
    )
    weights: str = setting(
        "lw",
        "Weights inside the clamp; none depends on no data and keeps a strict guarantee.",
        choices=CENSORED_WEIGHTS,
    )
    clamp: str | None = setting(
        None,
        "The term that is clamped: deviance (half the unit deviance) or half (the "
        "log-likelihood, as in the slides). If not given: deviance where no weight depends on the "
        "data, else half.",
        choices=CLAMPS,
    )

    def __post_init__(self) -> None:
        positive(self.epsilon, "epsilon")
        choice(self.weights, "weights", CENSORED_WEIGHTS)
        if self.clamp is not None:
            choice(self.clamp, "clamp", CLAMPS)
        super(Censored, self).__post_init__()

    @property
    def window(self) -> Clamp:
        """The clamp of the fit that makes the datasets."""
        strict = "half" if self.weights_from_data else "deviance"
        return Clamp(self.epsilon, self.clamp or strict)

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
        return Weighting(loop.fit(weights, label, clamp=self.window), risk)
