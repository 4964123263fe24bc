"""The columns of a table as numbers by what a schema says of them, and back."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.dates import dates_like
from pyvws.tables.files.frame import check_columns
from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.groups import group_codes, group_of
from pyvws.tables.schema.levels import (
    has_labels,
    how_many,
    labelled,
    level_codes,
    native_levels,
    whole_numbers,
)
from pyvws.tables.schema.numbers import numbers_and_codes, numbers_with_codes, released_type


def coded_columns(
    columns: Mapping[str, Column],
    names: Sequence[str],
    table: nw.DataFrame[Any],
    *,
    public: Sequence[str],
    counts: Floats | None,
    by_schema: Collection[str],
) -> dict[str, Floats]:
    """As `Schema.coded`, of the columns `names`; the table has the `public` ones too."""
    check_columns(table, [*public, *names], role="The schema")
    found: dict[str, Floats] = {}
    for name in names:
        column, values = columns[name], table[name]
        like = released_type(column, values, by_schema=name in by_schema)
        if column.categorical:
            found[name] = level_codes(values, column.coded_levels, name, counts, like)
            if column.group_by is not None:
                groups = group_codes(column)
                found[group_of(name)] = groups[found[name].astype(np.intp) - 1]
            continue
        found[name], missing = numbers_and_codes(
            values, column.missing_codes, name, counts, start=column.days_since
        )
        _check_range(column, name, found[name], counts)
        if column.days_since is not None and not has_labels(like):  # Can they come out?
            codes = map(column.number_of, filter(None, column.missing_codes))
            days = [*(column.range or ()), *(day for day in codes if day is not None)]
            dates_like(np.array(days), column.days_since, name, like)
        if column.parts:
            found[part_of(name)] = _with_mass(missing, found[name], column)
    return found


def decoded_column(
    column: Column, name: str, values: Any, *, like: Any, parts: Floats | None
) -> nw.Series[Any]:
    """As `Schema.decoded`."""
    source = nw.from_native(like, series_only=True)
    if column.categorical:
        return labelled(values, native_levels(column.coded_levels, name, source))
    numbers = np.asarray(values, dtype=np.float64)
    if column.decimals is not None:
        numbers = np.round(numbers, column.decimals) + 0.0  # Without -0.
    whole = column.is_whole
    if column.missing_codes or column.days_since is not None:
        missing = np.isnan(numbers)
        which = np.zeros(missing.sum(), np.intp)
        if parts is not None:
            which = parts[missing].astype(np.intp) - 2 - len(column.mass)
        codes = [(column.missing_codes or (None,))[place] for place in which]
        start = column.days_since
        return numbers_with_codes(numbers, codes, name, source, whole=whole, start=start)
    if has_labels(source):
        return numbers_with_codes(numbers, [], name, source, whole=whole)
    if whole and source.dtype.is_integer():
        return whole_numbers(np.rint(numbers), name, source)
    kind: Any = nw.Float32 if source.dtype == nw.Float32 else nw.Float64
    return nw.new_series(name, numbers, kind, backend=source.implementation)


def _check_range(column: Column, name: str, numbers: Floats, counts: Floats | None) -> None:
    """Raise InputError for numbers (N,) outside the column's public range."""
    low, high = column.range or (-np.inf, np.inf)
    outside = how_many((numbers < low) | (numbers > high), counts)
    if outside:
        raise InputError(
            f"Column {name!r} has {outside} records outside the range of the schema. Widen "
            "the range to every possible number, or recode the records."
        )


def _with_mass(missing: Floats, numbers: Floats, column: Column) -> Floats:
    """The codes (N,) of a number's parts, from codes of missing values, 1 where there is one."""
    found = np.where(missing > 1.0, missing + len(column.mass), 1.0)
    for code, point in enumerate(column.mass, start=2):
        found[numbers == point] = code
    return found
