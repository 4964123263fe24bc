"""Intervals of the cells that noisy counts measured, from the counts and their noise alone.

A release from noisy counts holds S = M + Z for each cell. M is the confidential count, and Z is
discrete noise of a public scale [canonne2020]. So S is an unbiased estimate of M, and no model
enters. With q the smallest whole number that |Z| exceeds with a chance of at most 1 - level, S - q
to S + q holds M. A share divides S by the noisy number of records n. Its variance for the
confidential table is (var Z + p^2 var Z_n) / n^2. For the population it is p (1 - p) / n more.
Where counts are sums of survey weights, sums of their squares take the place of p (1 - p) / n.

Sets of all combinations of their columns' codes share margins: with the schema, generalised least
squares over all of them takes the place of S. Noise is alike in the cells of a set, so each part of
a table that some columns alone have (its analysis of variance) is the mean of the sets that have
these columns, by the inverse of their variances. Records that have no cell in some of the sets make
it wrong by as many records at most. A sum over cells of a joined table has the variance of its own
parts, so margins and shares within margins follow with theirs. Published totals enter as sets
without noise, and figures of the population that they give have no width.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any, Final, Literal, NamedTuple

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from scipy.special import ndtri

from pyvws._base.checks import Floats, choice, open_unit_interval
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import OF, NoisyCells
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.evaluation.squared_weights import SquaredWeights
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.measurements import NUMBER, OF_SQUARES
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.tables.schema.schema import Schema

COLUMNS: Final = ("set", "cell", "label", "count", "scale")
"""The columns of counts.parquet of a release."""

_SURE: Final = 4.0  # Deviations of a sum of noisy counts that shares are taken of.
_EXACT: Final = 1e-9  # The variance of published totals in rows, nearly 0.
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
    totals: Sequence[Mapping[str, Any]] = (),
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
    totals : sequence of mappings, optional
        Published totals of the population that the datasets meet, as `NoisyCells` has them.

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
    rows = _read(counts)
    stands_for: float = 1 if squares is None else squares.stands_for
    widths = {row.scale: _width_and_variance(row.scale, noise, level) for row in rows}
    columns: dict[str, list[Any]] = {name: [] for name in _RETURNED}
    variances = {scale: variance for scale, (_, variance) in widths.items()}
    tables = _tables(rows, variances, schema, totals if of == OF[0] or squares is None else ())
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
        fixed = name in noisy and tables.are_published(noisy[name].columns)
        share = found / total
        inside = min(max(share, 0.0), 1.0)
        # A joined table's mean cell is its part of the total, so a share has none of that noise.
        spread = (variance + ((inside - mean) ** 2 - mean**2) * of_total) / total**2
        spread += _of_share(inside, total, square) if of == "population" else 0.0
        half, reach = (0.0, 0.0) if fixed else (half, z * math.sqrt(spread))
        ends = (share - reach, share + reach)
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


def _columns(schema: Schema | None) -> dict[str, CountedColumn]:
    return {k: x for own in filter(None, [schema]) for k, x in counted_columns(own).items()}


class _Row(NamedTuple):
    """A row of counts.parquet."""

    set: str
    cell: int
    label: str
    records: int
    scale: float


def _read(counts: IntoDataFrame) -> list[_Row]:
    frame = nw.from_native(counts, eager_only=True)
    lacking = [name for name in COLUMNS if name not in frame.columns]
    if lacking:
        raise InputError.by("counts-lack-columns", lacking=", ".join(lacking))
    read = map(_Row._make, zip(*(frame[name].to_list() for name in COLUMNS), strict=True))
    rows = [row for row in read if row.set != NUMBER and not row.set.startswith(OF_SQUARES)]
    total = [row.records for row in rows if row.set == OF_ALL]
    if len(total) != 1 or total[0] < 1:
        raise InputError.by("counts-without-total")
    return rows


class _Table(NamedTuple):
    """The counts of all combinations of codes, an axis for each of the `columns`.

    `variance` is that of the noise of each count.
    """

    columns: tuple[str, ...]
    counts: Floats
    variance: float


class _Tables(NamedTuple):
    """Whole tables by least squares, the weights of their parts, and tables with barred cells."""

    joined: dict[str, _Table]
    weights: dict[tuple[str, ...], float]
    barred: dict[str, _Table]
    columns: Mapping[str, CountedColumn]
    published: Sequence[frozenset[str]] = ()

    def are_published(self, names: Collection[str]) -> bool:
        """Whether published totals give the cells of these columns."""
        return any({*names} <= own for own in self.published)

    def squares(self, name: str, squares: SquaredWeights) -> Floats:
        """The sums of squared weights in all cells of a table, by those of its columns."""
        columns, counts, _ = self.joined[name] if name in self.joined else self.barred[name]
        rows = np.maximum(counts, 0.0)
        if not columns:
            return rows * squares.raked(rows.reshape(1), {})[0]
        codes = dict(zip(columns, np.indices(counts.shape).reshape(counts.ndim, -1), strict=True))
        known = {k: own for k, own in codes.items() if k in squares.sums}
        return rows * squares.raked(rows.ravel(), known).reshape(counts.shape)


def _tables(
    rows: Iterable[_Row],
    variances: Mapping[float, float],
    schema: Schema | None,
    totals: Sequence[Mapping[str, Any]],
) -> _Tables:
    """The tables of a release.

    A whole table has a count for all combinations of the codes of the schema's columns. The number
    of records is one. In a table with barred cells these have no record.
    """
    known = _columns(schema)
    by_set: dict[str, list[_Row]] = {}
    for row in rows:
        by_set.setdefault(row.set, []).append(row)
    [of_all] = by_set.pop(OF_ALL)
    total = _Table((), np.array(float(of_all.records)), variances[of_all.scale])
    whole, barred = ({OF_ALL: total} if total.variance else {}), {}
    for name, own in by_set.items():
        columns, variance = tuple(name.split(":")), variances[own[0].scale]
        if not all(column in known for column in columns) or not variance:
            continue
        counts = np.zeros([known[column].size for column in columns])
        if counts.size == len(own):
            counts.flat[:] = [row.records for row in own]
            whole[name] = _Table(columns, counts, variance)
        elif counts.size > max(row.cell for row in own):
            counts.flat[[row.cell for row in own]] = [row.records for row in own]
            barred[name] = _Table(columns, counts, variance)
    sets = [tuple(said["columns"]) for said in totals if known]
    for columns, said in zip(sets, totals, strict=False):
        counts = np.array(said["totals"]).reshape([known[name].size for name in columns])
        rows_of = float(total.counts) / counts.sum()
        whole[f"totals by {':'.join(columns)}"] = _Table(columns, rows_of * counts, _EXACT)
    joined, weights = _least_squares(whole)
    total = joined.get(OF_ALL, total)
    total = total._replace(counts=np.maximum(total.counts, 1.0))
    return _Tables(joined | {OF_ALL: total}, weights, barred, known, [*map(frozenset, sets)])


def _least_squares(
    tables: Mapping[str, _Table],
) -> tuple[dict[str, _Table], dict[tuple[str, ...], float]]:
    """Tables that agree on the margins that they share, by generalised least squares.

    Beside them are the weights of their parts, by the parts' columns.
    """
    sums: dict[tuple[str, ...], tuple[Floats, float]] = {}
    for columns, counts, variance in tables.values():
        for own in _subsets(columns):
            others = tuple(k for k, name in enumerate(columns) if name not in own)
            part = counts.sum(axis=others)
            for axis in range(part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            weight = part.size / (counts.size * variance)
            known, before = sums.get(own, (0.0, 0.0))
            sums[own] = known + weight * part, before + weight
    found = {}
    for name, (columns, counts, _) in tables.items():
        joined, variance = np.zeros(counts.shape), 0.0
        for own in _subsets(columns):
            part, weight = sums[own]
            shape = tuple(
                size if column in own else 1
                for column, size in zip(columns, counts.shape, strict=True)
            )
            repeated = counts.size // math.prod(shape)
            joined += (part / weight).reshape(shape) / repeated
            kept = math.prod(1.0 - 1.0 / size for size in part.shape)
            variance += kept / (weight * repeated**2)
        found[name] = _Table(columns, joined, variance)
    return found, {own: weight for own, (_, weight) in sums.items()}


def _subsets(columns: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1))


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

    tables: _Tables
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
        rows, normal = _read(cells.frame), float(ndtri(0.5 + 0.5 * level))
        widths = {
            scale: _width_and_variance(scale, cells.noise, level)
            for scale in {row.scale for row in rows}
        }
        codes = {
            name: {part: code for code, part in enumerate(column.parts) if part is not None}
            for name, column in _columns(schema).items()
        }
        tails = {
            row.set: max(normal, half / math.sqrt(variance)) if variance else normal
            for row in rows
            for half, variance in [widths[row.scale]]
        }
        variances = {scale: variance for scale, (_, variance) in widths.items()}
        # Of a table itself totals say nothing, but for those of its own records.
        totals = cells.totals if of == OF[0] or not cells.weights else ()
        tables = _tables(rows, variances, schema, totals)
        squared = SquaredWeights.of(cells)
        return cls(tables, codes, tails, normal, of == "population", squared)

    def of_cell(
        self, cell: Mapping[str, str], asked: CellStatistic
    ) -> list[dict[str, float]] | None:
        """A statistic's figures (of its points) in a cell; None where no set has them."""
        if asked.kind == "count":
            return self._count(cell)
        if asked.kind == "share":
            return self._shares(cell, asked.column, asked.points)
        return None

    def _count(self, cell: Mapping[str, str]) -> list[dict[str, float]] | None:
        """The number of records of a cell, by the labels of its columns; None if not counted."""
        summed = self._summed(cell, "", ("",))
        if summed is None:
            return None
        name, [number], [[variance]], squares = summed
        total = float(self.tables.joined[OF_ALL].counts)
        share = min(max(number / total, 0.0), 1.0)
        sampling = total * share * (1.0 - share)
        if squares is not None:
            sampling = max(0.0, float(squares[0]) - total * share**2)
        own = self._figure(cell, number, variance, self.tails.get(name, self.normal), sampling)
        times = 1.0 if self.squared is None else self.squared.stands_for
        return [{part: times * value for part, value in own.items()}]

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
            own_columns = [*cell, column]
            found.append(self._figure(own_columns, share, variance, self.normal, sampling))
        return found

    def _figure(
        self, names: Collection[str], estimate: float, noise: float, tail: float, sampling: float
    ) -> dict[str, float]:
        """The parts of a figure by columns, of variances of noise and sample; no end is below 0."""
        noise, sampling = max(float(noise), 0.0), self.population * float(sampling)
        if self.tables.are_published(names):
            noise = sampling = 0.0
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
        for own in _subsets(table.columns):
            others = tuple(k + 1 for k, name in enumerate(table.columns) if name not in own)
            part = sums.sum(axis=others)
            for axis in range(1, part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            repeated = table.counts.size * len(levels) / part.size
            part = part.reshape(len(levels), -1)
            covariance += part @ part.T / (self.tables.weights[own] * repeated**2)
        return name, numbers, covariance, squares


def are_measured(columns: Sequence[str], sets: Iterable[str]) -> bool:
    """Whether one of the `sets`, named as in counts.parquet, has all `columns` in their own cells.

    A set with coarser cuts, such as "sex:age/30/60", has groups of cells.
    """
    whole = (name for name in sets if "/" not in name and name != OF_ALL)
    return any({*columns} <= {*name.split(":")} for name in whole)
