"""Convert pandas and polars columns to the neutral `Column`, and a `Column` back to pandas."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import polars as pl

from pyvws.errors import InputError
from pyvws.r.columns import Column, from_numpy, from_text, to_python

__all__ = ["from_pandas", "from_polars", "row_names", "to_series"]


def from_pandas(values: Any) -> Column:
    """The column of a pandas array, or of a Series without its index."""
    array = values.array if isinstance(values, pd.Series) else values
    if isinstance(array, pd.Categorical):
        return _factor(array.codes, array.categories.tolist(), bool(array.ordered))
    dtype = array.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        array = array.tz_convert("UTC").tz_localize(None)
        return from_numpy(np.asarray(array))
    if isinstance(dtype, pd.ArrowDtype):
        return from_polars(pl.Series(array.__arrow_array__()))
    if isinstance(dtype, pd.StringDtype):
        return from_text(array.to_numpy(dtype=object, na_value=None), np.asarray(array.isna()))
    if isinstance(array, (pd.arrays.IntegerArray, pd.arrays.FloatingArray, pd.arrays.BooleanArray)):
        # `_data` keeps a NaN that is not NA apart; every public accessor merges the two.
        plain = from_numpy(array._data)
        return Column(plain.kind, plain.values, array._mask.copy())
    if isinstance(array, (pd.arrays.NumpyExtensionArray, pd.arrays.DatetimeArray)):
        return from_numpy(np.asarray(array))
    raise InputError(f"A pandas column of type {dtype} does not cross to R unchanged.")


def from_polars(series: Any) -> Column:
    """The column of a polars Series, without going through pandas."""
    dtype = series.dtype
    missing = series.is_null().to_numpy()
    if dtype in (pl.Categorical, pl.Enum):
        levels = (
            dtype.categories
            if isinstance(dtype, pl.Enum)
            else series.drop_nulls().cast(pl.String).unique(maintain_order=True)
        ).to_list()
        places = {level: code for code, level in enumerate(levels)}
        codes = np.array([places.get(value, -1) for value in series.cast(pl.String).to_list()])
        return _factor(codes.astype(np.int64), levels, False)
    if dtype == pl.String:
        return from_text(np.array([*series.to_list(), None], dtype=object)[:-1], missing)
    if dtype == pl.Date:
        return from_numpy(series.to_numpy().astype("datetime64[D]"))
    if isinstance(dtype, pl.Datetime):
        utc = series.dt.convert_time_zone("UTC") if dtype.time_zone else series
        return from_numpy(utc.dt.replace_time_zone(None).to_numpy())
    if dtype == pl.Boolean:
        return Column("logical", series.fill_null(False).to_numpy(), missing)
    if dtype.is_integer() and dtype != pl.Int128:
        return Column("integer", series.fill_null(0).to_numpy(), missing)
    if dtype.is_float():
        return Column("real", series.fill_null(0.0).to_numpy().astype(np.float64), missing)
    raise InputError(f"A polars column of type {dtype} does not cross to R unchanged.")


def row_names(index: pd.Index) -> list[Any] | None:
    """Row names, or None for the plain 0, 1, 2, ...; InputError for names that R cannot hold."""
    if isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1:
        return None
    names = index.tolist()
    text = all(isinstance(name, str) for name in names)
    whole = pd.api.types.is_integer_dtype(index.dtype)
    if not (text or whole) or isinstance(index, pd.MultiIndex) or not index.is_unique:
        raise InputError(
            "An index crosses to R only as unique text or unique whole numbers. Use reset_index()."
        )
    return names


def to_series(column: Column, index: pd.Index | None = None) -> pd.Series:
    """A pandas Series; dates become `datetime.date` objects, since pandas has no day type."""
    values = to_python(column)
    if column.kind == "date":
        values = pd.array(
            [
                None if gap else day
                for gap, day in zip(column.missing, values.astype(object), strict=True)
            ],
            dtype=object,
        )
    return pd.Series(values, index=index)


def _factor(codes: Any, categories: list[Any], ordered: bool) -> Column:
    """A factor with R's levels, which are text: digits for whole numbers, "TRUE" for True."""
    for category in categories:
        if not isinstance(category, (str, int, np.integer, np.bool_)):
            raise InputError(
                "Categories cross to R only if they are text, whole numbers or booleans. "
                "Convert them to text first."
            )
    levels = tuple(
        str(category).upper() if isinstance(category, (bool, np.bool_)) else str(category)
        for category in categories
    )
    if len(set(levels)) < len(levels):
        raise InputError("Two categories have the same text, so R would merge them. Rename one.")
    codes = np.asarray(codes)
    return Column("factor", codes, codes < 0, levels, ordered)
