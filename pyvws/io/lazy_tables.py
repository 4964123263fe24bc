"""Tables on an engine of their own: grouped there, so that only a tally comes over.

Such an engine (DuckDB, Dask, Spark, Ibis) promises no order of rows. Records are laid out anew from
their tally, in an order that tells nothing of what is not released.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from pyvws.errors import InputError
from pyvws.io.frame import column_names, narwhal_view
from pyvws.io.large_files import COUNT, LargeTable, in_steps, named_errors, refuse_missing

__all__ = ["LazyTable", "TalliedTable", "open_lazy"]

_MOST_ALIKE = 10**9  # What numpy's multivariate hypergeometric draws take at most.


@dataclass(frozen=True, slots=True)
class LazyTable:
    """A lazy frame of an engine that keeps no order of rows; `name` is how messages call it."""

    frame: nw.LazyFrame[Any]
    columns: list[str]
    name: str

    def tallied(
        self, modelled: Sequence[str], public: Sequence[str], *, order: np.random.Generator
    ) -> TalliedTable:
        """Count the distinct rows of the public and the modelled columns, on the engine.

        `order` draws the order of the records that are equal in public.
        """
        columns = list(dict.fromkeys([*public, *modelled]))
        with named_errors(self.name, columns, self.columns):
            counted = (
                self.frame.select(columns).group_by(*columns).agg(nw.len().alias(COUNT))
            ).collect(backend="polars")
            rows = counted.to_native().with_columns(pl.col(COUNT).cast(pl.Int64)).sort(columns)
        made = TalliedTable(rows, list(public), self.columns, self.name, order)
        if any(made.alike() >= _MOST_ALIKE):
            raise InputError(
                f"{self.name}: {_MOST_ALIKE} or more records are equal in all released columns but "
                "the outcome, too many to draw their order. Keep a further column."
            )
        return made


@dataclass(frozen=True, slots=True)
class TalliedTable:
    """A table as its distinct rows and their counts, sorted by the public columns first.

    Reads like `LargeTable`; the records come sorted by the public columns, and those equal in them
    in a random order.
    """

    rows: pl.DataFrame
    public: list[str]
    columns: list[str]
    name: str
    order: np.random.Generator
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
        """The records in their new order, `size` at a time."""
        rows = self.rows.select(columns)
        yield from in_steps((rows[places] for places in self._places(size)), size)

    def alike(self) -> Any:
        """How many records each group of rows that are equal in public stands for (G,)."""
        counts = self.rows[COUNT].to_numpy()
        ends = self._group_ends()
        return np.diff(np.concatenate([[0], np.cumsum(counts)])[np.concatenate([[0], ends])])

    def _group_ends(self) -> Any:
        """Where each run of rows that are equal in public ends (G,)."""
        if not self.public:
            return np.array([len(self.rows)] if len(self.rows) else [], dtype=np.intp)
        sizes = self.rows.group_by(self.public, maintain_order=True).agg(pl.len())
        return np.cumsum(sizes["len"].to_numpy()).astype(np.intp)

    def _places(self, size: int) -> Iterator[Any]:
        """The tally's row of each record, at most `size` records a time.

        Groups of rows that are equal in public follow each other. Those that fit together are
        shuffled whole, each within itself; a larger one is drawn without replacement.
        """
        counts, ends, records = self.rows[COUNT].to_numpy(), self._group_ends(), self.alike()
        starts, up_to = np.concatenate([[0], ends[:-1]]), np.cumsum(records)
        at = 0
        while at < len(ends):
            before = up_to[at] - records[at]
            after = max(int(np.searchsorted(up_to, before + size, side="right")), at + 1)
            rows = np.arange(starts[at], ends[after - 1])
            group = np.repeat(np.arange(at, after), (ends - starts)[at:after])
            left = counts[rows]
            while left.any():
                taken = left
                if left.sum() > size:
                    taken = self.order.multivariate_hypergeometric(left, size, method="marginals")
                left = left - taken
                places = np.repeat(rows, taken)
                if after == at + 1:
                    yield self.order.permutation(places)
                else:
                    random = self.order.random(len(places))
                    yield places[np.lexsort((random, np.repeat(group, taken)))]
            at = after


def open_lazy(table: Any) -> LargeTable | LazyTable:
    """A plan to read a lazy frame that narwhals accepts, without running it.

    A polars plan keeps its rows' order and is read like a file. Raises InputError for another kind
    of table, or one without distinct names.
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
        return LazyTable(frame, column_names(frame), name)
