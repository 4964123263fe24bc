"""One column from noisy counts of public bins, under the column's own family.

The bins are the 20 equal steps of the public range, or as many as it has whole numbers. The noise
is discrete Laplace noise from a seed, so that a user can repeat a replicate: seeded noise is right
for simulated data and wrong for a release. All datasets together cost epsilon once.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import whole_seed
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.measurements import Measurements, count_noise
from pyvws.mechanisms.counts.sets import PAIRS, counted_table
from pyvws.privacy.budget import Budget
from pyvws.tables.files.frame import open_frame
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

_SWEEPS = 100


def counted_column(
    y: Floats, column: Column, *, epsilon: float, datasets: int, seed: np.random.SeedSequence
) -> list[Floats]:
    """Datasets imputed from noisy counts of the bins of y (n,), and from its noisy number.

    Epsilon is for one record left out, once for all datasets. `column` has the public range and the
    family.
    """
    schema = Schema({"y": column})
    table = counted_table(schema, (PAIRS,), conditionals=True)
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
    imputed = impute(
        noisy, datasets=datasets, classes=1, sweeps=_SWEEPS, seed=whole_seed(seed.spawn(1)[0])
    )
    return [
        table.columns["y"].values(codes[:, 0], rng, numbers.get("y"))["y"]
        for codes, numbers in zip(imputed.codes, imputed.numbers, strict=True)
    ]


def _laplace(scale: float, size: int, rng: np.random.Generator) -> Any:
    """Discrete Laplace noise: the difference of two geometric numbers."""
    stop = -np.expm1(-1.0 / scale)
    return rng.geometric(stop, size) - rng.geometric(stop, size)
