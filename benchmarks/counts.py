"""Noisy counts: the cost of a run against the number of records.

Each size has a process of its own. A run reads a table of ten categories from a parquet file,
counts all pairs at epsilon 1 and a delta of .1 / n, and writes five datasets. Seconds are those of
the processor.

A second table has runs that hold no table: DuckDB counts ten columns of a parquet file, and one
dataset is written in steps. The seconds of counting stand beside those of the whole run.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from pyvws_studies.own_process import peak_gigabytes

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from benchmarks.scale import sizes, write_parts
from benchmarks.tables import LEVELS, categories
from pyvws import NoisyCounts, Schema, Synthesizer, synthesize
from pyvws.tables.files.steps import LazyTable
from pyvws.tables.schema.column import Column

__all__ = ["counted_run", "run", "stepped_run", "write_codes"]

_SIZES: Final = (10_000, 200_000)
_POWERS: Final = (6, 7, 8)
_NO_LIMIT: Final = 1e9  # Seconds of a run.


def _schema() -> Schema:
    return Schema(
        {
            f"c{place}": Column(model="nominal", levels=tuple(map(str, range(L))), predictors=())
            for place, L in enumerate(LEVELS)
        }
    )


def write_codes(path: Path, n: int) -> None:
    """n records of codes, each column given the one before it, a million at a time."""
    rng = np.random.default_rng(1)

    def parts() -> Iterator[dict[str, Any]]:
        for size in sizes(n):
            found, last = {}, np.zeros(size, dtype=np.uint8)
            for place, L in enumerate(LEVELS):
                own = rng.integers(0, L, size, dtype=np.uint8)
                last = np.where(rng.random(size) < 0.5, last % L, own).astype(np.uint8)
                found[f"c{place}"] = last
            yield found

    write_parts(path, parts())


def stepped_run(path: Path, folder: Path, delta: float) -> tuple[float, float, float]:
    """Processor seconds of counting on DuckDB and of the whole run, and the peak gigabytes."""
    import duckdb

    spent = [0.0]
    grouped = LazyTable.grouped

    def timed(*given: Any) -> Iterator[Any]:
        parts, began = grouped(*given), time.process_time()
        for part in parts:
            spent[0] += time.process_time() - began
            yield part
            began = time.process_time()
        spent[0] += time.process_time() - began

    setattr(LazyTable, "grouped", timed)  # noqa: B010
    mechanism = NoisyCounts(epsilon=1.0, delta=delta, measure="pairs")
    run = Synthesizer(schema=_schema(), mechanism=mechanism, datasets=1, most_seconds=_NO_LIMIT)
    began, engine = time.process_time(), duckdb.connect()
    engine.sql("SET memory_limit = '1GB'")
    run.fit_to(engine.sql(f"SELECT * FROM '{path}'"), folder, seed=1)
    return spent[0], time.process_time() - began, peak_gigabytes()


def counted_run(path: Path, folder: Path, delta: float) -> tuple[float, float]:
    """Processor seconds of a run from file to folder, and the peak gigabytes of the process."""
    mechanism = NoisyCounts(epsilon=1.0, delta=delta, measure="pairs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent = time.process_time()
        made = synthesize(
            pl.read_parquet(path), schema=_schema(), mechanism=mechanism, datasets=5, seed=1
        )
        made.write(folder, format="parquet")
    return time.process_time() - spent, peak_gigabytes()


def usual_cost(n: int) -> tuple[float, float]:
    """Processor seconds of a run of n records, kernels compiled before, and peak gigabytes."""
    with tempfile.TemporaryDirectory() as name, Worker() as worker:
        folder = Path(name)
        for size in (500, n):
            categories(size, LEVELS).write_parquet(folder / f"{size}.parquet")
        worker.ask(counted_run, folder / "500.parquet", folder / "first", 1e-5)
        return worker.ask(counted_run, folder / f"{n}.parquet", folder / "own", 0.1 / n)


def run(plan: Plan) -> Found:
    """A row a size; the smallest alone where small."""
    rows: list[tuple[Entry, ...]] = []
    for n in _SIZES[: 1 if plan.small else None]:
        whole, gigabytes = usual_cost(n)
        rows.append((n, whole, gigabytes))
        plan.say(f"  {n:,} records: {whole:.3g} s a run")
    stepped: list[tuple[Entry, ...]] = []
    for power in _POWERS[: 0 if plan.small else plan.largest - _POWERS[0] + 1]:
        n = 10**power
        with tempfile.TemporaryDirectory() as name:
            path = Path(name) / "table.parquet"
            with Worker() as worker:
                worker.ask(write_codes, path, n)
            with Worker() as worker:
                found = worker.ask(stepped_run, path, Path(name) / "out", 0.1 / n)
        stepped.append((n, *found))
        plan.say(f"  10^{power} records: {found[1]:.0f} s, {found[2]:.2f} GB")
    _, *notes = (" ".join(part.split()) for part in (__doc__ or "").split("\n\n"))
    columns = ("records", "a run, s", "peak memory, GB")
    of_steps = ("records", "counting, s", "a run, s", "peak memory, GB")
    return Found(
        [
            Table("Noisy counts of ten columns", columns, rows, notes[0]),
            Table("Noisy counts on DuckDB, in steps", of_steps, stepped, notes[1]),
        ]
    )
