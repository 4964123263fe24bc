"""Units of several records, such as households: whose records stand and fall together.

The log-likelihood of unit h is the sum over its records, l_h = sum_j l_hj, and alpha_h is one
weight for all of them. Where records have exponents such as survey weights, l_h = sum_j e_hj l_hj.
Units whose records have the same cells and exponents are of one kind: they have one sum.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Final

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from pyvws._base.checks import Floats, Places
from pyvws.tables.design.cells import Records

_NOBODY: Final = np.empty(0, dtype=np.intp)


@dataclass(frozen=True, slots=True)
class UnitKinds:
    """The U kinds of H units.

    - `of_unit` (H,): Place of each unit's kind, -1 for a unit none of whose records has a cell.
    - `counts` (sparse array, shape (U, C)): How many records of each cell a unit of the kind has,
      or the sum of their exponents.
    """

    of_unit: Places
    counts: Any

    @property
    def n_kinds(self) -> int:
        return int(self.counts.shape[0])


def unit_kinds(
    unit_of_record: Places, cell_of_record: Places, cells: int, exponents: Floats | None = None
) -> UnitKinds:
    """The kinds of units of N records, of which record i has one of C cells, or none at -1.

    With `exponents` (N,) a record counts that often.
    """
    units = int(unit_of_record.max()) + 1
    has = np.flatnonzero(cell_of_record >= 0)
    times = np.ones(len(has)) if exponents is None else exponents[has]
    order = np.lexsort((times, cell_of_record[has], unit_of_record[has]))
    has, times = has[order], times[order]
    sorted_cells = cell_of_record[has]
    values = sorted_cells if exponents is None else np.column_stack([sorted_cells, times])
    of_unit, first = _alike(unit_of_record[has], values, units)
    kept = np.concatenate([*(np.arange(rows.start, rows.stop) for rows in first), _NOBODY])
    at = (_kinds_of(first), sorted_cells[kept])
    counts = csr_array((times[kept], at), shape=(len(first), cells))
    counts.eliminate_zeros()  # An exponent of 0 takes a term out, also one of -inf.
    return UnitKinds(of_unit, counts)


def _alike(units: Places, values: NDArray[Any], many: int) -> tuple[Places, list[slice]]:
    """The kind of each unit (H,), -1 without records, and where the first unit of each kind stands.

    Record i of N has the unit units[i], rising, and units with equal `values` are of one kind.
    """
    ends = np.searchsorted(units, np.arange(many + 1))
    values = np.ascontiguousarray(values)
    kind_of: dict[bytes, int] = {}
    of_unit = np.full(many, -1, dtype=np.intp)
    first: list[slice] = []
    for h, (start, end) in enumerate(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)):
        if start == end:
            continue
        of_unit[h] = kind = kind_of.setdefault(values[start:end].tobytes(), len(kind_of))
        if kind == len(first):
            first.append(slice(start, end))
    return of_unit, first


def _kinds_of(first: Sequence[slice]) -> Places:
    """The kind of each record of the first units of the kinds (M,)."""
    return np.repeat(np.arange(len(first)), [rows.stop - rows.start for rows in first])


@dataclass(frozen=True, slots=True)
class UnitTally:
    """The N records of a table as those of one unit of each kind, and how many units these are.

    - `kinds` (M,): The kind of unit of each of the M records, from 0, rising.
    - `places` (M,): Which distinct record of the table each of the M equals.
    - `counts` (M,): The number of units of the record's kind.
    - `of_record` (N,): Which of the M each record of the table equals.
    """

    kinds: Places
    places: Places
    counts: Floats
    of_record: NDArray[np.uint32]

    @classmethod
    def of(cls, units: Places, places: Places, *, in_order: bool) -> UnitTally:
        """The tally of N records with `units`, 0 to H - 1, wherever a unit's records stand.

        `places` (N,) are the distinct records that they equal. With `in_order` units are alike
        where their records are, one after the other; otherwise in any order.
        """
        order = np.argsort(units, kind="stable") if in_order else np.lexsort((places, units))
        units, sorted_places = units[order], places[order]
        of_unit, first = _alike(units, sorted_places, int(units[-1]) + 1)
        kinds = _kinds_of(first)
        starts = np.searchsorted(kinds, np.arange(len(first)))
        of_record = np.empty(len(order), dtype=np.uint32)
        within = np.arange(len(order)) - np.searchsorted(units, units)
        of_record[order] = starts[of_unit[units]] + within
        return cls(
            kinds,
            np.concatenate([sorted_places[rows] for rows in first]),
            np.bincount(of_unit).astype(np.float64)[kinds],
            of_record,
        )


@dataclass(frozen=True, slots=True)
class Units(Records):
    """H units of the N records of `records`: a run weighs the units and fits the records.

    - `records`: The cells of the records.
    - `of_record` (N,): Each record's unit, 0 to H - 1.
    - `kinds`: The kinds of units in each conditional of a table, or of one outcome.
    - `whole`: The kinds of units by all of their records.
    """

    records: Any
    of_record: Places
    kinds: tuple[UnitKinds, ...]
    whole: UnitKinds
    multiplicity: Floats | None = None
    called: ClassVar[str] = "units"

    @classmethod
    def of(
        cls,
        records: Records,
        unit_of_record: Places,
        places: Sequence[tuple[Places, int]],
        exponents: Floats | None = None,
    ) -> Units:
        """The units of records. `places` has each conditional's cells of the records, and C.

        The records of a unit stand for equally many, and record i counts exponents[i] times.
        """
        whole = unit_kinds(unit_of_record, records.cell_of_record, records.n_cells, exponents)
        kinds = tuple(unit_kinds(unit_of_record, *conditional, exponents) for conditional in places)
        counts = None
        if records.multiplicity is not None:
            counts = np.empty(len(whole.of_unit))
            counts[unit_of_record] = records.multiplicity
        return cls(records, unit_of_record, kinds, whole, counts)

    @property
    def cell_of_record(self) -> Places:  # type: ignore[override]
        """The kind of each unit (H,)."""
        return self.whole.of_unit

    @property
    def n_cells(self) -> int:
        return self.whole.n_kinds

    @property
    def rows(self) -> Floats:
        """The distinct design rows of the records."""
        return np.asarray(self.records.rows)

    @property
    def columns(self) -> Any:
        """The conditionals of a table."""
        return self.records.columns

    @property
    def largest(self) -> int:
        """The number of records of the largest unit."""
        return int(np.bincount(self.of_record).max())


def by_record(values: Floats, units: Units | None) -> Floats:
    """The values of the records (N, ...), of which those of a unit share the unit's."""
    return values if units is None else values[units.of_record]
