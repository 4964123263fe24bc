"""The five synthesizers of [global2022] on one table at one epsilon, with and without downscaling.

Weighted is LW with c searched until 2 Delta lies below epsilon, confirmed by a longer fit. The
slides name no c and g; their Weighted ends near its target, this one below it by the noise of its
bound. Downscaled, it starts from LW with c = 1
instead and lowers only the records above epsilon / 2: psi in place of c. Weighted-epsilon is
downscaled after its truncation, the censored ones before the clamp. The histogram has no weights.
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
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.synthesis.loop import SynthesisLoop

__all__ = [
    "HISTOGRAM",
    "LABELS",
    "NAMES",
    "FiveSynthesizers",
    "Made",
    "largest_effect",
    "seeded_histogram",
]

HISTOGRAM = "perturbed-histogram"
LABELS = {
    "weighted": "Weighted",
    "weighted-epsilon": "Weighted-e",
    "censored-weighted": "Censor_w",
    "censored-unweighted": "Censor_uw",
    HISTOGRAM: "PH",
}
"""The mechanisms in the slides' order, with the slides' names."""

NAMES = tuple(LABELS)


@dataclass(frozen=True, slots=True)
class Made:
    """A fit, and what a search found, None elsewhere."""

    fit: WeightedFit
    c: float | None = None
    tries: int = 0
    short: bool = False
    """No fit was confirmed: the largest bound below epsilon / 2 was taken."""


@dataclass(frozen=True, slots=True)
class FiveSynthesizers:
    """The mechanisms on one loop, which makes those fits once that two of them need."""

    loop: SynthesisLoop
    passes: int

    def fits(self, epsilon: float, *, downscaled: bool) -> dict[str, Made]:
        """A fit for each of the four that have a posterior."""
        loop, request = self.loop, Request(y=self.loop.cells.outcome)
        if downscaled:
            rule = Downscaling(epsilon, self.passes, room=False)
            request = replace(request, downscaling=rule, confirm=False)
            weighted = Made(LipschitzWeighted().run(loop, request).fit)
            Unweighted().run(loop, request)  # Its weights are those of Censor_uw.
        else:
            loop.lipschitz()  # The others begin with it, so it is fitted before the search's fits.
            weighted = self._searched(replace(request, epsilon=epsilon))
        others = {
            "weighted-epsilon": WeightedEpsilon(epsilon=epsilon),
            "censored-weighted": Censored(epsilon=epsilon),
            "censored-unweighted": Censored(epsilon=epsilon, weights="none"),
        }
        return {
            "weighted": weighted,
            **{name: Made(made.run(loop, request).fit) for name, made in others.items()},
        }

    def _searched(self, request: Request) -> Made:
        before, fits = len(self.loop.tries), len(self.loop.fits)
        short = False
        try:
            found = LipschitzWeighted().run(self.loop, request)
            fit, c = found.fit, found.constants["c"]
        except SearchError:
            tried = self.loop.fits[fits:]
            if not tried:
                raise
            half = 0.5 * float(request.epsilon or 0.0)
            place = _nearest([made.bounds.database for made in tried], half)
            fit, c, short = tried[place], self.loop.tries[before + place].value, True
        return Made(fit, c=c, tries=len(self.loop.tries) - before, short=short)


def seeded_histogram(epsilon: float, range: tuple[float, float]) -> PerturbedHistogram:
    """The histogram of default bins with noise of a seed: for studies, not for a release."""
    return PerturbedHistogram(epsilon=epsilon, range=range, noise="seeded-float")


def _nearest(reached: list[float], half: float) -> int:
    """Place of the largest bound that is not above epsilon / 2; of the smallest if all are."""
    below = [bound if bound <= half else -bound for bound in reached]
    return int(np.argmax(below))


def largest_effect(loop: SynthesisLoop, made: Made) -> float:
    """How far one record moves the log density that was sampled, at any draw, in nats.

    The record whose term would be largest without the clamp is left out, and the two densities
    are compared at every draw of a censored fit. Above epsilon / 2 the clamp would have failed.
    """
    fit, cells, model = made.fit, loop.cells, loop.model
    weights = fit.weights.copy()
    weights[int(np.argmax(weights * fit.maxima))] = 0.0
    full, without = (
        PseudoPosterior(model, cells, alpha, fit.bound).density_and_gradient()
        for alpha in (fit.weights, weights)
    )
    points = model.unconstrain(fit.posterior.draws)
    return max(abs(full(q)[0] - without(q)[0]) for q in points)
