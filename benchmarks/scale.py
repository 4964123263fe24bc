"""Growth of the whole LW pipeline with the number of records, and with that of distinct ones.

Each run has a process of its own: reading parquet, three kinds of fit, bounds, weights,
re-weighting, and the synthetic datasets written as parquet with their predictors.
"""

from __future__ import annotations

import json
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyvws_studies.own_process import peak_gigabytes

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import SamplerSettings, Synthesizer

__all__ = ["grow", "run", "sizes", "write_parts"]

_AT_ONCE: Final = 1_000_000
_BRIEF: Final = SamplerSettings(draws=100, warmup=100, chains=1)
_LARGEST_COUNT: Final = 1_000_000


def write_visits(path: Path, n: int) -> None:
    """n counts with two categorical predictors, a million at a time."""
    rng = np.random.default_rng(1)

    def parts() -> Iterator[dict[str, Any]]:
        for size in sizes(n):
            region, urban = rng.integers(0, 4, size), rng.integers(0, 2, size)
            mean = np.exp(3.0 + 0.2 * region - 0.3 * urban)
            yield {
                "region": np.array(["north", "south", "east", "west"])[region],
                "urban": np.array(["no", "yes"])[urban],
                "visits": rng.poisson(mean * rng.gamma(5.0, 0.2, size)),
            }

    write_parts(path, parts())


def write_distinct(path: Path, n: int, distinct: int) -> None:
    """n counts with so many distinct values, evenly spread below a million, in random order."""
    rng = np.random.default_rng(1)
    values = np.floor((np.arange(distinct) + 0.5) * (_LARGEST_COUNT / distinct)).astype(np.int64)
    order = rng.permutation(np.arange(n) % distinct)
    write_parts(path, iter([{"visits": values[order]}]))


def sizes(n: int) -> list[int]:
    """The numbers of records of parts of a million at most."""
    return [min(_AT_ONCE, n - first) for first in range(0, n, _AT_ONCE)]


def write_parts(path: Path, parts: Iterator[dict[str, Any]]) -> None:
    """Write parts of a table, columns by name, as one parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    first = pa.table(next(parts))
    with parquet.ParquetWriter(path, first.schema) as writer:
        writer.write_table(first)
        for part in parts:
            writer.write_table(pa.table(part))


def pipeline(
    path: Path, out: Path, formula: str, datasets: int, settings: SamplerSettings
) -> dict[str, Any]:
    """Seconds, peak gigabytes, fits and distinct records of one run from file to folder."""
    began = time.perf_counter()
    run = Synthesizer(
        outcome="visits",
        formula=formula,
        mechanism="lw",
        reweight=True,
        datasets=datasets,
        settings=settings,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run.fit_to(path, out, seed=1)
    summary = json.loads((out / "confidential" / "summary.json").read_text())
    return {
        "seconds": time.perf_counter() - began,
        "gigabytes": peak_gigabytes(),
        "fits": len(summary["fits"]),
        "fitting": sum(fit["seconds"] for fit in summary["fits"]),
        "distinct": summary["cells"],
    }


def grow(
    write: Callable[..., None],
    given: tuple[int, ...],
    formula: str,
    datasets: int,
    settings: SamplerSettings,
) -> dict[str, Any]:
    """One run on a file that `write(path, *given)` makes, in another process than the run."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.parquet"
        with Worker() as worker:
            worker.ask(write, path, *given)
        with Worker() as worker:
            job = (path, Path(folder) / "out", formula, datasets, settings)
            return dict(worker.ask(pipeline, *job))


def run(plan: Plan) -> Found:
    """Both tables."""
    figures: dict[str, float] = {}
    rows: list[tuple[Entry, ...]] = []
    runs = [(power, 20) for power in range(3, 6 if plan.small else min(plan.largest, 7) + 1)]
    if not plan.small and plan.largest >= 8:
        runs.append((8, 1))
    for power, datasets in runs:
        found = grow(write_visits, (10**power,), "~ region + urban", datasets, SamplerSettings())
        rows.append((10**power, datasets, *_shown(found)))
        plan.say(f"  10^{power} records: {found['seconds']:.1f} s, {found['gigabytes']:.2f} GB")
        if power >= 7:
            about = f"10^{power} records, {datasets} dataset{'s' * (datasets > 1)}"
            figures[f"{about}: time"] = found["seconds"]
            figures[f"{about}: memory"] = found["gigabytes"]
    measured = ("distinct", "seconds", "of them fits", "peak GB", "fits")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    growth = Table("Records", ("records", "datasets", *measured), rows, note)
    n = 10**4 if plan.small else 10**6
    spread: list[tuple[Entry, ...]] = []
    for distinct in [10**power for power in range(1, 7) if 10**power <= n]:
        found = grow(write_distinct, (n, distinct), "~ 1", 1, _BRIEF)
        spread.append((n, *_shown(found)))
        plan.say(f"  {distinct:,} distinct: {found['seconds']:.1f} s, {found['gigabytes']:.2f} GB")
    note = "One dataset; every fit is one chain of 100 draws after a warm-up of 100."
    return Found([growth, Table("Distinct records", ("records", *measured), spread, note)], figures)


def _shown(found: dict[str, Any]) -> tuple[Entry, ...]:
    return tuple(found[name] for name in ("distinct", "seconds", "fitting", "gigabytes", "fits"))
