"""Intervals of the cells that noisy counts measured, from the counts and their noise alone.

A release from noisy counts holds S = M + Z for each cell. M is the confidential count, and Z is
discrete noise of a public scale [canonne2020]. So S is an unbiased estimate of M, and no model
enters. With q the smallest whole number that |Z| exceeds with a chance of at most 1 - level, S - q
to S + q holds M. A share divides S by the noisy number of records n. Its variance for the
confidential table is (var Z + p^2 var Z_n) / n^2. For the population it is p (1 - p) / n more.
Where counts are sums of survey weights, sums of their squares take the place of p (1 - p) / n.

With the schema, `joined_tables.py` joins the sets, and a joined count takes the place of S.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from narwhals.typing import IntoDataFrame
from scipy.special import ndtri

from pyvws._base.checks import Floats, choice, open_unit_interval
from pyvws.evaluation.combining_rules import OF, NoisyCells
from pyvws.evaluation.joined_tables import (
    JoinedTables,
    Totals,
    columns_of,
    joined_tables,
    read_rows,
    subsets,
)
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.evaluation.squared_weights import SquaredWeights
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.tables.schema.schema import Schema

_SURE: Final = 4.0  # Deviations of a sum of noisy counts that shares are taken of.
_FAR: Final = 40.0  # Scales: what lies beyond has a chance below 1e-17.


def noise_probabilities(
    scale: float, noise: Literal["laplace", "gaussian"]
) -> tuple[Floats, Floats]:
    """Whole numbers z (K,) and their probabilities under discrete noise of a scale in records.

    The probabilities add up to 1, and are proportional to exp(-|z| / scale) for "laplace" and to
    exp(-z^2 / (2 scale^2)) for "gaussian". At scale 0 the noise is 0.
    """
    if scale == 0.0:
        return np.zeros(1), np.ones(1)
    reach = math.ceil(_FAR * scale) + 1
    z = np.arange(-reach, reach + 1, dtype=np.float64)
    apart = np.abs(z) / scale
    mass = np.exp(
        -apart if choice(noise, "noise", ("laplace", "gaussian")) == "laplace" else -0.5 * apart**2
    )
    return z, mass / mass.sum()


def counted_cells(
    counts: IntoDataFrame,
    *,
    noise: Literal["laplace", "gaussian"],
    of: Literal["population", "table"] = "population",
    level: float = 0.95,
    schema: Schema | None = None,
    squares: SquaredWeights | None = None,
    totals: Totals = (),
) -> dict[str, list[Any]]:
    """Intervals of all measured cells, from noisy counts alone.

    Parameters
    ----------
    counts : pandas, polars or Arrow table
        counts.parquet of a release in its own order, with the columns `set`, `cell`, `label`,
        `count` and `scale`.
    noise : {"laplace", "gaussian"}
        The kind of the discrete noise, as the statement says it.
    of : {"population", "table"}
        Whose shares the intervals of shares are of. Those of the population take the confidential
        records for a simple random sample of it.
    level : float
        Level of the intervals, in (0, 1).
    schema : Schema, optional
        That of the release. Then counts are least-squares estimates over all sets in whole cells,
        which are nearer to the confidential counts; else each cell has its noisy count alone.
    squares : SquaredWeights, optional
        Of a release whose counts are sums of survey weights. Counts are then of the population.
    totals : sequence of mappings
        Published totals that the datasets meet, as `NoisyCells` has them. With a schema and
        `squares` their cells have no width.

    Returns
    -------
    dict of str to list
        A row for each cell, with `set` and `label`. `count`, `lower` and `upper` of the
        confidential table are in records. By itself a noisy count's interval holds the count with a
        chance of at least `level`; with a schema with about `level`. `share`, `share_lower` and
        `share_upper` of `of` follow by the normal distribution. Counts and shares below 0 stay as
        they are, and ends of intervals are at least 0.

    Raises
    ------
    InputError
        For a table without these columns or without the number of records, and for a level or a
        word out of range.

    Examples
    --------
    >>> import pandas as pd
    >>> rows = [("records", 0, "", 400, 0.0), ("sex", 0, "f", 150, 3.0), ("sex", 1, "m", 251, 3.0)]
    >>> found = counted_cells(pd.DataFrame(rows, columns=COLUMNS), noise="gaussian", of="table")
    >>> found["lower"], found["upper"], [round(x, 3) for x in found["share"]]
    ([144, 245], [156, 257], [0.375, 0.627])
    """
    choice(of, "of", OF)
    z = float(ndtri(0.5 + 0.5 * open_unit_interval(level, "level")))
    rows = read_rows(counts)
    stands_for: float = 1 if squares is None else squares.stands_for
    widths = {row.scale: _width_and_variance(row.scale, noise, level) for row in rows}
    columns: dict[str, list[Any]] = {name: [] for name in _RETURNED}
    tables = joined_tables(
        rows, {x: variance for x, (_, variance) in widths.items()}, schema, totals
    )
    noisy = tables.joined
    of_squares = {k: tables.squares(k, squares) for k in noisy} if squares else {}
    total, of_total = float(noisy[OF_ALL].counts), noisy[OF_ALL].variance
    places = dict.fromkeys(noisy, 0)
    found: float
    half: float
    for name, _, label, count, scale in rows:
        if name == OF_ALL:
            continue
        half, variance = widths[scale]
        found, mean, square = count, 0.0, None
        if (joined := noisy.get(name)) is not None:
            found, mean = float(joined.counts.flat[places[name]]), 1.0 / joined.counts.size
            if name in of_squares:
                square = of_squares[name].flat[places[name]], of_squares[name].sum()
            places[name] += 1
            # Sums of noise are nearer to normal than noise is.
            half = max(z, half / math.sqrt(variance)) * math.sqrt(joined.variance)
            variance = joined.variance
        published = name in noisy and tables.totals_of(noisy[name].columns) is not None
        share = found / total
        inside = min(max(share, 0.0), 1.0)
        # A joined table's mean cell is its part of the total, so a share has none of that noise.
        spread = (variance + ((inside - mean) ** 2 - mean**2) * of_total) / total**2
        spread += _of_share(inside, total, square) if of == "population" else 0.0
        half, spread = (0.0, 0.0) if published else (half, spread)
        ends = (share - z * math.sqrt(spread), share + z * math.sqrt(spread))
        row = (
            *(name, label, stands_for * found),
            *(stands_for * max(0, found - half), stands_for * max(0, found + half)),
            *(share, max(0.0, ends[0]), max(0.0, ends[1])),
        )
        for column, value in zip(_RETURNED, row, strict=True):
            columns[column].append(value)
    return columns


def _of_share(share: float, total: float, squares: tuple[float, float] | None) -> float:
    """The sampling variance of a share of `total`; `squares` are of its records and of all."""
    if squares is None:
        return share * (1.0 - share) / total
    of_cell, of_all = squares
    return max(0.0, (1.0 - 2.0 * share) * of_cell + share**2 * of_all) / total**2


_RETURNED: Final = (
    *("set", "label", "count", "lower", "upper"),
    *("share", "share_lower", "share_upper"),
)


def _width_and_variance(
    scale: float, noise: Literal["laplace", "gaussian"], level: float
) -> tuple[int, float]:
    """The q of an interval S - q to S + q, and the variance of the noise."""
    z, mass = noise_probabilities(scale, noise)
    at_least = np.cumsum(mass[z >= 0] + np.where(z[z >= 0] > 0, mass[z >= 0], 0.0))
    return int(np.searchsorted(at_least, level * (1.0 - 1e-12))), float(mass @ z**2)


@dataclass(frozen=True, slots=True, eq=False)
class CountedFigures:
    """Counts and shares of cells, with intervals, from noisy counts alone.

    - `tables`: Those of the release.
    - `codes`: The codes of levels, points of mass and missing codes, by column.
    - `tails`: How many standard errors of its noise a count's interval goes to each side, by set.
    - `normal`: How many a share's interval goes.
    - `population`: Whether figures are of the population, and not of the table.
    - `squared`: The sums of squared weights, where counts are sums of weights.
    """

    tables: JoinedTables
    codes: Mapping[str, Mapping[str, int]]
    tails: Mapping[str, float]
    normal: float
    population: bool
    squared: SquaredWeights | None = None

    @classmethod
    def read(
        cls, cells: NoisyCells, schema: Schema | None, *, of: str, level: float
    ) -> CountedFigures:
        """The figures of a release; InputError for a table that is no counts.parquet."""
        rows, normal = read_rows(cells.frame), float(ndtri(0.5 + 0.5 * level))
        widths = {
            scale: _width_and_variance(scale, cells.noise, level)
            for scale in {row.scale for row in rows}
        }
        codes = {
            name: {part: code for code, part in enumerate(column.parts) if part is not None}
            for name, column in columns_of(schema).items()
        }
        tails = {
            row.set: max(normal, half / math.sqrt(variance)) if variance else normal
            for row in rows
            for half, variance in [widths[row.scale]]
        }
        variances = {scale: variance for scale, (_, variance) in widths.items()}
        # Of a table itself totals say nothing, but for those of its own records.
        totals = cells.totals if of == "population" or not cells.weights else ()
        tables = joined_tables(rows, variances, schema, totals)
        squared = SquaredWeights.of(cells)
        return cls(tables, codes, tails, normal, of == "population", squared)

    def of_cell(
        self, cell: Mapping[str, str], asked: CellStatistic
    ) -> list[dict[str, float]] | None:
        """A statistic's figures (of its points) in a cell; None where no set has them.

        Those that published totals give have no width.
        """
        published = self._published(cell, asked)
        if published is not None:
            return [self._figure(x, 0.0, self.normal, 0.0) for x in published]
        if asked.kind == "count":
            return self._count(cell)
        if asked.kind == "share":
            return self._shares(cell, asked.column, asked.points)
        return None

    def _published(self, cell: Mapping[str, str], asked: CellStatistic) -> list[float] | None:
        """The figures that published totals give; None of another, and of a cell without any."""
        if asked.kind not in ("count", "share") or asked.column in cell:
            return None
        names = {*cell, *filter(None, [asked.column])}
        table = self.tables.totals_of(names)
        if table is None:
            return None
        others = tuple(k for k, name in enumerate(table.columns) if name not in names)
        counts, kept = table.counts.sum(axis=others), [x for x in table.columns if x in names]
        numbers = []
        for level in asked.points if asked.kind == "share" else ("",):
            labels = {**cell, asked.column: level}
            at = tuple(self.codes[name].get(labels[name], -1) for name in kept)
            if -1 in at:
                return None
            numbers.append(float(counts[at]))
        if asked.kind == "count":
            return [numbers[0] * (1.0 if self.squared is None else self.squared.stands_for)]
        return [x / sum(numbers) for x in numbers] if sum(numbers) else None

    def _count(self, cell: Mapping[str, str]) -> list[dict[str, float]] | None:
        """The number of records of a cell, by the labels of its columns; None if not counted."""
        summed = self._summed(cell, "", ("",))
        if summed is None:
            return None
        name, [number], [[variance]], squares = summed
        total = float(self.tables.joined[OF_ALL].counts)
        share = min(max(number / total, 0.0), 1.0)
        if squares is None or self.squared is None:
            return [self._figure(number, variance, self.tails[name], total * share * (1.0 - share))]
        sampling = max(0.0, float(squares[0]) - total * share**2)
        own = self._figure(number, variance, self.tails[name], sampling)
        times = dict.fromkeys(own, self.squared.stands_for) | {"df": 1.0}
        return [{part: times[part] * value for part, value in own.items()}]

    def _shares(
        self, cell: Mapping[str, str], column: str, levels: Sequence[str]
    ) -> list[dict[str, float]] | None:
        """The shares of levels of a column among a cell's records with one of the levels.

        None where they were not counted, and of fewer records than noise leaves sure.
        """
        summed = self._summed(cell, column, levels)
        if summed is None:
            return None
        _, numbers, covariance, squares = summed
        total, of_total = float(numbers.sum()), float(covariance.sum())
        if total <= _SURE * math.sqrt(of_total):
            return None
        found = []
        for place, (number, own, between) in enumerate(
            zip(numbers, covariance.diagonal(), covariance.sum(axis=1), strict=True)
        ):
            share = float(number) / total
            inside = min(max(share, 0.0), 1.0)
            # The slope of a ratio [lumley2004].
            variance = (own - 2.0 * inside * between + inside**2 * of_total) / total**2
            both = None if squares is None else (float(squares[place]), float(squares.sum()))
            sampling = _of_share(inside, total, both)
            found.append(self._figure(share, variance, self.normal, sampling))
        return found

    def _figure(
        self, estimate: float, noise: float, tail: float, sampling: float
    ) -> dict[str, float]:
        """The parts of a figure, of variances of its noise and of the sample; no end is below 0."""
        noise, sampling = max(float(noise), 0.0), self.population * float(sampling)
        half = math.sqrt(tail**2 * noise + self.normal**2 * sampling)
        return {
            "estimate": float(estimate),
            "standard_error": math.sqrt(noise + sampling),
            "df": math.inf,
            "lower": max(0.0, float(estimate) - half),
            "upper": max(0.0, float(estimate) + half),
        }

    def _summed(
        self, cell: Mapping[str, str], column: str, levels: Sequence[str]
    ) -> tuple[str, Floats, Floats, Floats | None] | None:
        """A set, and the numbers (L,) of a cell's records by levels of a column, with covariance.

        Beside them are sums (L,) of squared weights, where counts are sums of weights.

        Whole tables agree on their margins, so the smallest that has the columns gives them. One
        with barred cells gives its own cells alone.
        """
        asked = {*cell, *filter(None, [column])}
        having = {k: own for k, own in self.tables.joined.items() if asked <= {*own.columns}}
        having |= (
            {} if having else {k: x for k, x in self.tables.barred.items() if asked == {*x.columns}}
        )
        if column in cell or not having:
            return None
        name, table = min(having.items(), key=lambda own: own[1].counts.size)
        sums = np.zeros((len(levels), *table.counts.shape))
        for place, level in enumerate(levels):
            labels = {**cell, column: level}
            at: list[Any] = [
                self.codes[k].get(labels[k], -1) if k in labels else slice(None)
                for k in table.columns
            ]
            if -1 in at:
                return None
            sums[(place, *at)] = 1.0
        numbers = (sums * table.counts).reshape(len(levels), -1).sum(axis=1)
        squares = None
        if self.squared is not None:
            of_cells = self.tables.squares(name, self.squared)
            squares = (sums * of_cells).reshape(len(levels), -1).sum(axis=1)
        if name in self.tables.barred or not table.variance:  # Its own counts, or an exact number.
            return name, numbers, np.eye(len(levels)) * table.variance, squares
        covariance = np.zeros((len(levels), len(levels)))
        for own in subsets(table.columns):
            others = tuple(k + 1 for k, name in enumerate(table.columns) if name not in own)
            part = sums.sum(axis=others)
            for axis in range(1, part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            repeated = table.counts.size * len(levels) / part.size
            part = part.reshape(len(levels), -1)
            covariance += part @ part.T / (self.tables.weights[own] * repeated**2)
        return name, numbers, covariance, squares


def measured_columns(sets: Iterable[str]) -> list[frozenset[str]]:
    """The columns of each set that noisy counts measured in the columns' own cells.

    `sets` are names as in counts.parquet, such as "sex:age". A set with coarser cuts, such as
    "sex:age/30/60", counted groups of cells, and is left out.
    """
    return [
        frozenset(name.split(":"))
        for name in dict.fromkeys(sets)
        if "/" not in name and name != OF_ALL
    ]


def is_measured(columns: Sequence[str], sets: Iterable[frozenset[str]]) -> bool:
    """Whether one of the `sets` of columns has all `columns`, so that their cells were counted."""
    return any({*columns} <= counted for counted in sets)
