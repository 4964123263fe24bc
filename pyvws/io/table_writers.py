"""Tables written in steps: what appends batches to a csv, parquet or Arrow IPC file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from pyvws.io.hidden_values import without_hidden

__all__ = ["TableWriter", "table_writer"]


class TableWriter(Protocol):
    """Appends rows; every batch has the same columns."""

    def __call__(self, batch: pl.DataFrame) -> None: ...


@contextmanager
def table_writer(path: Path, *, format: str, mode: int = 0o666) -> Iterator[TableWriter]:
    """Open a new file of the given rights; a parquet row group or Arrow batch is a call's rows.

    Arrow gets categories as text. What a batch's memory holds besides its cells is not written.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    with os.fdopen(handle, "wb") as file:
        if format == "csv":
            first = True

            def append(batch: pl.DataFrame) -> None:
                nonlocal first
                batch.write_csv(file, include_header=first)
                first = False

            yield append
            return
        import pyarrow as pa
        from pyarrow import parquet

        writer: Any = None

        def group(batch: pl.DataFrame) -> None:
            nonlocal writer
            batch = without_hidden(batch)
            if format == "arrow":  # One dictionary would have to serve all batches.
                batch = batch.with_columns(pl.col(pl.Categorical).cast(pl.String))
            rows = batch.to_arrow(compat_level=pl.CompatLevel.oldest())
            if writer is None and format == "parquet":
                writer = parquet.ParquetWriter(file, rows.schema, compression="zstd")
            elif writer is None:
                packed = pa.ipc.IpcWriteOptions(compression="zstd")
                writer = pa.ipc.new_file(file, rows.schema, options=packed)
            writer.write_table(rows)

        try:
            yield group
        finally:
            if writer is not None:
                writer.close()
