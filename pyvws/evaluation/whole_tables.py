"""Tables of noisy counts that agree on their margins, by generalised least squares.

A set of all combinations of its columns' codes is a whole table. Noise is alike in its cells, so
each part of a table that some columns alone have (its analysis of variance) is the mean of the sets
that have these columns, by the inverse of their variances. Records that have no cell in some of the
sets make it wrong by as many records at most. A sum over cells of a joined table has the variance
of its own parts, so margins and shares within margins follow with theirs. Published totals enter as
sets without noise.

Where clusters c = 1 .. C of a column were drawn with replacement, a sum of the z_c over them has
the variance C / (C - 1) sum_c (z_c - mean)^2 [lumley2004], added up over strata. That of noise is
public, and subtracted. A cluster is in the stratum in which it counts the most, and one alone in
its stratum is held against the mean of all.

Rows may stand for survey weights. Then a figure of the population has the sampling variance of sums
of w and of w^2, such as [(1 - 2 p) T_c + p^2 T] / (sum w)^2 of a share p, with T_c the squares of
its cell. Kish's effective number of records takes both sums as one ratio for all cells, so it fails
where weights follow the outcome. A release has noisy sums of squares by the codes of each column.
Here every row gets a square, so that the rows have these sums: by iterative proportional fitting.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, combinations
from typing import Any, Final, Literal, NamedTuple, Self

import narwhals as nw
import numpy as np
from narwhals.typing import IntoDataFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.public_cells import CellRecords
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.coding import CountedColumn
from pyvws.mechanisms.counts.measurements import NUMBER, OF_SQUARES
from pyvws.mechanisms.counts.workload import OF_ALL
from pyvws.privacy.budget import deviation_of
from pyvws.tables.schema.schema import Schema

COLUMNS: Final = ("set", "cell", "label", "count", "scale")
"""The columns of counts.parquet of a release."""

_FAR: Final = 40.0  # Scales: what lies beyond has a chance below 1e-17.
_PASSES: Final = 20
_EXACT: Final = 1e-9  # The variance of published totals in rows, nearly 0, and the least.


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


@dataclass(frozen=True, slots=True, eq=False)
class SquaredWeights:
    """The noisy sums of squared weights of a release, in squared rows.

    - `sums`: By the codes (L,) of each column.
    - `variances`: Of the noise of a sum, by column.
    - `stands_for`: The sum of weights that a row stands for.
    - `low`, `high`: The public range of the weights, in rows.
    """

    sums: Mapping[str, Floats]
    variances: Mapping[str, float]
    stands_for: float
    low: float
    high: float

    @classmethod
    def of(cls, cells: NoisyCells | None) -> SquaredWeights | None:
        """Those of a release; None where counts are no sums of weights."""
        if cells is None or not cells.weights:
            return None
        found: dict[str, list[tuple[int, float]]] = {}
        frame = nw.from_native(cells.frame, eager_only=True)
        for name, count, scale in zip(
            *(frame[x].to_list() for x in ("set", "count", "scale")), strict=True
        ):
            if name.startswith(OF_SQUARES):
                found.setdefault(name.removeprefix(OF_SQUARES), []).append((count, scale))
        of_scale, stands_for = deviation_of(cells.noise == "laplace"), cells.weights["stands_for"]
        low, high = cells.weights["range"]
        return cls(
            {name: np.array([float(x) for x, _ in own]) for name, own in found.items()},
            {name: (own[0][1] * of_scale) ** 2 for name, own in found.items()},
            stands_for,
            low / stands_for,
            high / stands_for,
        )

    def beside(
        self, records: CellRecords, frame: nw.DataFrame[Any], columns: Mapping[str, CountedColumn]
    ) -> CellRecords:
        """The rows of a dataset with the weights that they stand for, and their squares."""
        weights = records.weights * self.stands_for
        known = {n: columns[n] for n in self.sums if n in columns}
        there = {n: x for n, x in known.items() if {y.name for y in x.reads} <= {*frame.columns}}
        codes = {name: column.read(frame)[0] for name, column in there.items()}
        squares = self.raked(np.ones(len(frame)), codes)
        return replace(records, weights=weights, squares=squares)

    def raked(self, rows: Floats, codes: Mapping[str, NDArray[Any]]) -> Floats:
        """The mean square (M,) of each of M cells, which stand for so many `rows`.

        `codes` (M,) are their codes by column, -1 for none. What differs from the mean of all rows
        by no more than noise is left out, and a mean square lies within the range of the weights.
        """
        square = np.full(len(rows), self._overall(rows))
        wanted = {}
        for name, own in codes.items():
            known, L = own >= 0, len(self.sums[name])
            n = np.bincount(own[known], rows[known], minlength=L)
            apart = self.sums[name] - square[0] * n if len(rows) else np.zeros(L)
            noise = L * self.variances[name]
            kept = max(0.0, 1.0 - noise / max(float(apart @ apart), 1e-300))
            wanted[name] = np.clip(square[:1] * n + kept * apart, self.low * n, self.high * n)
        for _ in range(_PASSES):
            for name, sums in wanted.items():
                own = codes[name]
                known = own >= 0
                each = np.bincount(own[known], (rows * square)[known], minlength=len(sums))
                ratio = np.divide(sums, each, out=np.ones_like(sums), where=each > 0.0)
                square[known] *= ratio[own[known]]
        return np.clip(square, max(self.low, 1e-6), self.high)

    def _overall(self, rows: Floats) -> float:
        """The mean square of all rows, of the sums over each column by their noise."""
        precision = np.array([1.0 / (len(x) * self.variances[n]) for n, x in self.sums.items()])
        totals = np.array([own.sum() for own in self.sums.values()])
        mean = float(totals @ precision / precision.sum()) / max(float(rows.sum()), 1.0)
        return float(np.clip(mean, max(1.0, self.low), self.high)) if len(totals) else 1.0


class CountedRow(NamedTuple):
    """A row of counts.parquet."""

    set: str
    cell: int
    label: str
    records: int
    scale: float

    @classmethod
    def read(cls, counts: IntoDataFrame) -> list[Self]:
        """The counts of records of a release; InputError for a table that is no counts.parquet."""
        frame = nw.from_native(counts, eager_only=True)
        lacking = [name for name in COLUMNS if name not in frame.columns]
        if lacking:
            raise InputError.by("counts-lack-columns", lacking=", ".join(lacking))
        read = map(cls._make, zip(*(frame[name].to_list() for name in COLUMNS), strict=True))
        rows = [row for row in read if row.set != NUMBER and not row.set.startswith(OF_SQUARES)]
        total = [row.records for row in rows if row.set == OF_ALL]
        if len(total) != 1 or total[0] < 1:
            raise InputError.by("counts-without-total")
        return rows


class WholeTable(NamedTuple):
    """The counts of all combinations of codes, an axis for each of the `columns`.

    `variance` is that of the noise of each count.
    """

    columns: tuple[str, ...]
    counts: Floats
    variance: float


class ClusterSum(NamedTuple):
    """A sum over cells, and its variance between C `clusters` without that of noise.

    `df` are clusters less strata.
    """

    total: float
    variance: float
    clusters: int
    df: int

    @property
    def concentration(self) -> float:
        """The sum of squares of the clusters' shares of the total."""
        return (1.0 - 1.0 / self.clusters) * self.variance / self.total**2 + 1.0 / self.clusters


class WholeTables(NamedTuple):
    """Whole tables by least squares, the weights of their parts, and tables with barred cells.

    `widths` are the q of an interval S - q to S + q by the scale of noise, and its variance.
    """

    joined: dict[str, WholeTable]
    weights: dict[tuple[str, ...], float]
    barred: dict[str, WholeTable]
    columns: Mapping[str, CountedColumn]
    rows: Sequence[CountedRow]
    widths: Mapping[float, tuple[int, float]]
    published: Sequence[frozenset[str]] = ()

    @classmethod
    def read(
        cls,
        frame: IntoDataFrame,
        noise: Literal["laplace", "gaussian"],
        schema: Schema | None,
        *,
        level: float,
        totals: Sequence[Mapping[str, Any]] = (),
    ) -> Self:
        """The tables of a release; InputError for a table that is no counts.parquet.

        A whole table has a count for all combinations of the codes of the schema's columns. The
        number of records is one. In a table with barred cells these have no record.
        """
        rows = CountedRow.read(frame)
        widths = {x: _width_and_variance(x, noise, level) for x in {row.scale for row in rows}}
        known = {k: x for own in filter(None, [schema]) for k, x in counted_columns(own).items()}
        by_set: dict[str, list[CountedRow]] = {}
        for row in rows:
            by_set.setdefault(row.set, []).append(row)
        [of_all] = by_set.pop(OF_ALL)
        total = WholeTable((), np.array(float(of_all.records)), widths[of_all.scale][1])
        whole, barred = ({OF_ALL: total} if total.variance else {}), {}
        for name, own in by_set.items():
            columns, variance = tuple(name.split(":")), widths[own[0].scale][1]
            if not all(column in known for column in columns) or not variance:
                continue
            counts = np.zeros([known[column].size for column in columns])
            if counts.size == len(own):
                counts.flat[:] = [row.records for row in own]
                whole[name] = WholeTable(columns, counts, variance)
            elif counts.size > max(row.cell for row in own):
                counts.flat[[row.cell for row in own]] = [row.records for row in own]
                barred[name] = WholeTable(columns, counts, variance)
        sets = [tuple(said["columns"]) for said in totals if known]
        for columns, said in zip(sets, totals, strict=False):
            counts = np.array(said["totals"]).reshape([known[name].size for name in columns])
            rows_of = float(total.counts) / counts.sum()
            whole[f"totals by {':'.join(columns)}"] = WholeTable(columns, rows_of * counts, _EXACT)
        joined, weights = _least_squares(whole)
        total = joined.get(OF_ALL, total)
        total = total._replace(counts=np.maximum(total.counts, 1.0))
        return cls(
            joined | {OF_ALL: total}, weights, barred, known, rows, widths, [*map(frozenset, sets)]
        )

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

    def smallest(self, names: Collection[str]) -> str | None:
        """The set that has the columns: the smallest whole table, else one that bars cells."""
        having = {k: own for k, own in self.joined.items() if {*names} <= {*own.columns}}
        if not having:
            having = {k: own for k, own in self.barred.items() if {*names} == {*own.columns}}
        return min(having, key=lambda name: having[name].counts.size, default=None)

    def of_labels(self, labels: Mapping[str, str]) -> dict[str, Floats] | None:
        """1 for the code of a label, else 0, of the codes (L,) by column; None for no code."""
        found = {}
        for name, label in labels.items():
            own = self.columns.get(name)
            if own is None or label not in own.parts:
                return None
            found[name] = np.eye(own.size)[own.parts.index(label)]
        return found

    def factors(self, table: WholeTable, by_column: Mapping[str, Floats]) -> Floats:
        """The product in each cell of the factors of its codes, 1 for columns without any."""
        each = zip(table.columns, table.counts.shape, strict=True)
        own = [by_column.get(name, np.ones(size)) for name, size in each]
        return reduce(np.multiply.outer, own, np.ones(()))

    def covariance(self, name: str, sums: Floats, having: str | None = None) -> Floats:
        """The covariance (L, L) of the noise of L sums over a set's cells, with factors `sums`.

        With `having` it is of the parts alone that have this column.
        """
        if name in self.barred or not self.joined[name].variance:  # Own counts, or an exact number.
            table = self.barred.get(name) or self.joined[name]
            return np.eye(len(sums)) * table.variance
        table, covariance = self.joined[name], np.zeros((len(sums), len(sums)))
        for own in _subsets(table.columns):
            if having is not None and having not in own:
                continue
            others = tuple(k + 1 for k, name in enumerate(table.columns) if name not in own)
            part = sums.sum(axis=others)
            for axis in range(1, part.ndim):
                part = part - part.mean(axis=axis, keepdims=True)
            repeated = sums.size / part.size
            part = part.reshape(len(sums), -1)
            covariance += part @ part.T / (self.weights[own] * repeated**2)
        return covariance

    def _with_factors(
        self, column: str, by_column: Mapping[str, Floats]
    ) -> tuple[str, int, Floats] | None:
        """The whole table with all these columns, the axis of the first, and each cell's factor."""
        name = self.smallest({column, *by_column})
        if name is None or name not in self.joined:
            return None
        table = self.joined[name]
        return name, table.columns.index(column), self.factors(table, by_column)

    def by_cluster(
        self, column: str, by_column: Mapping[str, Floats], strata: str | None = None
    ) -> ClusterSum | None:
        """The sum of counts times factors of codes, by the clusters of a column.

        None where no whole table has them, or clusters by strata, and for a cluster alone.
        """
        if (found := self._with_factors(column, by_column)) is None:
            return None
        name, axis, factors = found
        sums = _by_code(self.joined[name].counts * factors, axis)
        if (C := len(sums)) < 2:
            return None
        home = np.zeros(C, dtype=np.intp)
        if strata is not None:
            of_both = self.smallest({column, strata})
            if of_both is None or of_both not in self.joined:
                return None
            both = self.joined[of_both]
            others = tuple(k for k, own in enumerate(both.columns) if own not in (column, strata))
            by_both = both.counts.sum(axis=others)
            home = by_both.argmax(axis=int(both.columns.index(column) < both.columns.index(strata)))
        of_each = np.bincount(home)[home]
        means = np.bincount(home, sums)[home] / of_each
        apart = np.where(of_each > 1, sums - means, sums - sums.mean()) ** 2
        # Noise is alike in all clusters: its parts without their column are their mean's.
        first = factors * (np.indices(factors.shape)[axis] == 0)
        [[noise]] = self.covariance(name, first[None], column)
        variance = float((of_each / np.maximum(1, of_each - 1) * apart).sum())
        variance -= C**2 / (C - 1) * float(noise)
        return ClusterSum(float(sums.sum()), variance, C, max(1, C - len({*home.tolist()})))

    def by_stratum(
        self, strata: str, by_column: Mapping[str, Floats], squared: SquaredWeights | None
    ) -> float | None:
        """The variance of a sum of counts times factors, of records drawn in each stratum.

        None where no whole table has them. A stratum has as many records as rows, or as Kish's
        number where this is larger, which is never above the true one.
        """
        if (found := self._with_factors(strata, by_column)) is None:
            return None
        name, axis, factors = found
        table = self.joined[name]
        squares = table.counts if squared is None else self.squares(name, squared)
        each = [factors * self.factors(table, {strata: x}) for x in np.eye(factors.shape[axis])]
        noise = np.diag(self.covariance(name, np.array(each)))
        n = _by_code(table.counts, axis)
        n = n * np.maximum(1.0, n / np.maximum(1.0, _by_code(squares, axis)))
        apart = _by_code(table.counts * factors, axis) ** 2 - noise
        of_each = _by_code(squares * factors**2, axis) - apart / np.maximum(1.0, n)
        return max(0.0, float((n / np.maximum(1.0, n - 1.0) * of_each).sum()))


def _by_code(cells: Floats, axis: int) -> Floats:
    """Sums over all other axes (L,)."""
    return np.moveaxis(cells, axis, 0).reshape(cells.shape[axis], -1).sum(axis=1)


def _width_and_variance(
    scale: float, noise: Literal["laplace", "gaussian"], level: float
) -> tuple[int, float]:
    """The q of an interval S - q to S + q, and the variance of the noise."""
    z, mass = noise_probabilities(scale, noise)
    at_least = np.cumsum(mass[z >= 0] + np.where(z[z >= 0] > 0, mass[z >= 0], 0.0))
    variance = max(float(mass @ z**2), _EXACT if scale else 0.0)
    return int(np.searchsorted(at_least, level * (1.0 - 1e-12))), variance


def _least_squares(
    tables: Mapping[str, WholeTable],
) -> tuple[dict[str, WholeTable], dict[tuple[str, ...], float]]:
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
        found[name] = WholeTable(columns, joined, variance)
    return found, {own: weight for own, (_, weight) in sums.items()}


def _subsets(columns: tuple[str, ...]) -> Iterable[tuple[str, ...]]:
    return chain.from_iterable(combinations(columns, k) for k in range(len(columns) + 1))
