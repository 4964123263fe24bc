"""What noisy counts measure of a table by a schema: made once, by names, before any record.

No refusal follows from the records: a value that the schema does not know is in no cell.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.chosen_cells import (
    MOST_FINE,
    FineCells,
    fine_cells,
    recoded,
)
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import count_noise
from pyvws.mechanisms.counts.workload import Counts, Workload, in_own_cells, workload
from pyvws.privacy.budget import Budget, Noise
from pyvws.privacy.seller import TalliedCells
from pyvws.tables.files.public import PublicTable
from pyvws.tables.files.steps import CountedRows
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True, eq=False)
class CountedRecords:
    """The records of a table in public cells.

    Attributes
    ----------
    codes : ndarray of int32, shape (N, K)
        The code of each record in each counted column, -1 for none.
    fine, classes : mapping of str to ndarray of int32, shape (N,)
        The codes in the fine cells of each number that has some, and in those of how round it is.
    values : mapping of str to ndarray, shape (N,)
        The values of the columns.
    """

    codes: Codes
    fine: Mapping[str, Codes]
    classes: Mapping[str, Codes]
    values: Mapping[str, Floats]

    @property
    def number(self) -> int:
        """N, the number of records."""
        return len(self.codes)


CountedParts = Callable[[Sequence[Sequence[str]]], Iterator[CountedRows]]
"""Reads a table once, and gives the rows of some groups of columns in parts."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedInSteps:
    """The records of a table that is never held: read once for fine cells, once for the sets.

    Attributes
    ----------
    parts : function of groups of columns
        Reads the table.
    number : int
        N, the number of records.
    fine, classes : mapping of str to TalliedCells
        The tallies of each number that has fine cells, in these and by how round it is.
    values : mapping of str to ndarray
        Values of some records, for checks alone.
    """

    parts: CountedParts
    number: int
    fine: Mapping[str, TalliedCells]
    classes: Mapping[str, TalliedCells]
    values: Mapping[str, Floats]
    _tallied: dict[Workload, TalliedCells] = field(default_factory=dict, repr=False)

    def written(self) -> bytes:
        """The counts in all cells that were tallied, as int64."""
        return b"".join(own.records.tobytes() for own in self._tallied.values())

    def tally(self, table: Workload) -> TalliedCells:
        """The tally of all C cells of a table, without noise."""
        if table not in self._tallied:
            counts = np.zeros(len(table.possible), dtype=np.int64)
            for part in self.parts([table.reads(q) for q in range(len(table.sets))]):
                codes, _ = table.read(nw.from_native(part.rows))
                counts += table.counts(codes, part.groups, part.times)
            self._tallied[table] = _tally(counts)
        return self._tallied[table]


@dataclass(frozen=True, eq=False)
class CellCounting:
    """The sets and the fine cells that are counted of a table with a schema.

    `measure`, `tables`, `conditionals` are as of `workload`. Numbers of many values are in
    fine cells where `cells_share` of the budget is for them. `reference` is a public table.
    """

    schema: Schema
    measure: Sequence[str]
    tables: Sequence[str]
    conditionals: bool
    cells_share: float
    reference: PublicTable | None = None

    def fine_cells(self, most: int = MOST_FINE) -> FineCells:
        """The numbers that have fine cells, about `most` of each at most."""
        if not self.cells_share:
            return FineCells({}, {})
        return fine_cells(self.schema, self._in_own_cells, most=most)

    @cached_property
    def finest(self) -> FineCells:
        """The numbers in the fine cells that records are coded in."""
        return self.fine_cells()

    @cached_property
    def table(self) -> Workload:
        """The sets, of as many chosen cells as can be; InputError for what cannot be counted."""
        return self.in_cells(self.finest.evenly(self.schema))

    def in_cells(self, schema: Schema, priced: Collection[str] | None = None) -> Workload:
        """The sets in the cells of a schema, of which only `priced` ones have a price."""
        words = self.measure, self.tables
        return workload(schema, *words, conditionals=self.conditionals, priced=priced)

    def refuse(self) -> None:
        """Raise InputError for what cannot be counted, and for a reference that says nothing."""
        self.table  # noqa: B018
        if self.reference is not None:
            self.referred  # noqa: B018

    @cached_property
    def referred(self) -> nw.DataFrame[Any]:
        """The records of the reference, with those of the columns that it has."""
        assert self.reference is not None
        sets = range(len(self.table.sets))
        return self.reference.records({name for q in sets for name in self.table.reads(q)})

    @cached_property
    def _in_own_cells(self) -> set[str]:
        return in_own_cells(self.schema, self.measure, self.tables, conditionals=self.conditionals)

    def noise(self, budget: Budget, *, hidden: bool) -> Noise:
        """The noise of all that a run may buy, by name: from settings and the schema alone.

        Where it is `hidden`, the number of records is among it.
        """
        return count_noise(
            budget, self.table, hidden=hidden, cells=self.finest, share=self.cells_share
        )

    def read(self, frame: Any) -> CountedRecords:
        """The records of a table; a reference may lack columns."""
        codes, values = self.table.read(frame)
        finest, there = self.finest, {*frame.columns}
        read = {n: column.read(frame[n]) for n, column in finest.columns.items() if n in there}
        fine = {name: own for name, (own, _) in read.items()}
        rounded = {name: own for name, own in finest.roundness.items() if name in there}
        classes = {name: own.codes(*read[name]) for name, own in rounded.items()}
        return CountedRecords(codes, fine, classes, values)

    def read_in_steps(
        self, parts: CountedParts, number: int, values: Mapping[str, Floats]
    ) -> CountedInSteps:
        """The records of a table that `parts` reads, of which there are a `number`."""
        columns, roundness = self.finest.columns, self.finest.roundness
        fine = {n: np.zeros(own.size, dtype=np.int64) for n, own in columns.items()}
        classes = {n: np.zeros(len(own.units), dtype=np.int64) for n, own in roundness.items()}
        names = list(columns)
        for part in parts([[name] for name in names]) if names else ():
            for name in (names[place] for place in part.groups):
                codes, own = columns[name].read(nw.from_native(part.rows)[name])
                _add(fine[name], codes, part.times)
                if name in classes:
                    _add(classes[name], roundness[name].codes(codes, own), part.times)
        found = {name: _tally(own) for name, own in fine.items()}
        rounded = {name: _tally(own) for name, own in classes.items()}
        return CountedInSteps(parts, number, found, rounded, values)

    def counts(self, records: CountedRecords | CountedInSteps, table: Workload) -> Counts:
        """The counts (C,) of the records in all cells of a table, without noise."""
        if isinstance(records, CountedInSteps):
            return records.tally(table).records
        return table.counts(self.recoded(records, table).codes)

    def in_fine_cells(
        self, records: CountedRecords | CountedInSteps, cells: FineCells, name: str
    ) -> Codes | TalliedCells:
        """The records in the cells of a number that join the finest ones."""
        finest, final, own = self.finest.columns[name], cells.columns[name], records.fine[name]
        if isinstance(own, TalliedCells):
            return replace(own, cells=recoded(finest, final, own.cells))
        return recoded(finest, final, own)

    def recoded(self, records: CountedRecords, table: Workload) -> CountedRecords:
        """The records in the cells of a table, which join fine ones of some numbers."""
        codes = records.codes.copy()
        for k, (name, column) in enumerate(table.columns.items()):
            if name in records.fine:
                codes[:, k] = recoded(self.finest.columns[name], column, records.fine[name])
        return replace(records, codes=codes)


def _add(counts: Counts, codes: Codes, times: Counts | None) -> None:
    known = codes >= 0
    each = None if times is None else times[known]
    counts += np.bincount(codes[known], each, minlength=len(counts)).astype(np.int64)


def _tally(counts: Counts) -> TalliedCells:
    return TalliedCells(np.arange(len(counts)), counts)
