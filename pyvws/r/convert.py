"""Convert values to R and back, unchanged or not at all. Runs in R's thread only.

rpy2's own conversions change values without a word: the NA of an integer becomes a number, large
whole numbers become text, integer categories lose their levels, dates lose their class. Here a
value that R or Python cannot hold as it is raises InputError. Floats keep every bit: -0.0,
subnormals and infinities return as they were, and NaN stays apart from NA.

R has no scalars, so one value returns as an array. Integers return in R's 32 bits, and larger whole
numbers as doubles, which hold them up to 2^53. A date in a data frame returns as `datetime.date`,
because pandas has no type for days. A time without a zone counts as UTC, and every time returns as
its UTC instant.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pandas as pd
import polars as pl
from numpy.typing import DTypeLike, NDArray

from pyvws.errors import InputError
from pyvws.r.columns import (
    RColumn,
    StoredVector,
    decoded,
    encoded,
    from_numpy,
    from_pandas,
    from_polars,
    from_scalar,
    r_text,
    row_names,
    to_python,
    to_series,
)

_CLASSES: Final[tuple[list[str], ...]] = (
    [],
    ["factor"],
    ["ordered", "factor"],
    ["Date"],
    ["POSIXct", "POSIXt"],
    ["data.frame"],
)
_ATTRIBUTES: Final = {"names", "dim", "class", "levels", "tzone", "row.names"}


def _rpy2() -> Any:
    """The low level of rpy2, which loads R: code outside R's thread must not load it."""
    import rpy2.rinterface

    return rpy2.rinterface


def to_r(value: object) -> Any:
    """The R object (`rpy2.rinterface.Sexp`) of a Python value.

    A value is None, bool, int, float, str, date or datetime; a NumPy array of one or two
    dimensions; a pandas array, Series or DataFrame; a polars Series or DataFrame; a dict with text
    keys (named list); a list or tuple (list). Raises InputError if it cannot cross unchanged, for
    example a whole number beyond 2^53.
    """
    if value is None:
        return _rpy2().NULL
    if isinstance(value, np.ndarray):
        return to_r(value[()]) if value.ndim == 0 else _write(from_numpy(value))
    if isinstance(value, np.datetime64):
        return _write(from_numpy(np.array([value])))
    if isinstance(value, dict):
        if not all(isinstance(key, str) and key for key in value):
            raise InputError.by("r-dict-keys")
        return named_list({key: to_r(item) for key, item in value.items()})
    if isinstance(value, (list, tuple)):
        return _list([to_r(item) for item in value])
    if isinstance(value, pd.DataFrame):
        return _pandas_frame(value)
    if isinstance(value, pl.DataFrame):
        columns = {column.name: _write(from_polars(column)) for column in value.get_columns()}
        return _frame(columns, value.height, None)
    if isinstance(value, pd.Series):
        return _series(value)
    if isinstance(value, pd.api.extensions.ExtensionArray):
        return _write(from_pandas(value))
    if isinstance(value, pl.Series):
        return _write(from_polars(value))
    column = from_scalar(value)
    if column is None:
        raise InputError.by("r-value-type", kind=type(value).__name__)
    return _write(column)


def from_r(value: Any) -> Any:
    """The Python value of an R object.

    NULL becomes None. A vector becomes a NumPy array, or a pandas nullable array where it has NA. A
    factor becomes a pandas Categorical. Date and POSIXct become datetime64. A vector with names
    becomes a pandas Series. A matrix becomes an array (N, P). A list becomes a list, or a dict
    where it has names. A data.frame becomes a pandas DataFrame, whose index holds the row names
    unless they are automatic.

    Raises InputError for an R type, class or attribute that has no such form.
    """
    if isinstance(value, _rpy2().NULLType):
        return None
    attributes = _attributes(value)
    if "row.names" in attributes:
        return _to_frame(value, attributes)
    if isinstance(value, _rpy2().ListSexpVector):
        return _to_list(value, attributes)
    column = _to_column(value, attributes)
    if "dim" in attributes:
        return to_python(_shaped(column, attributes["dim"]))
    if "names" in attributes:
        return to_series(column, pd.Index(_plain_text(attributes["names"])))
    return to_python(column)


def _list(items: list[Any]) -> Any:
    return _rpy2().ListSexpVector.from_iterable(items)


def named_list(items: dict[str, Any]) -> Any:
    """The R list of R objects under their names."""
    return _structure(_list([*items.values()]), names=text_vector([*items]))


def _series(value: pd.Series) -> Any:
    names = row_names(value.index)
    if names is None:
        return _write(from_pandas(value))
    if not all(isinstance(name, str) for name in names):
        raise InputError.by("r-series-index")
    return _structure(_write(from_pandas(value)), names=text_vector(names))


def _pandas_frame(value: pd.DataFrame) -> Any:
    if not value.columns.is_unique:
        raise InputError.by("r-frame-of-doubled-names")
    columns = {name: _write(from_pandas(column)) for name, column in value.items()}
    return _frame(columns, len(value), row_names(value.index))


def _frame(columns: dict[Any, Any], rows: int, names: list[Any] | None) -> Any:
    if not all(isinstance(name, str) and name for name in columns):
        raise InputError.by("r-column-names")
    if names is None:
        labels = _rpy2().IntSexpVector([_rpy2().NA_Integer, -rows])
    elif all(isinstance(name, int) for name in names):
        labels = _whole_vector(names)
    else:
        labels = text_vector(names)
    extra = {"class": text_vector(["data.frame"]), "row.names": labels}
    return _structure(_list([*columns.values()]), names=text_vector([*columns]), **extra)


def _attributes(value: object) -> dict[str, Any]:
    """Attributes of an R object; InputError for a kind or class that has no form in Python."""
    own = _rpy2().baseenv["attributes"](value)
    if isinstance(own, _rpy2().NULLType):
        return {}
    attributes = dict(zip(_plain_text(own.names), own, strict=True))
    classes = _plain_text(attributes["class"]) if "class" in attributes else []
    strange = sorted(set(attributes) - _ATTRIBUTES)
    if classes not in _CLASSES or strange:
        what = f"class {' '.join(classes)}" if classes not in _CLASSES else f"a {strange[0]}"
        raise InputError.by("r-returned-attribute", what=what)
    return attributes


def _to_column(value: Iterable[Any], attributes: dict[str, Any]) -> RColumn:
    kind = str(_rpy2().baseenv["typeof"](value)[0])
    if kind not in ("double", "integer", "logical", "character"):
        raise InputError.by("r-returned-type", kind=kind)
    return _read(value, kind, attributes)


def _shaped(column: RColumn, dim: Iterable[int]) -> RColumn:
    shape = tuple(dim)
    if len(shape) != 2:
        raise InputError.by("r-returned-dimensions", shape=len(shape))
    values = column.values.reshape(shape, order="F")
    return RColumn(column.kind, values, column.missing.reshape(shape, order="F"))


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


def _to_frame(value: Iterable[Any], attributes: dict[str, Any]) -> pd.DataFrame:
    names = _plain_text(attributes["names"])
    if len(set(names)) < len(names):
        raise InputError.by("r-returned-doubled-names")
    labels = attributes["row.names"]
    automatic = _rpy2().baseenv[".row_names_info"](value)[0] <= 0
    index = pd.RangeIndex(len(labels)) if automatic else pd.Index(list(labels))
    data = {}
    for name, item in zip(names, value, strict=True):
        nested = _attributes(item)
        if "dim" in nested:
            raise InputError.by("r-returned-matrix-column")
        data[name] = to_series(_to_column(item, nested), index)
    return pd.DataFrame(data, index=index)


# R vectors from columns, and columns from R vectors, bit for bit


def _write(column: RColumn) -> Any:
    """The R vector or matrix of a column."""
    values, missing = column.values, column.missing
    dim: dict[str, Any] = {}
    if values.ndim == 2:
        if column.kind in ("factor", "date", "instant"):
            raise InputError.by("r-matrix-type", kind=column.kind)
        dim = {"dim": _whole_vector(values.shape)}
    flat = replace(column, values=values.ravel(order="F"), missing=missing.ravel(order="F"))
    stored = encoded(flat)
    attributes = {"class": text_vector(stored.classes)} if stored.classes else {}
    if stored.levels is not None:
        attributes["levels"] = text_vector(stored.levels)
    if column.kind == "instant":
        attributes["tzone"] = text_vector(["UTC"])
    return _structure(_vector(stored), **attributes, **dim)


def _vector(stored: StoredVector) -> Any:
    if stored.kind == "character":
        return text_vector(stored.values)
    kinds = {"double": "FloatSexpVector", "integer": "IntSexpVector", "logical": "BoolSexpVector"}
    return getattr(_rpy2(), kinds[stored.kind]).from_memoryview(stored.values.data)


def _read(vector: Iterable[Any], kind: Any, attributes: dict[str, Any]) -> RColumn:
    """The column of an R vector: `kind` is R's storage type, `attributes` its attributes."""
    classes, levels = (
        tuple(_plain_text(attributes[name])) if name in attributes else ()
        for name in ("class", "levels")
    )
    if kind == "character":
        return decoded(StoredVector(kind, _texts(vector), classes, levels))
    values = _copy(vector, np.float64 if kind == "double" else np.int32)
    return decoded(StoredVector(kind, values, classes, levels))


def _structure(vector: object, **attributes: Any) -> Any:
    """The R object with attributes, as R's own _structure() sets them."""
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


def _whole_vector(values: object) -> Any:
    """An R integer vector of whole numbers of 32 bits without NA."""
    whole = np.asarray(values, dtype=np.int64)
    stored = encoded(RColumn("integer", whole, np.zeros(len(whole), dtype=np.bool_)))
    if stored.kind != "integer":
        raise InputError.by("r-row-name")
    return _vector(stored)


def _texts(vector: Iterable[Any]) -> list[str | None]:
    base = _rpy2().baseenv
    if not all(base["validEnc"](vector)) or "bytes" in list(base["Encoding"](vector)):
        raise InputError.by("r-returned-encoding")
    values = list(vector)
    return [None if value is _rpy2().NA_Character else value for value in values]


def _copy(vector: Any, dtype: DTypeLike) -> NDArray[Any]:
    if len(vector) == 0:
        return np.empty(0, dtype=dtype)
    return np.array(vector.memoryview(), dtype=dtype).ravel(order="F")
