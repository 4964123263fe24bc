"""What noisy counts measure of a table by a schema: made once, by names, before any record.

No refusal follows from the records: a value that the schema does not know is in no cell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts.chosen_cells import (
    MOST_FINE,
    FineCells,
    fine_cells,
    recoded,
)
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import count_noise
from pyvws.mechanisms.counts.workload import Workload, in_own_cells, workload
from pyvws.privacy.budget import Budget, Noise
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


@dataclass(frozen=True, eq=False)
class CellCounting:
    """The sets and the fine cells that are counted of a table with a schema.

    `measure`, `tables`, `conditionals` are as of `workload`. Numbers of many values are in
    fine cells where `cells_share` of the budget is for them.
    """

    schema: Schema
    measure: Sequence[str]
    tables: Sequence[str]
    conditionals: bool
    cells_share: float

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
        """Raise InputError for what cannot be counted."""
        self.table  # noqa: B018

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
        """The records of a table."""
        codes, values = self.table.read(frame)
        finest = self.finest
        read = {name: column.read(frame[name]) for name, column in finest.columns.items()}
        fine = {name: own for name, (own, _) in read.items()}
        classes = {name: own.codes(*read[name]) for name, own in finest.roundness.items()}
        return CountedRecords(codes, fine, classes, values)

    def recoded(self, records: CountedRecords, table: Workload) -> CountedRecords:
        """The records in the cells of a table, which join fine ones of some numbers."""
        codes = records.codes.copy()
        for k, (name, column) in enumerate(table.columns.items()):
            if name in records.fine:
                codes[:, k] = recoded(self.finest.columns[name], column, records.fine[name])
        return replace(records, codes=codes)
