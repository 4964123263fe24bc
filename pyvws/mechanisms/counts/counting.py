"""What noisy counts measure of a table by a schema: made once, by names, before any record.

No refusal follows from the records: a value that the schema does not know is in no cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, combinations
from math import prod
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.errors import InputError
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.chosen_cells import (
    MOST_FINE,
    FineCells,
    FineCounts,
    fine_cells,
    most_cells,
    most_fine_cells,
    recoded,
)
from pyvws.mechanisms.counts.cliques import joined
from pyvws.mechanisms.counts.coding import MOST_OF_PAIR, Codes
from pyvws.mechanisms.counts.fitted_classes import MOST_CELLS
from pyvws.mechanisms.counts.measurements import (
    Measurements,
    bought_cells,
    bought_number,
    bought_sums,
    bought_tables,
    count_noise,
    count_shares,
    noise_apart,
    of_cells,
    of_set,
    with_squares,
)
from pyvws.mechanisms.counts.set_words import is_plain, set_word
from pyvws.mechanisms.counts.totals import PublishedTotals, are_sums_of
from pyvws.mechanisms.counts.workload import (
    AUTO,
    MARGINS,
    OF_ALL,
    PAIRS,
    TRIPLES,
    Counts,
    Workload,
    in_own_cells,
    workload,
)
from pyvws.privacy.budget import Budget, Noise, deviation_of, noise_of_lists
from pyvws.privacy.seller import Seller, TalliedCells
from pyvws.tables.files.public import PublicTable
from pyvws.tables.files.steps import CountedRows
from pyvws.tables.schema.schema import Schema
from pyvws.tables.schema.slots import Slots, WideRows
from pyvws.tables.schema.weight import MOST_PARTS, WeighedRecords

_LARGEST: Final = 3  # Columns of a set that "auto" stands for by itself.
_MOST_OF_PAIRS: Final = 1.4  # As of `noise_apart`: columns alone are nearer where pairs have more,
_MOST_OF_TRIPLES: Final = 0.1  # and triples are worth their noise up to this.
_NOT_COMPARED: Final = "Nobody compared the totals with the table, which was read in steps."
_OF_NEIGHBOURS: Final = 4.0  # Deviations of a set's noise that two cells of a number have together.
_OF_TABLE: Final = (
    "The totals are the sums of this table. Calibrated weights make them so, and a census does. If "
    "they were taken from this table instead, they are not public, and no claim holds."
)


@dataclass(frozen=True, slots=True, eq=False)
class CountedRecords:
    """The records of a table in public cells.

    - `codes` (N, K): The code of each record in each counted column, -1 for none.
    - `fine`, `classes`: Each record's fine cell (N,) of each number that has some, and its class of
      how round it is, with what the record counts as.
    - `values` (N,): The values of the columns; of members where a record is a unit.
    - `weighed`: What the records count as, where they have survey weights.
    - `rows`: What became of the rows of members, where a record is a unit.
    """

    codes: Codes
    fine: Mapping[str, TalliedCells]
    classes: Mapping[str, TalliedCells]
    values: Mapping[str, Floats]
    weighed: WeighedRecords | None = None
    rows: WideRows | None = None

    @property
    def number(self) -> int:
        """N, the number of records."""
        return len(self.codes)


CountedParts = Callable[[Sequence[Sequence[str]]], Iterator[CountedRows]]
"""Reads a table once, and gives the rows of some groups of columns in parts."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedInSteps:
    """The records of a table that is never held: read once for fine cells, once for the sets.

    - `parts`: Reads the table.
    - `number`: N, the number of records.
    - `fine`, `classes`: The tallies of each number that has fine cells, in these and by how round
      it is.
    - `values`: Values of some records, for checks alone.
    """

    parts: CountedParts
    number: int
    fine: Mapping[str, TalliedCells]
    classes: Mapping[str, TalliedCells]
    values: Mapping[str, Floats]
    _counts: dict[Workload, Counts] = field(default_factory=dict, repr=False)

    def written(self) -> bytes:
        """The counts in all cells that were tallied, as int64."""
        return b"".join(own.tobytes() for own in self._counts.values())

    def counts(self, table: Workload) -> Counts:
        """The counts (C,) of the records in all cells of a table, without noise."""
        if table not in self._counts:
            counts = np.zeros(len(table.possible), dtype=np.int64)
            for part in self.parts([table.reads(q) for q in range(len(table.sets))]):
                codes, _ = table.read(nw.from_native(part.rows))
                counts += table.counts(codes, part.groups, part.times)
            self._counts[table] = counts
        return self._counts[table]


@dataclass(frozen=True, eq=False)
class CellCounting:
    """The sets and the fine cells that are counted of a table with a schema.

    Under "auto" the number of records chooses among margins, pairs and triples. All else is that of
    pairs. Beside its margins are sets of columns of few codes. `measure`, `tables`, `conditionals`
    are as of `workload`. Numbers of many values are in fine cells where `cells_share` of the budget
        is for them. `reference` is a public table, and so is `published`, of totals.
    Where a record is a unit, `slots` makes it of the rows of its members, and `schema` is the wide
    one. `pure` says whether the budget has no delta.
    """

    schema: Schema
    measure: Sequence[str]
    tables: Sequence[str]
    conditionals: bool
    cells_share: float
    reference: PublicTable | None = None
    slots: Slots | None = None
    published: PublicTable | None = None
    pure: bool = False

    def fine_cells(self, most: int = MOST_FINE) -> FineCells:
        """The numbers that have fine cells, about `most` of each at most."""
        if not self.cells_share:
            return FineCells({}, {})
        own = in_own_cells(self.schema, self.measure, self.tables, conditionals=self.conditionals)
        return fine_cells(self.schema, own, most=most)

    @cached_property
    def finest(self) -> FineCells:
        """The numbers in the fine cells that records are coded in."""
        return self.fine_cells()

    @cached_property
    def table(self) -> Workload:
        """The sets, of as many chosen cells as can be; InputError for what cannot be counted."""
        usual = self if AUTO not in self.measure else self._named(PAIRS)
        return usual.in_cells(self.finest.evenly(self.schema))

    @cached_property
    def _ways(self) -> dict[str, CellCounting]:
        """What "auto" chooses among, by its word; triples where a fit can hold them."""
        ways, table = [PAIRS, MARGINS], self.table
        triples = combinations((column.size for column in table.columns.values()), 3)
        cells = sum(size for size in map(prod, triples) if size <= MOST_OF_PAIR)
        if cells <= MOST_CELLS and not table.given and not self.conditionals:
            ways.append(TRIPLES)
        return {word: self._named(word) for word in ways}

    def _named(self, word: str) -> CellCounting:
        words = [*self._joined, word] if word == MARGINS else [word]
        named = chain.from_iterable(words if own == AUTO else [own] for own in self.measure)
        return replace(self, measure=tuple(dict.fromkeys(named)))

    @cached_property
    def _joined(self) -> list[str]:
        """The sets of columns of few codes that stand beside columns alone, but in slots."""
        table = self.table
        out = {*table.given}.union(one.name for one in table.differences)
        out |= {n for n in table.columns if self.slots is not None or not is_plain(n)}
        sizes = {name: one.size for name, one in table.columns.items() if name not in out}
        sets = joined(sizes, MOST_OF_PAIR, pure=self.pure).items()
        return [set_word({"columns": names, "share": share}) for names, share in sets]

    def in_cells(self, schema: Schema, priced: Sequence[str] | None = None) -> Workload:
        """The sets in the cells of a schema, of which only `priced` ones have a price.

        Sets of many columns that "auto" joined are known by their price alone.
        """
        how: Any = {"conditionals": self.conditionals, "priced": priced}
        measure = [*self.measure]
        if AUTO in measure and priced is not None:
            known = {*self.table.columns}
            of_names = {name: name.split(":") for name in priced}
            measure += [x for x, own in of_names.items() if len(own) > _LARGEST and {*own} <= known]
        if self.slots is not None:
            how["together"] = self.slots.together
        return workload(schema, measure, self.tables, **how)

    def refuse(self) -> None:
        """Raise InputError for what cannot be counted, and for public tables that say nothing."""
        self.table, self.totals  # noqa: B018
        if self.reference is not None:
            self.referred  # noqa: B018

    @cached_property
    def totals(self) -> PublishedTotals | None:
        """The published totals that records meet; InputError for any that cannot be met."""
        if self.published is None:
            return None
        return PublishedTotals.read(self.published, self.table, self.schema)

    def rows_known(self, records: int | None) -> int | None:
        """The number of records where it is public: a given one, or the sum of their totals.

        InputError where both are given and differ.
        """
        if self.totals is None or self.schema.weighing is not None:
            return records
        total = round(self.totals.population)
        if records not in (None, total):
            raise InputError.by("totals-records", file=self.totals.file, total=total, n=records)
        return total

    @cached_property
    def referred(self) -> nw.DataFrame[Any]:
        """The records of the reference, with those of the columns that it has."""
        assert self.reference is not None
        sets = range(len(self.table.sets))
        return self.reference.records({name for q in sets for name in self.table.reads(q)})

    def noise(self, budget: Budget, *, hidden: bool) -> Noise:
        """The noise of all that a run may buy, by name: from settings and the schema alone.

        Where it is `hidden`, the number of records is among it. Under "auto" it is the noise of
        pairs, and has that of the other sets beside it.
        """
        given: Any = {"cells": self.finest, "share": self.cells_share}
        rows = self.schema if self.slots is None else self.slots.schema
        if rows.paid is not None:  # What was bought for the schema chose these counts.
            budget = replace(budget, adaptive=True)
        if AUTO not in self.measure:
            weighted = self.schema.weighing is not None
            known = self.totals is not None
            how: Any = {"hidden": hidden, "weighted": weighted, "known": known}
            return count_noise(budget, self.table, **how, **given)
        tables = {word: own.table for word, own in self._ways.items()}
        if hidden:
            pure = budget.pure
            shares = {word: count_shares(own, pure=pure, **given) for word, own in tables.items()}
            each = noise_of_lists(budget, OF_ALL, shares)
        else:
            each = {n: count_noise(budget, own, hidden=False, **given) for n, own in tables.items()}
        return replace(each.pop(PAIRS), others=each)

    def settled(self, noise: Noise, records: int) -> tuple[CellCounting, Noise, Phrase | None]:
        """What a run goes on to count, under which noise, given the number of records; and why.

        "auto" follows a public rule of that number, of the noise and of the cells. The reason is
        for `forecast_words`; None where nothing was to choose.
        """
        if AUTO not in self.measure:
            return self, noise, None
        pairs = noise_apart(self.table, noise, 2, records)
        word, apart, most = PAIRS, pairs, _MOST_OF_PAIRS
        if pairs > _MOST_OF_PAIRS:
            word = MARGINS
        elif TRIPLES in noise.others:
            table = self._ways[TRIPLES].table
            triples = noise_apart(table, noise.others[TRIPLES], 3, records)
            if triples <= _MOST_OF_TRIPLES:
                word, apart, most = TRIPLES, triples, _MOST_OF_TRIPLES
        why = Phrase(f"auto-{word}", {"apart": apart, "most": most})
        return self._ways[word], noise.others.get(word, noise), why

    def read(self, frame: Any, units: NDArray[np.intp] | None = None) -> CountedRecords:
        """The records of a table; a reference may lack columns.

        Where records are units, they are made of rows of `units` (N,), 0 to H - 1.
        """
        rows = None
        if self.slots is not None and units is not None:
            of_rows = counted_columns(self.slots.schema).items()
            known = {n: own.read(frame)[1] for n, own in of_rows if n in frame.columns}
            frame, rows = self.slots.widened(frame, units)
        codes, values = self.table.read(frame)
        finest, there = self.finest, {*frame.columns}
        read = {
            name: column.read(frame)
            for name, column in finest.columns.items()
            if {one.name for one in column.reads} <= there
        }
        weight = self.schema.weighing
        weighed = weight and weight.column in there and weight.read(frame[weight.column])
        times = weighed.parts if weighed else np.ones(len(codes), dtype=np.int64)
        fine = {name: TalliedCells(own, times) for name, (own, _) in read.items()}
        rounded = {name: own for name, own in finest.roundness.items() if name in read}
        classes = {n: TalliedCells(own.codes(*read[n]), times) for n, own in rounded.items()}
        of_records = values if rows is None else known
        return CountedRecords(codes, fine, classes, of_records, weighed or None, rows)

    def read_in_steps(
        self, parts: CountedParts, number: int, values: Mapping[str, Floats]
    ) -> CountedInSteps:
        """The records of a table that `parts` reads, of which there are a `number`."""
        columns, roundness = self.finest.columns, self.finest.roundness
        fine = {n: np.zeros(own.size, dtype=np.int64) for n, own in columns.items()}
        classes = {n: np.zeros(len(own.units), dtype=np.int64) for n, own in roundness.items()}
        names = list(columns)
        reads = [[one.name for one in columns[name].reads] for name in names]
        for part in parts(reads) if names else ():
            for name in (names[place] for place in part.groups):
                codes, own = columns[name].read(nw.from_native(part.rows))
                _add(fine[name], codes, part.times)
                if name in classes:
                    _add(classes[name], roundness[name].codes(codes, own), part.times)
        found = {name: _tally(own) for name, own in fine.items()}
        rounded = {name: _tally(own) for name, own in classes.items()}
        return CountedInSteps(parts, number, found, rounded, values)

    def counts(self, records: CountedRecords | CountedInSteps, table: Workload) -> Counts:
        """The counts (C,) of the records in all cells of a table, without noise."""
        if isinstance(records, CountedInSteps):
            return records.counts(table)
        return table.counts(self.recoded(records, table).codes)

    def in_fine_cells(
        self, records: CountedRecords | CountedInSteps, cells: FineCells, name: str
    ) -> TalliedCells:
        """The records in the cells of a number that join the finest ones."""
        own = records.fine[name]
        joined = recoded(self.finest.columns[name], cells.columns[name], own.cells)
        return replace(own, cells=joined)

    def recoded(self, records: CountedRecords, table: Workload) -> CountedRecords:
        """The records in the cells of a table, which join fine ones of some numbers."""
        codes = records.codes.copy()
        for k, (name, column) in enumerate(table.columns.items()):
            if name in records.fine:
                codes[:, k] = recoded(self.finest.columns[name], column, records.fine[name].cells)
        return replace(records, codes=codes)


def _add(counts: Counts, codes: Codes, times: Counts | None) -> None:
    known = codes >= 0
    each = None if times is None else times[known]
    counts += np.bincount(codes[known], each, minlength=len(counts)).astype(np.int64)


def _tally(counts: Counts) -> TalliedCells:
    return TalliedCells(np.arange(len(counts)), counts)


@dataclass(frozen=True, slots=True, eq=False)
class MeasuredCounts:
    """The schema with the chosen cells, and what was bought: of sets, and of fine cells.

    `why` says what "auto" chose.
    """

    schema: Schema
    noisy: Measurements
    fine: Mapping[str, FineCounts]
    why: Phrase | None = None


def measured(
    counting: CellCounting,
    noise: Noise,
    seller: Seller[CountedRecords | CountedInSteps],
    *,
    records: int | None,
) -> MeasuredCounts:
    """Buy the number of records, fine cells, and the sets in the cells that these choose.

    Under "auto" that number chooses the sets.
    `records` is their number where neighbours have as many or it is public; else it is bought.
    """
    weight, sums, totals = counting.schema.weighing, None, counting.totals
    if weight is not None:
        known = None if totals is None else totals.population
        sums = bought_sums(seller, noise, weight, _parts, records=records, population=known)
    elif records is None:
        records = bought_number(seller, lambda own: own.number)
    number = sums.rows if sums is not None else records
    assert number is not None
    counting, settled, why = counting.settled(noise, number)
    if settled is not noise:
        seller.turn_to(settled)
        noise = settled
    schema, table, finest = counting.schema, counting.table, counting.finest.columns
    fine: dict[str, FineCounts] = {}
    row, of_scale = 1.0 if sums is None else sums.parts, deviation_of(noise.budget.pure)
    if finest:
        sets = [of_set(name) for name in table.names]
        deviation = noise.scales[of_cells(next(iter(finest)))] / row * of_scale
        cells = counting.fine_cells(most_fine_cells(number, deviation))
        fine = bought_cells(
            seller,
            noise,
            cells,
            lambda own, name: counting.in_fine_cells(own, cells, name),
            lambda own, name: own.classes[name],
        )
        of_sets = sum(map(noise.deviation, sets)) / len(sets) / row
        most, least = most_cells(number, of_sets), _OF_NEIGHBOURS * of_sets
        in_rows = {name: own.in_rows(row, of_scale) for name, own in fine.items()}
        schema = cells.chosen(schema, in_rows, most, least)
        table = counting.in_cells(schema, priced=table.names)

    @cache
    def coded(own: CountedRecords | CountedInSteps) -> Codes:
        assert isinstance(own, CountedRecords)
        return counting.recoded(own, table).codes

    @cache
    def counts(own: CountedRecords | CountedInSteps) -> Counts:
        if weight is None:
            return counting.counts(own, table)
        return table.counts(coded(own), times=_parts(own))

    noisy = bought_tables(seller, noise, table, counts, records=number)
    if sums is not None:
        sums = with_squares(sums.by_sets(noisy), seller, noise, table, coded, _parts)
        noisy, row = noisy.in_rows(sums), sums.parts
        fine = {name: own.in_rows(row, of_scale) for name, own in fine.items()}
    return MeasuredCounts(schema, replace(noisy, totals=totals), fine, why)


def _parts(records: CountedRecords | CountedInSteps) -> Counts:
    """What each record counts as, in parts of the largest weight."""
    assert isinstance(records, CountedRecords)
    assert records.weighed is not None
    return records.weighed.parts


def compared_totals(
    counting: CellCounting, records: CountedRecords | CountedInSteps
) -> dict[str, Any] | None:
    """Whether a table's own sums are the totals: confidential; None without totals.

    Then there is a `warning`. A table in steps is not compared.
    """
    if counting.totals is None:
        return None
    if isinstance(records, CountedInSteps):
        return {"warning": _NOT_COMPARED}
    weight = counting.schema.weighing
    each: Floats = np.ones(records.number)
    if weight is not None:
        each = _parts(records).astype(np.float64) * (weight.high / MOST_PARTS)
    alike = are_sums_of(counting.totals, counting.table.by_name(records.codes), each)
    return {"alike": alike, "warning": _OF_TABLE if alike else None}
