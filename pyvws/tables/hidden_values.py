"""Tables without values that no cell shows, though the memory of the table holds them.

Arrow keeps the bytes of a value under a missing cell: where a user blanked a cell, the value that
the cell had. A part of a table keeps bits of the rows next to the part. An enumeration keeps all
its levels. A file of columns copies the memory, so the package lays out a released table anew.
"""

from __future__ import annotations

import io
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

__all__ = ["with_sorted_levels", "without_hidden", "without_notes"]


def without_hidden(frame: pl.DataFrame) -> pl.DataFrame:
    """The same cells in memory of their own; enumerations become categories.

    Parquet has no place for a value where a cell is missing, so what it gives back has none.
    """
    frame = frame.with_columns(pl.col(pl.Enum).cast(pl.Categorical))
    names = [name for name, column in frame.to_dict().items() if _may_hide(column)]
    if not names:
        return frame
    memory = io.BytesIO()
    frame.select(names).write_parquet(memory, compression="uncompressed", statistics=False)
    memory.seek(0)
    return frame.with_columns(pl.read_parquet(memory))


def with_sorted_levels(table: Any) -> Any:
    """A table of any kind whose unordered levels of pandas and Arrow stand in rising order.

    Levels as they first occur tell of the order of the rows that they were made from. An order that
    the table declares stays, as that of an enumeration in polars, which keeps no other.
    """
    if nw.dependencies.is_pyarrow_table(table):
        return _sorted_dictionaries(table)
    if not nw.dependencies.is_pandas_dataframe(table):
        return table
    made = {
        name: column.cat.reorder_categories(_rising(column.cat.categories))
        for name, column in table.items()
        if hasattr(column, "cat") and not column.cat.ordered
    }
    return table.assign(**made) if made else table


def _rising(levels: Any) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:  # Of several kinds.
        return sorted(levels, key=repr)


def _sorted_dictionaries(table: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type) and not field.type.ordered:
            column = table[field.name].unify_dictionaries().combine_chunks()
            order = compute.sort_indices(column.dictionary).to_numpy()
            rank = np.empty(len(order), dtype=column.indices.type.to_pandas_dtype())
            rank[order] = np.arange(len(order))
            codes = pa.array(rank).take(column.indices)
            sorted_levels = column.dictionary.take(pa.array(order))
            column = pa.DictionaryArray.from_arrays(codes, sorted_levels)
            table = table.set_column(place, field, column)
    return table


def without_notes(table: Any) -> Any:
    """A table of any kind; an Arrow one without the notes of its schema and its fields.

    Such notes describe the whole table that they came with: pandas' name all of its columns.
    """
    schema: Any = getattr(table, "schema", None)
    if not hasattr(schema, "remove_metadata"):
        return table
    import pyarrow as pa

    return table.cast(pa.schema([field.remove_metadata() for field in schema]))


def _may_hide(column: pl.Series) -> bool:
    packed = column.dtype == pl.Boolean  # Eight rows a byte.
    return packed or column.dtype.is_nested() or column.has_nulls()
