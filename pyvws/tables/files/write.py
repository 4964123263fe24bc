"""Write tables in steps: functions that append batches to a csv, parquet or Arrow IPC file."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import IO, Any, Final

import polars as pl

from pyvws.errors import InputError
from pyvws.tables.files.headers import named
from pyvws.tables.files.hidden_values import without_hidden
from pyvws.tables.files.read import write_table

AT_ONCE: Final = 1 << 20  # Records a step.

# Errors for a column whose type a file or polars lacks. The words of Arrow's errors hold a value.
NO_PLACE: Final = (
    ValueError,
    TypeError,
    OverflowError,
    NotImplementedError,
    pl.exceptions.PolarsError,
)


TableWriter = Callable[[pl.DataFrame], None]
"""A function that appends rows to a file; every batch has the same columns."""

TruthWords = Mapping[str, Mapping[bool, str]]
"""The words for true and false of each column that has words of its own."""


def no_place(strange: Sequence[str], header: Sequence[str], format: str) -> InputError:
    """The error for columns that no file of a format can hold, with their names or places."""
    return InputError.by("values-no-file-holds", format=format, strange=named(strange, header))


@contextmanager
def table_writer(
    path: Path,
    *,
    format: str,
    mode: int = 0o666,
    whole: bool = False,
    words: TruthWords | None = None,
) -> Iterator[TableWriter]:
    """Open a new file of the given rights, and yield the function that appends rows.

    Each `AT_ONCE` rows of one call make one parquet row group or Arrow batch. With `whole` one call
    brings all rows, and a file takes every type that polars writes. Without `whole` the writer
    turns categories into text for Arrow. Other columns give the same bytes either way, so that a
    file does not tell whether the table was read in steps. The writer never writes hidden values of
    a batch's memory. A csv spells truth values by `words`, if given. The function raises InputError
    for a column whose type the file lacks.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    in_arrow = partial(_arrow, text=format == "arrow" and not whole)
    with os.fdopen(handle, "wb") as file, ExitStack() as opened:
        first, by_polars, writer = True, False, None

        def append(batch: pl.DataFrame) -> None:
            nonlocal first, by_polars, writer
            if first:
                strange = _without_place(batch, format, in_arrow)
                if strange and whole and format != "csv":
                    by_polars, strange = True, _without_place(batch, format, without_hidden)
                if strange:
                    raise no_place(strange, batch.columns, format)
            if by_polars:
                write_table(batch, file, format=format)
            elif format == "csv":
                _spelled(batch, words or {}).write_csv(file, include_header=first)
            else:
                rows = in_arrow(batch)
                writer = writer or opened.enter_context(_batch_writer(file, rows.schema, format))
                writer.write_table(rows, AT_ONCE)
            first = False

        yield append


def _spelled(batch: pl.DataFrame, words: TruthWords) -> pl.DataFrame:
    """A batch with words in the place of truth values."""
    return batch.with_columns(
        batch[name].replace_strict(own, default=None, return_dtype=pl.String)
        for name, own in words.items()
        if batch.schema.get(name) == pl.Boolean
    )


def _batch_writer(file: IO[bytes], schema: object, format: str) -> Any:
    import pyarrow as pa
    from pyarrow import parquet

    if format == "parquet":
        return parquet.ParquetWriter(file, schema, compression="zstd")
    return pa.ipc.new_file(file, schema, options=pa.ipc.IpcWriteOptions(compression="zstd"))


def _arrow(batch: pl.DataFrame, *, text: bool) -> Any:
    """A batch as Arrow; its categories as `text`, since batches of a file share one dictionary."""
    batch = without_hidden(batch)
    if text:
        batch = batch.with_columns(pl.col(pl.Categorical).cast(pl.String))
    return batch.to_arrow(compat_level=pl.CompatLevel.oldest())


def _without_place(
    batch: pl.DataFrame, format: str, laid_out: Callable[[pl.DataFrame], Any]
) -> list[str]:
    """The columns whose type a file of the format lacks."""
    strange = set()
    kinds = batch.schema
    for kind in set(kinds.values()):  # A posterior has ten thousands of columns of one type.
        empty_cell = pl.DataFrame({"cell": pl.Series([None], dtype=kind)})
        try:
            if format == "csv":
                empty_cell.write_csv()
            else:
                laid_out(empty_cell)
        except NO_PLACE:
            strange.add(kind)
    return [name for name, kind in kinds.items() if kind in strange]
