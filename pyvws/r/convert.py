"""Convert values to R and back, unchanged or not at all. Runs in R's thread only.

rpy2's own conversions change values without a word: the NA of an integer becomes a number, large
whole numbers become text, integer categories lose their levels. Here a value that R or Python
cannot hold as it is raises InputError. Floats keep every bit: -0.0, subnormals and infinities
return as they were, and NaN stays apart from NA.

R has no scalars, so one value returns as an array. Integers return in R's 32 bits, and larger whole
numbers as doubles, which hold them up to 2^53.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd

from pyvws.errors import InputError
from pyvws.r.columns import (
    RColumn,
    StoredVector,
    decoded,
    encoded,
    from_numpy,
    from_pandas,
    from_scalar,
    r_text,
    to_python,
)

_VECTORS: Final = {
    "double": ("FloatSexpVector", np.float64),
    "integer": ("IntSexpVector", np.int32),
    "logical": ("BoolSexpVector", np.int32),
}


def _rpy2() -> Any:
    """The low level of rpy2, which loads R: code outside R's thread must not load it."""
    import rpy2.rinterface

    return rpy2.rinterface


def to_r(value: object) -> Any:
    """The R object (`rpy2.rinterface.Sexp`) of a Python value.

    A value is None, bool, int, float, str, date or datetime; a NumPy array of one or two
    dimensions; a pandas DataFrame with plain row names or whole numbers; a dict with text keys
    (named list); a list or tuple (list). Raises InputError if it cannot cross unchanged, for
    example a whole number beyond 2^53.
    """
    if value is None:
        return _rpy2().NULL
    if isinstance(value, np.ndarray):
        return _write(from_numpy(value))
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key for key in value):
            raise InputError.by("r-dict-keys")
        return named_list({key: to_r(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return _list([to_r(item) for item in value])
    if isinstance(value, pd.DataFrame):
        return _frame(value)
    column = from_scalar(value)
    if column is None:
        raise InputError.by("r-value-type", kind=type(value).__name__)
    return _write(column)


def from_r(value: Any) -> Any:
    """The Python value of an R object.

    NULL becomes None. A vector becomes a NumPy array, or a pandas nullable array where it has NA;
    its names are left out. A matrix becomes an array (N, P). A list becomes a list, or a dict where
    it has names. Raises InputError for an R type, class or attribute that has no such form.
    """
    if isinstance(value, _rpy2().NULLType):
        return None
    attributes = _attributes(value)
    if isinstance(value, _rpy2().ListSexpVector):
        return _to_list(value, attributes)
    kind: Any = str(_rpy2().baseenv["typeof"](value)[0])
    if kind == "character":
        column = decoded(StoredVector(kind, _texts(value)))
    elif kind in ("double", "integer", "logical"):
        column = decoded(StoredVector(kind, _copy(value, kind)))
    else:
        raise InputError.by("r-returned-type", kind=kind)
    if "dim" in attributes:
        shape = tuple(attributes["dim"])
        if len(shape) != 2:
            raise InputError.by("r-returned-dimensions", shape=len(shape))
        column = _reshaped(column, shape)
    return to_python(column)


def _reshaped(column: RColumn, shape: tuple[int, ...]) -> RColumn:
    """The column in another shape, in R's order of a matrix."""
    values, missing = (array.reshape(shape, order="F") for array in (column.values, column.missing))
    return replace(column, values=values, missing=missing)


def _list(items: list[Any]) -> Any:
    return _rpy2().ListSexpVector.from_iterable(items)


def named_list(items: dict[str, Any]) -> Any:
    """The R list of R objects under their names."""
    return _structure(_list([*items.values()]), names=text_vector([*items]))


def _frame(value: pd.DataFrame) -> Any:
    if not value.columns.is_unique or not all(isinstance(x, str) and x for x in value.columns):
        raise InputError.by("r-column-names")
    columns = {name: _write(from_pandas(column)) for name, column in value.items()}
    plain = isinstance(value.index, pd.RangeIndex) and value.index.equals(pd.RangeIndex(len(value)))
    labels = _rpy2().IntSexpVector([_rpy2().NA_Integer, -len(value)])
    if not plain:
        labels = _write(from_numpy(value.index.to_numpy()))
    extra = {"class": text_vector(["data.frame"]), "row.names": labels}
    return _structure(_list([*columns.values()]), names=text_vector([*columns]), **extra)


def _attributes(value: object) -> dict[str, Any]:
    """The names and dimensions of an R object; InputError for anything else that it has."""
    own = _rpy2().baseenv["attributes"](value)
    if isinstance(own, _rpy2().NULLType):
        return {}
    attributes = dict(zip(_plain_text(own.names), own, strict=True))
    strange = sorted(set(attributes) - {"names", "dim"})
    if strange:
        raise InputError.by("r-returned-attribute", what=f"a {strange[0]}")
    return attributes


def _to_list(value: Iterable[Any], attributes: dict[str, Any]) -> Any:
    if "dim" in attributes:
        raise InputError.by("r-returned-matrix-of-lists")
    items = [from_r(item) for item in value]
    if "names" not in attributes:
        return items
    names = _plain_text(attributes["names"])
    if "" in names or len(set(names)) < len(names):
        raise InputError.by("r-returned-names")
    return dict(zip(names, items, strict=True))


def _write(column: RColumn) -> Any:
    """The R vector or matrix of a column, bit for bit."""
    shape = column.values.shape
    stored = encoded(_reshaped(column, (column.values.size,)))
    attributes = {"class": text_vector(stored.classes)} if stored.classes else {}
    if stored.levels is not None:
        attributes["levels"] = text_vector(stored.levels)
    if len(shape) == 2:
        if attributes:
            raise InputError.by("r-matrix-type", kind=column.kind)
        attributes["dim"] = _write(from_numpy(np.array(shape)))
    if stored.kind == "character":
        vector = text_vector(stored.values)
    else:
        kind, _ = _VECTORS[stored.kind]
        vector = getattr(_rpy2(), kind).from_memoryview(stored.values.data)
    return _structure(vector, **attributes)


def _structure(vector: object, **attributes: Any) -> Any:
    """The R object with attributes, as R's own structure() sets them."""
    return _rpy2().baseenv["structure"](vector, **attributes) if attributes else vector


def text_vector(values: Sequence[str | None]) -> Any:
    """An R character vector; None is NA. Raises InputError for text that R cannot hold."""
    return _rpy2().StrSexpVector.from_iterable(r_text(values))


def _plain_text(vector: Iterable[Any]) -> list[str]:
    """Strings of an R character vector that has no NA."""
    values = _texts(vector)
    if any(value is None for value in values):
        raise InputError.by("r-returned-na-name")
    return [str(value) for value in values]


def _texts(vector: Iterable[Any]) -> list[str | None]:
    base = _rpy2().baseenv
    if not all(base["validEnc"](vector)) or "bytes" in list(base["Encoding"](vector)):
        raise InputError.by("r-returned-encoding")
    values = list(vector)
    return [None if value is _rpy2().NA_Character else value for value in values]


def _copy(vector: Any, kind: str) -> Any:
    _, dtype = _VECTORS[kind]
    if len(vector) == 0:
        return np.empty(0, dtype=dtype)
    return np.array(vector.memoryview(), dtype=dtype).ravel(order="F")
