"""The writer of a column's values: codes as the levels that went in, numbers and dates by a type.

A released column has the kind and type of a column `like`: the table's own, or one by the schema.
What it holds is said to those who read a release: regressions, programs, files.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal

import narwhals as nw
import numpy as np
import polars as pl
from narwhals.typing import IntoDType, IntoSeries
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.kinds import days_of, ends_of_type, has_labels, holds_dates, kind_of
from pyvws.tables.files.labels import are_numbers, are_truth_values, as_number
from pyvws.tables.schema.column import Column

Content = Literal["numbers", "dates", "truth values", "text"]
"""What the values of a column are to those who read them."""


def released_type(
    column: Column, values: nw.Series[Any], *, by_schema: bool = False
) -> nw.Series[Any]:
    """A column of the type that synthetic values come out in: that of `values`, or by the schema.

    The types that a reader gives a table follow from its cells: one cell with a fraction, or an
    empty one, makes floats of whole numbers, and one code such as N makes text of them. A code that
    is a word makes text of numbers, whether a record has it or not.
    """
    dates = column.days_since is not None
    words = any(as_number(code) is None for code in column.missing_codes if code is not None)
    text = not column.categorical and (dates or words)
    empty = dates and not (holds_dates(values) or has_labels(values))
    if not (by_schema or empty or (text and not dates)):
        return values
    if column.categorical:
        return type_of_levels(column.coded_levels, values)
    if text:
        return _typed(["1"], nw.String, values)
    return _typed([1], nw.Int64 if column.is_whole else nw.Float64, values)


def type_of_levels(levels: Sequence[str | None], values: nw.Series[Any]) -> nw.Series[Any]:
    """A column of the type that public levels give, of the name and the package of `values`.

    Levels that are all spelled as whole numbers, or as words for true and false, give these types;
    others give text, which keeps their spelling. A single cell, such as 1.0, "N" or an empty one,
    changes the type of a column that was read, but not this type.
    """
    labels = [label for label in levels if label is not None]
    if are_truth_values(labels):
        return _typed([True], nw.Boolean, values)
    if labels and all(_spells_whole(label) for label in labels):
        return _typed([1], nw.Int64, values)
    return _typed(["1"], nw.String, values)


def _typed(cells: list[Any], kind: IntoDType, values: nw.Series[Any]) -> nw.Series[Any]:
    return nw.new_series(values.name, cells, kind, backend=values.implementation)


def _spells_whole(label: str) -> bool:
    """Whether a label is a whole number of 64 bits as Python writes it."""
    try:
        return str(int(label)) == label and abs(int(label)) < 2**63
    except ValueError:
        return False


def written_column(
    column: Column, name: str, values: ArrayLike, *, like: IntoSeries, parts: Floats | None
) -> nw.Series[Any]:
    """As `Schema.decoded`."""
    source = nw.from_native(like, series_only=True)
    if column.categorical:
        levels = native_levels(column.coded_levels, source).alias(name)
        return levels[np.asarray(values).astype(np.intp) - 1]
    numbers = np.array(values, dtype=np.float64)
    if column.decimals is not None:
        numbers = np.round(numbers, column.decimals) + 0.0  # Without -0.
    missing = np.isnan(numbers)
    codes: list[str | None] = [(column.missing_codes or (None,))[0]] * int(missing.sum())
    if parts is not None:
        first = 2 + len(column.mass)
        codes = [column.missing_codes[int(part) - first] for part in parts[missing]]
    if has_labels(source):
        text = np.empty(len(numbers), dtype=object)
        text[~missing] = [column.label_of_number(x) for x in numbers[~missing]]
        text[missing] = codes
        return _with_cells(text, nw.String, name, source)
    known = [None if code is None else column.number_of(code) for code in codes]
    numbers[missing] = np.array([np.nan if x is None else x for x in known])
    if column.days_since is not None:
        return dates_like(numbers, column.days_since, name, source)
    empty = np.isnan(numbers)
    if column.is_whole and source.dtype.is_integer():
        rounded = np.rint(np.where(empty, 0.0, numbers))
        whole = whole_numbers(rounded, name, source)
        if not empty.any():
            return whole
        kind: Any = whole.dtype
        numbers = rounded if kind.is_float() else rounded.astype(np.int64)
    else:
        kind = nw.Float32 if source.dtype == nw.Float32 else nw.Float64
        if not column.missing_codes:
            return nw.new_series(name, numbers, kind, backend=source.implementation)
    cells = numbers.astype(object)
    cells[empty] = None
    return _with_cells(cells, kind, name, source)


def _with_cells(
    cells: NDArray[Any], kind: IntoDType, name: str, like: nw.Series[Any]
) -> nw.Series[Any]:
    """Cells (M,), None where empty, as a column of a kind, of pandas' own type where it fits."""
    if not like.implementation.is_pandas():
        return nw.new_series(name, cells.tolist(), kind, backend=like.implementation)
    import pandas as pd

    native = like.to_native().dtype
    if kind.is_integer():
        native = "Int64"
    elif kind != nw.String and not like.dtype.is_float():
        native = "float64"  # A column of whole numbers has no place for fractions.
    elif isinstance(native, pd.CategoricalDtype):
        native = object
    return nw.from_native(pd.Series(cells, dtype=native, name=name), series_only=True)


def whole_numbers(values: Floats, name: str, like: nw.Series[Any]) -> nw.Series[Any]:
    """Whole numbers (M,) as a column of the type of `like`, or as Int64 where they do not fit.

    Numbers beyond Int64 come as floats.
    """
    if not (np.abs(values) < 2.0**63).all():
        return nw.new_series(name, values, nw.Float64, backend=like.implementation)
    series = nw.new_series(name, values.astype(np.int64), nw.Int64, backend=like.implementation)
    low, high = ends_of_type(like)
    if len(values) and (values.min() < low or values.max() > high):
        return series
    if like.implementation.is_pandas():  # pandas has two types of each size.
        return nw.from_native(series.to_native().astype(like.to_native().dtype), series_only=True)
    return series.cast(like.dtype)


def dates_like(days: Floats, start: str, name: str, like: nw.Series[Any]) -> nw.Series[Any]:
    """The dates (M,) that lie whole `days` after `start`, empty where NaN, of the type of `like`.

    `like` is a column that `holds_dates`. Raises InputError for dates that its type cannot hold.
    """
    missing = np.isnan(days)
    dates = np.datetime64(start, "D") + np.where(missing, 0, days).astype("timedelta64[D]")
    dates[missing] = np.datetime64("NaT")
    try:
        series = nw.from_native(_native(dates, like), series_only=True).alias(name)
        if not np.array_equal(days_of(series, start), days, equal_nan=True):
            raise ValueError
    except (ArithmeticError, ValueError, pl.exceptions.PolarsError):
        raise InputError.by("dates-beyond-type", name=name) from None
    return series


def _native(dates: NDArray[Any], like: nw.Series[Any]) -> Any:
    if like.implementation.is_polars():
        return pl.Series(dates).cast(like.to_native().dtype)
    import pyarrow as pa

    if like.implementation.is_pyarrow():
        return pa.chunked_array([pa.array(dates).cast(like.to_native().type)])
    import pandas as pd

    kind = like.to_native().dtype
    if isinstance(kind, pd.ArrowDtype):
        cells = pa.array(dates).cast(kind.pyarrow_dtype)
        return pd.Series(pd.arrays.ArrowExtensionArray(cells))  # type: ignore[attr-defined]
    if kind == np.dtype(object):
        return pd.Series(dates.astype(object), dtype=object)
    return pd.Series(dates).astype(kind)


def native_levels(levels: Sequence[str | None], like: nw.Series[Any]) -> nw.Series[Any]:
    """The levels (L,) as a column of the kind, type and name of `like`, empty for None.

    A category's type gets these levels in their order, not those of `like`. pandas' int64 and bool
    have no empty cell; with None among the levels they become Int64 and boolean. Raises InputError
    for a level that a column of this type cannot hold.
    """
    values, native = cells_of_levels(levels, like), like.to_native()
    some = [value for value in values if value is not None]
    cells: Any
    try:
        if like.implementation.is_pandas():
            import pandas as pd

            kind = native.dtype
            if isinstance(kind, pd.CategoricalDtype):
                known = pd.Index(some, dtype=kind.categories.dtype)
                values, kind = pd.Categorical(values, known, ordered=kind.ordered), None
            elif None in values and isinstance(kind, np.dtype) and kind.kind in "iub":
                kind = "boolean" if kind.kind == "b" else "Int64"
            cells = pd.Series(values, dtype=kind)
        elif like.implementation.is_polars():
            kind = pl.Enum(some) if isinstance(native.dtype, pl.Enum) else native.dtype
            cells = pl.Series(values, dtype=kind)
        else:
            import pyarrow as pa

            cells = pa.chunked_array([pa.array(values, type=native.type)])
        column = nw.from_native(cells, series_only=True).alias(like.name)
        if column.drop_nulls().to_list() != some:
            raise ValueError
    except (ArithmeticError, NotImplementedError, TypeError, ValueError):
        raise _other_type(like) from None
    return column


def cells_of_levels(levels: Sequence[str | None], column: nw.Series[Any]) -> Any:
    """The levels as values of the column's own type, None for an empty cell."""
    objects = kind_of(column)
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
        raise InputError.by(
            "column-type-not-plain", column=column.name, dtype=str(column.dtype).partition("(")[0]
        )
    try:
        return [None if level is None else read(level) for level in levels]
    except (ArithmeticError, ValueError):
        raise _other_type(column) from None


def _truth_value(level: str) -> bool:
    if level.lower() not in ("true", "false"):
        raise ValueError
    return level.lower() == "true"


def _other_type(column: nw.Series[Any]) -> InputError:
    return InputError.by("levels-of-other-type", column=column.name)


def content_of(column: Column) -> Content:
    """What a regression reads a column as; of a category the levels say it, with all codes.

    Levels such as 02139 are more than their number, so they are text.
    """
    if not column.categorical:
        return "numbers" if column.days_since is None else "dates"
    levels = [level for level in column.coded_levels if level is not None]
    if are_truth_values(levels):
        return "truth values"
    return "numbers" if are_numbers(levels) else "text"


def says_content(column: Column) -> bool:
    """Whether an entry says what its column holds: that of a public one may not."""
    told = column.days_since is not None or column.categorical or bool(column.missing_codes)
    return told or column.role == "synthesize"


def truth_words(columns: Mapping[str, Column]) -> dict[str, dict[bool, str]]:
    """How a csv spells the truth values of each column that has them: by its levels."""
    return {
        name: {level.lower() == "true": level for level in column.levels or ()}
        for name, column in columns.items()
        if column.categorical and content_of(column) == "truth values"
    }
