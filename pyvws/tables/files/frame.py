"""Read columns of pandas, polars and Arrow tables, and give back tables of the same kind."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

import narwhals as nw
import numpy as np
from narwhals.typing import EagerAllowed, IntoBackend, IntoFrame

from pyvws._base.checks import Bools, Floats, Places, positions
from pyvws._base.phrase import counted
from pyvws.errors import InputError
from pyvws.tables.files.headers import display_names, named, names_or_number, placed, record_instead
from pyvws.tables.files.kinds import distinct, floats_of
from pyvws.tables.files.labels import id_of, spells_empty

_VIEWS = {"string_view": "string", "binary_view": "binary"}
MODELLED = " Or have empty cells modelled: in a schema by missing = true"
_COMPARED = 1000  # A misspelt name is compared with at most so many names.

Frame = nw.DataFrame[Any]
"""A table in memory, of pandas, polars or Arrow, as narwhals shows it."""

OutcomeKind = Literal["whole", "real", "boolean", "date"] | nw.Series[Any]
"""The type of a synthetic outcome in a released table: 64-bit integers or floats, or booleans.

A date is given as days since 1970. A Series holds the levels (L,) that the codes 1 to L stand for,
in their own type.
"""


def narwhal_view(table: IntoFrame) -> Frame | nw.LazyFrame[Any]:
    """A narwhals view of a table, in memory or lazy; InputError for repeated column names."""
    try:
        frame = nw.from_native(table)
    except TypeError:
        hint = " Read the file first." if isinstance(table, (str, Path)) else ""
        kind = type(table).__name__
        raise InputError.by("frame-of-other-kind", kind=kind, hint=hint) from None
    except nw.exceptions.DuplicateError:
        refuse_names(list(getattr(table, "column_names", None) or table.columns))
        raise
    columns = column_names(frame)
    refuse_names(columns)
    if not all(isinstance(name, str) for name in columns):
        raise InputError.by("column-name-no-text")
    return frame


def open_frame(table: IntoFrame, *, least: int = 2) -> Frame:
    """A narwhals view in memory of a table with at least `least` rows; collects a lazy frame."""
    frame = narwhal_view(table)
    if isinstance(frame, nw.LazyFrame):
        frame = frame.collect()
    if len(frame) < least:
        raise InputError.by("table-too-small", least=counted(least, "record"), frame=len(frame))
    return _without_views(frame)


def _without_views(frame: Frame) -> Frame:
    """The frame with Arrow's views as plain text or bytes, since Arrow takes no rows of a view."""
    native: Any = frame.to_native()
    if frame.implementation.is_polars():
        return frame
    kinds = native.schema.types if frame.implementation.is_pyarrow() else native.dtypes
    by_name = zip(frame.columns, (str(kind).partition("[")[0] for kind in kinds), strict=True)
    replaced = []
    for name, plain in ((name, _VIEWS[kind]) for name, kind in by_name if kind in _VIEWS):
        import pyarrow as pa

        column: Any = pa.chunked_array([frame[name].to_arrow().cast(plain)])
        if frame.implementation.is_pandas():
            import pandas as pd

            cells = pd.arrays.ArrowExtensionArray(column)  # type: ignore[attr-defined]
            column = pd.Series(cells, index=native.index)
        replaced.append(nw.from_native(column, series_only=True).alias(name))
    return frame.with_columns(*replaced) if replaced else frame


def written_as_text(table: IntoFrame, released: IntoFrame) -> tuple[str, ...]:
    """The columns of a table that are text in `released`, the same cells as a file has them."""
    frame, cells = narwhal_view(table).collect_schema(), narwhal_view(released).collect_schema()
    return tuple(
        name for name, kind in frame.items() if cells.get(name) == nw.String and kind != nw.String
    )


def column_names(frame: Frame | nw.LazyFrame[Any]) -> list[str]:
    """Names of all columns in their order; a repeated name stands as often as in the table."""
    if isinstance(frame, nw.LazyFrame) and frame.implementation.is_polars():
        return list(frame.collect_schema().names())  # Its `columns` warns in older releases.
    return list(frame.columns)


def refuse_names(names: Sequence[Any]) -> None:
    """Raise InputError for a name that a table has twice, or that has a zero byte.

    Arrow and DuckDB cut a name at its first zero byte.
    """
    texts = [str(name) for name in names]
    cut = [name for name in texts if "\0" in name]
    if cut:
        raise InputError.by("column-name-zero-byte", cut=placed(cut, texts))
    twice = [name for name, times in sorted(Counter(texts).items()) if times > 1]
    if twice:
        raise InputError.by("column-names-twice", twice=named(twice, texts))


class HasColumns(Protocol):
    """A table or plan that lists its columns' names."""

    @property
    def columns(self) -> list[str]: ...


def check_columns(
    frame: HasColumns, names: Iterable[str], *, role: str, header: Sequence[str] = ()
) -> None:
    """Raise InputError for a column that is not there; the message offers the nearest names.

    The `header` is that of the table which the names come from, if they come from one.
    """
    for name in names:
        if name not in frame.columns:
            if record_instead(header):
                raise InputError.by("header-missing", role=role, it=placed([name], header))
            lacks = f"names column {name!r}, which the table lacks"
            if header:
                own = display_names(header).get(name, name)
                own = f"column {name!r}" if own == name else own
                lacks = f"lacks {own} of the table that it is compared with"
            header, shown = frame.columns, display_names(frame.columns)
            known = [other for other in header[:_COMPARED] if shown[other] == other]
            near = difflib.get_close_matches(name, known, n=3, cutoff=0.5)
            hint = (
                f"Did you mean {' or '.join(map(repr, near))}?" if near else names_or_number(header)
            )
            raise InputError.by("columns-lacking", role=role, lacks=lacks, hint=hint)


def plain_columns(frame: Frame, names: Sequence[str], *, role: str) -> dict[str, Any]:
    """The named columns as pandas Series, none with a missing or infinite value."""
    check_columns(frame, names, role=role)
    columns = {}
    for name in names:
        column = frame[name]
        bad = column.is_null().to_numpy()
        if column.dtype.is_float():
            bad = bad | ~np.isfinite(column.fill_null(0).to_numpy())
        _refuse_missing(np.asarray(bad, dtype=np.bool_), column, role)
        if column.dtype in (nw.Int128, nw.UInt128):  # pandas has no such numbers.
            column = column.cast(nw.String if role in ("known", "unit") else nw.Float64)
        columns[name] = column.to_pandas().reset_index(drop=True)
    return columns


def unit_codes(frame: Frame, name: str) -> Places:
    """The units (N,) of records, from 0 in the order of their first records, by a column of ids.

    No record changes the unit of another by the type that it gives the column. Raises InputError
    where ids are text in some records only: 1 and "1" may name one unit, as where pandas reads a
    long csv in parts. So it does where ids may have lost digits.
    """
    check_columns(frame, [name], role="unit")
    if frame[name].dtype.is_nested():
        raise InputError.by("unit-of-lists", name=name)
    refuse_lost_digits(frame[name])
    (ids,) = plain_columns(frame, [name], role="unit").values()
    codes, distinct_ids = ids.factorize()
    if len({isinstance(value, str) for value in distinct_ids}) > 1:
        raise InputError.by("unit-ids-of-two-types", name=name)
    keys = [id_of(value) if isinstance(value, str) else value for value in distinct_ids]
    numbers = {key: number for number, key in enumerate(dict.fromkeys(keys))}
    return np.array([numbers[key] for key in keys], dtype=np.intp)[codes]


def units_by_id(ids: nw.Series[Any]) -> Places:
    """The unit (N,) of each record by its id, from 0 on; -1 of a record without an id.

    No record changes the unit of another by the type that it gives the column, unless a reader took
    digits off before.
    """
    places, labels = distinct(ids, any_cell=True)
    keys = [None if spells_empty(cell) else id_of(cell) for cell in labels]
    known = dict.fromkeys(key for key in keys if key is not None)
    numbers = {key: number for number, key in enumerate(known)}
    units = [-1 if key is None else numbers[key] for key in keys]
    return np.array([*units, -1], dtype=np.intp)[places]


def units_from_0(ids: nw.Series[Any]) -> Places:
    """As `units_by_id`, where the records without an id are one unit, 0 if there are any."""
    return np.unique(units_by_id(ids), return_inverse=True)[1]


def linked_by(frame: Frame, unit: str | None) -> str | None:
    """`unit` where the frame has that column and each of its records has an id there; else None."""
    if unit is None or unit not in frame.columns or (units_by_id(frame[unit]) < 0).any():
        return None
    return unit


def refuse_lost_digits(ids: nw.Series[Any]) -> None:
    """Raise InputError where ids or levels are numbers so large that several may have become one.

    One id with a fraction, or an empty one, makes a reader round all ids of 16 digits. No type of
    whole numbers holds 2^127.
    """
    if ids.dtype.is_float() and bool(((ids.abs() >= 2.0**53) & (ids.abs() < 2.0**127)).any()):
        raise InputError.by("digits-lost", ids=ids.name)


def numeric_column(frame: Frame, name: str, *, role: str) -> Floats:
    """One numeric column as floats (N,), none missing or infinite."""
    check_columns(frame, [name], role=role)
    column = frame[name]
    if not column.dtype.is_numeric():
        kind = str(column.dtype).partition("(")[0]  # After "(" may stand levels, which are values.
        own = " A run on one outcome takes --column 'missing = [\"N\"]'." * (role == "outcome")
        raise InputError.by("column-not-numeric", role=role, name=name, kind=kind, own=own)
    values = floats_of(column)
    _refuse_missing(~np.isfinite(values), column, role)
    return values


def outcome_column(frame: Frame, name: str) -> Floats:
    """The outcome as floats (N,), none missing or infinite; true counts as 1."""
    check_columns(frame, [name], role="outcome")
    if frame[name].dtype == nw.Boolean:
        frame = frame.with_columns(nw.col(name).cast(nw.Int8))
    return numeric_column(frame, name, role="outcome")


def outcome_series(
    name: str, values: Floats, kind: OutcomeKind, *, backend: IntoBackend[EagerAllowed]
) -> nw.Series[Any]:
    """Outcomes (N,) that a model drew, as a narwhals Series of their kind."""
    if isinstance(kind, nw.Series):
        levels = kind[values.astype(np.intp) - 1].alias(name)
        if levels.implementation is backend:
            return levels
        return nw.new_series(name, levels.to_list(), levels.dtype, backend=backend)
    kinds: dict[str, tuple[Any, Any]] = {
        "whole": (np.int64, nw.Int64),
        "real": (np.float64, nw.Float64),
        "boolean": (np.bool_, nw.Boolean),
    }
    numpy_type, dtype = kinds[kind]
    return nw.new_series(name, values.astype(numpy_type), dtype, backend=backend)


def with_columns(frame: Frame, new_columns: Sequence[nw.Series[Any]]) -> Any:
    """The native table with new columns in the place of those of the same names.

    Where the new columns are all of the table, they may have another number of values.
    """
    names = {column.name for column in new_columns}
    if len(new_columns[0]) != len(frame) and names == set(frame.columns):
        plain = [nw.maybe_reset_index(column) for column in new_columns]
        whole = plain[0].to_frame().with_columns(*plain[1:])
        return whole.select(frame.columns).to_native()
    if frame.implementation.is_pandas():
        index = frame.to_native().index
        columns = [column.to_native().set_axis(index) for column in new_columns]
        new_columns = [nw.from_native(column, series_only=True) for column in columns]
    return frame.with_columns(*new_columns).to_native()


def _refuse_missing(bad: Bools, column: nw.Series[Any], role: str) -> None:
    if bad.any():
        infinite = column.dtype.is_float() and np.isinf(column.fill_null(0).to_numpy()).any()
        own = ", in a run on one outcome by --column 'missing = true'" * (role == "outcome")
        way_out = f"{MODELLED}{own}." if role in ("outcome", "formula") and not infinite else ""
        raise InputError.by(
            "column-missing-at-rows", column=column.name, bad=positions(bad), way_out=way_out
        )
