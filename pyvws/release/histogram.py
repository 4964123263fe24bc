"""The datasets of a perturbed histogram: a run draws all of them from one noisy histogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws.mechanisms.histogram.perturbed_histogram import synthesize_from_histogram
from pyvws.mechanisms.perturbed_histogram import PerturbedHistogram
from pyvws.release.summary import Drawn
from pyvws.statement.histogram import HistogramStatement
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.row_order import order_stream, released_rows, row_order


def draw_from_histogram(
    settings: RunSettings,
    mechanism: PerturbedHistogram,
    table: ConfidentialTable,
    *,
    seed: int,
    row_name: str,
) -> Drawn:
    """Perturb the outcome's histogram and draw every dataset from it.

    With secret noise the order of rows is secret too. `seed` makes the draws from the noisy
    histogram repeatable. These draws cost no epsilon. Under "loo" neighbours the noise protects
    the number of records too, so a dataset has as many rows as the noisy counts add up to.
    """
    (outcome,) = table.outcomes
    noisy = mechanism.perturb(outcome.y, seed=seed)
    records = table.records
    size = max(1, noisy.noisy_total) if mechanism.protects_records else records
    streams = np.random.SeedSequence(seed).spawn(settings.datasets)
    values = [
        {outcome.name: synthesize_from_histogram(noisy, size, np.random.default_rng(stream))}
        for stream in streams
    ]
    secret = mechanism.noise == "secret"
    stream = np.random.default_rng() if secret else order_stream(seed)
    order = None if settings.keep_order else row_order(stream, records)
    columns: dict[str, Any] = {"record": np.arange(1, records + 1)}
    if not mechanism.protects_records:
        columns[row_name] = released_rows(order, records)
    statement = HistogramStatement(
        mechanism=mechanism.name,
        guarantee="none" if settings.compared else noisy.guarantee,
        compared=settings.compared,
        epsilon=noisy.epsilon,
        neighbours=noisy.neighbours,
        datasets=settings.datasets,
        bins=len(noisy.probabilities),
        noise_scale=noisy.scale,
        publishable=noisy.publishable,
        range=mechanism.range,
        bins_from_records=mechanism.bins is None,
        edges_from_data=mechanism.edges_from_data,
        allows_outside=mechanism.allow_outside,
        columns_released_unchanged=table.unchanged,
        rounded=settings.round,
        keep_order=settings.keep_order,
    )
    return Drawn(
        values=values,
        order=order,
        records=columns,
        posterior={
            "lower": noisy.edges[:-1],
            "upper": noisy.edges[1:],
            "noisy_count": np.asarray(noisy.counts, dtype=np.float64),
            "probability": noisy.probabilities,
        },
        statement=statement,
        figures={
            "epsilon_total": noisy.epsilon,
            "privacy": statement.exact(),
            "timings": {},
            "records": records,
            "settings": {},
        },
    )
