"""Equal records are one cell: the distinct (outcome, design row) pairs of a table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, Places


class Records:
    """N records of which equal ones share a cell: what weights and means by record need.

    - `cell_of_record` (N,): Place of each record's cell.
    - `multiplicity` (N,): Number of table records that each of the N stands for, in a table that
      was tallied before; by default 1.
    """

    __slots__ = ()

    called: ClassVar[str] = "records"
    cell_of_record: Places
    multiplicity: Floats | None

    @property
    def n_cells(self) -> int:
        """C, the number of distinct records."""
        raise NotImplementedError

    @property
    def n_records(self) -> int:
        """N, the number of records that have weights."""
        return len(self.cell_of_record)

    @property
    def total_records(self) -> int:
        """Number of records of the whole table: the sum of the multiplicities."""
        return self.n_records if self.multiplicity is None else int(self.multiplicity.sum())

    def mean(self, values: Floats) -> float:
        """Mean over the whole table of the records' `values` (N,), or of all of (N, K)."""
        return float(np.average(values, axis=0, weights=self.multiplicity).mean())

    def one_by_one(self) -> Places:
        """The place among the N of each record of the whole table, in the order of the N."""
        if self.multiplicity is None:
            return np.arange(self.n_records)
        return np.repeat(np.arange(self.n_records), self.multiplicity.astype(np.intp))

    def weight_sums(self, weights: Floats) -> Floats:
        """Sum of the records' weights in each cell: weights (N,) to (C,)."""
        if self.multiplicity is not None:
            weights = weights * self.multiplicity
        sums = np.bincount(self.cell_of_record, weights=weights, minlength=self.n_cells)
        return np.asarray(sums, dtype=np.float64)

    def smallest_positive_weights(self, weights: Floats) -> Floats:
        """Smallest positive weight in each cell: weights (N,) to (C,); infinite where all are 0."""
        smallest = np.full(self.n_cells, np.inf)
        np.minimum.at(smallest, self.cell_of_record, np.where(weights > 0, weights, np.inf))
        return smallest


@dataclass(frozen=True, slots=True)
class Cells(Records):
    """A table with equal records counted together: C cells, R design rows and V outcome values.

    - `rows` (R, K): Distinct rows of the design matrix.
    - `values` (V,): Distinct outcomes, rising, in the outcome's unit.
    - `row_of_cell`, `value_of_cell` (C,): Places of each cell's design row and of each cell's
      value.
    - `cell_of_record`, `multiplicity` (N,): As in `Records`.
    - `ends` (R, 2): The ends of each row's outcomes, where the record bounds them; rows of the same
      design with other ends are distinct.
    """

    rows: Floats
    values: Floats
    row_of_cell: Places
    value_of_cell: Places
    cell_of_record: Places
    multiplicity: Floats | None = None
    ends: Floats | None = None

    @property
    def n_cells(self) -> int:
        """C, the number of distinct records."""
        return len(self.row_of_cell)

    @property
    def n_coefficients(self) -> int:
        """K, the number of design columns."""
        return int(self.rows.shape[1])

    @property
    def outcome(self) -> Floats:
        """Outcome of each cell, shape (C,)."""
        return self.values[self.value_of_cell]

    def part(self, places: slice | Places) -> Cells:
        """Cells at some places, each as one record, with the design rows and values they use."""
        kept_rows, row_of_cell = np.unique(self.row_of_cell[places], return_inverse=True)
        kept_values, value_of_cell = np.unique(self.value_of_cell[places], return_inverse=True)
        return Cells(
            rows=self.rows[kept_rows],
            values=self.values[kept_values],
            row_of_cell=row_of_cell,
            value_of_cell=value_of_cell,
            cell_of_record=np.arange(len(row_of_cell)),
            ends=None if self.ends is None else self.ends[kept_rows],
        )


def distinct_rows(columns: Iterable[NDArray[Any]], n: int) -> tuple[Places, Places]:
    """Places of the distinct rows of K columns (n,), rising by the first column, then the next.

    Gives the first place of each of R distinct rows (R,), and each row's number among these (n,).
    A missing value equals another.
    """
    row = np.zeros(n, dtype=np.intp)
    for column in columns:
        _, codes = np.unique(column, return_inverse=True)
        _, row = np.unique(row * (codes.max(initial=0) + 1) + codes, return_inverse=True)
    return np.unique(row, return_index=True)[1], row


def make_cells(
    outcome: Floats,
    design: Floats,
    multiplicity: Floats | None = None,
    rows: Places | None = None,
    ends: Floats | None = None,
) -> Cells:
    """Cells of an outcome (N,) and a design (N, K); `multiplicity` (N,) counts equal records.

    With `rows` (N,) record i has the design row rows[i], so that the design may be shorter. `ends`
    (N, 2) are the ends between which each record bounds its outcome.
    """
    values, value_of_record = np.unique(outcome, return_inverse=True)
    design = np.asarray(design, dtype=np.float64)
    first, row_of_record = distinct_rows(design.T, len(design))
    if rows is not None:
        used, row_of_record = np.unique(row_of_record[rows], return_inverse=True)
        first = first[used]
    if ends is not None:
        records, bounded = distinct_rows([row_of_record, *ends.T], len(outcome))
        first, ends, row_of_record = first[row_of_record[records]], ends[records], bounded
    pairs = row_of_record * len(values) + value_of_record
    cells, cell_of_record = np.unique(pairs, return_inverse=True)
    return Cells(
        rows=np.ascontiguousarray(design[first], dtype=np.float64),
        values=values,
        row_of_cell=cells // len(values),
        value_of_cell=cells % len(values),
        cell_of_record=cell_of_record,
        multiplicity=multiplicity,
        ends=ends,
    )
