"""Units of several records, such as households: whose records stand and fall together.

The log-likelihood of unit h is the sum over its records, l_h = sum_j l_hj, and alpha_h is one
weight for all of them. Units whose records have the same cells are of one kind: they have one sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pyvws._base.checks import Floats
from pyvws.tables.cells import Records

__all__ = ["UnitKinds", "Units", "unit_kinds"]

Places = NDArray[np.intp]


@dataclass(frozen=True, slots=True)
class UnitKinds:
    """The U kinds of H units.

    Attributes
    ----------
    of_unit : ndarray of int, shape (H,)
        Place of each unit's kind, -1 for a unit none of whose records has a cell.
    counts : sparse array, shape (U, C)
        How many records of each cell a unit of the kind has.
    """

    of_unit: Places
    counts: Any

    @property
    def n_kinds(self) -> int:
        return int(self.counts.shape[0])


def unit_kinds(unit_of_record: Places, cell_of_record: Places, cells: int) -> UnitKinds:
    """The kinds of units of N records, of which record i has one of C cells, or none at -1."""
    units = int(unit_of_record.max()) + 1
    has = np.flatnonzero(cell_of_record >= 0)
    order = has[np.lexsort((cell_of_record[has], unit_of_record[has]))]
    ends = np.searchsorted(unit_of_record[order], np.arange(units + 1))
    sorted_cells = np.ascontiguousarray(cell_of_record[order], dtype=np.intp)
    found: dict[bytes, int] = {}
    of_unit = np.full(units, -1, dtype=np.intp)
    first: list[slice] = []
    for h, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if start == end:
            continue
        of_unit[h] = kind = found.setdefault(sorted_cells[start:end].tobytes(), len(found))
        if kind == len(first):
            first.append(slice(start, end))
    of_kind = [sorted_cells[one] for one in first]
    lengths = np.array([len(one) for one in of_kind], dtype=np.intp)
    at = (
        np.repeat(np.arange(len(first)), lengths),
        np.concatenate([*of_kind, np.empty(0, np.intp)]),
    )
    return UnitKinds(of_unit, csr_array((np.ones(len(at[0])), at), shape=(len(first), cells)))


@dataclass(frozen=True, slots=True)
class Units(Records):
    """H units of the N records of `records`: a run weighs the units and fits the records.

    Attributes
    ----------
    records : Records
        The cells of the records.
    of_record : ndarray of int, shape (N,)
        Each record's unit, 0 to H - 1.
    kinds : tuple of UnitKinds
        The kinds of units in each conditional of a table, or of one outcome.
    cell_of_record : ndarray of int, shape (H,)
        The kind of each unit, by all of its records.
    """

    records: Any
    of_record: Places
    kinds: tuple[UnitKinds, ...]
    cell_of_record: Places
    multiplicity: Floats | None = None
    called: ClassVar[str] = "units"

    @classmethod
    def of(
        cls, records: Any, unit_of_record: Places, places: Sequence[tuple[Places, int]]
    ) -> Units:
        """The units of records. `places` has each conditional's cells of the records, and C."""
        whole = unit_kinds(unit_of_record, records.cell_of_record, records.n_cells)
        kinds = tuple(unit_kinds(unit_of_record, *one) for one in places)
        return cls(records, unit_of_record, kinds, whole.of_unit)

    @property
    def n_cells(self) -> int:
        return int(self.cell_of_record.max()) + 1

    @property
    def rows(self) -> Floats:
        """The distinct design rows of the records."""
        found: Floats = self.records.rows
        return found

    @property
    def columns(self) -> Any:
        """The conditionals of a table."""
        return self.records.columns

    @property
    def largest(self) -> int:
        """The number of records of the largest unit."""
        return int(np.bincount(self.of_record).max())
