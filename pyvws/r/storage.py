"""A column as R stores it: 64-bit doubles or 32-bit integers with NA inside, or text.

Both bridges use this form: `pyvws.r.convert` hands the values to rpy2, and `pyvws.r.interface`
hands their bytes to reticulate. No value changes on the way: what R or Python cannot hold raises
InputError. NA and NaN stay apart.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.r.columns import RColumn

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
    if not (_microseconds(values / 1_000_000) == values)[~missing].all():
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


def _microseconds(seconds: NDArray[Any]) -> NDArray[np.int64]:
    """Seconds as whole microseconds; floats cannot hold every microsecond after the year 2255."""
    whole = np.floor(seconds)
    parts = np.round((seconds - whole) * 1_000_000)
    return np.asarray(whole.astype(np.int64) * 1_000_000 + parts.astype(np.int64))


def _instants(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    known = np.where(missing, 0, values).astype(np.float64)
    possible = np.abs(known) < _MOST_SECONDS
    result = _microseconds(np.where(possible, known, 0.0))
    if not (possible & (result / 1_000_000 == known)).all():
        raise InputError.by("r-time-to-round")
    return result
