"""A table of several outcomes: one conditional a column, p_k(y_k | y_1 .. y_{k-1}, z; theta_k).

A record x_i = (y_i1, ..., y_iK) has the log-likelihood l_i = sum_k l_ik. The priors of the columns'
parameters are independent, so under given weights the pseudo posterior is a product of K fits, and
one draw of each makes one joint draw.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.phrase import Phrase
from pyvws.models.model import Draws, Model
from pyvws.tables.cells import Cells, Records

__all__ = ["Conditional", "DrawnColumn", "TableCells", "TableModel", "draws_of", "joint_draws"]


@dataclass(frozen=True, slots=True)
class Conditional:
    """One synthesized column: its family given the public and the earlier columns.

    The design rows of `cells` code the predictors; record i of every column's cells is the same
    record. `model` is prepared.
    """

    column: str
    model: Model
    cells: Cells


@dataclass(frozen=True, slots=True)
class DrawnColumn:
    """How the values of one column are drawn, for rows that stand for the records of a table.

    Attributes
    ----------
    column : str
        Name of the column.
    model : Model
        The column's family, prepared.
    design : ndarray, shape (N, K)
        The records' own design rows. They may be read only where `coded` is None.
    coded : function of a mapping of column names to values (n,), optional
        The design rows (n, K) of rows whose predictors have these values: a column that follows
        another synthesized column must be drawn from synthetic values of the other. None where all
        predictors are public.
    first : float
        What a value of the family's becomes in the table's coding: value + first.
    seen : ndarray, shape (N,), optional
        The encoded outcome, for a family that reads it.
    """

    column: str
    model: Model
    design: Floats
    coded: Callable[[Mapping[str, Floats]], Floats] | None = None
    first: float = 0.0
    seen: Floats | None = None


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

    Attributes
    ----------
    columns : tuple of Conditional
        The K columns in order.
    places : ndarray of int, shape (C, K)
        The cell that each distinct record has in each column's own cells.
    cell_of_record, multiplicity : ndarray, shape (N,)
        As in `Records`.
    """

    columns: tuple[Conditional, ...]
    places: NDArray[np.intp]
    cell_of_record: NDArray[np.intp]
    multiplicity: Floats | None = None

    @classmethod
    def of(cls, columns: Sequence[Conditional]) -> TableCells:
        """The distinct records of columns that have the same N records."""
        first = columns[0].cells
        place = np.zeros(first.n_records, dtype=np.intp)
        for one in columns:
            pairs = place * one.cells.n_cells + one.cells.cell_of_record
            _, place = np.unique(pairs, return_inverse=True)
        _, where = np.unique(place, return_index=True)
        of_each = np.column_stack([one.cells.cell_of_record[where] for one in columns])
        return cls(tuple(columns), of_each, place, first.multiplicity)

    @property
    def n_cells(self) -> int:
        return len(self.places)

    @property
    def rows(self) -> Floats:
        """The distinct design rows of the last column, which the most columns precede."""
        return self.columns[-1].cells.rows

    def part(self, places: slice | NDArray[np.intp]) -> TableCells:
        """Distinct records at some places, each as one record."""
        kept = self.places[places]
        return TableCells(self.columns, kept, np.arange(len(kept)))


@dataclass(frozen=True, slots=True)
class TableModel:
    """The model of all columns of a table: what a run asks of a family, summed over columns.

    Draws have the names of `joint_draws`, and cells are `TableCells`.
    """

    columns: tuple[Conditional, ...]

    @property
    def name(self) -> str:
        """The columns' families, in the columns' order."""
        return ", ".join(one.model.name for one in self.columns)

    @property
    def prepared_from_data(self) -> bool:
        """Whether any family takes values from the outcome that change the terms of records."""
        return any(one.model.prepared_from_data for one in self.columns)

    @property
    def reads_outcome(self) -> bool:
        """Whether any family draws synthetic values from the confidential outcome."""
        return any(one.model.reads_outcome for one in self.columns)

    @property
    def caveats(self) -> tuple[Phrase, ...]:
        """The families' caveats, each once."""
        found: list[Phrase] = []
        for one in self.columns:
            found += [said for said in one.model.caveats if said not in found]
        return tuple(found)

    def log_likelihood(self, draws: Draws, cells: TableCells) -> Floats:
        """sum_k l_ik of each distinct record at each joint draw, shape (S, C), in nats."""
        return self._summed(
            cells, lambda one, part: one.model.log_likelihood(draws_of(draws, one.column), part)
        )

    def saturated(self, cells: TableCells) -> Floats:
        """sum_k a_ik (C,), in nats: the supremum of each record's sum over public parameters."""
        return self._summed(cells, lambda one, part: one.model.saturated(part))

    def _summed(self, cells: TableCells, own: Callable[[Conditional, Cells], Floats]) -> Any:
        """The sum over columns of values by the columns' own cells (..., C_k), as (..., C)."""
        total: Any = 0.0
        for k, one in enumerate(self.columns):
            used, place = np.unique(cells.places[:, k], return_inverse=True)
            whole = len(used) == one.cells.n_cells
            total = total + own(one, one.cells if whole else one.cells.part(used))[..., place]
        return total
