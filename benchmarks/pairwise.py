"""Growth of pairwise weights to 10 million records, and the risk of 20 synthetic datasets.

Amounts are log-normal, the radius is 20 %, all records share one pattern unless `--patterns` says
otherwise. Each size runs in a process of its own, so that its peak memory is its own: that of the
process, Python and the data included. Seconds are those of the call alone.

    python benchmarks/pairwise.py
"""

from __future__ import annotations

import argparse
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from pyvws.identification_risk import identification_risk
from pyvws.pairwise import pairwise_weights


def pairwise(records: int, patterns: int) -> tuple[float, float]:
    """Seconds and peak gigabytes of the pairwise weights of so many records."""
    random = np.random.default_rng(1)
    y = random.lognormal(4.0, 1.0, records)
    known = None if patterns == 1 else random.integers(0, patterns, records)
    start = perf_counter()
    pairwise_weights(y, known=known, singletons="weight-zero")
    return perf_counter() - start, peak()


def risk(records: int, patterns: int, datasets: int = 20) -> tuple[float, float]:
    """Seconds and peak gigabytes of the averaged risk of synthetic datasets."""
    random = np.random.default_rng(1)
    y = random.lognormal(4.0, 1.0, records)
    known = None if patterns == 1 else random.integers(0, patterns, records)
    synthetic = [y * random.lognormal(0.0, 0.3, records) for _ in range(datasets)]
    start = perf_counter()
    identification_risk(y, synthetic, known=known)
    return perf_counter() - start, peak()


def peak() -> float:
    """Largest resident memory of this process so far, in gigabytes."""
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    """Run every size and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--largest", type=int, default=10_000_000, help="records of the last row")
    parser.add_argument("--patterns", type=int, default=1)
    options = parser.parse_args()
    sizes = [n for n in (300, 10_000, 100_000, 1_000_000) if n < options.largest]
    jobs = [("pairwise weights", pairwise, n) for n in [*sizes, options.largest]]
    jobs += [("risk of 20 datasets", risk, n) for n in sizes if n >= 10_000]
    table = Table(title=f"{options.patterns} pattern(s), radius 20 %")
    for heading in ("what", "records", "seconds", "peak GB"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for name, job, records in jobs:
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            seconds, memory = process.submit(job, records, options.patterns).result()
        table.add_row(name, f"{records:,}", f"{seconds:.5f}", f"{memory:.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
