"""Make R vectors from columns, and columns from R vectors, bit for bit; in R's thread only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws.errors import InputError
from pyvws.r.columns import Column

__all__ = ["plain_text", "read", "structure", "text_vector", "write"]

_NA_INTEGER: Final = -(2**31)
_NA_REAL_BITS: Final = np.int64(0x7FF00000000007A2)
_NA_REAL_WORD: Final = 1954  # R tells NA from NaN by the low word of the bits.
_MOST_SECONDS: Final = 9.2e12  # As microseconds, so many seconds stay within 64 bits.


def write(column: Column) -> Any:
    """The R vector or matrix of a column."""
    import rpy2.rinterface as rinterface

    values, missing = column.values, column.missing
    dim = {"dim": whole_vector(values.shape)} if values.ndim == 2 else {}
    values, missing = values.ravel(order="F"), missing.ravel(order="F")
    if column.kind == "real":
        return structure(_reals(values, missing), **dim)
    if column.kind == "integer":
        return structure(_integers(values, missing), **dim)
    if column.kind == "logical":
        return structure(_integers(values, missing, rinterface.BoolSexpVector), **dim)
    if column.kind == "text":
        return structure(text_vector(values.tolist()), **dim)
    if dim:
        raise InputError(f"A matrix of {column.kind} values does not cross to R.")
    if column.kind == "factor":
        classes = ["ordered", "factor"] if column.ordered else ["factor"]
        codes = _integers(np.asarray(values, dtype=np.int64) + 1, missing)
        levels = text_vector(list(column.levels))
        return structure(codes, levels=levels, **{"class": text_vector(classes)})
    if column.kind == "date":
        days = _reals(values.astype(np.float64), missing)
        return structure(days, **{"class": text_vector(["Date"])})
    seconds = _reals(values / 1_000_000, missing)
    if not (_microseconds(values / 1_000_000) == values)[~missing].all():
        raise InputError("A time is too far from 1970 for R to hold its microseconds.")
    classes = text_vector(["POSIXct", "POSIXt"])
    return structure(seconds, tzone=text_vector(["UTC"]), **{"class": classes})


def read(vector: Any, kind: str, attributes: dict[str, Any]) -> Column:
    """The column of an R vector: `kind` is R's storage type, `attributes` its attributes."""
    classes = plain_text(attributes["class"]) if "class" in attributes else []
    if kind == "character":
        values = np.array([*_texts(vector), None], dtype=object)[:-1]
        missing = np.array([value is None for value in values], dtype=np.bool_)
        column = Column("text", values, missing)
    elif kind == "double":
        reals = _copy(vector, np.float64)
        missing = np.isnan(reals) & (reals.view(np.int64) & 0xFFFFFFFF == _NA_REAL_WORD)
        column = Column("real", reals, missing)
    else:
        whole = _copy(vector, np.int32)
        missing = whole == _NA_INTEGER
        column = Column("integer", whole, missing)
        if kind == "logical":
            column = Column("logical", whole == 1, missing)
    if "factor" in classes:
        levels = tuple(plain_text(attributes["levels"]))
        codes = np.where(missing, 0, column.values) - 1
        return Column("factor", codes, missing, levels, "ordered" in classes)
    if classes == ["Date"]:
        return Column("date", _whole(column.values, missing), missing)
    if classes == ["POSIXct", "POSIXt"]:
        return Column("instant", _instants(column.values, missing), missing)
    return column


def structure(vector: Any, **attributes: Any) -> Any:
    """The R object with attributes, as R's own structure() sets them."""
    import rpy2.rinterface as rinterface

    return rinterface.baseenv["structure"](vector, **attributes) if attributes else vector


def text_vector(values: Sequence[str | None]) -> Any:
    """An R character vector; None is NA. Raises InputError for text that R cannot hold."""
    import rpy2.rinterface as rinterface

    for value in values:
        if value is not None and ("\0" in value or not _encodable(value)):
            raise InputError("Text with a NUL or a lone surrogate does not cross to R.")
    return rinterface.StrSexpVector.from_iterable(list(values))


def plain_text(vector: Any) -> list[str]:
    """Strings of an R character vector that has no NA."""
    values = _texts(vector)
    if any(value is None for value in values):
        raise InputError("R returned NA among names, levels or classes.")
    return [str(value) for value in values]


def whole_vector(values: Any) -> Any:
    """An R integer vector of whole numbers without NA."""
    whole = np.asarray(values, dtype=np.int64)
    return _integers(whole, np.zeros(len(whole), dtype=np.bool_))


def _texts(vector: Any) -> list[str | None]:
    import rpy2.rinterface as rinterface

    base = rinterface.baseenv
    if not all(base["validEnc"](vector)) or "bytes" in list(base["Encoding"](vector)):
        raise InputError("R returned text whose bytes are not valid in its encoding.")
    values = list(vector)
    return [None if value is rinterface.NA_Character else value for value in values]


def _encodable(value: str) -> bool:
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _reals(values: NDArray[Any], missing: NDArray[np.bool_]) -> Any:
    import rpy2.rinterface as rinterface

    bits = np.array(values, dtype=np.float64).view(np.int64)
    bits[missing] = _NA_REAL_BITS
    return rinterface.FloatSexpVector.from_memoryview(bits.view(np.float64).data)


def _integers(values: NDArray[Any], missing: NDArray[np.bool_], vector: Any = None) -> Any:
    import rpy2.rinterface as rinterface

    known = values[~missing]
    if known.size and (known.max() >= 2**31 or known.min() <= _NA_INTEGER):
        raise InputError(
            "A whole number beyond 2^31 - 1 does not cross to R unchanged. Convert it to float."
        )
    whole = np.full(values.shape, _NA_INTEGER, dtype=np.int32)
    whole[~missing] = known.astype(np.int32)
    return (vector or rinterface.IntSexpVector).from_memoryview(whole.data)


def _copy(vector: Any, dtype: Any) -> NDArray[Any]:
    if len(vector) == 0:
        return np.empty(0, dtype=dtype)
    return np.array(vector.memoryview(), dtype=dtype).ravel(order="F")


def _whole(values: NDArray[Any], missing: NDArray[np.bool_]) -> NDArray[np.int64]:
    known = np.where(missing, 0, values)
    if not (np.isfinite(known) & (known == np.round(known)) & (np.abs(known) < 2**53)).all():
        raise InputError("R returned a Date that is not a whole day.")
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
        raise InputError("R returned a time that is not a whole microsecond. Round it first.")
    return result
