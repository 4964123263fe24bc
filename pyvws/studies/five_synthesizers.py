"""The five synthesizers of [global2022] on one table at one epsilon, with and without downscaling.

Weighted is LW with c searched until 2 Delta lies below epsilon, confirmed by a longer fit. The
slides name no c and g; their Weighted ends near its target, this one below it by the noise of its
bound. Downscaled, it starts from LW with c = 1
instead and lowers only the records above epsilon / 2: psi in place of c. Weighted-epsilon is
downscaled after its truncation, the censored ones before the clamp. The histogram has no weights.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import SearchError
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram, perturbed_histogram
from pyvws.mechanisms.settings import LipschitzWeighted
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.synthesis.weighted_fit import WeightedFit
from pyvws.synthesis.weighting import run_mechanism
from pyvws.weights.truncation import downscale, weighted_epsilon_weights

__all__ = ["HISTOGRAM", "LABELS", "NAMES", "FiveSynthesizers", "Made", "largest_effect"]

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
    """A fit, epsilon / 2 where its terms are clamped, and what a search found, None elsewhere."""

    fit: WeightedFit
    bound: float | None = None
    c: float | None = None
    tries: int = 0
    short: bool = False
    """No fit was confirmed: the largest bound below epsilon / 2 was taken."""


@dataclass(slots=True)
class FiveSynthesizers:
    """Fits of one loop; those that two synthesizers need are made once."""

    loop: SynthesisLoop
    passes: int
    _lowered: dict[tuple[str, float], WeightedFit] = field(default_factory=dict)

    def fits(self, epsilon: float, *, downscaled: bool) -> dict[str, Made]:
        """A fit for each of the four that have a posterior."""
        lw, plain, half = self.loop.lipschitz(), self.loop.unweighted(), 0.5 * epsilon
        if downscaled:
            lw, plain = self._down("LW", lw, epsilon), self._down("unweighted", plain, epsilon)
        return {
            "weighted": Made(lw) if downscaled else self._searched(epsilon),
            "weighted-epsilon": Made(self._truncated(epsilon, downscaled)),
            "censored-weighted": Made(
                self.loop.fit(lw.weights, "Censored LW", bound=half), bound=half
            ),
            "censored-unweighted": Made(
                self.loop.fit(plain.weights, "Censored", bound=half), bound=half
            ),
        }

    def _searched(self, epsilon: float) -> Made:
        before, fits = len(self.loop.tries), len(self.loop.fits)
        short = False
        try:
            found = run_mechanism(
                self.loop,
                LipschitzWeighted(),
                y=self.loop.cells.outcome,
                known=[],
                tolerance=0.05,
                epsilon=epsilon,
            )
            fit, c = found.fit, found.constants["c"]
        except SearchError:
            tried = self.loop.fits[fits:]
            if not tried:
                raise
            place = _nearest([made.bounds.database for made in tried], 0.5 * epsilon)
            fit, c, short = tried[place], self.loop.tries[before + place].value, True
        return Made(fit, c=c, tries=len(self.loop.tries) - before, short=short)

    def _truncated(self, epsilon: float, downscaled: bool) -> WeightedFit:
        key = ("truncated", epsilon)
        if key not in self._lowered:
            lw = self.loop.lipschitz()
            weights = weighted_epsilon_weights(lw.weights, lw.bounds.by_record, epsilon=epsilon)
            same = bool((weights == lw.weights).all())
            self._lowered[key] = lw if same else self.loop.fit(weights, "Weighted-epsilon")
        fit = self._lowered[key]
        return self._down("Weighted-epsilon", fit, epsilon) if downscaled else fit

    def _down(self, name: str, fit: WeightedFit, epsilon: float) -> WeightedFit:
        """Lower the weights above epsilon / 2 and refit, until none is or `passes` are over."""
        key = (f"{name} downscaled", epsilon)
        for _ in range(0 if key in self._lowered else self.passes):
            if fit.bounds.database <= 0.5 * epsilon:
                break
            weights = downscale(fit.weights, fit.bounds.by_record, epsilon=epsilon)
            fit = self.loop.fit(weights, key[0])
        return self._lowered.setdefault(key, fit)

    def histogram(self, y: Floats, epsilon: float, *, range: Any, seed: int) -> NoisyHistogram:
        """Counts of y (N,) in the default bins with noise of a seed: for studies, not a release."""
        return perturbed_histogram(
            y, epsilon=epsilon, range=range, noise="seeded-float", seed=seed % 2**31
        )


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
        PseudoPosterior(model, cells, alpha, made.bound).density_and_gradient()
        for alpha in (fit.weights, weights)
    )
    points = model.unconstrain(fit.posterior.draws)
    return max(abs(full(q)[0] - without(q)[0]) for q in points)
