"""Python's side of `interface.R`, through which R users call the package by R's package reticulate.

``source(reticulate::import("pyvws.r.interface")$path())`` defines ``import_pyvws()`` in R.

reticulate's own conversions change values without a word: a missing integer becomes a number, and a
whole number beyond 2^31 loses its high bits. So R and this module hand each other the bytes of
vectors, and text as lists of text. `received` makes Python values of them, `sent` what R reads.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path, PurePath
from typing import Any, Final, Literal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from pyvws._base.checks import near
from pyvws.errors import InputError, PyvwsError
from pyvws.r.columns import (
    RColumn,
    StoredVector,
    decoded,
    encoded,
    from_numpy,
    from_objects,
    from_pandas,
    from_polars,
    from_scalar,
    from_text,
    is_na,
    reals,
    to_series,
)
from pyvws.r.help import in_r, name_in_r

_FILE: Final = Path(__file__).with_suffix(".R")
_R_EXACT: Final = 2**53
_OF_KINDS: Final = (TypeError, ValueError, LookupError, AttributeError)
_LIST: Final = re.compile(r"(tuple|list|Sequence|Iterable|Collection)\[")
_SINGLE: Final = {"str", "float", "int", "bool", "Any"}


def path() -> str:
    """The path of the R file to source. The file converts data frames, factors and NA both ways.

    Returns an absolute path.

    >>> path().endswith("interface.R")
    True
    """
    return str(_FILE)


@dataclass(frozen=True, slots=True)
class Answer:
    """The value of a call from R, with the class and the text of each warning, once each.

    `failed` has the class and the words of the error, where the call gave no value.
    """

    value: Any
    categories: list[str]
    texts: list[str]
    failed: list[str]


def called(function: Callable[..., Any], /, *arguments: Any, **named: Any) -> Answer:
    """Call a function for R, whose warnings and errors become conditions of R.

    R's numbers skip whole numbers beyond 2^53, so a seed may be text.
    """
    value, failed = None, []
    with warnings.catch_warnings(record=True) as caught:
        try:
            value = _value(function, arguments, named)
        except Exception as error:
            failed = [type(error).__name__, _words(function, error)]
    messages = dict.fromkeys((own.category.__name__, str(own.message)) for own in caught)
    texts = [in_r(text) for _, text in messages]
    return Answer(value, [name for name, _ in messages], texts, failed)


def _value(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    seed = named.get("seed")
    if isinstance(seed, str) and seed.isdecimal():
        named["seed"] = int(seed)
    elif isinstance(seed, float) and abs(seed) > _R_EXACT:
        raise InputError.by("r-seed")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # Of a function that C code defines.
        return function(*arguments, **named)
    known, own = signature.parameters, name_in_r(function)
    try:
        signature.bind(*arguments, **named)
    except TypeError:
        for name in named.keys() - known.keys():
            hint = near(name, known)
            raise InputError.by("r-no-argument", function=own, name=name, hint=hint) from None
        raise InputError.by("r-arguments", function=own, known=", ".join(known)) from None
    for name in named.keys() & known.keys():
        kinds = set(str(known[name].annotation).split(" | "))
        single = isinstance(named[name], (str, float, int))  # R has vectors of one alone.
        if single and any(map(_LIST.match, kinds)) and kinds.isdisjoint(_SINGLE):
            named[name] = [named[name]]
    return function(*arguments, **named)


def _words(function: Callable[..., Any], error: Exception) -> str:
    """One line on an error in R's words; of an error that nobody foresaw, where it was."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or name_in_r(function)}: {error.strerror}."
    if isinstance(error, _OF_KINDS) and not isinstance(error, PyvwsError):
        error = InputError.by("r-wrong-kind", function=name_in_r(function))
    return " ".join(in_r(str(error)).split()) or type(error).__name__


# R to Python


class _NamedArray(np.ndarray[Any, Any]):
    """An array that knows the names of its dimensions, "" for none, as R's dimnames give them."""

    dims: tuple[str, ...] = ()


def received(
    form: Literal["column", "value", "array"],
    kind: Any,
    data: Any,
    missing: bytes | None = None,
    classes: str | Iterable[str] = (),
    levels: str | Iterable[str] = (),
    zone: str | None = None,
    shape: Iterable[float] = (),
    dims: str | Iterable[str] = (),
) -> Any:
    """What Python sees of an R vector.

    - `form` {"column", "value", "array"}: "column" gives a pandas Series, "value" one value or a
      list, "array" a NumPy array.
    - `kind` {"double", "integer", "logical", "character"}: R's storage type.
    - `data`: The bytes in blocks, or the text with "" where it is missing.
    - `missing`: 1 where text is missing.
    - `classes`, `levels`, `zone`, `shape`, `dims`: The class attribute, levels, time zone,
      dimensions and their names. R hands one name over as text.
    """
    if kind == "character":
        gaps = bytes(missing or b"")
        values: Any = [
            None if gap else value for gap, value in zip(gaps, _listed(data), strict=True)
        ]
    else:
        values = np.frombuffer(bytearray().join(data), np.float64 if kind == "double" else np.int32)
    marks = tuple(_listed(classes))
    if marks[:1] == ("POSIXct",):
        with np.errstate(invalid="ignore"):  # R's clock is finer than microseconds, which cross.
            values = np.round(values, 6)
    column = decoded(StoredVector(kind, values, marks, tuple(_listed(levels))))
    if form == "column":
        return _received_series(column, zone)
    if column.kind == "factor":
        raise InputError.by("r-factor-alone")
    if form == "array":
        array = _received_array(column).reshape([int(n) for n in shape], order="F")
        if not any(_listed(dims)):
            return array
        named = array.view(_NamedArray)
        named.dims = tuple(_listed(dims))
        return named
    listed = _received_array(column).tolist()
    return listed[0] if len(listed) == 1 else listed


def frame(names: str | Iterable[str], columns: Sequence[pd.Series], rows: int) -> pd.DataFrame:
    """The pandas table of columns under R's names, which may repeat."""
    table = pd.DataFrame(dict(enumerate(columns)), index=pd.RangeIndex(int(rows)))
    table.columns = pd.Index(_listed(names), dtype=object)
    return table


def _listed(value: str | Iterable[Any] | None) -> list[Any]:
    """R hands one text over as such, and several as a list."""
    return [value] if isinstance(value, str) else list(value or ())


def _received_series(column: RColumn, zone: str | None) -> pd.Series:
    values, missing = column.values, column.missing
    if column.kind == "real":
        # pandas has one missing number. The sign marks R's NaN, which pandas never makes.
        marked = np.where(np.isnan(values) & ~is_na(values), np.copysign(np.nan, -1), values)
        return pd.Series(marked)
    if column.kind == "integer":
        whole = values.astype(np.int64)
        return pd.Series(pd.arrays.IntegerArray(whole, missing) if missing.any() else whole)
    if column.kind == "text":
        return pd.Series(values, dtype=object)
    if column.kind == "instant":
        times = to_series(column).dt.tz_localize("UTC")
        try:
            return times.dt.tz_convert(zone or "UTC")
        except (KeyError, ValueError):  # A zone that Python does not know.
            return times
    if column.kind == "date" and missing.all():  # No object says that it is a date.
        return pd.Series([None] * missing.size, dtype=pd.ArrowDtype(pa.date32()))
    series = to_series(column)
    if column.kind == "date":  # Beyond the years 1 to 9999 Python has no date, so it is text.
        strange = [not (gap or isinstance(x, date)) for gap, x in zip(missing, series, strict=True)]
        series[strange] = [str(np.datetime64(int(day), "D")) for day in series[strange]]
    return series


def _received_array(column: RColumn) -> NDArray[Any]:
    values, missing = column.values, column.missing
    if column.kind == "date":
        values = values.astype("datetime64[D]").astype(object)
    elif column.kind == "instant":
        values = values.astype("datetime64[us]").astype(object)
    if column.kind == "text" and not missing.any():
        return np.array(values.tolist(), dtype=np.str_)
    if column.kind in ("real", "text") or not missing.any():
        return np.asarray(values)
    if column.kind == "integer":
        return reals(values, missing)
    marked = values.astype(object)
    marked[missing] = None
    return np.asarray(marked)


# Python to R


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """What R makes a value of.

    - `form` ({"vector", "frame", "list", "function", "class", "object"}): What it becomes in R.
    - `items`: The columns of a frame as `Sent`, or the values of a list.
    - `names`: Names of the items, or none.
    - `rows`: Rows of a frame.
    - `kind`, `data`, `missing`, `classes`, `levels`, `zone`, `shape`: Of a vector, as `received`
      takes them; `data` is one block.
    """

    form: str
    items: list[Any] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    rows: int = 0
    kind: str = ""
    data: Any = None
    missing: bytearray = field(default_factory=bytearray)
    classes: list[str] = field(default_factory=list)
    levels: list[str] = field(default_factory=list)
    zone: str = ""
    shape: list[int] = field(default_factory=list)


def sent(value: object) -> Sent:
    """What R is to make of a value; an array that R has no vector for is an InputError."""
    if isinstance(value, PurePath):
        value = str(value)
    if isinstance(value, np.ndarray):
        shape = list(value.shape) if value.ndim > 1 else []
        return _vector(_array_column(value.ravel(order="F")), shape=shape)
    if isinstance(value, pd.DataFrame):
        columns = [_series(column) for _, column in value.items()]
        return Sent(form="frame", items=columns, names=[*map(str, value)], rows=len(value))
    if isinstance(value, pl.DataFrame):
        columns = [_series(column) for column in value.get_columns()]
        return Sent(form="frame", items=columns, names=value.columns, rows=value.height)
    if isinstance(value, (pd.Series, pd.Index, pd.api.extensions.ExtensionArray, pl.Series)):
        return _series(value)
    if isinstance(value, dict):
        return Sent(form="list", items=[*value.values()], names=[*map(str, value)])
    if isinstance(value, (list, tuple)):
        if len({type(item) for item in value}) != 1 or from_scalar(value[0]) is None:
            return Sent(form="list", items=list(value))
        if isinstance(value[0], float):
            return sent(np.array(value, dtype=np.float64))
        return _vector(_object_column(_objects(value)))
    if isinstance(value, np.generic):
        value = value.item()
    column = from_scalar(value)
    if column is not None:
        return _vector(column)
    if isinstance(value, type):
        return Sent(form="class")
    return Sent(form="function" if callable(value) else "object")


def _vector(column: RColumn, *, zone: str = "UTC", shape: Sequence[int] = ()) -> Sent:
    try:
        stored = encoded(column)
    except InputError:
        if column.kind != "integer":
            raise
        # Text keeps every digit of a whole number beyond 2^53.
        digits = _objects(map(str, column.values.tolist()))
        stored = encoded(from_text(digits, column.missing))
    if stored.kind == "character":
        data: Any = ["" if text is None else text for text in stored.values]
    else:
        data = bytearray(np.ascontiguousarray(stored.values))
    return Sent(
        form="vector",
        kind=stored.kind,
        data=data,
        missing=bytearray(column.missing.astype(np.uint8)),
        classes=list(stored.classes),
        levels=list(stored.levels or ()),
        zone=zone if column.kind == "instant" else "",
        shape=list(shape),
    )


def _array_column(array: NDArray[Any]) -> RColumn:
    if array.dtype == object:
        return _object_column(array)
    column = from_numpy(array)
    return replace(column, missing=is_na(column.values)) if column.kind == "real" else column


def _series(values: object) -> Sent:
    if isinstance(values, pl.Series):
        return _vector(_with_na(from_polars(values)))
    series = values if isinstance(values, pd.Series) else pd.Series(values)
    if isinstance(series.dtype, pd.CategoricalDtype):
        return _vector(from_pandas(series.cat.rename_categories(_level)))
    if isinstance(series.dtype, pd.DatetimeTZDtype):
        return _vector(from_pandas(series), zone=str(series.dt.tz))
    try:
        if series.dtype != object:
            return _vector(_with_na(from_pandas(series)))
    except InputError:  # Such as differences of times.
        pass
    return _vector(_with_na(_object_column(series.to_numpy(dtype=object))))


def _with_na(column: RColumn) -> RColumn:
    """A missing number of a table is NA in R; only what R sent as NaN stays NaN."""
    if column.kind != "real":
        return column
    gaps = np.isnan(column.values) & ~np.signbit(column.values)
    return replace(column, missing=column.missing | gaps)


def _object_column(values: NDArray[Any]) -> RColumn:
    """The column (N,) of Python objects, as text where they are of no one kind that R has."""
    missing = np.asarray(pd.isna(values), dtype=np.bool_)
    kinds = {type(value) for value in values[~missing]}
    if kinds and kinds <= {int, float}:
        return RColumn(
            "integer" if kinds == {int} else "real", np.where(missing, 0, values), missing
        )
    if kinds == {bool}:
        return RColumn("logical", np.where(missing, False, values).astype(np.bool_), missing)
    try:
        return from_objects(values)
    except InputError:
        return from_text(_objects(map(str, values)), missing)


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    return np.array([*values, None], dtype=object)[:-1]


def _level(category: object) -> Any:
    """A level of a factor is text in R: a number keeps the digits that R shows."""
    if isinstance(category, float):
        return f"{category:.15g}"
    return category if isinstance(category, (str, int)) else str(category)
