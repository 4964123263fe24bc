"""Tables without what their memory holds and no cell shows.

Arrow keeps a value's bytes under a missing cell: of a cell that was blanked, the value it had. A
part of a table keeps bits of the rows next to it, and an enumeration all its levels. A file of
columns copies what is in memory, so what a release holds is laid out anew first.
"""

from __future__ import annotations

import io
from typing import Any

import polars as pl

__all__ = ["without_hidden", "without_notes"]


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
