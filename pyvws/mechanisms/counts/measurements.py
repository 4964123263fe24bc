"""Tables of counts under noise: what is measured of the confidential records, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from typing import Any, Final, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import chdtrc, gammaincc, stdtr

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.chosen_cells import FineCells, FineCounts
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.differences import Difference
from pyvws.mechanisms.counts.totals import PublishedTotals
from pyvws.mechanisms.counts.workload import OF_ALL, Counts, Workload, usual_shares
from pyvws.privacy.budget import Budget, Noise, deviation_of, noise_of
from pyvws.privacy.seller import Seller, TalliedCells
from pyvws.tables.schema.weight import MOST_PARTS, SurveyWeight

Records = TypeVar("Records")
CellsByName = Callable[[Records, str], TalliedCells]
"""The records in a number's cells or classes."""

_CHANCE: Final = 0.04  # Sets that each test names in a release by noise alone, on average.
_NORMAL: Final = 1e6  # Degrees of freedom, of about a normal distribution.
_SIZE: Final = 0.8  # Deviations of the noise that a count is off by on average.
_OF_ROUNDNESS: Final = 0.1  # Of the share of a number's fine cells, that of how round it is.
_OF_POPULATION: Final = 0.23  # Of the budget, where records have weights: the share of their sum,
_LEAST_OF_POPULATION: Final = 0.05  # which is as sure by less where sets have few cells,
_OF_SQUARES: Final = 0.06  # that of sums of squared weights,
_OF_NUMBER: Final = 0.02  # and that of the number of records.
_FAR: Final = 4.0  # Deviations that a set's sum is off by where records have no cell in it.

NUMBER: Final = "number"
"""The measurement of the number of records, where that of `OF_ALL` is the sum of their weights."""
OF_SQUARES: Final = "squared weights by "
"""How the measurements of sums of squared weights begin: the name of a column follows."""


@dataclass(frozen=True, slots=True)
class WeightedSums:
    """What rows of a dataset stand for, and what sums of squared weights say of intervals.

    - `weight`: The weight of the schema.
    - `population`: The noisy sum of the weights, by all sets too, or the public one.
    - `rows`: The rows m of a dataset; each stands for population / m.
    - `population_scale`: Scale of the noise of the population, in parts of the largest weight; 0
      where it is public.
    - `sold`: The noisy sum as it was bought and its scale, in these parts; None where it is public.
    - `number_scale`: Scale of the noise of the number of records, in records; 0 without noise.
    - `squares`: Noisy sums (L,) of squared weights by the codes of each column, in squared rows.
    - `squares_scales`: Scale of their noise.
    """

    weight: SurveyWeight
    population: float
    rows: int
    population_scale: float
    number_scale: float
    sold: tuple[int, float] | None = None
    squares: Mapping[str, Counts] = field(default_factory=dict)
    squares_scales: Mapping[str, float] = field(default_factory=dict)

    @property
    def stands_for(self) -> float:
        """The sum of weights that a row stands for."""
        return self.population / max(1, self.rows)

    @property
    def heaviest(self) -> float:
        """The rows that a record of the largest weight counts as."""
        return self.weight.high / self.stands_for

    @property
    def parts(self) -> float:
        """The parts of the largest weight that a row stands for."""
        return MOST_PARTS / self.heaviest

    def by_sets(self, noisy: Measurements) -> WeightedSums:
        """With the population by the sums of all sets too, by the inverse of variances, in parts.

        A set in which records have no cell says nothing of it.
        """
        if self.sold is None:
            return self
        own, scale = self.sold
        total, precision = own * scale**-2.0, scale**-2.0
        sums = np.add.reduceat(noisy.counts, noisy.table.offsets[:-1])
        variances = noisy.table.possible_sizes * noisy.scales**2
        for number, variance in zip(sums.tolist(), variances.tolist(), strict=True):
            far = _FAR * math.sqrt(variance + scale**2) * deviation_of(noisy.laplace)
            if abs(number - own) <= far:
                total, precision = total + number / variance, precision + 1.0 / variance
        found = max(1.0, total / precision) * self.weight.high / MOST_PARTS
        return replace(self, population=found, population_scale=precision**-0.5)


@dataclass(frozen=True, slots=True, eq=False)
class Measurements:
    """What a release has of the counts: enough to impute records, and nothing confidential else.

    - `table`: What was counted.
    - `counts` (C,): The noisy counts; 0 in cells that were not measured.
    - `scales` (Q,): Scale of the noise of each set, in records.
    - `laplace`: Whether the noise is discrete Laplace noise, and not discrete Gaussian noise.
    - `records`: The number of records n to impute: noisy, public, or exact.
    - `records_scale`: Scale of the noise of the number of records, 0 without noise.
    - `weighted`: What the records stand for, where counts are sums of survey weights, in rows of a
      dataset.
    - `totals`: Public totals that imputed records meet.
    """

    table: Workload
    counts: Counts
    scales: Floats
    laplace: bool
    records: int
    records_scale: float = 0.0
    weighted: WeightedSums | None = None
    totals: PublishedTotals | None = None

    @property
    def to_totals(self) -> Measurements:
        """The noisy counts moved to published totals, where there are any."""
        if self.totals is None:
            return self
        return replace(self, counts=self.totals.moved(self.table, self.counts, self.records))

    def in_rows(self, weighted: WeightedSums) -> Measurements:
        """Sums of weights in parts as rows of a dataset, to the nearest one."""
        parts = weighted.parts
        return replace(
            self.of_rows(self.records, weighted.population_scale / parts),
            counts=np.rint(self.counts / parts).astype(np.int64),
            scales=self.scales / parts,
            weighted=weighted,
        )

    def of_rows(self, rows: int, scale: float) -> Measurements:
        """With so many records; a statement's deviation gives that scale back to the bit."""
        return replace(self, records=rows, records_scale=float(np.float32(scale)))

    @property
    def deviations(self) -> Floats:
        """The standard deviations (Q,) of the noise, near enough; in records."""
        return self.scales * deviation_of(self.laplace)

    @property
    def deviation_of_records(self) -> float:
        """The standard deviation of the noise of the number of records."""
        return self.records_scale * deviation_of(self.laplace)

    def summed(self, wanted: tuple[str, ...]) -> tuple[Floats, float] | None:
        """The counts of some columns, and the variance of the noise of each.

        They come from the smallest set that has the columns by their own codes; None without one.
        """
        having = [
            q
            for q, crossed in enumerate(self.table.cliques)
            if {*wanted} <= {*crossed.columns} and not {*wanted} & {*crossed.groups}
        ]
        if not having:
            return None
        q = min(having, key=lambda candidate: self.table.sizes[candidate])
        crossed, (low, high) = self.table.cliques[q], self.table.offsets[q : q + 2]
        others = tuple(i for i, k in enumerate(crossed.columns) if k not in wanted)
        counts = self.counts[low:high].astype(np.float64).reshape(crossed.sizes).sum(axis=others)
        return counts, float(self.deviations[q]) ** 2 * (high - low) / counts.size

    def of_column(self, name: str) -> tuple[Floats, float]:
        """A column's counts (L,) by all sets that have it, and the deviation of their noise.

        In records. The deviation is 0 where no set has the column by its own codes.
        """
        size = self.table.columns[name].size
        summed, precision = np.zeros(size), 0.0
        for q, crossed in enumerate(self.table.cliques):
            if name in crossed.columns and name not in crossed.groups:
                others = tuple(i for i, one in enumerate(crossed.columns) if one != name)
                own = self.counts[slice(*self.table.offsets[q : q + 2])].reshape(crossed.sizes)
                weight = size / (crossed.size * float(self.deviations[q]) ** 2)
                summed, precision = summed + weight * own.sum(axis=others), precision + weight
        return (summed / precision, precision**-0.5) if precision else (summed, 0.0)


def counts_columns(noisy: Measurements) -> dict[str, Any]:
    """The noisy counts as columns: set, cell from 0 in its set, cell in words, count, scale."""
    table, weighted = noisy.table, noisy.weighted
    number, scale = noisy.records, noisy.records_scale
    if weighted is not None and weighted.sold is not None:
        number, scale = round(weighted.sold[0] / weighted.parts), weighted.sold[1] / weighted.parts
    sets, cells, words, counts, scales = [OF_ALL], [0], [""], [number], [scale]
    for q, name in enumerate(table.names):
        low, high = table.offsets[q : q + 2]
        own = [", ".join(labels) for labels in product(*table.labels(q))]
        inside = np.flatnonzero(table.possible[low:high])
        sets += [name] * len(inside)
        cells += inside.tolist()
        words += [own[cell] for cell in inside.tolist()]
        counts += noisy.counts[low + inside].tolist()
        scales += [float(noisy.scales[q])] * len(inside)
    for name, cell, label, count, scale in _beside(noisy):
        sets.append(name)
        cells.append(cell)
        words.append(label)
        counts.append(count)
        scales.append(scale)
    return {"set": sets, "cell": cells, "label": words, "count": counts, "scale": scales}


def _beside(noisy: Measurements) -> Iterator[tuple[str, int, str, int, float]]:
    """The rows of what is bought beside sums of weights, as in `counts_columns`."""
    weighted = noisy.weighted
    if weighted is None:
        return
    if weighted.number_scale:
        yield NUMBER, 0, "", weighted.rows, weighted.number_scale
    for name, squares in weighted.squares.items():
        labels, scale = noisy.table.columns[name].labels, weighted.squares_scales[name]
        for cell, (label, square) in enumerate(zip(labels, squares.tolist(), strict=True)):
            yield f"{OF_SQUARES}{name}", cell, label, square, scale


def of_set(name: str) -> str:
    """The name of the measurement of a set."""
    return f"set {name}"


def of_cells(column: str) -> str:
    """The name of the measurement of a number in its fine cells."""
    return f"cells of {column}"


def of_roundness(column: str) -> str:
    """The name of the measurement of how round a number is."""
    return f"roundness of {column}"


def count_shares(
    table: Workload, *, pure: bool, cells: FineCells | None = None, share: float = 0.0
) -> dict[str, float]:
    """The shares of the budget by name, but for those of all records, as `count_noise`."""
    shares = usual_shares(table, pure=pure)
    by_name = dict(zip(map(of_set, table.names), shares.tolist(), strict=True))
    if cells is not None:
        own = dict.fromkeys(map(of_cells, cells.columns), 1.0)
        own |= dict.fromkeys(map(of_roundness, cells.roundness), _OF_ROUNDNESS)
        each = float(shares.sum()) * share / (1.0 - share) / max(sum(own.values()), 1.0)
        by_name |= {name: of * each for name, of in own.items()}
    return by_name


def count_noise(
    budget: Budget,
    table: Workload,
    *,
    hidden: bool,
    cells: FineCells | None = None,
    share: float = 0.0,
    weighted: bool = False,
    known: bool = False,
) -> Noise:
    """The noise of all counts of a release, by name, which costs the budget.

    It is fixed before the first count, by public things alone. The table's sets have
    `usual_shares`. The numbers in fine `cells` together have the `share` of the budget that they
    and the sets have, classes of how round they are about a tenth of that of fine cells. Where it
    is `hidden`, the number of records has the share of an average set. Where sums are `weighted`,
    scales are in parts of the largest weight. The sum of all weights, unless it is `known`, those
    of squared ones and the number of records then have shares of their own. That of the first is
    less by what the sums of all sets tell of it.
    """
    by_name = count_shares(table, pure=budget.pure, cells=cells, share=share)
    if weighted:
        budget = replace(budget, cap=budget.cap * MOST_PARTS)
        own = {NUMBER: _OF_NUMBER} if hidden else {}
        names = squared(table)
        own |= {f"{OF_SQUARES}{name}": _OF_SQUARES / len(names) for name in names}
        if not known:
            of_sets = np.array([by_name[of_set(name)] for name in table.names])
            told = float((of_sets / table.possible_sizes).sum()) / sum(by_name.values())
            rest = told * (1.0 - sum(own.values()))
            own[OF_ALL] = max(_LEAST_OF_POPULATION, (_OF_POPULATION - rest) / (1.0 - told))
        each = sum(by_name.values()) / (1.0 - sum(own.values()))
        by_name |= {name: of * each for name, of in own.items()}
    elif hidden:
        by_name[OF_ALL] = float(np.mean([by_name[of_set(name)] for name in table.names]))
    return noise_of(budget, by_name)


def squared(table: Workload) -> list[str]:
    """The columns by whose codes squared weights are added up: those of which datasets consist."""
    return [name for name, one in table.columns.items() if not isinstance(one, Difference)]


def noise_apart(table: Workload, noise: Noise, columns: int, records: int) -> float:
    """How far apart noise alone puts the shares of cells, on average over sets of so many columns.

    That is the sum over a set's cells, as in a k-marginal, so 2 at most; 0 without such a set.
    """
    apart = [
        min(2.0, _SIZE * noise.deviation(of_set(name)) * int(cells) / max(1, records))
        for name, crossed, cells in zip(
            table.names, table.cliques, table.possible_sizes, strict=True
        )
        if len(crossed.columns) == columns and not crossed.groups
    ]
    return sum(apart) / max(1, len(apart))


def bought_number(seller: Seller[Records], size: Callable[[Records], int]) -> int:
    """The noisy number of records; at least 1."""
    number = seller.counts(OF_ALL, lambda records: np.zeros(size(records), dtype=np.int8), 1)
    return max(1, int(number[0]))


def bought_sums(
    seller: Seller[Records],
    noise: Noise,
    weight: SurveyWeight,
    parts: Callable[[Records], Counts],
    *,
    records: int | None,
    population: float | None = None,
) -> WeightedSums:
    """The noisy sum of all weights and the number of records, unless they are known.

    `parts` gives what each record (N,) counts as. In the number each one counts as the largest
    weight, so that it moves it by as much as it may move a sum.
    """

    def all_of(own: Records) -> TalliedCells:
        return TalliedCells(np.zeros(len(parts(own)), dtype=np.intp), parts(own))

    def each(own: Records) -> TalliedCells:
        return TalliedCells(np.zeros(1, dtype=np.intp), np.array([MOST_PARTS * len(parts(own))]))

    number_scale, sold = 0.0, None
    if records is None:
        records = max(1, round(int(seller.counts(NUMBER, each, 1)[0]) / MOST_PARTS))
        number_scale = noise.scales[NUMBER] / MOST_PARTS
    scale = noise.scales.get(OF_ALL, 0.0)
    if population is None:
        sold = max(1, int(seller.counts(OF_ALL, all_of, 1)[0])), scale
        population = sold[0] * weight.high / MOST_PARTS
    return WeightedSums(weight, population, records, scale, number_scale, sold)


def with_squares(
    sums: WeightedSums,
    seller: Seller[Records],
    noise: Noise,
    table: Workload,
    codes: Callable[[Records], Codes],
    parts: Callable[[Records], Counts],
) -> WeightedSums:
    """The sums with those of squared weights by the codes of each column.

    A square is counted in parts of the largest one, so that a record moves no sum by more than one
    of weights.
    """
    squares, scales = {}, {}
    unit = sums.heaviest**2 / MOST_PARTS  # Of a part, in squared rows.
    for k, (name, column) in enumerate(table.columns.items()):
        if (measurement := f"{OF_SQUARES}{name}") in noise.scales:

            def own(records: Records, k: int = k) -> TalliedCells:
                square = np.rint(parts(records) ** 2 / MOST_PARTS).astype(np.int64)
                return TalliedCells(codes(records)[:, k], square)

            noisy = seller.counts(measurement, own, column.size)
            squares[name] = np.rint(noisy * unit).astype(np.int64)
            scales[name] = noise.scales[measurement] * unit
    return replace(sums, squares=squares, squares_scales=scales)


def bought_cells(
    seller: Seller[Records],
    noise: Noise,
    cells: FineCells,
    codes: CellsByName[Records],
    classes: CellsByName[Records],
) -> dict[str, FineCounts]:
    """The noisy counts of numbers in fine cells, and in the classes of how round they are."""

    def bought(measurement: str, own: CellsByName[Records], name: str, size: int) -> FineCounts:
        counts = seller.counts(measurement, lambda records: own(records, name), size)
        return FineCounts(counts, noise.scales[measurement], noise.deviation(measurement))

    found = {
        name: bought(of_cells(name), codes, name, column.size)
        for name, column in cells.columns.items()
    }
    for name, own in cells.roundness.items():
        rounded = bought(of_roundness(name), classes, name, len(own.units))
        found[name] = replace(found[name], rounded=rounded)
    return found


def bought_tables(
    seller: Seller[Records],
    noise: Noise,
    table: Workload,
    counts: Callable[[Records], Counts],
    *,
    records: int,
) -> Measurements:
    """The noisy counts of all sets; `counts` gives those of the records in all cells (C,).

    Each record counts once in a set, or as its part of the largest weight. `records` is the number
    of records to impute, which is noisy where it has a price.
    """
    noisy = np.zeros(len(table.possible), dtype=np.int64)
    for name, (low, high) in zip(table.names, pairwise(table.offsets), strict=True):
        at = low + np.flatnonzero(table.possible[low:high])

        def own(found: Records, at: NDArray[np.intp] = at) -> TalliedCells:
            return TalliedCells(np.arange(len(at)), counts(found)[at])

        noisy[at] = seller.counts(of_set(name), own, len(at))
    return Measurements(
        table=table,
        counts=noisy,
        scales=np.array([noise.scales[of_set(name)] for name in table.names]),
        laplace=noise.budget.pure,
        records=records,
        records_scale=noise.scales.get(OF_ALL, 0.0),
    )


def lost_sets(noisy: Measurements, datasets: Sequence[Codes]) -> list[tuple[str, ...]]:
    """The columns of each set from whose noisy counts the datasets (n, K) are too far.

    Beside the confidential records' counts a noisy count is off by its noise alone. So two chances
    say how often noise is as far off as the mean of the datasets' counts: by its own density over a
    set's cells, and by the tie of two columns along the order of their codes. Each is held against
    the number of sets, or the loss of a tie that stands out of its noise against the number of such
    ties. It is post-processing, so it costs nothing. The set that is furthest off comes first.
    """
    table, sets = noisy.table, len(noisy.table.sets)
    counts = np.mean([table.counts(codes) for codes in datasets], axis=0)
    apart = (noisy.counts - counts) * table.possible
    by_cells, lost, standing = np.ones((3, sets))
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        own, possible = apart[low:high], int(table.possible[low:high].sum())
        size = float((np.abs(own / noisy.scales[q]) ** (1 if noisy.laplace else 2)).sum())
        # Sizes of Laplace noise are exponential, and squares of normal noise chi-square.
        by_cells[q] = gammaincc(possible, size) if noisy.laplace else chdtrc(possible, size)
        if len(table.cliques[q].columns) == 2:
            lost[q], standing[q] = _chances_of_tie(noisy, q, own, counts[low:high])
    among = np.where(stands := standing * sets < _CHANCE, stands.sum(), sets)
    named = np.minimum(2.0 * by_cells * sets, lost * among)
    return [
        table.cliques[q].columns for q in np.argsort(named, kind="stable") if named[q] < _CHANCE
    ]


def _chances_of_tie(
    noisy: Measurements, q: int, apart: Floats, counts: Floats
) -> tuple[float, float]:
    """The chances that noise makes as large a loss, and as large a tie, of a pair.

    A tie is the covariance of the columns' ranks by the records' margins. Sums of Laplace noise
    have about the tails of a t distribution with their kurtosis.
    """
    sizes, (low, high) = noisy.table.cliques[q].sizes, noisy.table.offsets[q : q + 2]
    table, tie = counts.reshape(sizes), noisy.table.possible[low:high].reshape(sizes).astype(float)
    for axis in (0, 1):
        margin = table.sum(axis=1 - axis)
        ranks = np.cumsum(margin) - 0.5 * margin
        tie = tie * np.expand_dims(ranks - 0.5 * margin.sum(), 1 - axis)
    squares = float((tie**2).sum())
    if squares == 0.0:
        return 1.0, 1.0
    df = _NORMAL
    if noisy.laplace:
        df = 4.0 + 2.0 * squares**2 / float((tie**4).sum())
    lost, whole = (
        abs(float(tie.ravel() @ own)) / (noisy.deviations[q] * np.sqrt(squares))
        for own in (apart, apart + counts)
    )
    lost, whole = 2.0 * stdtr(df, -np.array([lost, whole]) * np.sqrt(df / (df - 2.0)))
    return float(lost), float(whole)
