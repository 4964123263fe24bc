"""Tables on an engine of their own: grouped there, so that only a tally comes over.

Such an engine (DuckDB, Dask, Spark, Ibis) promises no order of rows. Records are those of the
sorted tally, one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.tables.frame import column_names, narwhal_view
from pyvws.tables.large_files import COUNT, LargeTable, named_errors, refuse_missing

__all__ = ["LazyTable", "TalliedTable", "open_lazy"]


@dataclass(frozen=True, slots=True)
class LazyTable:
    """A lazy frame of an engine that keeps no order of rows; `name` is how messages call it."""

    frame: nw.LazyFrame[Any]
    columns: list[str]
    name: str

    def tallied(self, modelled: Sequence[str], public: Sequence[str]) -> TalliedTable:
        """Count the distinct rows of the public and the modelled columns, on the engine."""
        columns = list(dict.fromkeys([*public, *modelled]))
        with named_errors(self.name, columns, self.columns):
            counted = (
                self.frame.select(columns).group_by(*columns).agg(nw.len().alias(COUNT))
            ).collect(backend="polars")
            rows = counted.to_native().with_columns(pl.col(COUNT).cast(pl.Int64)).sort(columns)
        return TalliedTable(rows, self.columns, self.name)


@dataclass(frozen=True, slots=True)
class TalliedTable:
    """A table as its distinct rows and their counts, sorted by the public columns first.

    Reads like `LargeTable`.
    """

    rows: pl.DataFrame
    columns: list[str]
    name: str
    format: str = "parquet"

    def digest(self) -> None:
        """There is no file to take one of."""
        return

    def tally(self, columns: Sequence[str]) -> tuple[pl.DataFrame, pl.DataFrame]:
        """As `LargeTable.tally`; both parts are the same here."""
        with named_errors(self.name, columns, self.columns):
            rows = self.rows.group_by(columns).agg(pl.col(COUNT).sum()).sort(columns)
        refuse_missing(rows, columns)
        return rows, rows

    def batches(self, columns: Sequence[str], size: int) -> Iterator[pl.DataFrame]:
        """The records in the order of the tally, `size` at a time."""
        rows = self.rows.select(columns)
        ends = np.cumsum(self.rows[COUNT].to_numpy())
        for start in range(0, int(ends[-1]) if len(ends) else 0, size):
            records = np.arange(start, min(start + size, ends[-1]))
            yield rows[np.searchsorted(ends, records, side="right")]


def open_lazy(table: Any, *, keep_order: bool = False) -> LargeTable | LazyTable:
    """A plan to read a lazy frame that narwhals accepts, without running it.

    A polars plan keeps its rows' order and is read like a file. Raises InputError for another kind
    of table, one without distinct names, or one whose engine has no order to keep.
    """
    with named_errors("the lazy frame"):
        frame = narwhal_view(table)
        if not isinstance(frame, nw.LazyFrame):
            raise InputError(
                f"table must be a path or a lazy frame. Got {type(table).__name__}, which is in "
                "memory: use fit(...).write(folder)."
            )
        name = f"the {frame.implementation.name.lower()} frame"
        if frame.implementation.is_polars():
            plan = frame.to_native()
            return LargeTable(plan, plan.collect_schema(), "parquet", name, None)
        if keep_order:
            raise InputError(
                f"{name}: its engine keeps no order of rows. Take keep_order out, or give a file."
            )
        return LazyTable(frame, column_names(frame), name)
