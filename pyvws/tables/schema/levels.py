"""Categories as codes 1 to L by public levels, and back as the labels that went in.

Levels are compared as text: the integer 1, the text "1" and 1.0 of a column of floats are one
level, and so are true, "true" and "True" for a column of truth values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.frame import check_columns, plain_columns
from pyvws.tables.files.labels import label_of
from pyvws.tables.schema.factors import factor_values, make_factor

_KINDS = {"i": "integer", "u": "integer", "f": "floating", "b": "boolean"}


@dataclass(frozen=True, slots=True, eq=False)
class CodedColumn:
    """A column of categories.

    Attributes
    ----------
    codes : ndarray, shape (N,)
        Each record's level, as whole numbers from 1 to L.
    labels : tuple of str, length L
        The levels as text, in the order of their codes.
    values : narwhals Series of length L
        The levels in the column's own type; a category has these levels and no others.
    """

    codes: Floats
    labels: tuple[str, ...]
    values: nw.Series[Any]


def coded_column(
    frame: nw.DataFrame[Any],
    name: str,
    labels: Sequence[str] = (),
    *,
    role: str,
    counts: Floats | None = None,
    like: nw.Series[Any] | None = None,
) -> CodedColumn:
    """Code a column of text, categories, booleans or numbers by its levels.

    Labels are text, as R's ``as.character`` gives it: "1" for 1, "TRUE" for true. With `labels`
    the codes follow their order, so codes tell nothing of other records. Without labels the levels
    are those that occur: categories in their own order, text by code point, numbers by size. Of
    given labels the values have the type of `like`, or else of the column.

    Raises InputError for missing values, dates, labels that the column's type cannot have, and
    values that are not among the labels. The message counts these records and names no value;
    `counts` (N,) says how many records each row stands for, one by default.
    """
    check_columns(frame, [name], role=role)
    source = frame[name]
    column = plain_columns(frame, [name], role=role)[name]
    if not labels:
        factor = make_factor(factor_values(source, column, role=role))
        unused = set(factor.unused())
        labels, like = [label for label in factor.levels if label not in unused], None
    like = source if like is None else like
    codes = level_codes(source, labels, name, counts, like)
    return CodedColumn(codes, tuple(labels), native_levels(labels, name, like))


def distinct(column: nw.Series[Any]) -> tuple[Any, list[str]]:
    """Each cell's place (N,) among the distinct values, -1 if empty, and the values as text."""
    import pandas as pd

    if column.dtype in (nw.Int128, nw.UInt128) or (
        column.dtype.is_integer() and column.null_count()
    ):
        column = column.cast(nw.String)  # pandas would turn large integers into rounded floats.
    native = column.to_native()
    cells = native if column.implementation.is_pandas() else native.to_pandas()
    try:
        places, values = pd.factorize(cells)
    except TypeError:
        raise InputError(
            f"Column {column.name!r} has cells that are no labels. Turn them into text."
        ) from None
    return places, [label_of(value) for value in values]


def level_codes(
    column: nw.Series[Any],
    levels: Sequence[str | None],
    name: str,
    counts: Floats | None = None,
    like: nw.Series[Any] | None = None,
) -> Floats:
    """Codes 1 to L of a column (N,) by the levels, None for empty cells.

    The levels are read as values of the column's type; where they come out in the type of `like`,
    a level that the column's type cannot hold is in none of its cells.

    Raises InputError for a cell with none of the levels, by the number of such cells, and for a
    level that the type they come out in cannot hold. A row counts as `counts` (N,) cells, or one.
    """
    native_levels(levels, name, column if like is None else like)  # Refuses those of another type.
    codes = {
        _read_as(column, level): code for code, level in enumerate(levels, 1) if level is not None
    }
    places, labels = distinct(column)
    empty = 1 + list(levels).index(None) if None in levels else 0
    of_label = np.array([*(codes.get(label, -1) for label in labels), empty], dtype=np.float64)
    found = np.asarray(of_label[places])
    if empty_cells := how_many(found == 0, counts):
        raise InputError(
            f"Column {name!r} has {empty_cells} empty cells. Add missing = true to the column in "
            "the schema, or remove these records."
        )
    if others := how_many(found < 0, counts):
        raise InputError(
            f"Column {name!r} has {others} values that are not among the given levels. Give every "
            "possible level, in the schema or by --levels (levels=(...) in Python)."
        )
    return found


def how_many(rows: NDArray[np.bool_], counts: Floats | None) -> int:
    """The number of records in the true `rows` (N,), which stand for `counts` (N,) or one each."""
    return int(rows.sum() if counts is None else counts[rows].sum())


def native_levels(levels: Sequence[str | None], name: str, like: nw.Series[Any]) -> nw.Series[Any]:
    """The levels (L,) as a column of the kind and type of `like`, empty for None.

    A category's type gets these levels in their order, not those of `like`. pandas' int64 and bool
    have no empty cell; with None among the levels they become Int64 and boolean. Raises InputError
    for a level that a column of this type cannot hold.
    """
    values, native = _natives(levels, name, like), like.to_native()
    some = [value for value in values if value is not None]
    made: Any
    try:
        if like.implementation.is_pandas():
            made = _pandas_column(values, some, native.dtype)
        elif like.implementation.is_polars():
            import polars as pl

            kind = pl.Enum(some) if isinstance(native.dtype, pl.Enum) else native.dtype
            made = pl.Series(name, values, dtype=kind)
        else:
            import pyarrow as pa

            made = pa.chunked_array([pa.array(values, type=native.type)])
        column = nw.from_native(made, series_only=True).alias(name)
        if column.drop_nulls().to_list() != some:
            raise ValueError
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        raise _other_type(name) from None
    return column


def type_of_levels(levels: Sequence[str | None], values: nw.Series[Any]) -> nw.Series[Any]:
    """A column of the type that public levels give, of the name and the package of `values`.

    Levels that are all spelled as whole numbers or truth values give these; others give text, which
    keeps their spelling. A single cell, such as 1.0, "N" or an empty one, changes the type of a
    column that was read, but not this type.
    """
    labels = [label for label in levels if label is not None]
    kind: tuple[Any, Any] = (nw.String, "1")
    if all(label in ("true", "false") for label in labels):
        kind = (nw.Boolean, True)
    elif all(_spells_whole(label) for label in labels):
        kind = (nw.Int64, 1)
    return nw.new_series(values.name, [kind[1]], kind[0], backend=values.implementation)


def _spells_whole(label: str) -> bool:
    """Whether a label is a whole number of 64 bits as Python writes it."""
    try:
        return str(int(label)) == label and abs(int(label)) < 2**63
    except ValueError:
        return False


def _read_as(column: nw.Series[Any], level: str) -> str:
    """The label of a level read as a value of the column's type, or the level where it is none."""
    try:
        (value,) = _natives([level], "", column)
    except InputError:
        return level
    return label_of(value)


def _other_type(name: str) -> InputError:
    return InputError(
        f"levels has labels that no value of column {name!r} can have, since its type is another. "
        "Give levels of that type, or convert the column."
    )


def _pandas_column(values: list[Any], some: list[Any], kind: Any) -> Any:
    import pandas as pd

    if isinstance(kind, pd.CategoricalDtype):
        categories = pd.Index(some, dtype=kind.categories.dtype)
        return pd.Series(pd.Categorical(values, categories, ordered=kind.ordered))
    if None in values and isinstance(kind, np.dtype) and kind.kind in "iub":
        kind = "boolean" if kind.kind == "b" else "Int64"
    return pd.Series(values, dtype=kind)


def labelled(codes: Any, values: nw.Series[Any]) -> nw.Series[Any]:
    """The column (M,) of codes 1 to L, from the levels that `native_levels` gives."""
    return values[np.asarray(codes).astype(np.intp) - 1]


def whole_numbers(values: Floats, name: str, like: nw.Series[Any]) -> nw.Series[Any]:
    """Whole numbers (M,) as a column of the type of `like`, or as Int64 where they do not fit.

    Numbers beyond Int64 come as floats.
    """
    if not (np.abs(values) < 2.0**63).all():
        return nw.new_series(name, values, nw.Float64, backend=like.implementation)
    made = nw.new_series(name, values.astype(np.int64), nw.Int64, backend=like.implementation)
    bits = int("".join(filter(str.isdigit, str(like.dtype))))
    low = 0 if like.dtype.is_unsigned_integer() else -(2 ** (bits - 1))
    if values.min() < low or values.max() >= low + 2**bits:
        return made
    if like.implementation.is_pandas():  # pandas has two types of each size.
        native = made.to_native().astype(like.to_native().dtype)
        return nw.from_native(native, series_only=True)
    return made.cast(like.dtype)


def has_labels(column: nw.Series[Any]) -> bool:
    """Whether a column holds text, categories, or Python's objects of several such kinds."""
    if column.dtype == nw.Object:
        return _objects(column) in ("boolean", "integer", "floating", "mixed-integer")
    return column.dtype in (nw.String, nw.Categorical, nw.Enum)


def _objects(column: nw.Series[Any]) -> str:
    """What a column's Python objects or its categories are; empty for a type of its own."""
    import pandas as pd

    native = column.to_native()
    kind = getattr(native, "dtype", None)
    if isinstance(kind, pd.CategoricalDtype):
        return pd.api.types.infer_dtype(kind.categories, skipna=True)
    if kind == np.dtype(object):
        return pd.api.types.infer_dtype(native)
    if column.dtype == nw.Categorical and column.implementation.is_pyarrow():
        return _KINDS.get(np.dtype(native.type.value_type.to_pandas_dtype()).kind, "")
    return ""


def _natives(levels: Sequence[str | None], name: str, column: nw.Series[Any]) -> list[Any]:
    """The levels as values of the column's own type, None for an empty cell."""
    objects = _objects(column)
    read: Callable[[str], Any]
    if column.dtype == nw.Boolean or objects == "boolean":
        read = _truth_value
    elif column.dtype.is_integer() or objects == "integer":
        read = int
    elif column.dtype.is_float() or objects == "floating":
        read = float
    elif column.dtype.is_decimal():
        read = Decimal
    elif has_labels(column):
        read = str
    else:
        raise InputError(
            f"Column {name!r} is neither text, a number, a truth value nor a category (its type is "
            f"{str(column.dtype).partition('(')[0]}). Convert the column first, or drop it in the "
            "schema."
        )
    try:
        return [None if level is None else read(level) for level in levels]
    except (ArithmeticError, ValueError):
        raise _other_type(name) from None


def _truth_value(level: str) -> bool:
    if level.lower() not in ("true", "false"):
        raise ValueError
    return level.lower() == "true"
