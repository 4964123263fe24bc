"""One column between Python and R: the kind of values, the values, and marks of missing values.

The package uses a few kinds of R column. NumPy, pandas and polars name the same kinds in their own
ways. A `Column` is the neutral form: this module translates it from and to Python, and
`pyvws.r.convert` writes it to R and reads it back.

As R stores it, a column has 64-bit doubles or 32-bit integers with NA inside, or text. Both bridges
use this form: `pyvws.r.convert` hands the values to rpy2, and `pyvws.r.interface` hands their bytes
to reticulate. No value changes on the way: what R or Python cannot hold raises InputError. NA and
NaN stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Any, Final, Literal

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
        "date" if unit == "D" else "instant", np.where(missing, 0, exact.astype(np.int64)), missing
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


def to_series(column: RColumn) -> pd.Series:
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
    return pd.Series(values)


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


_NA_INTEGER: Final = -(2**31)
_NA_INTEGER64: Final = -(2**63)
_NA_REAL_BITS: Final = np.int64(0x7FF00000000007A2)
_NA_REAL_WORD: Final = 1954  # R tells NA from NaN by the low word of the bits.
_EXACT: Final = 2**53  # Doubles hold every whole number up to here.
_MOST_SECONDS: Final = 9.2e12  # As microseconds, so many seconds stay within 64 bits.


@dataclass(frozen=True, slots=True)
class StoredVector:
    """The values of an R vector with the attributes that say what they mean.

    - `kind` {"double", "integer", "logical", "character"}: R's storage type.
    - `values`: Shape (N,), with R's NA inside.
    - `classes`: R's class attribute.
    - `levels`: Levels of a factor.
    """

    kind: Literal["double", "integer", "logical", "character"]
    values: Any
    classes: tuple[str, ...] = ()
    levels: tuple[str, ...] | None = None


def encoded(column: RColumn) -> StoredVector:
    """A column (N,) for R. InputError for a value that R cannot hold as it is.

    Whole numbers beyond 32 bits become doubles, which hold them up to 2^53.
    """
    values, missing = column.values, column.missing
    if column.kind == "real":
        return StoredVector("double", reals(values, missing))
    if column.kind == "integer":
        return _whole_numbers(values, missing)
    if column.kind == "logical":
        return StoredVector("logical", _integers(values, missing))
    if column.kind == "text":
        return StoredVector("character", r_text(values.tolist()))
    if column.kind == "factor":
        classes = ("ordered", "factor") if column.ordered else ("factor",)
        codes = _integers(np.asarray(values, dtype=np.int64) + 1, missing)
        return StoredVector("integer", codes, classes, tuple(r_text(column.levels)))
    if column.kind == "date":
        return StoredVector("double", reals(values.astype(np.float64), missing), ("Date",))
    if not (_whole_microseconds(values / 1_000_000) == values)[~missing].all():
        raise InputError.by("r-time-too-far")
    return StoredVector("double", reals(values / 1_000_000, missing), ("POSIXct", "POSIXt"))


def decoded(stored: StoredVector) -> RColumn:
    """The column of an R vector. InputError for a date or time that Python cannot hold."""
    values = stored.values
    if stored.kind == "character":
        missing = np.array([value is None for value in values], dtype=np.bool_)
        return RColumn("text", np.array([*values, None], dtype=object)[:-1], missing)
    if stored.classes == ("integer64",):
        whole = values.view(np.int64)
        return RColumn("integer", whole, whole == _NA_INTEGER64)
    missing = is_na(values) if stored.kind == "double" else values == _NA_INTEGER
    if "factor" in stored.classes:
        codes = np.where(missing, 0, values) - 1
        return RColumn("factor", codes, missing, stored.levels or (), "ordered" in stored.classes)
    if stored.classes == ("Date",):
        return RColumn("date", _whole_days(values, missing), missing)
    if stored.classes == ("POSIXct", "POSIXt"):
        return RColumn("instant", _instants(values, missing), missing)
    if stored.kind == "logical":
        return RColumn("logical", values == 1, missing)
    return RColumn("real" if stored.kind == "double" else "integer", values, missing)


def is_na(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where doubles are R's NA, and not merely NaN."""
    words = np.ascontiguousarray(values).view(np.int64) & 0xFFFFFFFF
    return np.asarray(np.isnan(values) & (words == _NA_REAL_WORD))


def r_text(values: Iterable[str | None]) -> list[Any]:
    """Text as R can hold it. InputError for a NUL or a lone surrogate."""
    listed = list(values)
    for value in listed:
        if value is not None and ("\0" in value or not _encodable(value)):
            raise InputError.by("r-text")
    return listed


def reals(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Values as doubles, with NA where they are missing."""
    bits = np.array(values, dtype=np.float64).view(np.int64)
    bits[missing] = _NA_REAL_BITS
    return bits.view(np.float64)


def _integers(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int32]:
    whole = np.full(values.shape, _NA_INTEGER, dtype=np.int32)
    whole[~missing] = values[~missing].astype(np.int32)
    return whole


def _whole_numbers(values: NDArray[Any], missing: NDArray[np.bool_]) -> StoredVector:
    known = values[~missing]
    low, high = (int(known.min()), int(known.max())) if known.size else (0, 0)
    if low > _NA_INTEGER and high < 2**31:
        return StoredVector("integer", _integers(values, missing))
    if low < -_EXACT or high > _EXACT:
        raise InputError.by("r-whole-number")
    return StoredVector("double", reals(np.where(missing, 0, values), missing))


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _whole_days(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    known = np.where(missing, 0, values)
    if not (np.isfinite(known) & (known == np.round(known)) & (np.abs(known) < _EXACT)).all():
        raise InputError.by("r-part-of-a-day")
    return np.asarray(known, dtype=np.int64)


def _whole_microseconds(seconds: NDArray[Any]) -> NDArray[np.int64]:
    """Seconds as whole microseconds; floats cannot hold every microsecond after the year 2255."""
    whole = np.floor(seconds)
    parts = np.round((seconds - whole) * 1_000_000)
    return np.asarray(whole.astype(np.int64) * 1_000_000 + parts.astype(np.int64))


def _instants(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    known = np.where(missing, 0, values).astype(np.float64)
    possible = np.abs(known) < _MOST_SECONDS
    result = _whole_microseconds(np.where(possible, known, 0.0))
    if not (possible & (result / 1_000_000 == known)).all():
        raise InputError.by("r-time-to-round")
    return result
