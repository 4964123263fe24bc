"""What the cells of a column are, and those cells as labels, as floats or as days."""

from __future__ import annotations

import math
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Places
from pyvws.errors import InputError
from pyvws.tables.files.labels import EPOCH, label_of, moved

_KINDS = {"i": "integer", "u": "integer", "f": "floating", "b": "boolean"}
_NO_LABEL = "\0 no label"  # No level is spelled so.


def kind_of(column: nw.Series[Any]) -> str:
    """What a column's Python objects or its categories are; empty for a type of its own."""
    import pandas as pd

    native = column.to_native()
    kind = getattr(native, "dtype", None)
    if isinstance(kind, pd.CategoricalDtype):
        return pd.api.types.infer_dtype(kind.categories, skipna=True)
    if kind == np.dtype(object):
        return pd.api.types.infer_dtype(native, skipna=True)
    if column.dtype == nw.Categorical and column.implementation.is_pyarrow():
        return _KINDS.get(np.dtype(native.type.value_type.to_pandas_dtype()).kind, "")
    return ""


def has_labels(column: nw.Series[Any]) -> bool:
    """Whether a column holds text, categories, or Python's objects of several such kinds."""
    if column.dtype == nw.Object:
        return kind_of(column) in ("boolean", "integer", "floating", "mixed-integer")
    return column.dtype in (nw.String, nw.Categorical, nw.Enum)


def holds_numbers(column: nw.Series[Any]) -> bool:
    """Whether a column's type is one of numbers, or of Python's decimals as objects."""
    if column.dtype == nw.Object:
        return kind_of(column) == "decimal"
    return column.dtype.is_numeric()


def holds_dates(column: nw.Series[Any]) -> bool:
    """Whether a column's type is one of dates, or of Python's dates as objects."""
    if column.dtype == nw.Object:
        return kind_of(column) == "date"
    return column.dtype in (nw.Date, nw.Datetime)


def distinct(column: nw.Series[Any], *, any_cell: bool = False) -> tuple[Places, list[str]]:
    """Each cell's place (N,) among the distinct values, -1 if empty, and the values as text.

    No cell changes the text of another: 1 and true are two values in a column that has both. With
    `any_cell` a cell that is no label, such as a list, has a text that no level has. Else the
    function raises InputError for it.
    """
    import pandas as pd

    if column.dtype in (nw.Int128, nw.UInt128) or (
        column.dtype.is_integer() and column.null_count()
    ):
        column = column.cast(nw.String)  # pandas would turn large integers into rounded floats.
    native = column.to_native()
    cells: Any = native if column.implementation.is_pandas() else native.to_pandas()
    if cells.dtype != np.dtype(object) or "mixed" not in pd.api.types.infer_dtype(cells):
        try:
            places, values = pd.factorize(cells)
            return places, [(_any_label(x) or "") if any_cell else label_of(x) for x in values]
        except TypeError:  # Cells that have no place among others, such as lists.
            pass
    labels = np.array([_any_label(cell) for cell in cells], dtype=object)
    if _NO_LABEL in labels and not any_cell:
        raise InputError.by("cells-not-labels", column=column.name)
    places, values = pd.factorize(labels)
    return places, list(values)


def _any_label(cell: object) -> str | None:
    """A cell as text by itself: None where it is empty, and `_NO_LABEL` where it is no label."""
    import pandas as pd

    if pd.api.types.is_list_like(cell):
        return _NO_LABEL
    try:
        return None if pd.isna(cell) else label_of(cell)
    except (ArithmeticError, InputError, TypeError, ValueError):
        return _NO_LABEL


def ends_of_type(column: nw.Series[Any]) -> tuple[float, float]:
    """The lowest and the highest number that a column's type can hold."""
    if not column.dtype.is_integer():
        return -math.inf, math.inf
    bits = int("".join(filter(str.isdigit, str(column.dtype))))
    low = 0.0 if column.dtype.is_unsigned_integer() else -(2.0 ** (bits - 1))
    return low, low + 2.0**bits - 1.0


def floats_of(column: nw.Series[Any]) -> Floats:
    """A column of numbers as floats (N,), NaN where empty: of a decimal the float nearest to it."""
    if column.dtype.is_decimal():
        column = column.cast(nw.String)  # Arrow's own cast rounds twice.
    if column.dtype.is_integer() and column.implementation.is_pyarrow():
        return np.asarray(column.to_numpy(), np.float64)  # Arrow's own cast refuses 2^53 + 1.
    return np.asarray(column.cast(nw.Float64).fill_null(float("nan")).to_numpy(), np.float64)


def days_of(column: nw.Series[Any], start: str) -> Floats:
    """Days (N,) since `start` of a column that `holds_dates`, NaN where a cell is empty.

    Raises InputError for times of the day, and for dates of a time zone.
    """
    dates = column.to_polars()
    if isinstance(dates.dtype, pl.Datetime):
        if dates.dtype.time_zone is not None:
            raise InputError.by("times-of-zone", column=column.name)
        if times := int((dates != dates.dt.truncate("1d")).sum()):
            raise InputError.by("times-of-day", column=column.name, times=times)
    days = dates.cast(pl.Date).to_physical().cast(pl.Float64).fill_null(float("nan"))
    return np.asarray(moved(days.to_numpy(), EPOCH, start), dtype=np.float64)
