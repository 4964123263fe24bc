"""Noisy counts: the cost of a sweep, and of a whole run, against the number of records.

Each size has a process of its own. A run reads a table of ten categories from a parquet file,
counts all pairs at epsilon 1 and delta 1e-5, and writes five datasets. Each size runs with few
sweeps and with some more, kernels compiled before: the difference is the cost of a sweep of each
chain. The last columns are what the sweeps of a usual run cost, with all else, and the peak memory.
Seconds are those of the processor, of all chains together.
"""

from __future__ import annotations

import tempfile
import time
import warnings
from pathlib import Path
from typing import Final

import polars as pl
from pyvws_studies.own_process import peak_gigabytes

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from benchmarks.tables import LEVELS, categories
from pyvws import NoisyCounts, Schema, synthesize
from pyvws.tables.schema.column import Column

__all__ = ["counted_run", "run"]

_SIZES: Final = (10_000, 200_000, 1_000_000)
_SWEEPS: Final = (6, 18)


def counted_run(path: Path, folder: Path, sweeps: int) -> tuple[float, float]:
    """Processor seconds of a run from file to folder, and the peak gigabytes of the process."""
    columns = {
        f"c{place}": Column(model="nominal", levels=tuple(map(str, range(L))))
        for place, L in enumerate(LEVELS)
    }
    mechanism = NoisyCounts(epsilon=1.0, delta=1e-5, sweeps=sweeps)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spent = time.process_time()
        made = synthesize(
            pl.read_parquet(path), schema=Schema(columns), mechanism=mechanism, datasets=5, seed=1
        )
        made.write(folder, format="parquet")
    return time.process_time() - spent, peak_gigabytes()


def usual_cost(n: int, few: int, more: int) -> tuple[float, float, float]:
    """Processor seconds of a chain's sweep and of a usual run of n records, and peak gigabytes."""
    with tempfile.TemporaryDirectory() as name, Worker() as worker:
        folder = Path(name)
        for size in (500, n):
            categories(size, LEVELS).write_parquet(folder / f"{size}.parquet")
        worker.ask(counted_run, folder / "500.parquet", folder / "first", few)
        path = folder / f"{n}.parquet"
        cost = [worker.ask(counted_run, path, folder / str(s), s) for s in (few, more)]
    usual = NoisyCounts(epsilon=1.0)
    a_sweep = (cost[1][0] - cost[0][0]) / (more - few)
    return a_sweep / usual.chains, cost[0][0] + a_sweep * (usual.sweeps - few), cost[1][1]


def run(plan: Plan) -> Found:
    """A row a size; the smallest alone where small."""
    rows: list[tuple[Entry, ...]] = []
    for n in _SIZES[: 1 if plan.small else None]:
        sweep, whole, gigabytes = usual_cost(n, *_SWEEPS)
        rows.append((n, sweep, whole, gigabytes))
        plan.say(f"  {n:,} records: {sweep:.3g} s a sweep, {whole:.3g} s a run")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    columns = ("records", "a sweep, s", "a usual run, s", "peak memory, GB")
    return Found([Table("Noisy counts of ten columns", columns, rows, note)])
