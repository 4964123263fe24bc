"""Which kinds of records leave a fit at weight 0: whole levels of a category, or many records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws.models.model import Model
from pyvws.models.sequence import TableModel
from pyvws.tables.design.cells import Cells, Records
from pyvws.tables.design.units import Units

MANY: Final = 0.01  # More of the records than this share are many.

Places = NDArray[np.intp]
Out = NDArray[np.bool_]


def left_out(records: Records, out: Out) -> int:
    """How many records of the whole table, or units, `out` (N,) has."""
    return round(records.mean(out.astype(np.float64)) * records.total_records)


def loses_much(
    model: Model | TableModel, records: Records, out: Out, column: int | None = None
) -> bool:
    """Whether `out` (N,) has a whole level of a category, or many records and more than one.

    With `column` the levels are those of a table's conditional alone.
    """
    number = left_out(records, out)
    if number > max(1, MANY * records.total_records):
        return True
    return number > 0 and any(
        column in (None, place) for place, _ in lost_levels(model, records, out)
    )


def lost_levels(model: Model | TableModel, records: Records, out: Out) -> Iterator[tuple[int, str]]:
    """Place and name of each category that has a level all of whose records are in `out` (N,).

    A family without a table has no name: the name is empty.
    """
    if isinstance(records, Units):
        out, records = out[records.of_record], records.records
    cell = records.cell_of_record
    gone = np.bincount(cell[out], minlength=records.n_cells)
    every = np.bincount(cell, minlength=records.n_cells)
    for place, (name, own, cells, of_cell) in enumerate(_conditionals(model, records)):
        if own.categorical:
            has = of_cell >= 0
            level = cells.value_of_cell[of_cell[has]]
            lost, all_of = (np.bincount(level, weights=x[has]) for x in (gone, every))
            if ((lost == all_of) & (lost > 0)).any():
                yield place, name


def _conditionals(
    model: Model | TableModel, records: Any
) -> Iterator[tuple[str, Any, Cells, Places]]:
    """Name, model and cells of each conditional, and the cell of each distinct record in them."""
    if isinstance(records, Cells):
        yield "", model, records, np.arange(records.n_cells)
        return
    for column, of_cell in zip(records.columns, records.places.T, strict=True):
        yield column.column, column.model, column.cells, of_cell
