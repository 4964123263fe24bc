"""Tables of counts under noise: the one step that reads the confidential records."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.budget import Budget, Noise, noise_of
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.sets import CountedTable, Counts


@dataclass(frozen=True, slots=True, eq=False)
class NoisyTables:
    """What a release has of the counts: enough to impute records, and nothing confidential else.

    Attributes
    ----------
    table : CountedTable
        What was counted.
    counts : ndarray of int64, shape (C,)
        The noisy counts; 0 in cells that were not measured.
    scales : ndarray, shape (Q,)
        Scale of the noise of each set, in records.
    laplace : bool
        Whether the noise is discrete Laplace noise, and not discrete Gaussian noise.
    records : int
        The number of records n to impute: noisy, public, or exact.
    records_scale : float
        Scale of the noise of the number of records, 0 without noise.
    """

    table: CountedTable
    counts: Counts
    scales: Floats
    laplace: bool
    records: int
    records_scale: float = 0.0

    @property
    def deviations(self) -> Floats:
        """The standard deviations (Q,) of the noise, near enough; in records."""
        return self.scales * (math.sqrt(2.0) if self.laplace else 1.0)

    @property
    def largest(self) -> Counts:
        """The cell (Q,) of each set that has most records by its noisy count."""
        parts = np.split(self.counts, self.table.offsets[1:-1])
        return np.array([int(part.argmax()) for part in parts]) + self.table.offsets[:-1]


def measured(
    table: CountedTable,
    codes: Codes,
    budget: Budget,
    shares: Floats,
    *,
    records: int | None = None,
) -> tuple[NoisyTables, Noise]:
    """Count records (N, K) in all sets, once, under noise that costs the budget.

    `shares` (Q,) are those of the sets. Without a public number of `records` the number is exact
    where neighbours have as many, and else one more count: it gets the share of an average set.
    """
    hidden = records is None and budget.neighbours == "loo"
    noise = noise_of(budget, np.append(shares, shares.mean()) if hidden else shares)
    counts = table.counts(codes)
    noisy = np.zeros_like(counts)
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        at = low + np.flatnonzero(table.possible[low:high])
        noisy[at] = noise.add(counts[at], scale=float(noise.scales[q]))
    number = len(codes)
    if hidden:
        counted = np.array([number], dtype=np.int64)
        number = max(1, int(noise.add(counted, scale=float(noise.scales[-1]))[0]))
    elif records is not None:
        number = records
    tables = NoisyTables(
        table=table,
        counts=noisy,
        scales=noise.scales[: len(table.sets)],
        laplace=noise.kind == "laplace",
        records=number,
        records_scale=float(noise.scales[-1]) if hidden else 0.0,
    )
    return tables, noise
