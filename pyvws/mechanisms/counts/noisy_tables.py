"""Tables of counts under noise: the one step that reads the confidential records."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.budget import Budget, Noise, deviation_of, noise_of
from pyvws.mechanisms.counts.chosen_cells import FineCells, FineCounts
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.sets import CountedTable, Counts

_OF_ROUNDNESS: Final = 0.1  # Of the share of a number's fine cells, that of how round it is.


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
        return self.scales * deviation_of(self.laplace)

    def summed(self, wanted: tuple[int, ...]) -> tuple[Floats, float] | None:
        """The counts of the columns at some places, and the variance of the noise of each.

        They come from the smallest set that has the columns by their own codes; None without one.
        """
        having = [
            q
            for q, crossed in enumerate(self.table.crossings)
            if {*wanted} <= {*crossed.places} and not {*wanted} & {*crossed.groups}
        ]
        if not having:
            return None
        q = min(having, key=lambda candidate: self.table.sizes[candidate])
        crossed, (low, high) = self.table.crossings[q], self.table.offsets[q : q + 2]
        others = tuple(i for i, k in enumerate(crossed.places) if k not in wanted)
        counts = self.counts[low:high].astype(np.float64).reshape(crossed.sizes).sum(axis=others)
        return counts, float(self.deviations[q]) ** 2 * (high - low) / counts.size

    def deviation_of(self, place: int) -> float:
        """The standard deviation of the noise of a column's counts, by all sets that have it.

        In records; 0 where no set has the column by its own codes.
        """
        of_sets = [
            float(self.deviations[q]) ** 2 * crossed.size / self.table.columns[place].size
            for q, crossed in enumerate(self.table.crossings)
            if place in crossed.places and place not in crossed.groups
        ]
        return math.sqrt(1.0 / sum(1.0 / variance for variance in of_sets)) if of_sets else 0.0

    @property
    def largest(self) -> Counts:
        """The cell (Q,) of each set that has most records by its noisy count."""
        parts = np.split(self.counts, self.table.offsets[1:-1])
        return np.array([int(part.argmax()) for part in parts]) + self.table.offsets[:-1]


def count_noise(
    budget: Budget,
    shares: Floats,
    *,
    hidden: bool,
    numbers: int = 0,
    rounded: int = 0,
    share: float = 0.0,
) -> Noise:
    """The noise of all counts of a release, which costs the budget: fixed before the first count.

    Scales are those of the Q sets with `shares` (Q,), of the fine cells of each of the `numbers`,
    of the classes of those that are counted by how round they are (`rounded`), and of the number of
    records where it is `hidden`. The numbers together have the `share` of the budget that they and
    the sets have, classes about a tenth of that of fine cells. The number of records has the share
    of an average set.
    """
    tables = np.append(np.ones(numbers), np.full(rounded, _OF_ROUNDNESS))
    tables *= shares.sum() * share / (1.0 - share) / max(tables.sum(), 1.0)
    last = [shares.mean()] * hidden
    return noise_of(budget, np.concatenate([shares, tables, last]))


def noisy_number(noise: Noise, records: int) -> int:
    """The number of records under the last scale of the noise; at least 1."""
    counted = np.array([records], dtype=np.int64)
    return max(1, int(noise.add(counted, scale=float(noise.scales[-1]))[0]))


def fine_counts(
    cells: FineCells,
    codes: Mapping[str, Codes],
    classes: Mapping[str, Codes],
    noise: Noise,
    *,
    first: int,
) -> dict[str, FineCounts]:
    """The noisy counts of records (N,) in fine cells, and in the classes of how round they are.

    They have the noise from place `first` on.
    """
    own = iter(range(first, len(noise.scales)))
    by_name = {
        name: _noisy_counts(codes[name], column.size, noise, next(own))
        for name, column in cells.columns.items()
    }
    for name, roundness in cells.roundness.items():
        rounded = _noisy_counts(classes[name], len(roundness.units), noise, next(own))
        by_name[name] = replace(by_name[name], rounded=rounded)
    return by_name


def _noisy_counts(codes: Codes, size: int, noise: Noise, q: int) -> FineCounts:
    counts = np.bincount(codes[codes >= 0], minlength=size).astype(np.int64)
    scale, deviation = float(noise.scales[q]), float(noise.deviations[q])
    return FineCounts(noise.add(counts, scale=scale), scale, deviation)


def measured(
    table: CountedTable, codes: Codes, noise: Noise, *, records: int, records_scale: float = 0.0
) -> NoisyTables:
    """Count records (N, K) in all sets, once, under the first Q scales of the noise.

    `records` is the number of records to impute, under noise of `records_scale`.
    """
    counts = table.counts(codes)
    noisy = np.zeros_like(counts)
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        at = low + np.flatnonzero(table.possible[low:high])
        noisy[at] = noise.add(counts[at], scale=float(noise.scales[q]))
    return NoisyTables(
        table=table,
        counts=noisy,
        scales=noise.scales[: len(table.sets)],
        laplace=noise.kind == "laplace",
        records=records,
        records_scale=records_scale,
    )
