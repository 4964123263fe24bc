"""Intervals of the cells that noisy counts measured, from the counts and their noise alone.

A release from noisy counts holds S = M + Z for each cell. M is the confidential count, and Z is
discrete noise of a public scale [canonne2020]. So S is an unbiased estimate of M, and no model
enters. With q the smallest whole number that |Z| exceeds with a chance of at most 1 - level, S - q
to S + q holds M. A share divides S by the noisy number of records n. Its variance for the
confidential table is (var Z + p^2 var Z_n) / n^2. For the population it is p (1 - p) / n more.
Where counts are sums of survey weights, sums of their squares take the place of p (1 - p) / n.

Sets share margins: with the schema, least squares over all of them (`whole_tables`) take the place
of S. Published totals are sets without noise, and figures of the population that they give have no
width.

Where records came in public clusters, figures have the variance between these. A share in a cell
would need counts of cluster by cell by column, which few releases have. So what clusters add to the
variance of the share of all records follows to the cell, as in Kish's design effect: in proportion
to p (1 - p), and to sum_c (W_c / W)^2 less the part of single records. W_c is the sum of weights of
a cluster's records in the cell.

Means, totals and quantiles are those of synthetic rows, whose clusters and datasets both differ by
noise. So they have the variance of rows drawn one by one, and what counts of cluster by column have
more: a code stands for the mean of its rows. Of a quantile it is that of the share up to it.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, NamedTuple, Self

import numpy as np
from narwhals.typing import IntoDataFrame, IntoFrame
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri, stdtrit

from pyvws._base.checks import Floats, choice, open_unit_interval
from pyvws.evaluation.combining_rules import OF, NoisyCells
from pyvws.evaluation.public_cells import CellRecords, CellStatistic
from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.evaluation.whole_tables import SquaredWeights, WholeTables
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.tables.files.frame import open_frame
from pyvws.tables.schema.schema import Schema

_SURE: Final = 4.0  # Deviations of a sum of noisy counts that shares are taken of.
_LEAST: Final = 1e-12  # Of what is divided by.


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
    >>> counts = pd.DataFrame(rows, columns=["set", "cell", "label", "count", "scale"])
    >>> found = counted_cells(counts, noise="gaussian", of="table")
    >>> found["lower"], found["upper"], [round(x, 3) for x in found["share"]]
    ([144, 245], [156, 257], [0.375, 0.627])
    """
    choice(of, "of", OF)
    z = float(ndtri(0.5 + 0.5 * open_unit_interval(level, "level")))
    own = totals if of == OF[0] or squares is None else ()
    tables = WholeTables.read(counts, noise, schema, level=level, totals=own)
    stands_for: float = 1 if squares is None else squares.stands_for
    columns: dict[str, list[Any]] = {name: [] for name in _PARTS}
    noisy = tables.joined
    of_squares = {k: tables.squares(k, squares) for k in noisy} if squares else {}
    total, of_total = float(noisy[OF_ALL].counts), noisy[OF_ALL].variance
    places = dict.fromkeys(noisy, 0)
    found: float
    half: float
    for name, _, label, count, scale in tables.rows:
        if name == OF_ALL:
            continue
        half, variance = tables.widths[scale]
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
        for column, value in zip(_PARTS, row, strict=True):
            columns[column].append(value)
    return columns


def _of_share(share: float, total: float, squares: tuple[float, float] | None) -> float:
    """The sampling variance of a share of `total`; `squares` are of its records and of all."""
    if squares is None:
        return share * (1.0 - share) / total
    of_cell, of_all = squares
    return max(0.0, (1.0 - 2.0 * share) * of_cell + share**2 * of_all) / total**2


_PARTS: Final = ("set", "label", "count", "lower", "upper", "share", "share_lower", "share_upper")


class Sampling(NamedTuple):
    """The variance of a figure by the sample, and its degrees of freedom."""

    variance: float
    df: float = math.inf


class AloneMean(NamedTuple):
    """A mean over records drawn one by one, so many in rows; `apart` is the variance of a record.

    `variance` is its own, and `single` sum w^2 / (sum w)^2 of the records.
    """

    mean: float
    variance: float
    single: float
    number: float
    apart: float


class _Summed(NamedTuple):
    """A set, and the `numbers` (L,) of records by levels, with the covariance of their noise.

    `squares` (L,) are sums of squared weights, where counts are sums of weights.
    """

    name: str
    numbers: Floats
    covariance: Floats
    squares: Floats | None

    @property
    def total(self) -> float:
        return float(self.numbers.sum())

    def share(self, place: int) -> AloneMean:
        """That of a level, of records drawn one by one."""
        total, squares, single = self.total, None, 1.0 / self.total
        share = min(max(float(self.numbers[place]) / total, 0.0), 1.0)
        if self.squares is not None:
            squares = float(self.squares[place]), float(self.squares.sum())
            single = squares[1] / total**2
        variance = _of_share(share, total, squares)
        return AloneMean(share, variance, single, total, share * (1.0 - share))


@dataclass(frozen=True, slots=True, eq=False)
class CountedFigures:
    """Counts and shares of cells, with intervals, from noisy counts alone.

    - `tables`: Those of the release.
    - `tails`: How many standard errors of its noise a count's interval goes to each side, by set.
    - `normal`: How many a share's interval goes.
    - `population`: Whether figures are of the population, and not of the table.
    - `squared`: The sums of squared weights, where counts are sums of weights.
    - `clusters`, `strata`: The columns of public clusters that records came in, and of their
      strata, or of the strata of records. Figures of the population that were not counted by
      cluster are none.
    """

    tables: WholeTables
    tails: Mapping[str, float]
    normal: float
    population: bool
    squared: SquaredWeights | None = None
    clusters: str | None = None
    strata: str | None = None

    @classmethod
    def read(
        cls,
        cells: NoisyCells,
        schema: Schema | None,
        *,
        of: str,
        level: float,
        clusters: str | None = None,
        strata: str | None = None,
    ) -> CountedFigures:
        """The figures of a release; InputError for a table that is no counts.parquet."""
        normal = float(ndtri(0.5 + 0.5 * level))
        # Of a table itself totals say nothing, but for those of its own records.
        totals = cells.totals if of == OF[0] or not cells.weights else ()
        tables = WholeTables.read(cells.frame, cells.noise, schema, level=level, totals=totals)
        tails = {
            row.set: max(normal, half / math.sqrt(variance)) if variance else normal
            for row in tables.rows
            for half, variance in [tables.widths[row.scale]]
        }
        known = clusters if of == OF[0] else None  # A table itself is no sample of clusters.
        return cls(tables, tails, normal, of == OF[0], SquaredWeights.of(cells), known, strata)

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
        [number], [[variance]], squares = summed.numbers, summed.covariance, summed.squares
        total = float(self.tables.joined[OF_ALL].counts)
        share = min(max(number / total, 0.0), 1.0)
        alone = total * share * (1.0 - share)
        if squares is not None:
            alone = max(0.0, float(squares[0]) - total * share**2)
        if (sampling := self.sampling(self.tables.of_labels(cell) or {}, alone)) is None:
            return None
        tail = self.tails.get(summed.name, self.normal)
        own = self._figure(cell, number, variance, tail, sampling)
        times = 1.0 if self.squared is None else self.squared.stands_for
        return [{part: x if part == "df" else times * x for part, x in own.items()}]

    def _shares(
        self, cell: Mapping[str, str], column: str, levels: Sequence[str]
    ) -> list[dict[str, float]] | None:
        """The shares of levels of a column among a cell's records with one of the levels.

        None where they were not counted, and of fewer records than noise leaves sure.
        """
        summed = self._summed(cell, column, levels)
        every = summed if self.clusters is None else self._summed({}, column, levels)
        if summed is None or every is None or every.total <= 0.0:
            return None
        total, covariance = summed.total, summed.covariance
        if total <= _SURE * math.sqrt(of_total := float(covariance.sum())):
            return None
        known = filter(None, (self.tables.of_labels({column: level}) for level in levels))
        coded, found = np.array([own[column] for own in known]), []
        for place in range(len(levels)):
            own = summed.share(place)
            values = np.where(coded.any(axis=0), coded[place], np.nan)
            sampling = self.of_mean(column, values, cell, own, every.share(place))
            if sampling is None:
                return None
            # The slope of a ratio [lumley2004].
            noise = covariance[place, place] - 2.0 * own.mean * covariance[place].sum()
            noise = (noise + own.mean**2 * of_total) / total**2
            share = float(summed.numbers[place]) / total
            found.append(self._figure([*cell, column], share, noise, self.normal, sampling))
        return found

    def of_mean(
        self,
        column: str,
        values: Floats,
        cell: Mapping[str, str],
        own: AloneMean,
        every: AloneMean,
        within: float = 0.0,
    ) -> Sampling | None:
        """The sampling variance of a cell's mean of `values` (L,) of a column's codes, or NaN.

        `own` is that of the cell and `every` of all records. `within` is the part of its variance
        that values within codes have. None where clusters were not counted.
        """
        about = own if self.clusters is None else every
        known = {column: np.nan_to_num(values - about.mean) / about.number}
        if self.clusters is None:
            return self.sampling((self.tables.of_labels(cell) or {}) | known, own.variance)
        found = self.sampling(known, every.variance, within)
        return self._in_cell(found, cell, own, every) if cell and found else found

    def sampling(
        self, by_column: Mapping[str, Floats], alone: float, within: float = 0.0
    ) -> Sampling | None:
        """The variance of a sum of counts times factors of codes, and of what is `within` codes.

        Between clusters it is at least that of records drawn one by one. Strata without clusters
        take no part where they were not counted by these columns.
        """
        if self.clusters is not None:
            found = self.tables.by_cluster(self.clusters, by_column, self.strata)
            return found and Sampling(max(alone, found.variance + within), found.df)
        strata = self.strata and self.tables.by_stratum(self.strata, by_column, self.squared)
        return Sampling(strata if isinstance(strata, float) else alone)

    def _in_cell(
        self, found: Sampling, cell: Mapping[str, str], own: AloneMean, every: AloneMean
    ) -> Sampling | None:
        """The variance of a mean in a cell, by what was found of the mean of every record.

        A cell is as concentrated in clusters as that of its columns that is so the most.
        """
        each = [self.tables.of_labels({name: label}) or {} for name, label in cell.items()]
        sums = [self.tables.by_cluster(str(self.clusters), x) for x in (*each, {})]
        known = [one.concentration for one in sums if one is not None and one.total > 0.0]
        if len(known) < len(sums):
            return None
        times = max(0.0, max(known[:-1]) - own.single) / max(known[-1] - every.single, _LEAST)
        times *= own.apart / max(every.apart, _LEAST)
        return Sampling(own.variance + times * (found.variance - every.variance), found.df)

    def _figure(
        self,
        names: Collection[str],
        estimate: float,
        noise: float,
        tail: float,
        of_sample: Sampling,
    ) -> dict[str, float]:
        """The parts of a figure by columns, of variances of noise and sample; no end is below 0."""
        if self.tables.are_published(names):
            noise, of_sample = 0.0, Sampling(0.0)
        noise, sampling = max(float(noise), 0.0), self.population * float(of_sample.variance)
        half = math.sqrt(tail**2 * noise + self.normal**2 * sampling)
        if of_sample.df < math.inf:
            half *= float(stdtrit(of_sample.df, ndtr(self.normal))) / self.normal
        return {
            "estimate": float(estimate),
            "standard_error": math.sqrt(noise + sampling),
            "df": of_sample.df,
            "lower": max(0.0, float(estimate) - half),
            "upper": max(0.0, float(estimate) + half),
        }

    def _summed(
        self, cell: Mapping[str, str], column: str, levels: Sequence[str]
    ) -> _Summed | None:
        """The numbers of a cell's records by levels of a column.

        Whole tables agree on their margins, so the smallest that has the columns gives them. One
        with barred cells gives its own cells alone.
        """
        asked = {*cell, *filter(None, [column])}
        if column in cell or (name := self.tables.smallest(asked)) is None:
            return None
        table = self.tables.joined.get(name) or self.tables.barred[name]
        labels = [{**cell, **({column: level} if column else {})} for level in levels]
        chosen = [own for own in map(self.tables.of_labels, labels) if own is not None]
        if len(chosen) < len(levels):
            return None
        sums = np.array([self.tables.factors(table, own) for own in chosen])
        numbers = (sums * table.counts).reshape(len(levels), -1).sum(axis=1)
        squares = None
        if self.squared is not None:
            of_cells = self.tables.squares(name, self.squared)
            squares = (sums * of_cells).reshape(len(levels), -1).sum(axis=1)
        return _Summed(name, numbers, self.tables.covariance(name, sums), squares)


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredRows:
    """The rows of a dataset as if drawn one by one, and what was counted of their clusters.

    `codes` (N,) are those of numbers as they were counted, -1 for none, by column.
    """

    counted: CountedFigures
    rows: CellRecords
    codes: Mapping[str, NDArray[Any]]
    design: SurveyDesign

    @classmethod
    def read(cls, counted: CountedFigures, rows: CellRecords, table: IntoFrame) -> Self:
        """Those of a dataset; each row stands for the same number of records."""
        known = [own for name, own in counted.tables.columns.items() if name in rows.numbers]
        codes = {own.name: own.read(open_frame(table))[0] for own in known}
        design = replace(survey_design(np.ones(len(rows.cell))), squares=rows.squares)
        return cls(counted, rows, codes, design)

    def estimate(
        self, asked: CellStatistic, point: Any, place: int, cell: Mapping[str, str]
    ) -> SurveyEstimate | None:
        """That of a number in a cell, which has a `place`; None where clusters were not counted."""
        of_cell = self.counted.tables.of_labels(cell)
        if of_cell is None or self.counted.clusters is None or asked.column not in self.codes:
            return None
        numbers, codes = self.rows.numbers[asked.column], self.codes[asked.column]
        values, L = numbers, self.counted.tables.columns[asked.column].size
        used = np.flatnonzero(np.isfinite(values) & (codes >= 0))
        rows = used[self.rows.cell[used] == place]
        if not len(rows):
            return None
        found = survey_total(values[rows], self.design, rows)
        if asked.kind == "quantile":
            found = survey_quantile(values[rows], point, self.design, rows)
            values = np.where(values <= found.estimate, 1.0, 0.0)
        number, sums = (np.bincount(codes[used], x, L) for x in (None, values[used]))
        of_code = sums / np.where(number > 0, number, np.nan)
        near, every, own = of_code[codes], self._alone(values, used), self._alone(values, rows)
        within = every.variance - self._alone(near, used).variance
        mean = self.counted.of_mean(asked.column, of_code, cell, own, every, within)
        if mean is None or asked.kind == "mean":
            return mean and SurveyEstimate(own.mean, mean.variance, mean.df)
        if asked.kind == "quantile":
            times = mean.variance / own.variance if own.variance else 1.0
            squares = np.ones(len(values)) if self.rows.squares is None else self.rows.squares
            design = replace(self.design, squares=times * squares)
            return replace(survey_quantile(numbers[rows], point, design, rows), df=mean.df)
        alone, of_near = (survey_total(x[used], self.design, used) for x in (values, near))
        known = {asked.column: np.nan_to_num(of_code)}
        total = self.counted.sampling(known, alone.variance, alone.variance - of_near.variance)
        if cell and total:  # Means of clusters follow their numbers as in all records.
            whole = self.counted.of_mean(asked.column, of_code, {}, every, every, within)
            parts = self._of_product(of_cell, own, mean), self._of_product({}, every, whole)
            if not all(parts):
                return None
            total = total._replace(variance=total.variance * parts[0] / parts[1])
        w = float(self.rows.weights[0])
        return total and SurveyEstimate(w * found.estimate, w**2 * total.variance, total.df)

    def _of_product(
        self, by_column: Mapping[str, Floats], own: AloneMean, mean: Sampling | None
    ) -> float:
        """The variance of a number of records times their mean, as if apart; 0 if not counted."""
        alone = own.single * own.number**2 * (1.0 - own.number / len(self.rows.cell))
        count = self.counted.sampling(by_column, alone)
        if count is None or mean is None:
            return 0.0
        return own.mean**2 * count.variance + own.number**2 * mean.variance

    def _alone(self, values: Floats, rows: NDArray[np.intp]) -> AloneMean:
        """The mean of the values (N,) in some rows, as if these were drawn one by one."""
        found, number = survey_mean(values[rows], self.design, rows), float(len(rows))
        squares = number if self.design.squares is None else float(self.design.squares[rows].sum())
        apart = float(np.var(values[rows]))
        return AloneMean(found.estimate, found.variance, squares / number**2, number, apart)


def are_measured(columns: Sequence[str], sets: Iterable[str]) -> bool:
    """Whether one of the `sets`, named as in counts.parquet, has all `columns` in their own cells.

    A set with coarser cuts, such as "sex:age/30/60", has groups of cells.
    """
    whole = (name for name in sets if "/" not in name and name != OF_ALL)
    return any({*columns} <= {*name.split(":")} for name in whole)
