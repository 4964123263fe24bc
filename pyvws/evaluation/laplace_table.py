"""The same table of estimates by the Laplace mechanism, from the confidential records.

Neighbours are two tables of which one lacks a unit of the other: one record, or all records of a
unit of the schema. A unit of at most M records, M public, costs at most M times what one record
costs, so the noise is that of one record at epsilon / M. Epsilon is split equally over the
statistics. The cells of a statistic share its part, because a record lies in one cell at most.

- count: the sum of w, each at most the upper end W of the weights' public range.
- total: the sum of w y, with y in its public range [L, U].
- mean: half of the part for the sum of w (y - c) with c = (L + U) / 2, half for the sum of w; the
  mean is c plus their quotient, brought into [L, U].
- share: the sum of w in each level, which is a cell of its own; negative sums count as 0.
- quantile: the sum of w in each of 64 equal bins of [L, U]; the noisy shares are followed linearly
  inside a bin. All quantiles of one column come from one histogram.

Where weights were exponents of the fit, the datasets follow the population, in the sample's number
of records. Then w is the weight over its public mean.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, positive
from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import described
from pyvws.evaluation.public_cells import CellRecords, CellStatistic, TablePlan
from pyvws.mechanisms.histogram.bins import bin_probabilities, equal_edges
from pyvws.mechanisms.histogram.laplace_sums import NoisySums, noisy_sums, seller_of_sums
from pyvws.privacy.budget import Budget
from pyvws.privacy.seller import Seller
from pyvws.tables.schema.schema import Schema

_BINS: Final = 64
_PARTS: Final = {"mean": ("sums", "weights")}  # Of statistics that take two tables of sums.


@dataclass(frozen=True, slots=True)
class Weighing:
    """What a record counts: its number in `column`, 1 without one, over the public `mean`.

    `remark` is a sentence for a reader on weights that were exponents of the datasets' fit.
    """

    column: str | None
    mean: float = 1.0
    label: str = "1"
    remark: str = ""


def weighing(schema: Schema | None, weights: str | None) -> Weighing:
    """The weights of the Laplace figures beside estimates with `weights`.

    Where every column is synthesized and the survey weights were exponents, each synthetic record
    stands for the population, so a confidential record counts as its weight over the mean weight.
    InputError where the mean is not public.
    """
    if weights is not None:
        return Weighing(weights, label=weights)
    if schema is None or schema.exponents is None:
        return Weighing(None)
    name, mean = schema.exponents, schema.mean_survey_weight
    if any(column.role == "public" for column in schema.columns.values()):
        return Weighing(
            None,
            remark=f"Weights {name!r} were exponents of the fit of the datasets, but each record "
            "counts once in the Laplace figures, so the two need not be alike.",
        )
    if mean is None:
        raise InputError.by("laplace-weights-as-exponents", name=name)
    return Weighing(
        name,
        mean,
        f"{name} / {mean:g}",
        f"The datasets follow the population, since the weights {name!r} were exponents of their "
        f"fit. So each record counts as {name} / {mean:g} in the Laplace figures.",
    )


def public_ranges(
    plan: TablePlan, schema: Schema | None, given: Mapping[str, tuple[float, float]]
) -> dict[str, tuple[float, float]]:
    """The public ranges of columns: those of the schema, and before them those given.

    Raises InputError where the schema is an unsigned proposal, or an entry that the table takes
    from it is still under review, since the noise covers nothing that the records themselves
    settle, and where a column that is summed has no range.
    """
    if schema is not None and schema.reviewed is False:
        raise InputError.by("laplace-schema-proposed")
    for name, entry in plan.to_review:
        if entry != "range" or name not in given:
            raise InputError.by("laplace-entry-under-review", entry=entry, name=name)
    ranges = {name: column.range for name, column in described(schema).items() if column.range}
    ranges |= dict(given)
    of_numbers = [asked for asked in plan.statistics if asked.kind in ("total", "mean", "quantile")]
    summed = [asked.column for asked in of_numbers]
    for name in (*summed, *([plan.weights] if plan.weights else [])):
        low, high = ranges.get(name, (np.nan, np.nan))
        if not (np.isfinite(high - low) and low < high):
            raise InputError.by("laplace-without-range", name=name)
    if plan.weights and ranges[plan.weights][0] < 0:
        raise InputError.by("weight-range-negative", weights=plan.weights)
    return ranges


def most_records(schema: Schema | None) -> int:
    """The public number M of records that a unit has at most; InputError where none is public."""
    if schema is None or schema.unit is None:
        return 1
    if schema.members is None:
        raise InputError.by("laplace-records-of-unit", unit=schema.unit)
    return schema.members.sizes[1]


def laplace_figures(
    records: CellRecords,
    plan: TablePlan,
    ranges: Mapping[str, tuple[float, float]],
    *,
    epsilon: float,
    most: int = 1,
    mean_weight: float = 1.0,
) -> list[tuple[Floats, Floats]]:
    """Figures and standard errors of their noise, (C, P) of each statistic with P points.

    The clusters of the records are units of at most `most` records each; InputError for a larger
    one. A record counts as its weight over `mean_weight`. The standard error is NaN for quantiles,
    and where a noisy count is not above 0.
    """
    budget = Budget(epsilon=float(positive(epsilon, "epsilon")), cap=most)
    if records.clusters is not None and np.bincount(records.clusters).max() > most:
        raise InputError.by("original-unit-too-large", clusters=plan.clusters, most=most)
    weights = ranges[plan.weights] if plan.weights else (0.0, 1.0)
    names = [
        [f"{place} {own}" for own in _PARTS.get(asked.kind, (asked.kind,))]
        for place, asked in enumerate(plan.statistics)
    ]
    shares = {name: Fraction(1, len(names) * len(own)) for own in names for name in own}
    seller = seller_of_sums(budget, shares)
    sums = _Sums(seller, records, len(plan.cells), weights, mean_weight)
    asked = [(x, ranges.get(x.column, (0.0, 1.0))) for x in plan.statistics]
    return [
        sums.figures(statistic, range, own)
        for (statistic, range), own in zip(asked, names, strict=True)
    ]


class _Sums:
    """Noisy sums of the weights, and of the weights times a number, in cells."""

    def __init__(
        self,
        seller: Seller[None],
        records: CellRecords,
        cells: int,
        range: tuple[float, float],
        mean: float,
    ) -> None:
        self._seller, self._records, self._cells = seller, records, cells
        self._range = range[0] / mean, range[1] / mean
        self._weights = np.clip(records.weights / mean, *self._range)

    def figures(
        self, statistic: CellStatistic, range: tuple[float, float], names: Sequence[str]
    ) -> tuple[Floats, Floats]:
        """Figures (C, P) of a statistic and standard errors of their noise, from sums by name."""
        low, high = range
        part = names[0]
        heaviest = self._range[1]
        if statistic.kind == "count":
            return _columns(self._sums(self._weights, None, (0.0, heaviest), part))
        if statistic.kind == "share":
            return self._shares(statistic, part)
        y = self._records.numbers[statistic.column]
        there = np.isfinite(y)
        y = np.clip(np.where(there, y, low), low, high)
        if statistic.kind == "quantile":
            return self._quantiles(statistic, y, there, range, part)
        if statistic.kind == "total":
            most = heaviest * max(abs(low), abs(high))
            return _columns(self._sums(self._weights * y, there, (-most, most), part))
        centre, half = (low + high) / 2.0, heaviest * (high - low) / 2.0
        top = self._sums(self._weights * (y - centre), there, (-half, half), part)
        below = self._sums(self._weights, there, (0.0, heaviest), names[1])
        some = below.sums > 0
        count = np.where(some, below.sums, 1.0)
        quotient = np.where(some, top.sums / count, 0.0)
        error = np.sqrt(top.noise**2 + (quotient * below.noise) ** 2) / count
        means = np.clip(centre + quotient, low, high)
        return means[:, None], np.where(some, error, np.nan)[:, None]

    def _sums(
        self, values: Floats, there: NDArray[np.bool_] | None, range: tuple[float, float], name: str
    ) -> NoisySums:
        cells = self._records.cell
        if there is not None:
            cells = np.where(there, cells, -1)
        return noisy_sums(self._seller, name, values, cells, count=self._cells, range=range)

    def _within(self, places: NDArray[np.intp], parts: int, name: str) -> tuple[Floats, float]:
        """Noisy sums of weights (C, parts) of cells cut by `places` (N,), and their noise."""
        cell = self._records.cell
        cells = np.where((cell < 0) | (places < 0), -1, cell * parts + places)
        sums = noisy_sums(
            *(self._seller, name, self._weights, cells),
            count=self._cells * parts,
            range=(0.0, self._range[1]),
        )
        return sums.sums.reshape(self._cells, parts), sums.noise

    def _shares(self, statistic: CellStatistic, name: str) -> tuple[Floats, Floats]:
        places, parts = self._records.levels[statistic.column], len(statistic.points)
        sums, noise = self._within(places, parts, name)
        shares = np.array([bin_probabilities(row) for row in sums])
        whole = np.maximum(sums, 0.0).sum(axis=1, keepdims=True)
        error = noise * np.sqrt((1.0 - shares) ** 2 + (parts - 1) * shares**2)
        return shares, np.where(whole > 0, error / np.where(whole > 0, whole, 1.0), np.nan)

    def _quantiles(
        self,
        asked: CellStatistic,
        y: Floats,
        there: NDArray[np.bool_],
        range: tuple[float, float],
        name: str,
    ) -> tuple[Floats, Floats]:
        edges = equal_edges(*range, bins=_BINS)
        places = np.minimum(np.searchsorted(edges, y, side="right") - 1, _BINS - 1)
        sums, _ = self._within(np.where(there, places, -1), _BINS, name)
        quantiles = np.empty((self._cells, len(asked.points)))
        for row, counts in enumerate(sums):
            reached = np.concatenate([[0.0], np.cumsum(bin_probabilities(counts))])
            quantiles[row] = np.interp(asked.points, reached, edges)
        return quantiles, np.full(quantiles.shape, np.nan)


def _columns(sums: NoisySums) -> tuple[Floats, Floats]:
    return sums.sums[:, None], np.full((len(sums.sums), 1), sums.noise)
