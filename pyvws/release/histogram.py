"""A release from a perturbed histogram: no model, no draws, one noisy histogram."""

from __future__ import annotations

import platform
import time
from typing import Any

import numpy as np

from pyvws import __version__
from pyvws.mechanisms.histogram.perturbed_histogram import (
    NoisyHistogram,
    synthesize_from_histogram,
)
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.release.release import Release
from pyvws.release.summary import library_version, table_like
from pyvws.statement.histogram import HistogramStatement
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.config import config_text
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.row_order import order_stream, released_rows, row_order

__all__ = ["histogram_release"]


def histogram_release(
    settings: RunSettings,
    mechanism: PerturbedHistogram,
    table: ConfidentialTable,
    *,
    source: Any,
    seed: int,
    row_name: str,
    input_sha256: str | None,
    began: float,
) -> Release:
    """Perturb the outcome's histogram and draw every dataset from it.

    The noise is secret, and with it the order of rows; `seed` makes the draws from the noisy
    histogram repeatable, which cost nothing more. Under "loo" neighbours the number of records is
    protected too, so a dataset has as many records as the noisy counts add up to, and no column can
    be kept.
    """
    noisy = mechanism.perturb(table.y, seed=seed)
    records = len(table.y)
    size = max(1, noisy.noisy_total) if mechanism.protects_records else records
    streams = np.random.SeedSequence(seed).spawn(settings.datasets)
    outcomes = [
        synthesize_from_histogram(noisy, size, np.random.default_rng(stream)) for stream in streams
    ]
    secret = mechanism.noise == "secret"
    stream = np.random.default_rng() if secret else order_stream(seed)
    order = None if settings.keep_order else row_order(stream, records)
    statement = _statement(settings, mechanism, table, noisy)
    columns: dict[str, Any] = {"record": np.arange(1, records + 1)}
    if not mechanism.protects_records:
        columns[row_name] = released_rows(order, records)
    return Release(
        datasets=table.datasets(
            source, outcomes, outcome=settings.outcome, round=settings.round, order=order
        ),
        privacy=statement.released(),
        records=table_like(columns, table.implementation),
        posterior=table_like(
            {
                "lower": noisy.edges[:-1],
                "upper": noisy.edges[1:],
                "noisy_count": np.asarray(noisy.counts, dtype=np.float64),
                "probability": noisy.probabilities,
            },
            table.implementation,
        ),
        summary={
            "epsilon_total": noisy.epsilon,
            "privacy": statement.exact(),
            "timings": {"total_seconds": time.perf_counter() - began},
            "records": records,
            "settings": settings.recorded(table.model),
            "seed": seed,
            "input_sha256": input_sha256 or table.sha256,
            "versions": {
                "pyvws": __version__,
                "python": platform.python_version(),
                "numpy": library_version("numpy"),
            },
        },
        config=config_text(settings, seed=None),
        config_with_seed=config_text(settings, seed=seed),
    )


def _statement(
    settings: RunSettings,
    mechanism: PerturbedHistogram,
    table: ConfidentialTable,
    noisy: NoisyHistogram,
) -> HistogramStatement:
    return HistogramStatement(
        mechanism=mechanism.name,
        guarantee=noisy.guarantee,
        epsilon=noisy.epsilon,
        neighbours=noisy.neighbours,
        datasets=settings.datasets,
        bins=len(noisy.probabilities),
        noise_scale=noisy.scale,
        publishable=noisy.publishable,
        bins_from_records=mechanism.bins is None,
        edges_from_data=mechanism.edges_from_data,
        allows_outside=mechanism.allow_outside,
        columns_released_unchanged=tuple(c for c in table.released if c != settings.outcome),
        rounded=settings.round,
        keep_order=settings.keep_order,
    )
