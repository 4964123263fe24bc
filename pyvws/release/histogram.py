"""A perturbed histogram as the source of draws: all datasets come from one noisy histogram."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.evaluation.sample_errors import CellNoise
from pyvws.mechanisms.histogram.perturbed_histogram import NoisyHistogram, synthesize_from_histogram
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.privacy.budget import deviation_of
from pyvws.release.draw_source import Draw, DrawSource, shared_facts
from pyvws.statement.noise import HistogramStatement
from pyvws.statement.parts import ReliesOn
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.row_order import RowNumbers, order_stream


@dataclass(frozen=True, slots=True, kw_only=True)
class HistogramRun(DrawSource):
    """A noisy histogram. The seed makes the draws from it repeatable; these cost no epsilon.

    `counts_outside` says whether the end bins count the values outside the range.
    """

    noisy: NoisyHistogram
    counts_outside: bool

    @property
    def secret(self) -> bool:
        return self.noisy.publishable

    def order_stream(self) -> np.random.Generator:
        """With secret noise the order of rows is secret too."""
        return np.random.default_rng() if self.noisy.publishable else order_stream(self.seed)

    def draws(self) -> list[Draw]:
        streams = np.random.SeedSequence(self.seed).spawn(self.settings.datasets)
        return [partial(self._drawn, np.random.default_rng(stream)) for stream in streams]

    def _drawn(
        self, stream: np.random.Generator, rows: RowNumbers | int
    ) -> Iterator[dict[str, Floats]]:
        (outcome,) = self.table.outcomes
        size = rows if isinstance(rows, int) else len(rows)
        yield {outcome.name: synthesize_from_histogram(self.noisy, size, stream)}

    def noise(self, name: str) -> CellNoise:
        return CellNoise(self.noisy.edges, self.noisy.scale * deviation_of(laplace=True))

    def figures(self) -> dict[str, Any]:
        (outcome,) = self.table.outcomes
        low, high = self.noisy.edges[[0, -1]]
        inside = int(((low <= outcome.y) & (outcome.y <= high)).sum())
        none = 0 if self.counts_outside else len(outcome.y) - inside
        return {
            **({"records_in_no_cell": {outcome.name: none}} if none else {}),
            "epsilon_total": self.noisy.epsilon,
            "privacy": self.statement.exact(),
            "timings": {},
            "records": self.table.records,
            "settings": {},
        }

    def records(self, rows: Mapping[str, RowNumbers] | None = None) -> dict[str, Any]:
        return {"record": np.arange(1, self.table.records + 1), **(rows or {})}

    def posterior(self) -> dict[str, Any]:
        return {
            "lower": self.noisy.edges[:-1],
            "upper": self.noisy.edges[1:],
            "noisy_count": np.asarray(self.noisy.counts, dtype=np.float64),
            "probability": self.noisy.probabilities,
        }


def histogram_run(settings: RunSettings, table: ConfidentialTable, *, seed: int) -> HistogramRun:
    """Perturb the outcome's histogram.

    Under "loo" neighbours the noise protects the number of records too, so a dataset has as many
    rows as the noisy counts add up to.
    """
    (outcome,), mechanism = table.outcomes, settings.chosen_mechanism
    assert isinstance(mechanism, PerturbedHistogram)
    noisy = mechanism.perturb(outcome.y, seed=seed)
    statement = HistogramStatement(
        **shared_facts(settings, table),
        claim="none" if settings.compared else noisy.guarantee,
        spending=noisy.spending,
        epsilon=noisy.epsilon,
        neighbours=noisy.neighbours,
        bins=len(noisy.probabilities),
        noise_scale=noisy.scale,
        relies_on=ReliesOn(
            engine="discrete-laplace" if noisy.publishable else "seeded-laplace",
            exact_draws=noisy.publishable,
            public_settings={"range": mechanism.range, "bins": len(noisy.probabilities)},
        ),
        bins_from_records=mechanism.bins is None,
        edges_from_data=mechanism.edges_from_data,
        allows_outside=mechanism.allow_outside,
    )
    return HistogramRun(
        settings=settings,
        table=table,
        statement=statement,
        seed=seed,
        rows=max(1, noisy.noisy_total) if mechanism.facts.protects_records else None,
        noisy=noisy,
        counts_outside=mechanism.allow_outside,
    )
