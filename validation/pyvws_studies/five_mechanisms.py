"""The simulation study of [global2022]: five synthesizers on repeated samples from Beta(0.5, 3).

A replicate draws n = 2000 records by R's generators and makes one dataset of each synthesizer at
each epsilon, with and without downscaling, from an intercept-only beta regression on (0, 1). The
synthesizers share the unweighted fit and the LW fit. The histogram has the default bins. Its noise
comes from a seed, so that a user can repeat a replicate: seeded noise is right for simulated data
and wrong for a release. Downscaling does not change the histogram, so the histogram's downscaled
row repeats the other row. So do the rows of two synthesizers that are not of the slides: the
deviance clamp, and records imputed from noisy counts of 20 bins under the beta family. The data are
simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram, synthesize_from_histogram
from pyvws.mechanisms.weighing import WeightedFit
from pyvws.models.beta import Beta
from pyvws.r_numbers import rarith
from pyvws.synthesis.loop import SynthesisLoop
from pyvws.tables.schema.column import Column
from pyvws_studies._native_loop import native_loop, one_chain
from pyvws_studies.counted_column import counted_column
from pyvws_studies.five_mechanisms_report import report
from pyvws_studies.five_synthesizers import (
    COUNTS,
    DEVIANCE,
    HISTOGRAM,
    FiveSynthesizers,
    Made,
    deviance_clamped,
    largest_effect,
    seeded_histogram,
)
from pyvws_studies.replicates import ReplicatedStudy
from pyvws_studies.simulated_data import beta_proportions

SETTINGS: Mapping[str, Any] = {
    "n": 2000,
    "shapes": [0.5, 3.0],
    "epsilons": [5.0, 4.0, 3.0],
    "passes": 5,
    "draws": 1000,
    "warmup": 500,
    "largest_kappa": 30.0,
}

COLUMNS = (
    *("mechanism", "epsilon", "replicate", "downscaled", "lipschitz"),
    *("u_m", "u_a", "q15", "median", "mean", "q90"),
)
"""Columns of replicates.csv; lipschitz, in nats, is empty for the histogram."""

_RANGE = (0.0, 1.0)


def keys(replicates: int) -> list[Key]:
    return [("beta", number) for number in range(1, replicates + 1)]


def statistics(y: Floats) -> dict[str, float]:
    """Q15, median, mean and Q90 of an outcome, by R's rules."""
    q15, median, q90 = (float(value) for value in rarith.quantile(y, [0.15, 0.5, 0.9]))
    return {"q15": q15, "median": median, "mean": rarith.mean(y), "q90": q90}


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """One local database, and a row and an explanation for each synthesizer, epsilon and
    downscaling.
    """
    data_seed = whole_seed(seed.spawn(1)[0]) % 2**31
    y = beta_proportions(data_seed, settings["n"], *settings["shapes"])
    model = Beta(range=_RANGE, largest_kappa=settings["largest_kappa"]).prepare(y, "y")
    design = np.ones((len(y), 1))
    loop = native_loop(model, y, design, one_chain(settings), seed=whole_seed(seed))
    five = FiveSynthesizers(loop, settings["passes"])
    rows = _Rows(y, int(key[1]))
    for epsilon in settings["epsilons"]:
        noise, draw = seed.spawn(2)
        noisy = seeded_histogram(epsilon, _RANGE).perturb(y, seed=whole_seed(noise))
        drawn = synthesize_from_histogram(noisy, len(y), np.random.default_rng(draw))
        for downscaled in (False, True):
            for name, clamped in five.fits(epsilon, downscaled=downscaled).items():
                rows.add(loop, (name, epsilon, downscaled), clamped)
            rows.add_histogram(epsilon, downscaled, noisy, drawn)
    for epsilon, own in zip(
        settings["epsilons"], seed.spawn(len(settings["epsilons"])), strict=True
    ):
        strict = native_loop(model, y, design, one_chain(settings), seed=whole_seed(own))
        clamped = deviance_clamped(strict, epsilon)
        for downscaled in (False, True):
            rows.add(strict, (DEVIANCE, epsilon, downscaled), clamped)
    column = Column(model="beta", range=_RANGE)
    for place, epsilon in enumerate(settings["epsilons"]):
        own = np.random.SeedSequence([whole_seed(seed), place])
        (drawn,) = counted_column(y, column, epsilon=epsilon, datasets=1, seed=own)
        for downscaled in (False, True):
            rows.add_counts(epsilon, downscaled, drawn)
    extra = {"data_seed": data_seed, "rows": rows.why}
    return Result(rows.made, extra)


class _Rows:
    """Rows of one replicate, and an explanation of each row."""

    def __init__(self, y: Floats, number: int) -> None:
        self.made: list[dict[str, Any]] = []
        self.why: list[dict[str, Any]] = []
        self._y, self._number = y, number
        self._drawn: dict[int, Floats] = {}

    def add(self, loop: SynthesisLoop, case: tuple[str, float, bool], fitted: Made) -> None:
        """Add the row of a loop's fit; a fit that downscaling did not change keeps its dataset."""
        fit = fitted.fit
        if id(fit) not in self._drawn:
            design = np.ones((len(self._y), 1))
            (self._drawn[id(fit)],) = loop.synthetic(fit, design, 1)
        self._row(*case, fit.bounds.database, self._drawn[id(fit)])
        diagnostics = fit.posterior.diagnostics
        why: dict[str, Any] = {
            "curve_u_a": _curve(self._y, fit),
            "rhat": diagnostics.rhat_max,
            "ess": diagnostics.ess_bulk_min,
            "divergences": diagnostics.divergences,
        }
        if fit.clamp is not None:
            why["far_end"] = -fit.clamp.window[0]
            why["largest_term"] = float(fit.bounds.by_draw.max())
            why["largest_effect"] = largest_effect(loop, fitted)
        self.why.append(why)

    def add_histogram(
        self, epsilon: float, downscaled: bool, noisy: NoisyHistogram, drawn: Floats
    ) -> None:
        """Add the histogram's row; its curve is straight within a bin."""
        self._row(HISTOGRAM, epsilon, downscaled, None, drawn)
        self.why.append({"curve_u_a": _straight(self._y, noisy.edges, noisy.probabilities)})

    def add_counts(self, epsilon: float, downscaled: bool, drawn: Floats) -> None:
        """Add the row of noisy counts, which have no fitted curve."""
        self._row(COUNTS, epsilon, downscaled, None, drawn)
        self.why.append({})

    def _row(
        self, name: str, epsilon: float, downscaled: bool, bound: float | None, drawn: Floats
    ) -> None:
        utility = ecdf_utility(self._y, [drawn])
        values = (name, epsilon, self._number, downscaled, bound, utility.maximum, utility.average)
        self.made.append({**dict(zip(COLUMNS, values, strict=False)), **statistics(drawn)})


def _curve(y: Floats, fit: WeightedFit) -> float:
    """U_a of the fitted density itself at the mean draw, free of the luck of a synthetic draw."""
    draws = fit.posterior.draws
    mu, kappa = float(expit(draws["beta"]).mean()), float(draws["kappa"].mean())
    return _squared(y, stats.beta.cdf(np.sort(y), mu * kappa, (1.0 - mu) * kappa))


def _straight(y: Floats, edges: Floats, shares: Floats) -> float:
    """U_a of a histogram with values uniform inside its bins, shares (B,)."""
    reached = np.concatenate([[0.0], np.cumsum(shares)])
    return _squared(y, np.interp(np.sort(y), edges, reached))


def _squared(y: Floats, at_sorted: Floats) -> float:
    """Mean squared distance of a distribution function from the data's, at the sorted y (N,)."""
    return float(((np.arange(1, len(y) + 1) / len(y) - at_sorted) ** 2).mean())


STUDY = ReplicatedStudy(
    name="five-mechanisms",
    settings=SETTINGS,
    replicates=100,
    keys=keys,
    replicate=replicate,
    report=report,
)
