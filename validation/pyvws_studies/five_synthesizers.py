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
records imputed from noisy counts of public bins: the 20 equal steps of the public range, or as many
as it has whole numbers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import whole_seed
from pyvws.errors import SearchError
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.measurements import Measurements, count_noise
from pyvws.mechanisms.counts.workload import PAIRS, workload
from pyvws.mechanisms.lipschitz_weighted import LipschitzWeighted
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.mechanisms.unweighted import Unweighted
from pyvws.mechanisms.weighing import Downscaling, Request, WeightedFit
from pyvws.mechanisms.weighted_epsilon import WeightedEpsilon
from pyvws.privacy.budget import Budget
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.files.frame import open_frame
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

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


def counted_column(
    y: Floats, column: Column, *, epsilon: float, datasets: int, seed: np.random.SeedSequence
) -> list[Floats]:
    """Datasets imputed from noisy counts of the bins of y (n,), and from its noisy number.

    Epsilon is for one record left out, once for all datasets. `column` has the public range and the
    family.
    """
    schema = Schema({"y": column})
    table = workload(schema, (PAIRS,), conditionals=True)
    codes, _ = table.read(open_frame(pl.DataFrame({"y": y})))
    noise = count_noise(Budget(epsilon=epsilon), table, hidden=True)
    rng = np.random.default_rng(seed.spawn(1)[0])
    counts, (of_bins, of_records) = table.counts(codes), noise.scales.values()
    noisy = Measurements(
        table=table,
        counts=np.where(table.possible, counts + _laplace(of_bins, len(counts), rng), 0),
        scales=np.array([of_bins]),
        laplace=True,
        records=max(1, len(y) + int(_laplace(of_records, 1, rng)[0])),
        records_scale=of_records,
    )
    imputed = drawn_fits(noisy, datasets=datasets, classes=1, seed=whole_seed(seed.spawn(1)[0]))
    return [
        table.columns["y"].values(codes[:, 0], rng, numbers.get("y"))["y"]
        for codes, numbers in zip(imputed.codes, imputed.numbers, strict=True)
    ]


def _laplace(scale: float, size: int, rng: np.random.Generator) -> Any:
    """Discrete Laplace noise: the difference of two geometric numbers."""
    stop = -np.expm1(-1.0 / scale)
    return rng.geometric(stop, size) - rng.geometric(stop, size)
