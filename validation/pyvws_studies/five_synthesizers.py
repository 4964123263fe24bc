"""The five synthesizers of [global2022] on one table at one epsilon, with and without downscaling.

Weighted is LW: the study searches c until 2 Delta lies below epsilon, and a longer fit confirms
the result. The slides name no c and g. The slides' Weighted ends near its target; the Weighted
here ends below the target by the noise of its bound. With downscaling, Weighted starts from LW
with c = 1, and psi instead of c lowers only the records above epsilon / 2. Downscaling follows the
truncation of Weighted-epsilon, and precedes the clamp of the censored synthesizers. The histogram
has no weights.

A sixth synthesizer is not of the slides: the deviance clamp without weights. It has a loop of its
own, as a strict run makes this one fit, so the five keep their draws. Downscaling would take
weights from the data and end the strict claim, so the sixth is not downscaled. Nor is the seventh,
records imputed from noisy counts of public bins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pyvws.errors import SearchError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Downscaling, Request, WeightedFit
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.synthesis.loop import SynthesisLoop

HISTOGRAM = "perturbed-histogram"
DEVIANCE = "deviance-clamp"
COUNTS = "noisy-counts"
LABELS = {
    "weighted": "Weighted",
    "weighted-epsilon": "Weighted-e",
    "censored-weighted": "Censor_w",
    "censored-unweighted": "Censor_uw",
    HISTOGRAM: "PH",
    DEVIANCE: "Deviance",
    COUNTS: "Counts",
}
"""The mechanisms in the slides' order, under the slides' names; those of no slide come last."""


@dataclass(frozen=True, slots=True)
class Made:
    """A fit, and the `c` that a search found; `c` is None without a search."""

    fit: WeightedFit
    c: float | None = None
    tries: int = 0
    short: bool = False
    """The search confirmed no fit, and took the fit with the largest bound below epsilon / 2."""


@dataclass(frozen=True, slots=True)
class FiveSynthesizers:
    """The mechanisms on one loop; the loop makes a fit once that two mechanisms need."""

    loop: SynthesisLoop
    passes: int

    def fits(self, epsilon: float, *, downscaled: bool) -> dict[str, Made]:
        """A fit for each of the four mechanisms that have a posterior."""
        loop, request = self.loop, Request(y=self.loop.cells.outcome)
        if downscaled:
            rule = Downscaling(epsilon, self.passes, room=False)
            request = replace(request, downscaling=rule, confirm=False)
            weighted = Made(LipschitzWeighted().run(loop, request).fit)
            Unweighted().run(loop, request)  # Censor_uw has the same weights.
        else:
            loop.lipschitz()  # Other mechanisms begin with LW, so fit LW before the search's fits.
            weighted = searched(loop, replace(request, epsilon=epsilon))
        others = {
            "weighted-epsilon": WeightedEpsilon(epsilon=epsilon),
            "censored-weighted": Censored(epsilon=epsilon),
            "censored-unweighted": Censored(epsilon=epsilon, weights="none", clamp="half"),
        }
        return {
            "weighted": weighted,
            **{name: Made(mechanism.run(loop, request).fit) for name, mechanism in others.items()},
        }


def searched(loop: SynthesisLoop, request: Request) -> Made:
    """LW with c searched until 2 Delta is below the request's epsilon; `short` if none confirms."""
    before, fits = len(loop.tries), len(loop.fits)
    short = False
    try:
        lw = LipschitzWeighted().run(loop, request)
        fit, c = lw.fit, lw.constants["c"]
    except SearchError:
        tried = loop.fits[fits:]
        if not tried:
            raise
        half = 0.5 * float(request.epsilon or 0.0)
        place = _nearest([fit.bounds.database for fit in tried], half)
        fit, c, short = tried[place], loop.tries[before + place].value, True
    return Made(fit, c=c, tries=len(loop.tries) - before, short=short)


def deviance_clamped(loop: SynthesisLoop, epsilon: float) -> Made:
    """The deviance clamp without weights, on a loop that has made no fit yet."""
    mechanism = Censored(epsilon=epsilon, weights="none", clamp="deviance")
    return Made(mechanism.run(loop, Request(y=loop.cells.outcome)).fit)


def seeded_histogram(epsilon: float, range: tuple[float, float]) -> PerturbedHistogram:
    """The histogram with default bins and seeded noise: for studies, not for a release."""
    return PerturbedHistogram(epsilon=epsilon, range=range, noise="seeded-float")


def _nearest(reached: list[float], half: float) -> int:
    """Place of the largest bound up to epsilon / 2, or of the smallest if all bounds are above."""
    below = [bound if bound <= half else -bound for bound in reached]
    return int(np.argmax(below))


def largest_effect(loop: SynthesisLoop, fitted: Made) -> float:
    """How far one record moves the sampled log density, at any draw, in nats.

    It compares the two densities of a censored fit at every draw, without the record whose
    unclamped term is largest. A result above the far end of the window would show that the clamp
    failed.
    """
    fit = fitted.fit
    weights = fit.weights.copy()
    weights[int(np.argmax(weights * fit.maxima))] = 0.0
    full, without = (loop.density(alpha, fit.clamp) for alpha in (fit.weights, weights))
    points = loop.model.unconstrain(fit.posterior.draws)
    return max(abs(full(q)[0] - without(q)[0]) for q in points)
