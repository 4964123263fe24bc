"""One column between Python and R: the kind of values, the values, and marks of missing values.

The package uses a few kinds of R column. NumPy, pandas and polars name the same kinds in their own
ways. A `Column` is the neutral form: this module translates it from and to Python, and
`pyvws.r.convert` writes it to R and reads it back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Literal

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import ArrayLike, NDArray

from pyvws.errors import InputError

Kind = Literal["real", "integer", "logical", "text", "factor", "date", "instant"]

_EPOCH = date(1970, 1, 1)


@dataclass(frozen=True, slots=True)
class RColumn:
    """Values of one kind.

    - `kind`: "real" (float64), "integer", "logical" (bool), "text" (object array of str), "factor"
      (codes from 0), "date" (whole days since 1970-01-01), "instant" (whole microseconds since
      1970-01-01 UTC).
    - `values` (ndarray, shape (N,), or (N, P) for a matrix): Values; an entry at a missing place
      means nothing, and is None in text.
    - `missing` (ndarray of bool, same shape): True where R has NA. A NaN that is not NA is a value.
    - `levels`: Levels of a factor.
    - `ordered`: Whether a factor is ordered.
    """

    kind: Kind
    values: NDArray[Any]
    missing: NDArray[np.bool_]
    levels: tuple[str, ...] = ()
    ordered: bool = False


def from_scalar(value: object) -> RColumn | None:
    """A column of one value, or None for something that is not a scalar R knows."""
    kind: Kind
    if isinstance(value, (bool, np.bool_)):
        kind, array = "logical", np.array([value], dtype=np.bool_)
    elif isinstance(value, (int, np.integer)):
        kind, array = "integer", np.array([value], dtype=object)
    elif isinstance(value, (float, np.float32, np.float16)):
        kind, array = "real", np.array([value], dtype=np.float64)
    elif isinstance(value, (str, date, datetime)) and value is not pd.NaT:
        return from_objects(np.array([value], dtype=object))
    else:
        return None
    return RColumn(kind, array, np.zeros(1, dtype=np.bool_))


def from_numpy(array: NDArray[Any]) -> RColumn:
    """The column or matrix of a NumPy array of one or two dimensions.

    Raises InputError for kinds that R has no vector for: long double, complex, time differences,
    structures, bytes, masked arrays.
    """
    if isinstance(array, np.ma.MaskedArray):
        raise InputError.by("r-masked-array")
    if array.ndim not in (1, 2):
        raise InputError.by("r-array-dimensions", ndim=array.ndim)
    none = np.zeros(array.shape, dtype=np.bool_)
    kind = array.dtype.kind
    if kind == "b":
        return RColumn("logical", array, none)
    if kind in "iu":
        return RColumn("integer", array, none)
    if kind == "f" and array.dtype.itemsize <= 8:
        return RColumn("real", array.astype(np.float64), none)
    if kind == "U":
        return RColumn("text", array.astype(object), none)
    if kind == "M":
        return _from_datetime64(array)
    if kind == "O":
        return from_objects(array)
    raise InputError.by("r-array-type", dtype=array.dtype)


def from_objects(values: NDArray[Any] | Sequence[Any]) -> RColumn:
    """The column of an object array: all text, all dates or all instants, with None for NA."""
    array = np.asarray(values, dtype=object)
    missing = np.array([_is_missing(value) for value in array.ravel()], dtype=np.bool_)
    kinds = {_object_kind(value) for value in array.ravel()[~missing]}
    missing = missing.reshape(array.shape)
    if kinds == {"text"} or array.size == 0:
        return from_text(array, missing)
    if kinds == {"date"}:
        return RColumn("date", _filled(array, missing, lambda day: (day - _EPOCH).days), missing)
    if kinds == {"instant"}:
        return RColumn("instant", _filled(array, missing, _microseconds), missing)
    raise InputError.by("r-object-column")


def from_text(values: NDArray[Any], missing: NDArray[np.bool_]) -> RColumn:
    """The text column of an object array whose values are str wherever they are not missing."""
    array = values.copy()
    array[missing] = None
    return RColumn("text", array, missing)


def to_python(column: RColumn) -> Any:
    """A column in Python: a NumPy array, a pandas nullable array where NA occurs; Categorical."""
    values, missing = column.values, column.missing
    if column.kind == "factor":
        codes = np.where(missing, -1, values)
        return pd.Categorical.from_codes(codes, list(column.levels), ordered=column.ordered)
    if column.kind in ("date", "instant"):
        unit = "datetime64[D]" if column.kind == "date" else "datetime64[us]"
        result = values.astype(np.int64).astype(unit)
        result[missing] = np.datetime64("NaT")
        return result
    if not missing.any() or (column.kind == "real" and values.ndim == 2):
        return values
    if values.ndim == 2:
        raise InputError.by("r-matrix-with-na", kind=column.kind)
    if column.kind == "real":
        return pd.arrays.FloatingArray(values, missing)
    if column.kind == "integer":
        return pd.arrays.IntegerArray(values, missing)
    if column.kind == "logical":
        return pd.arrays.BooleanArray(values, missing)
    return pd.array(values, dtype=pd.StringDtype())


def _is_missing(value: object) -> bool:
    return value is None or value is pd.NA or value is pd.NaT or value != value


def _object_kind(value: object) -> str:
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime):
        return "instant"
    return "date" if isinstance(value, date) else "other"


def _filled(
    array: NDArray[Any], missing: NDArray[np.bool_], number: Callable[[Any], int]
) -> NDArray[np.int64]:
    result = np.zeros(array.shape, dtype=np.int64)
    result[~missing] = [number(value) for value in array[~missing]]
    return result


def _microseconds(value: datetime) -> int:
    if getattr(value, "nanosecond", 0):
        raise InputError.by("r-time-too-fine")
    aware = value if value.tzinfo else value.replace(tzinfo=UTC)
    gap = aware - datetime(1970, 1, 1, tzinfo=UTC)
    return (gap.days * 86_400 + gap.seconds) * 1_000_000 + gap.microseconds


def _from_datetime64(array: NDArray[Any]) -> RColumn:
    missing = np.isnat(array)
    unit = "D" if np.datetime_data(array.dtype)[0] in ("D", "W", "M", "Y") else "us"
    exact = array.astype(f"datetime64[{unit}]")
    if not (exact.astype(array.dtype)[~missing] == array[~missing]).all():
        raise InputError.by("r-time-too-fine")
    return RColumn(
        "date" if unit == "D" else "instant",
        np.where(missing, 0, exact.astype(np.int64)),
        missing,
    )


# Columns of pandas and polars


def from_pandas(values: Any) -> RColumn:
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
        return RColumn(plain.kind, plain.values, array._mask.copy())
    if isinstance(array, (pd.arrays.NumpyExtensionArray, pd.arrays.DatetimeArray)):
        return from_numpy(np.asarray(array))
    raise InputError.by("r-pandas-type", dtype=dtype)


def from_polars(series: pl.Series) -> RColumn:
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
        return RColumn("logical", series.fill_null(False).to_numpy(), missing)
    if dtype.is_integer() and dtype != pl.Int128:
        return RColumn("integer", series.fill_null(0).to_numpy(), missing)
    if dtype.is_float():
        return RColumn("real", series.fill_null(0.0).to_numpy().astype(np.float64), missing)
    raise InputError.by("r-polars-type", dtype=dtype)


def row_names(index: pd.Index) -> list[Any] | None:
    """Row names, or None for the plain 0, 1, 2, ...; InputError for names that R cannot hold."""
    if isinstance(index, pd.RangeIndex) and index.start == 0 and index.step == 1:
        return None
    names = index.tolist()
    text = all(isinstance(name, str) for name in names)
    whole = pd.api.types.is_integer_dtype(index.dtype)
    if not (text or whole) or isinstance(index, pd.MultiIndex) or not index.is_unique:
        raise InputError.by("r-index")
    return names


def to_series(column: RColumn, index: pd.Index | None = None) -> pd.Series:
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


def _factor(codes: ArrayLike, categories: list[Any], ordered: bool) -> RColumn:
    """A factor with R's levels, which are text: digits for whole numbers, "TRUE" for True."""
    for category in categories:
        if not isinstance(category, (str, int, np.integer, np.bool_)):
            raise InputError.by("r-categories")
    levels = tuple(
        str(category).upper() if isinstance(category, (bool, np.bool_)) else str(category)
        for category in categories
    )
    if len(set(levels)) < len(levels):
        raise InputError.by("r-categories-alike")
    codes = np.asarray(codes)
    return RColumn("factor", codes, codes < 0, levels, ordered)
