"""Fine cells of numbers, whose noisy counts choose the cells of those without cuts in the schema.

Public cells know nothing of where a number is crowded, so one of them may hold most records. Such a
number is counted first in fine public cells, under a share of the budget. Neighbours of the fewest
noisy records are then joined, until few cells are left, and none that the noise of sets would hide:
noise in empty cells of a rare amount's tail makes it larger. Every set counts these. A number with
cuts keeps its cells. The fine counts of both kinds say where in a cell numbers are drawn. So do
counts of how round a number is, where its range has many steps.

Which cells are left follows from noisy counts alone. Whatever they are, a record is in at most one
cell of each set. The noise of all counts is fixed before the first one. So the costs add up as if
all cells were public: for each outcome of the first counts the later ones have the same noise, and
each moves by as much.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.by_rule import bounded_columns, finer
from pyvws.mechanisms.counts.coding import Codes, CountedColumn, counted_column, rule_cuts
from pyvws.mechanisms.counts.fine_shapes import expected_records, proportion_unit
from pyvws.mechanisms.counts.roundness import Roundness, roundness_of
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

MOST_CHOSEN: Final = 14
"""Cells that are chosen of a number, at most, unless rules begin more."""

MOST_FINE: Final = 512
"""Fine cells of a number: half of equal steps, and half of steps in proportion."""

_EVEN: Final = MOST_FINE // 2
_FEWEST_FINE: Final = 64
_HIDDEN: Final = 0.125  # Of the records of a part of fine cells, the noise that hides it,
_SHOWN: Final = 10  # where so many parts have as many records each.
_LEAST_CHOSEN: Final = 4
_LEAST_SHARE: Final = 1e-6  # Of a class of round numbers, or a cell, that has no noisy records.
_ROUNDS: Final = 30  # That fit how likely numbers of each class are.
_STANDS_OUT: Final = 2.0  # Deviations of the noise that a class or a cell of a pair stands out by.


@dataclass(frozen=True, slots=True, eq=False)
class FineCounts:
    """Noisy counts (L,) of a number in its fine cells, and the noise of a count.

    `scale` is that of the noise, `deviation` its standard deviation near enough; both in records.
    `rounded` has the noisy counts of its classes of `Roundness`, where it has some.
    """

    counts: NDArray[np.int64]
    scale: float
    deviation: float
    rounded: FineCounts | None = None

    def in_rows(self, parts: float, of_scale: float) -> FineCounts:
        """Sums of weights as rows of so many parts; `of_scale` is the deviation at scale 1."""
        counts, scale = np.rint(self.counts / parts).astype(np.int64), self.scale / parts
        rounded = self.rounded and self.rounded.in_rows(parts, of_scale)
        return FineCounts(counts, scale, scale * of_scale, rounded)


@dataclass(frozen=True, slots=True, eq=False)
class FineCells:
    """The numbers that are counted in fine public cells; those without cuts get chosen ones.

    - `columns`: Each number in its fine cells.
    - `kept` (C - 1,): Which of the numbers that a fine cell begins with, but the first, stay
      whatever is counted: rules compare with them, or they are cuts.
    """

    columns: Mapping[str, CountedColumn]
    kept: Mapping[str, NDArray[np.bool_]]

    @property
    def roundness(self) -> dict[str, Roundness]:
        """The classes of those numbers that are counted by how round they are too."""
        found = {name: roundness_of(column) for name, column in self.columns.items()}
        return {name: own for name, own in found.items() if own is not None}

    def evenly(self, schema: Schema) -> Schema:
        """The schema with as many cells of each number as may be chosen, without any counts."""
        even = {name: np.ones(len(own) + 1) for name, own in self.kept.items()}
        return self._cut(schema, even, MOST_CHOSEN, 0.0)

    def chosen(
        self,
        schema: Schema,
        noisy: Mapping[str, FineCounts],
        most: int = MOST_CHOSEN,
        least: float = 0.0,
    ) -> Schema:
        """The schema with the cells that noisy counts by column leave, `most` of each number.

        Neighbours have `least` noisy records together. Counts that the noise hides leave even
        cells.
        """
        told = {
            name: _above_noise(noisy[name].counts[len(own.parts) :], noisy[name].deviation)
            for name, own in self.columns.items()
        }
        return self._cut(schema, told, most, least)

    def _cut(self, schema: Schema, counts: Mapping[str, Floats], most: int, least: float) -> Schema:
        columns = dict(schema.columns)
        for name, own in self.columns.items():
            if name in columns and columns[name].cuts is None:
                begins = own.edges[1:-1][_left(counts[name], self.kept[name], most, least)]
                columns[name] = replace(columns[name], cuts=tuple(begins.tolist()))
        return replace(schema, columns=columns)


def fine_cells(
    schema: Schema, without: Collection[str] = (), *, most: int = MOST_FINE
) -> FineCells:
    """The fine cells of the numbers that have more values than cells, but for those `without`.

    Of each there are about `most`, at most. A number with a bound is its difference from that.
    """
    wanted, bounded = [], bounded_columns(schema)
    of_schema = {name: own.column for name, own in bounded.items()}
    differing = {own.later.name for own in bounded.values()}
    of_schema |= {n: schema.columns[n] for n in schema.synthesized if n not in differing}
    for name, column in of_schema.items():
        if column.categorical or column.is_computed or column.range is None:
            continue
        step, (low, high) = column.step, column.range
        cells = MOST_CHOSEN if column.cuts is None else 2 * (len(column.cuts) + 1)
        several = step is None or (high - low) / step >= cells
        if several and name not in without:
            wanted.append(name)
    columns = {name: fine_column(schema, name, most=most) for name in wanted}
    inner = {name: own.edges[1:-1] for name, own in columns.items()}
    begun = {n: bounded[n].edges if n in bounded else _begun(schema, n) for n in columns}
    return FineCells(columns, {n: np.isin(x, begun[n]) for n, x in inner.items()})


def fine_column(schema: Schema, name: str, *, most: int = MOST_FINE) -> CountedColumn:
    """A number of a schema in its fine cells, whatever cuts it has."""
    if name not in schema.columns:
        own = bounded_columns(schema)[name]
        return finer(own, _fine_cuts(own.column, most), _fine_cuts(own.of, most))
    column = schema.columns[name]
    fine = replace(column, cuts=_fine_cuts(column, most))
    return counted_column(name, fine, _begun(schema, name))


def finer_columns(
    schema: Schema, records: int, fine: Mapping[str, FineCounts]
) -> dict[str, CountedColumn]:
    """The numbers whose cells were chosen, in the fine cells that were counted of them."""
    return {
        name: fine_column(schema, name, most=most_fine_cells(records, own.deviation))
        for name, own in fine.items()
    }


def _begun(schema: Schema, name: str) -> list[float]:
    """What cells of a number begin with, whatever is counted: its cuts, and numbers in rules."""
    return sorted({*rule_cuts(schema).get(name, ()), *(schema.columns[name].cuts or ())})


def recoded(fine: CountedColumn, final: CountedColumn, codes: Codes) -> Codes:
    """The codes (N,) of a number in its cells, given those in the fine cells that they join."""
    parts = len(fine.parts)
    cells = final.cells_of(fine.edges[:-1])
    of_code = np.array([*range(parts), *cells, -1], dtype=np.int32)  # -1 stays -1.
    return of_code[codes]


@dataclass(frozen=True, slots=True, eq=False)
class Within:
    """Where in its cells a number is drawn, by the noisy counts of its fine cells.

    - `fine`: The number in its fine cells.
    - `of_fine` (F,): The code of the cell that each fine cell is a part of.
    - `weights` (F,): How likely each fine cell is in its cell.
    - `heaps`: Where in fine cells a number heaps; nowhere without it.
    """

    fine: CountedColumn
    of_fine: NDArray[np.intp]
    weights: Floats
    heaps: _Heaps | None

    def drawn(self, codes: Codes, rng: np.random.Generator) -> Floats:
        """Numbers (M,) of records in cells (M,); NaN outside of cells."""
        at = np.flatnonzero(codes >= len(self.fine.parts))
        chosen = np.empty(len(at), dtype=np.intp)
        for cell in np.unique(codes[at]).tolist():
            inside, own = np.flatnonzero(self.of_fine == cell), codes[at] == cell
            chosen[own] = inside[_places(self.weights[inside], int(own.sum()), rng)]
        drawn = np.full(len(codes), np.nan)
        drawn[at] = (self.heaps or self.fine).drawn(chosen, rng)
        return drawn


def within_cells(
    fine: CountedColumn, final: CountedColumn, codes: Codes, noisy: FineCounts
) -> Within:
    """Where in its cells a number is drawn, for imputed records in cells (N,).

    A smooth shape, fitted to the noisy counts, says how many records a fine cell has. Of what the
    counts have beyond them the share that is no noise is kept, the less of it the fewer records are
    expected. So the noise of empty fine cells makes no records. A single count far beyond the noise
    is kept whole. Where counts of round numbers stand out, they say where
    numbers lie in cells and in fine cells.
    """
    parts = len(fine.parts)
    of_fine = final.cells_of(fine.edges[:-1]).astype(np.intp) - parts
    counts = noisy.counts[parts:]
    records = np.bincount(codes[codes >= parts] - parts, minlength=len(final.edges) - 1)
    expected = expected_records(fine, of_fine, counts, records, noisy.deviation)
    heaps = _heaps(fine, of_fine, expected, noisy.rounded) if records.any() else None
    if heaps is not None:
        expected = heaps.expected
    beyond, size, variance = counts - expected, len(counts), noisy.deviation**2
    stands_out = beyond > noisy.deviation * math.log(size)
    hidden = variance * (size + math.sqrt(2.0 * size))  # Squares of noise, with a deviation more.
    found = max(0.0, float((beyond[~stands_out] ** 2).sum() - hidden))
    own = found * expected**2 / max(float((expected**2).sum()), 1.0)
    kept = np.where(stands_out, 1.0, own / (own + variance))
    weights = expected + kept * beyond
    return Within(fine, of_fine + parts, np.maximum(weights, _LEAST_SHARE * expected), heaps)


def _places(weights: Floats, draws: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Places (M,) that are drawn by weights (n,); those below 0 are never drawn."""
    sums = np.cumsum(np.maximum(weights, 0.0))
    return np.searchsorted(sums[:-1], sums[-1] * rng.random(draws), side="right")


@dataclass(frozen=True, slots=True, eq=False)
class _Heaps:
    """Where a number heaps: records (F, R) that are expected in each fine cell and class.

    `expected` has them by fine cell (F,).
    """

    roundness: Roundness
    weights: Floats

    @property
    def expected(self) -> Floats:
        return np.asarray(self.weights.sum(axis=1))

    def drawn(self, cells: NDArray[np.intp], rng: np.random.Generator) -> Floats:
        """Numbers (M,) within fine cells (M,)."""
        classes = np.empty(len(cells), dtype=np.intp)
        for cell in np.unique(cells).tolist():
            at = np.flatnonzero(cells == cell)
            classes[at] = _places(self.weights[cell], len(at), rng)
        return self.roundness.drawn(cells, classes, rng)


def _heaps(
    fine: CountedColumn, of_fine: NDArray[np.intp], expected: Floats, noisy: FineCounts | None
) -> _Heaps | None:
    """Where a number heaps by the noisy counts of its classes; None where the noise hides it.

    The records `expected` (F,) in fine cells are spread over all numbers. A weight of each class
    multiplies them, and cells keep their records.
    """
    roundness = None if noisy is None else roundness_of(fine)
    if noisy is None or roundness is None:
        return None
    within = roundness.within()
    if not within.any(axis=1).all():  # All numbers of a range stand apart.
        return None
    each = expected[:, None] * within / within.sum(axis=1)[:, None]
    weights = _weights(each, of_fine, noisy)
    if weights is None:
        return None
    records, sums = (np.bincount(of_fine, x) for x in (expected, each @ weights))
    share = records / np.maximum(sums, np.finfo(float).tiny)
    return _Heaps(roundness, each * weights * share[of_fine, None])


def _weights(each: Floats, of_fine: NDArray[np.intp], noisy: FineCounts) -> Floats | None:
    """What multiplies records (F, R) by fine cell and class, so that the classes (R,) fit.

    Cells keep their records: these are shared anew within each one.
    """
    by_cell = np.zeros((int(of_fine.max()) + 1, each.shape[1]))
    np.add.at(by_cell, of_fine, each)
    records = by_cell.sum(axis=1)
    even = by_cell.sum(axis=0) / records.sum()
    wanted = _shares(even, noisy)
    if wanted is None:
        return None
    wanted *= records.sum()
    weights = np.ones(len(even))
    for _ in range(_ROUNDS):
        sums = np.maximum(by_cell @ weights, np.finfo(float).tiny)
        fitted = weights * ((records / sums) @ by_cell)
        weights *= wanted / np.maximum(fitted, np.finfo(float).tiny)
    return np.asarray(weights)


def _shares(even: Floats, noisy: FineCounts) -> Floats | None:
    """The shares (R,) of classes, given those of numbers that heap nowhere; None where none does.

    A class is as likely as the finer ones where its noisy count is near what they say.
    """
    shares, end = np.zeros(len(even)), len(even)
    for first in range(len(even) - 1, -1, -1):
        own = slice(first, end)
        among = max(float(even[own].sum()), _LEAST_SHARE)
        rate = max(float(noisy.counts[own].sum()), 0.0) / among
        shares[own] = even[own] * rate
        if first > 0:
            part = float(even[first - 1])
            spread = noisy.deviation * math.hypot(1.0, math.sqrt(end - first) * part / among)
            if abs(noisy.counts[first - 1] - rate * part) > _STANDS_OUT * spread:
                end = first
    if end == len(even) or not shares.any():
        return None
    shares = np.where(even > 0.0, np.maximum(shares, _LEAST_SHARE * shares.sum()), 0.0)
    return np.asarray(shares / shares.sum())


def _above_noise(counts: NDArray[np.int64], deviation: float) -> Floats:
    """What noisy counts (n,) tell: their mean, and what stands out of the noise beyond it.

    Of that the share by James and Stein's estimate is kept.
    """
    even = max(_LEAST_SHARE, float(counts.mean()))
    beyond = np.asarray(counts - even, dtype=np.float64)
    spread = float((beyond**2).sum())
    kept = max(0.0, 1.0 - deviation**2 * beyond.size / spread) if spread else 0.0
    return np.asarray(even + kept * beyond)


def most_cells(records: int, deviation: float) -> int:
    """Cells of a number, 4 to 14: a pair's mean count is to be two deviations of its noise.

    `deviation` is that of a count, in records; larger = fewer cells.
    """
    wanted = math.sqrt(records / (_STANDS_OUT * deviation))
    return int(np.clip(round(wanted), _LEAST_CHOSEN, MOST_CHOSEN))


def most_fine_cells(records: int, deviation: float) -> int:
    """Fine cells of a number, at most, so that the noise of a tenth of them is small.

    That noise is to be at most an eighth of a tenth of the records.
    """
    wanted = _SHOWN * (_HIDDEN * records / _SHOWN / deviation) ** 2
    return int(np.clip(wanted, _FEWEST_FINE, MOST_FINE))


def _left(counts: Floats, kept: NDArray[np.bool_], most: int, least: float) -> NDArray[np.intp]:
    """Which of C - 1 inner edges are left where neighbours of the fewest records (C,) are joined.

    Of `most` cells at most any two neighbours have `least` together. One edge is left, so that the
    schema has cuts. A cell has no fewer than no records, so noise below 0 does not make it join
    cells with records.
    """
    sums, edges = counts.tolist(), list(range(len(kept)))
    while len(edges) > 1:
        both = [
            math.inf if kept[edge] else first + other
            for edge, first, other in zip(edges, sums[:-1], sums[1:], strict=True)
        ]
        at = int(np.argmin(both))
        if math.isinf(both[at]) or (len(edges) < most and both[at] >= least):
            break
        sums[at : at + 2] = [max(0.0, both[at])]
        del edges[at]
    return np.array(edges, dtype=np.intp)


def _fine_cuts(column: Column, most: int) -> tuple[float, ...]:
    """A range's public cuts: at equal steps, and in proportion to the number.

    Where so few values are possible, they are at each value. Of more than `most` cells every
    second, fourth or eighth begins.
    """
    low, high = column.range or (0.0, 1.0)
    step = column.step
    cells = MOST_FINE if step is None else min((high - low) / step, MOST_FINE)
    every = 2 ** max(0, math.ceil(math.log2(cells / most)))
    if step is not None and (high - low) / step < MOST_FINE:
        cuts = low + step * np.arange(round((high - low) / step) + 1.0)[::every]
    else:
        unit = proportion_unit(column)
        first, last = np.arcsinh([low / unit, high / unit]).tolist()
        steps = np.linspace([low, first], [high, last], _EVEN + 1)
        steps[:, 1] = unit * np.sinh(steps[:, 1])
        gaps = np.maximum(np.diff(steps, axis=0), np.spacing(np.abs(steps[:-1])))
        digits = (1 - np.floor(np.log10(gaps))).astype(np.int64)[::every]
        firsts = zip(steps[:-1:every].ravel().tolist(), digits.ravel().tolist(), strict=True)
        cuts = np.array([round(first, at) for first, at in firsts])
    if step is not None:
        cuts = column.rounded(np.rint(cuts / step) * step)
    return tuple(sorted({float(x) for x in cuts if low < x < high}))
