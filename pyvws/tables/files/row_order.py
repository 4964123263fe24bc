"""The secret order of released rows: the place of a row tells nothing of its record."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

RELEASED_ROW: Final = "released_row"  # In records.parquet: a record's row in each dataset, from 1.
UNLINKED_ROW: Final = "released_row_of_tally"  # The same for an engine without an order.
NOT_ALIGNED: Final = (
    "The rows of these datasets are not those of records, or the run kept no link between them, so "
    "no record has a risk. Run again on a file or on a table in memory, under replace neighbours "
    "and without records."
)

_STREAM: Final = "order of rows"  # Joins the seed; no other stream begins so.

RowNumbers = NDArray[np.integer[Any]]


def order_stream(seed: int) -> np.random.Generator:
    """The random stream that draws the order of rows of a run with a seed.

    A reader who knows the order of the table and a released column of distinct values knows the
    permutation. Such a reader may work out how the stream of the permutation began. The stream
    begins from a digest of the seed, so its start reveals no other stream of the run.
    """
    digest = hashlib.sha256(f"{_STREAM} {seed}".encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype="<u4"))


def row_order(stream: np.random.Generator, records: int) -> RowNumbers:
    """The record of each released row (N,), from 0; all orders are equally likely."""
    order = _numbers(0, records)
    stream.shuffle(order)
    return order


def released_rows(order: RowNumbers | None, records: int) -> RowNumbers:
    """Each record's row in every dataset (N,), from 1; without an order record i has row i."""
    numbers = _numbers(1, records)
    if order is None:
        return numbers
    rows = np.empty_like(numbers)
    rows[order] = numbers
    return rows


def _numbers(first: int, many: int) -> RowNumbers:
    """Consecutive whole numbers (N,), in four bytes where four bytes are enough."""
    kind: Any = np.int32 if many < np.iinfo(np.int32).max else np.int64
    return np.arange(first, first + many, dtype=kind)


def laid_out(
    batches: Iterable[pl.DataFrame], rows: RowNumbers, *, size: int, folder: Path
) -> Iterator[pl.DataFrame]:
    """The rows of consecutive tables, sorted by `rows` (N,), in batches of `size` rows.

    `rows` holds 1 to N once each. The rows wait in a file in `folder` that has no name, so nothing
    of the file is left when the process ends, however the process ends.
    """
    starts = range(1, len(rows) + 1, size)
    parts: list[list[tuple[int, int]]] = [[] for _ in starts]
    with TemporaryFile(dir=folder) as file:
        read = 0
        for batch in batches:
            become = rows[read : read + batch.height]
            read += batch.height
            rising = np.argsort(become)
            become = become[rising]
            sorted_rows = batch.select(pl.struct(pl.all()).alias("cells"))[rising]
            sorted_rows = sorted_rows.with_columns(row=become)
            cuts = np.searchsorted(become, [*starts, len(rows) + 1]).tolist()
            for part, start, end in zip(parts, cuts[:-1], cuts[1:], strict=True):
                if end > start:
                    part.append(_append(file, sorted_rows.slice(start, end - start)))
        for part in parts:
            joined = pl.concat([_read(file, *where) for where in part])
            yield joined.sort("row").select(pl.col("cells").struct.unnest())


def _append(file: IO[Any], rows: pl.DataFrame) -> tuple[int, int]:
    """Append rows to the file; return the place where they begin and their number of bytes."""
    memory = io.BytesIO()
    rows.write_ipc(memory)
    start = file.seek(0, io.SEEK_END)
    file.write(memory.getbuffer())
    file.flush()
    return start, memory.tell()


def _read(file: IO[Any], start: int, length: int) -> pl.DataFrame:
    file.seek(start)
    return pl.read_ipc(io.BytesIO(file.read(length)))
