"""Compare claims of differential privacy with computed privacy losses, without R and Stan.

The cases run every mechanism and family whose statement can say `dp` on small adversarial databases
and on all neighbours of these databases. The stochastic tester knows nothing of the mechanism: the
tester looks only at releases.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.auditing.repeats import epsilon_at_least
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.release.synthesizer import Synthesizer, synthesize
from pyvws.statement.words import STRICT
from pyvws_validation._adversarial import (
    CLAIMED,
    SHARED,
    STAGED,
    TABLES,
    WHOLE,
    WHOLE_SCORES,
    Share,
    censored_runs,
)
from pyvws_validation._extreme_settings import EXTREME
from pyvws_validation._grid_engine import EnumeratedGrid
from pyvws_validation._measured_case import Findings, MeasuredRow
from pyvws_validation._privacy_loss import HistogramRuns, Runs, Word, word
from pyvws_validation._unit_losses import UNITS
from pyvws_validation._weights_loss import AT_PUBLIC_T, AT_SEARCHED_T, WEIGHTS, WeightsLoss
from pyvws_validation._window_loss import WINDOWS, WindowLoss
from pyvws_validation.report import Measurement

_ROUNDING: Final = 1e-9
_FAILURE: Final = 1e-6
_LONG: Final = 2**60


@dataclass(frozen=True, kw_only=True)
class _Loss(MeasuredRow):
    """A loss between a share of the claim and the claim, with the words that releases state."""

    outside: str = "Above the claim, or too far below it to show anything"

    def judged(
        self, measured: tuple[Measurement, ...], words: set[Word], seeds: tuple[int, ...] = ()
    ) -> Findings:
        """The findings: all releases have to state one and the same strict word."""
        losses = "; ".join(f"{loss.what}: {loss.value:.3f} of {loss.high:.4g}" for loss in measured)
        claims = ", ".join(f"{claim} for {near} neighbours" for claim, near in sorted(words))
        reason = ""
        if len(words) > 1:
            reason = f"Neighbouring databases are told different words: {claims}."
        elif any(claim not in STRICT or near == "none" for claim, near in words):
            reason = f"The claim is not strict: {claims}."
        return Findings(measured, reason, losses, seeds)


@dataclass(frozen=True, kw_only=True)
class ComputedLoss(_Loss):
    """The computed loss of one mechanism and family, between a share of the claim and the claim.

    A loss far below the claim would show that the databases are too kind to reveal an error. So the
    loss on some database must reach `share` of the claim: 0.985 finds a loss of 1.02 epsilon.
    """

    runs: Runs
    share: Share
    epsilons: tuple[float, ...]

    @property
    def function(self) -> str:
        return self.runs.function

    def found(self) -> Findings:
        by_epsilon = {epsilon: self.runs.losses(epsilon) for epsilon in self.epsilons}
        measured = tuple(
            Measurement(
                f"{neighbours} loss at epsilon {epsilon:g}",
                loss,
                self.share[neighbours] * losses.claims[neighbours],
                losses.claims[neighbours] * (1.0 + _ROUNDING),
            )
            for epsilon, losses in by_epsilon.items()
            for neighbours, loss in losses.by_neighbours.items()
        )
        return self.judged(measured, set().union(*(losses.words for losses in by_epsilon.values())))


@dataclass(frozen=True, kw_only=True)
class SampledLoss(_Loss):
    """A lower limit of the loss, from releases on two neighbouring databases, at most the claim.

    `releases(database, count, seed)` gives one number from each of `count` independent releases,
    and the guarantees that the releases state. `databases` holds the outcomes of the two databases.
    The limit must reach `share` of the claim; the limits of working mechanisms are far larger.
    """

    releases: Callable[[tuple[Any, ...], int, int], tuple[Floats, set[Word]]]
    databases: tuple[tuple[Any, ...], tuple[Any, ...]]
    epsilon: float
    share: float
    count: int = 3000

    def found(self) -> Findings:
        """The limit of releases made now, with a new seed each time."""
        seed = secrets.randbits(32)
        words: set[Word] = set()
        seen = []
        for database, own in zip(self.databases, (0, 1), strict=True):
            numbers, stated = self.releases(database, self.count, 2 * seed + own)
            seen.append(numbers)
            words |= stated
        least = epsilon_at_least(seen[0], seen[1], failure=_FAILURE)
        what = (
            f"lower limit from 2 x {self.count} releases of seed {seed}, "
            f"above epsilon with chance {_FAILURE:g}"
        )
        limit = Measurement(what, least, self.share * self.epsilon, self.epsilon)
        return self.judged((limit,), words, (seed,))


def censored_releases(
    database: tuple[float, ...], count: int, seed: int
) -> tuple[Floats, set[Word]]:
    """The means of `count` synthetic datasets from whole runs, each from its own exact draw."""
    each = min(count, _DATASETS)
    means, words = [], set()
    for run in range(0, count, each):
        release = synthesize(
            pl.DataFrame({"y": database}),
            outcome="y",
            model="normal",
            mechanism=Censored(epsilon=_TESTED, weights="none"),
            datasets=each,
            draws=10 * each,
            chains=1,
            engine=EnumeratedGrid(_TWO_SIDES),
            seed=_LONG + seed * count + run,
        )
        words.add(word(release.privacy))
        means += [float(dataset["y"].mean()) for dataset in release.datasets]
    return np.array(means), words


def histogram_releases(
    database: tuple[float, ...], count: int, seed: int
) -> tuple[Floats, set[Word]]:
    """The distance of each of `count` noisy histograms of two bins from the second database."""
    distances, words = [], set()
    synthesizer = Synthesizer(
        outcome="y",
        mechanism=PerturbedHistogram(epsilon=_TESTED, range=(0.0, 1.0), bins=2),
        datasets=1,
    )
    table = pl.DataFrame({"y": database})
    for run in range(count):
        release = synthesizer.fit(table, seed=_LONG + seed * count + run)
        words.add(word(release.privacy))
        first, second = release.posterior["noisy_count"]
        distances.append(float(min(first - len(database), -second)))
    return np.array(distances), words


_TESTED: Final = 2.0
_DATASETS: Final = 100
# Two points far apart, and a point at which a record at -3 is not clamped.
_TWO_SIDES: Final = np.array(
    [[mean, 0.0, np.log(0.05)] for mean in (-3.0, -2.95, 3.0)], dtype=np.float64
)


_CENSORED: Final = "global2022, censored likelihood"
_HISTOGRAM: Final = "wasserman2010, section 4"

_IDS: Final = {"half": "censored", "deviance": "deviance"}
_JOINT: Final = {"leave-one-out": 0.9, "replace-one": 0.45}
_WHOLE_CLAIM: Final = {"leave-one-out": 0.99, "replace-one": 0.495}

_ANY: Final = {"leave-one-out": 0.0, "replace-one": 0.0}
"""At the ends of floats some windows lie wholly below the terms, and nothing is lost there."""


def _in_steps(clamp: str, name: str) -> tuple[bool, ...]:
    """Whether runs go in memory and in steps; half of the half clamp's runs go in memory alone."""
    return (False, True) if clamp == "deviance" or name == "normal-predictor" else (False,)


_SCORED: Final = {f"grid-{name}": runs for name, runs in WHOLE_SCORES.items()} | {
    "grid-normal-in-steps": replace(WHOLE_SCORES["normal"], in_steps=True)
}
_SHARED: Final = {f"draws-{draws}-of-3-datasets": runs for draws, runs in SHARED.items()} | {
    "draws-1-of-3-datasets-in-steps": replace(SHARED[1], in_steps=True)
}


def _computed(
    name: str, runs: Runs, share: Share, *epsilons: float, paper: str = _CENSORED
) -> ComputedLoss:
    return ComputedLoss(
        id=f"guarantee/{name}",
        paper=paper,
        runs=runs,
        share=share,
        epsilons=epsilons or (4.0, 10.0),
    )


def _paper(runs: Runs) -> str:
    return _HISTOGRAM if isinstance(runs, HistogramRuns) else _CENSORED


_BINNED: Final[dict[str, Any]] = {
    "bases": ((0.5, 0.5), (0.0, 0.3, 0.9, 1.0)),
    "extremes": (0.0, 0.4, 1.0, -1e300, 1e300),
}

CASES: Final[tuple[ComputedLoss | SampledLoss | WindowLoss | WeightsLoss, ...]] = (
    *(
        _computed(
            f"{_IDS[clamp]}-{name}{'-in-steps' if in_steps else ''}",
            censored_runs(clamp, name, in_steps=in_steps),
            share,
            *((4.0,) if in_steps else ()),
        )
        for (clamp, name), share in CLAIMED.items()
        for in_steps in _in_steps(clamp, name)
    ),
    *(_computed(name, runs, WHOLE) for name, runs in (*_SCORED.items(), *_SHARED.items())),
    *(_computed(f"staged-{name}", runs, _JOINT, 4.0) for name, runs in STAGED.items()),
    *(_computed(f"table-{name}", runs, share) for name, (runs, share) in TABLES.items()),
    *(_computed(f"units-{name}", runs, WHOLE, 4.0) for name, runs in UNITS.items()),
    *(
        _computed(
            f"histogram-{relation}",
            HistogramRuns(neighbours=relation, **_BINNED),
            _WHOLE_CLAIM,
            paper=_HISTOGRAM,
        )
        for relation in ("replace", "loo")
    ),
    *(
        _computed(f"extreme-{name}", runs, _ANY, *epsilons, paper=_paper(runs))
        for name, (runs, epsilons) in EXTREME.items()
    ),
    SampledLoss(
        id="guarantee/tester-censored-normal",
        paper=_CENSORED,
        releases=censored_releases,
        databases=((-3.0, 3.0), (-3.0, -3.0, 3.0)),
        epsilon=_TESTED,
        share=0.15,
    ),
    SampledLoss(
        id="guarantee/tester-histogram",
        paper=_HISTOGRAM,
        releases=histogram_releases,
        databases=((0.2, 0.2), (0.2, 0.7)),
        epsilon=_TESTED,
        share=0.15,
        count=1500,
    ),
    *WINDOWS,
    WEIGHTS,
    *AT_PUBLIC_T,
    AT_SEARCHED_T,
)
