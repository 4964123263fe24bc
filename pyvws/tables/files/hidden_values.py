"""Remove values that a table's memory holds although no cell shows them.

Where a user blanked a cell, Arrow keeps the bytes of the value that the cell had. A part of a table
keeps bits of the rows next to the part. An enumeration keeps all its levels. A file of columns
copies the memory, so the package lays out a released table anew.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws.tables.files.labels import label_of

if TYPE_CHECKING:
    import pyarrow as pa


def without_hidden(frame: pl.DataFrame) -> pl.DataFrame:
    """The same cells in memory of their own; enumerations become categories.

    The function writes the frame as parquet and reads it back. Parquet has no place for a value
    where a cell is missing, so the new frame holds none.
    """
    frame = frame.with_columns(pl.col(pl.Enum).cast(pl.Categorical))
    names = [
        name  # A byte holds eight rows of truth values.
        for name, column in frame.to_dict().items()
        if column.dtype == pl.Boolean or column.dtype.is_nested() or column.has_nulls()
    ]
    if not names:
        return frame
    memory = io.BytesIO()
    frame.select(names).write_parquet(memory, compression="uncompressed", statistics=False)
    memory.seek(0)
    return frame.with_columns(pl.read_parquet(memory))


def with_sorted_levels(table: Any, declared: Mapping[str, Sequence[str]] | None = None) -> Any:
    """The table with unordered levels of pandas and Arrow columns in public order.

    Levels in the order of their first rows would tell of the order of those rows. So levels stand
    in the order that is `declared` of their column, by their text, and others after them in rising
    order. An ordered category keeps its levels' order, and a polars enumeration, whose order polars
    declares.
    """
    public = declared or {}
    if nw.dependencies.is_pyarrow_table(table):
        return _sorted_dictionaries(table, public)
    if not nw.dependencies.is_pandas_dataframe(table):
        return table
    ordered = {
        name: column.cat.reorder_categories(_rising(column.cat.categories, public.get(name, ())))
        for name, column in table.items()
        if hasattr(column, "cat") and not column.cat.ordered
    }
    return table.assign(**ordered) if ordered else table


def _rising(levels: Iterable[Any], declared: Sequence[str]) -> list[Any]:
    """The levels: those declared in their order, then the others, rising."""
    place = {label: at for at, label in enumerate(declared)}
    try:
        rising = sorted(levels)
    except TypeError:  # Levels of several types.
        rising = sorted(levels, key=repr)
    return sorted(rising, key=lambda level: place.get(label_of(level), len(place)))


def _sorted_dictionaries(table: pa.Table, declared: Mapping[str, Sequence[str]]) -> pa.Table:
    import pyarrow as pa

    for at, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered:
            column = table[field.name].unify_dictionaries().combine_chunks()
            levels = column.dictionary.to_pylist()
            order = [levels.index(level) for level in _rising(levels, declared.get(field.name, ()))]
            rank = np.empty(len(order), dtype=column.indices.type.to_pandas_dtype())
            rank[order] = np.arange(len(order))
            codes = pa.array(rank).take(column.indices)
            sorted_levels = column.dictionary.take(pa.array(order, type=pa.int64()))
            column = pa.DictionaryArray.from_arrays(codes, sorted_levels)
            table = table.set_column(at, field, column)
    return table


def without_notes(table: Any) -> Any:
    """The table; an Arrow table loses the notes of its schema and its fields.

    Such notes describe the table that they came with. pandas' notes name all columns of that table.
    """
    schema: Any = getattr(table, "schema", None)
    if not hasattr(schema, "remove_metadata"):
        return table
    import pyarrow as pa

    return table.cast(pa.schema([field.remove_metadata() for field in schema]))
