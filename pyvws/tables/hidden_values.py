"""Tables without what their memory holds and no cell shows.

Arrow keeps a value's bytes under a missing cell: of a cell that was blanked, the value it had. A
part of a table keeps bits of the rows next to it, and an enumeration all its levels. A file of
columns copies what is in memory, so what a release holds is laid out anew first.
"""

from __future__ import annotations

import io
from typing import Any

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
    if hasattr(table, "schema"):
        return _sorted_dictionaries(table)
    sorted_columns = {}
    for name in table.columns:
        levels = getattr(table[name].dtype, "categories", None)
        if hasattr(table[name], "cat") and not table[name].cat.ordered:
            sorted_columns[name] = table[name].cat.reorder_categories(_rising(levels))
    return table.assign(**sorted_columns) if sorted_columns else table


def _rising(levels: Any) -> list[Any]:
    try:
        return sorted(levels)
    except TypeError:  # Of several kinds.
        return sorted(levels, key=repr)


def _sorted_dictionaries(table: Any) -> Any:
    import pyarrow as pa
    from pyarrow import compute

    for place, field in enumerate(table.schema if isinstance(table, pa.Table) else ()):
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
