"""A table of several outcomes: one conditional a column, p_k(y_k | y_1 .. y_{k-1}, z; theta_k).

A record x_i = (y_i1, ..., y_iK) has the log-likelihood l_i = sum_k l_ik. The priors of the columns'
parameters are independent, so under given weights the pseudo posterior is a product of K fits, and
one draw of each makes one joint draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from pyvws._base.checks import Bools, Floats, Places, Values
from pyvws._base.phrase import Phrase
from pyvws.models.model import Draws, Model
from pyvws.tables.design.cells import Cells, Records
from pyvws.tables.files.row_order import RowNumbers


@dataclass(frozen=True, slots=True)
class Conditional:
    """One synthesized column: its family given the public and the earlier columns.

    The design rows of `cells` code the predictors, and `model` is prepared. `cells` are of the
    records (n,) at the places `records` of the table's, or of all N. The other records' terms are
    0: a rule fixes their value, or they have none in this part of a number.
    """

    column: str
    model: Model
    cells: Cells
    records: Places | None = None

    def own(self, values: Floats) -> Floats:
        """The entries of the table's (N, ...) that are of the column's records."""
        return values if self.records is None else values[self.records]

    def places(self, records: int) -> Places:
        """Each of N records' cell, -1 for a record without a term, (N,)."""
        if self.records is None:
            return self.cells.cell_of_record
        places = np.full(records, -1, dtype=np.intp)
        places[self.records] = self.cells.cell_of_record
        return places


class Finishing(Protocol):
    """What is public of a column's synthetic values besides their family; methods take the values
    (n,) of the columns before it, by name.
    """

    def rounded(self, drawn: Floats) -> Floats:
        """Drawn values (n,) at the column's decimals."""

    def refused(self, drawn: Floats, values: Values) -> Bools:
        """Which drawn values (n,) the family has to draw again."""

    def left(self, values: Values) -> Bools | None:
        """Which of the family's levels (n, L) may be drawn; None for all."""

    def settled(self, drawn: Floats, values: Values) -> Floats:
        """Drawn values (n,), with those that a rule or another part of the column fixes."""

    def broken(self, values: Values) -> Bools:
        """Which rows (n,) break a rule of the column, whose own settled value they have."""


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """How the values of one column are drawn, for rows that stand for the records of a table.

    `model` is prepared, and None for a column that follows from others by a rule. `design` (N, K)
    are the records' own rows, or distinct ones that `rows` (N,) point to; they may be read only
    where `coded` is None. `coded` makes design rows (n, K) of values (n,) by column, for a column
    that follows another synthesized one. A value of the family's becomes value + `first` in the
    table's coding. `seen` (N,) is the encoded outcome, for a family that reads it. `finish` has the
    column's rules, range and decimals. `ends` makes encoded ends (n, 2) of values (n,) by column,
    where the family draws between those of a record.
    """

    column: str
    model: Model | None
    design: Floats
    coded: Callable[[Values], Floats] | None = None
    first: float = 0.0
    seen: Floats | None = None
    finish: Finishing | None = None
    rows: Places | None = None
    ends: Callable[[Values], Floats] | None = None

    def design_rows(self, records: RowNumbers | slice, values: Values) -> Floats:
        """The design rows (n, K) of the `records`, or of the predictors' `values` (n,)."""
        if self.coded is not None:
            return self.coded(values)
        return self.design[records if self.rows is None else self.rows[records]]


def joint_draws(draws: Mapping[str, Draws]) -> Draws:
    """The draws of all columns' fits under the names "column.parameter"."""
    return {f"{column}.{name}": x for column, own in draws.items() for name, x in own.items()}


def draws_of(draws: Draws, column: str) -> Draws:
    """The draws of one column's fit, from those of `joint_draws`."""
    start = f"{column}."
    return {name[len(start) :]: x for name, x in draws.items() if name.startswith(start)}


@dataclass(frozen=True, slots=True)
class TableCells(Records):
    """N records of several columns with equal records counted together: C distinct records.

    `places` (C, K) is the cell of each distinct record in each column's own cells, -1 for no term.
    """

    columns: tuple[Conditional, ...]
    places: Places
    cell_of_record: Places
    multiplicity: Floats | None = None

    @classmethod
    def of(
        cls, columns: Sequence[Conditional], records: int, multiplicity: Floats | None = None
    ) -> TableCells:
        """The distinct ones of N records, which stand for `multiplicity` (N,) equal ones each."""
        place = np.zeros(records, dtype=np.intp)
        own = [column.places(records) for column in columns]
        for column, cells in zip(columns, own, strict=True):
            pairs = place * (column.cells.n_cells + 1) + cells + 1
            _, place = np.unique(pairs, return_inverse=True)
        _, where = np.unique(place, return_index=True)
        of_each = np.column_stack([cells[where] for cells in own])
        return cls(tuple(columns), of_each, place, multiplicity)

    @property
    def n_cells(self) -> int:
        return len(self.places)

    @property
    def rows(self) -> Floats:
        """The distinct design rows of the column that has the widest design."""
        return max((column.cells.rows for column in self.columns), key=lambda rows: rows.shape[1])

    def part(self, places: slice | Places) -> TableCells:
        """Distinct records at some places, each as one record."""
        kept = self.places[places]
        return TableCells(self.columns, kept, np.arange(len(kept)))


@dataclass(frozen=True, slots=True)
class TableModel:
    """The model of all columns of a table: what a run asks of a family, summed over columns.

    Draws have the names of `joint_draws`, those of one conditional its family's own names. Cells
    are `TableCells`.
    """

    columns: tuple[Conditional, ...]

    def own_draws(self, draws: Draws, column: Conditional) -> Draws:
        """The draws of one conditional among those of all."""
        return draws if len(self.columns) == 1 else draws_of(draws, column.column)

    @property
    def name(self) -> str:
        """The columns' families, in the columns' order."""
        return ", ".join(column.model.name for column in self.columns)

    @property
    def prepared_from_data(self) -> bool:
        """Whether any family takes values from the outcome that change the terms of records."""
        return any(column.model.prepared_from_data for column in self.columns)

    @property
    def reads_outcome(self) -> bool:
        """Whether any family draws synthetic values from the confidential outcome."""
        return any(column.model.reads_outcome for column in self.columns)

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """The families' caveats, each once."""
        phrases: list[Phrase] = []
        for column in self.columns:
            phrases += [caveat for caveat in column.model.caveats if caveat not in phrases]
        return tuple(phrases)

    @property
    def remedy(self) -> str:
        """The families' remedies, each once."""
        remedies = (column.model.remedy for column in self.columns)
        return " ".join(dict.fromkeys(filter(None, remedies)))

    def log_likelihood(self, draws: Draws, cells: TableCells) -> Floats:
        """sum_k l_ik of each distinct record at each joint draw, shape (S, C), in nats."""
        return self._summed(
            cells, lambda own, part: own.model.log_likelihood(self.own_draws(draws, own), part)
        )

    def saturated(self, cells: TableCells) -> Floats:
        """sum_k a_ik (C,), in nats: the supremum of each record's sum over public parameters."""
        return self._summed(cells, lambda own, part: own.model.saturated(part))

    def _summed(self, cells: TableCells, own: Callable[[Conditional, Cells], Floats]) -> Floats:
        """The sum over columns of values by the columns' own cells (..., C_k), as (..., C)."""
        total: Any = 0.0
        for k, column in enumerate(self.columns):
            at = cells.places[:, k]
            used, place = np.unique(at[at >= 0], return_inverse=True)
            whole = len(used) == column.cells.n_cells
            terms = own(column, column.cells if whole else column.cells.part(used))
            if len(place) < len(at):  # Records without a term in the column.
                every = np.zeros((*terms.shape[:-1], len(at)))
                every[..., at >= 0] = terms[..., place]
                total = total + every
            else:
                total = total + terms[..., place]
        return total


def whole_model(model: Model | TableModel, cells: Cells | TableCells) -> TableModel:
    """A table's model as it is; a family with its cells as a table of one conditional."""
    if isinstance(model, TableModel):
        return model
    assert isinstance(cells, Cells)
    return TableModel((Conditional("", model, cells),))
