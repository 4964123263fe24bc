"""The records of a table that have a value in every column of a regression, as R's ``lm`` takes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.evaluation._plain_tables import is_number, read_numbers
from pyvws.tables.column import Column
from pyvws.tables.levels import distinct
from pyvws.tables.schema import Schema


def complete_records(
    frame: nw.DataFrame[Any], names: Iterable[str], schema: Schema | None = None
) -> nw.DataFrame[Any]:
    """The records (n,) of a frame (N,) without a missing value in the columns `names`.

    Missing are empty cells, NaN, and the codes of the schema. A number of the schema comes out as
    floats, also where a code such as N made text of it, and a date as days. A name that the frame
    lacks is left to its reader. Raises InputError where no record is left, and for cells of a
    number that are neither a number nor a code.
    """
    known = {} if schema is None else schema.columns
    there = np.ones(len(frame), dtype=np.bool_)
    read = []
    for name in names:
        if name in frame.columns:
            column, has = _with_value(frame[name], known.get(name))
            there &= has
            read.append(column)
    if not there.any():
        raise InputError(
            f"None of the {len(frame)} records has a value in every column of the formula. Name "
            "other columns."
        )
    return frame.with_columns(*read).filter(there.tolist())


def _with_value(
    column: nw.Series[Any], said: Column | None
) -> tuple[nw.Series[Any], NDArray[np.bool_]]:
    """A column as it enters a regression, and which records (N,) have a value in it."""
    if said is not None and not said.categorical and is_number(column, said):
        numbers = read_numbers(column, said)
        made = nw.new_series(column.name, numbers, nw.Float64, backend=column.implementation)
        return made, ~np.isnan(numbers)
    missing = column.is_null()
    if column.dtype.is_float():
        missing = missing | column.is_nan()
    there = ~np.asarray(missing.fill_null(True).to_numpy(), dtype=np.bool_)
    if said is None or not said.missing_codes:
        return column, there
    places, labels = distinct(column)
    gone = [place for place, label in enumerate(labels) if label in said.missing_codes]
    if column.dtype in (nw.Categorical, nw.Enum):  # A level that no record has would stay.
        column = column.cast(nw.String)
    return column, there & ~np.isin(places, gone)
