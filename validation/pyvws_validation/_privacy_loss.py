"""Compute the privacy loss of whole runs on small databases and all their neighbours.

A loss is the largest |log ratio| between the probabilities of one release under two neighbouring
databases. This module computes the loss from the distribution that `synthesize` sampled or from
the counts that `synthesize` made, including the preparation of the table. The module uses nothing
that the run says of itself. Where one claim covers several draws, the loss is that of all of these
draws together.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, Final, Literal

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.engines.engine import Engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.mechanisms.censored import Censored
from pyvws.mechanisms.histogram.bins import bin_counts
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.models.conditional_table import ConditionalTable
from pyvws.models.model import Model
from pyvws.models.sequence import Conditional
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.release.synthesizer import Synthesizer, synthesize
from pyvws.tables.design.cells import make_cells
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._grid_engine import (
    EnumeratedGrid,
    Enumerating,
    KnownDraws,
    SeenGrid,
    joint_log_probability,
    log_posterior,
)
from pyvws_validation._measured_case import OF_DRAWS, expected

Record = float | tuple[float, float]
"""A record: an outcome, an outcome and a predictor, or the outcomes of two columns."""

Outcomes = tuple[Record, ...]
Word = tuple[str, str]

_SEED: Final = 2**60 + 1
_BINS: Final = 4
_REACH: Final = 40  # The largest size of the noisy counts that the module enumerates.
_APART: Final = 1000.0  # Between the means of two numbered draws, in standard deviations.
_OF_STAGE: Final = 0.25
RELATIONS: Final = {"replace": "replace-one", "loo": "leave-one-out"}
"""The names of neighbours in a statement, by those of settings."""


@dataclass
class Losses:
    """The largest losses so far, the smallest claims of the same releases, and their words."""

    by_neighbours: dict[str, float] = field(default_factory=dict)
    claims: dict[str, float] = field(default_factory=dict)
    words: set[Word] = field(default_factory=set)

    def see(self, neighbours: str, loss: float) -> None:
        """Record the loss of one pair of databases."""
        self.by_neighbours[neighbours] = max(self.by_neighbours.get(neighbours, 0.0), loss)

    def hear(
        self, statement: dict[str, Any], relation: str, epsilon: float, figure: str = "per_dataset"
    ) -> None:
        """Record a statement's claims, or those for all datasets, "total"; asked is `epsilon`."""
        strict = statement["certified"]
        claims = [(name, its[figure]) for name, its in statement["epsilon_by_neighbours"].items()]
        claims += [(relation, epsilon), (statement["neighbours"], statement[f"epsilon_{figure}"])]
        if strict is not None:
            claims.append((strict["neighbours"], strict[f"epsilon_{figure}"]))
        for neighbours, claim in claims:
            self.claims[neighbours] = min(self.claims.get(neighbours, np.inf), claim)
        self.words.add(word(statement))


def word(statement: dict[str, Any]) -> Word:
    """The guarantee of a statement, and the neighbours that the certificate covers."""
    strict = statement["certified"]
    return statement["guarantee"], "none" if strict is None else strict["neighbours"]


def neighbourhood(base: Outcomes, extremes: Sequence[Record]) -> tuple[list[Outcomes], ...]:
    """All databases with one record fewer, of 2 or more, and with one extreme record more."""
    without = [base[:i] + base[i + 1 :] for i in range(len(base))] if len(base) > 2 else []
    return sorted(set(without)), [(*base, extreme) for extreme in extremes]


@dataclass(frozen=True, kw_only=True)
class Runs(ABC):
    """Runs of `function` on every base and on all its neighbours."""

    function: ClassVar[str] = "pyvws.release.synthesizer:synthesize"
    bases: tuple[Outcomes, ...]
    extremes: Outcomes

    def losses(self, epsilon: float) -> Losses:
        """Losses between every base and its neighbours, and between the neighbours themselves."""
        losses = Losses()
        for base in self.bases:
            at_base = self.log_probabilities(base, epsilon, losses)
            for group in neighbourhood(base, self.extremes):
                neighbours = [self.log_probabilities(other, epsilon, losses) for other in group]
                for neighbour in neighbours:
                    losses.see("leave-one-out", self.distance(at_base, neighbour))
                for neighbour, other in combinations(neighbours, 2):
                    losses.see("replace-one", self.distance(neighbour, other))
        return losses

    @abstractmethod
    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Log probabilities of one run's possible outputs; `losses` keep the run's claims."""

    def distance(self, first: Floats, other: Floats) -> float:
        """The largest |log ratio| of two results; infinite where one gives no chance."""
        with np.errstate(invalid="ignore"):
            apart = np.abs(first - other)
        return float(np.where(first == other, 0.0, apart).max())


@dataclass(frozen=True, kw_only=True)
class _Clamped(Runs):
    """Runs of Censored with one model and clamp, with a slope where records have a predictor."""

    model: Model
    clamp: str
    in_steps: bool = False

    def run(
        self,
        outcomes: Outcomes,
        epsilon: float,
        engine: Engine,
        *,
        settings: SamplerSettings | None = None,
        own: Mapping[str, Any] | None = None,
        **given: Any,
    ) -> tuple[dict[str, Any], list[Floats]]:
        """The statement and the outcomes of each dataset; `own` are settings of the mechanism."""
        pairs = [record if isinstance(record, tuple) else (record,) for record in outcomes]
        names = ["y", "x"][: len(pairs[0])]
        table = pl.DataFrame(pairs, schema=dict.fromkeys(names, pl.Float64), orient="row")
        if isinstance(self.model, ConditionalTable):  # Its levels are a schema's.
            column = Column(model="table", levels=self.model.levels, predictors=[])
            what: dict[str, Any] = {"schema": Schema({"y": column})}
        else:
            formula = "~ x" if "x" in names else "~ 1"
            what = {"outcome": "y", "model": self.model, "formula": formula}
        run = Synthesizer(
            **what,
            mechanism=Censored(
                epsilon=epsilon, clamp=self.clamp, **({"weights": "none"} if own is None else own)
            ),
            settings=settings or SamplerSettings(draws=100, chains=1),
            engine=engine,
            **{"datasets": 1, **given},
        )
        with expected(*OF_DRAWS), TemporaryDirectory() as folder:
            # The run warns the agency that the clamp left only the prior, and of the draws' misfit.
            if self.in_steps:
                out = Path(folder, "out")
                statement = run.fit_to(table.lazy(), out, seed=_SEED)
                datasets = [pl.read_parquet(path) for path in out.glob("release/*.parquet")]
            else:
                release = run.fit(table, seed=_SEED)
                statement, datasets = release.privacy, release.datasets
        return statement, [dataset["y"].to_numpy() for dataset in datasets]


@dataclass(frozen=True, kw_only=True)
class TableTargets(Runs):
    """Joint targets of tables of two columns on points (G, D); a record is a pair of outcomes.

    The predictor of the second column says whether the first outcome is above 0, or above level 1
    of a conditional table; a conditional table's is the first outcome's level. In `bounded` tables
    the first outcome is the upper end of the second. A target states nothing, so the claim is the
    clamp's epsilon, and twice that under replace-one neighbours. All records have the same public
    `weight`.
    """

    function: ClassVar[str] = "pyvws.posterior.joint_target:JointTarget"
    models: tuple[Model, Model]
    clamp: str
    points: Floats
    weight: float = 1.0
    bounded: bool = False

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Log posterior of each point of the grid."""
        first, second = np.array(outcomes, dtype=np.float64).T
        ones = np.ones(len(first))
        of_table, given_table = (isinstance(model, ConditionalTable) for model in self.models)
        alone = 0.0 * ones[:, None] if of_table else ones[:, None]
        given = np.column_stack([ones, first > (1 if of_table else 0)])
        given = first[:, None] - 1.0 if given_table else given
        ends = np.column_stack([0.0 * first, first]) if self.bounded else None
        columns = (
            Conditional("first", self.models[0], make_cells(first, alone)),
            Conditional("second", self.models[1], make_cells(second, given, ends=ends)),
        )
        losses.claims |= {"leave-one-out": epsilon, "replace-one": 2.0 * epsilon}
        target = JointTarget(columns, self.weight * ones, Clamp(epsilon, self.clamp))
        return log_posterior(target, self.points)


@dataclass(frozen=True, kw_only=True)
class CensoredRuns(_Clamped):
    """Runs without weights on a grid of parameters, points (G, D), unconstrained."""

    points: Floats

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Log posterior of each point of the grid."""
        engine = EnumeratedGrid(self.points)
        statement, _ = self.run(outcomes, epsilon, engine)
        losses.hear(statement, "leave-one-out", epsilon)
        return engine.log_posterior


@dataclass(frozen=True, kw_only=True)
class WholeScoreRuns(_Clamped):
    """Runs with the package's engine `grid`, up to the noise; the settings name its public grid."""

    grid_range: tuple[float, ...]
    grid_steps: tuple[int, ...]

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """The points of the run's own grid, and their log probabilities last: (G, D + 1)."""
        engine = SeenGrid()
        settings = SamplerSettings(
            draws=4, chains=1, grid_range=self.grid_range, grid_steps=self.grid_steps
        )
        statement, _ = self.run(outcomes, epsilon, engine, settings=settings)
        losses.hear(statement, "leave-one-out", epsilon)
        ((points, log_probability),) = engine.seen
        return np.column_stack([points, log_probability])

    def distance(self, first: Floats, other: Floats) -> float:
        """The largest |log ratio|; infinite where one grid has a point that the other has not."""
        if not np.array_equal(first[:, :-1], other[:, :-1]):
            return math.inf
        return float(np.abs(first[:, -1] - other[:, -1]).max())


@dataclass(frozen=True, kw_only=True)
class SharedDrawRuns(_Clamped):
    """Runs of a normal model with several datasets, of which some come from the same draw.

    The loss is that of all datasets together. Each draw has a mean of its own, far from the means
    of all other draws, so that a dataset shows the number of its draw.
    """

    points: Floats
    datasets: int
    draws: int

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Log posterior of each point, once for each draw that the datasets show: (d, G)."""
        engine = _Numbered(self.points)
        given: dict[str, Any] = {"datasets": self.datasets, "draws_per_release": self.draws}
        statement, datasets = self.run(outcomes, epsilon, engine, **given)
        losses.hear(statement, "leave-one-out", self.draws * epsilon, "total")
        numbers = {int(np.rint(np.median(values) / _APART)) for values in datasets}
        return np.tile(engine.log_posterior, (len(numbers), 1))

    def distance(self, first: Floats, other: Floats) -> float:
        """The largest |log ratio| of all draws: draws add, as they are independent."""
        return len(first) * super().distance(first[0], other[0])


@dataclass
class _Numbered(EnumeratedGrid):
    """Draw number s is a normal distribution about s times `_APART`, and shows its number so."""

    def sample(
        self, target: PseudoPosterior, settings: SamplerSettings, *, seed: int, **_: Any
    ) -> Posterior:
        super().sample(target, settings, seed=seed)
        means = _APART * np.arange(settings.draws * settings.chains)
        q = np.column_stack([means, 0.0 * means, 0.0 * means])
        return KnownDraws([q]).sample(target, settings, seed=seed)


@dataclass(frozen=True, kw_only=True)
class StagedRuns(_Clamped):
    """Runs with staged weights on points (G, D); a quarter of epsilon is the first stage's."""

    points: Floats

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """Log probability of the draws of all fits of the run together: (G, G) of two fits."""
        stage = _OF_STAGE * epsilon

        def run(engine: Enumerating) -> None:
            staged = {"weights": "staged", "stage_epsilon": stage}
            statement, _ = self.run(outcomes, epsilon - stage, engine, own=staged)
            losses.hear(statement, "leave-one-out", epsilon, "total")

        return joint_log_probability(self.points, run)


@dataclass(frozen=True, kw_only=True)
class HistogramRuns(Runs):
    """Runs of the perturbed histogram on a public range; outer values count in its end bins."""

    neighbours: Literal["replace", "loo"]
    range: tuple[float, float] = (0.0, 1.0)

    def log_probabilities(self, outcomes: Outcomes, epsilon: float, losses: Losses) -> Floats:
        """log P(D_j = k) of each bin j and whole number k within reach, at the run's own scale."""
        release = synthesize(
            pl.DataFrame({"y": outcomes}, schema={"y": pl.Float64}),
            outcome="y",
            mechanism=PerturbedHistogram(
                epsilon=epsilon,
                range=self.range,
                bins=_BINS,
                neighbours=self.neighbours,
                allow_outside=True,
            ),
            datasets=1,
            seed=_SEED,
        )
        losses.hear(release.privacy, RELATIONS[self.neighbours], epsilon)
        lower, upper = (release.posterior[end].to_numpy() for end in ("lower", "upper"))
        counts = bin_counts(np.clip(outcomes, *self.range), np.append(lower, upper[-1]))
        scale = float(release.privacy["noise_scale"])
        apart = np.abs(np.arange(-_REACH, _REACH + 1)[None] - counts[:, None])
        return np.asarray(math.log(math.tanh(0.5 / scale)) - apart / scale)

    def distance(self, first: Floats, other: Floats) -> float:
        """The largest |log ratio| of whole histograms: bins add, as noise is independent."""
        return float(np.abs(first - other).max(axis=1).sum())
