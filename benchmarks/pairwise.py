"""Growth of pairwise weights to 10 million records, and the risk of 20 synthetic datasets.

Amounts are log-normal, the radius is 20 %, all records share one pattern unless `--patterns` says
otherwise. Each size runs in a process of its own, so that its peak memory is its own: that of the
process, Python and the data included. Seconds are those of the call alone.

    python benchmarks/pairwise.py

With a checkout of the risk-efficient paper's public scripts, their function runs beside ours on the
same records at n = 100, 200 and 300 instead, and the table has the ratio of the two times. Theirs
runs once a size, ours a thousand times, of which the median counts. Both are processor seconds, so
that a busy machine favours neither. The weights must agree.

    python benchmarks/pairwise.py --authors PATH
"""

from __future__ import annotations

import argparse
import resource
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from time import perf_counter, process_time

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table

from pyvws.identification_risk import identification_risk
from pyvws.pairwise import pairwise_weights
from pyvws.r import bridge
from pyvws.validation.author_files import find_functions

_THEIRS = "IdentificationRisk_pw"


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


def beside_theirs(checkout: Path, records: int) -> tuple[float, float]:
    """Processor seconds of the authors' function and of ours for the same pairwise weights."""
    y = np.random.default_rng(1).lognormal(4.0, 1.0, records)
    frame = pd.DataFrame({"outcome": y})
    arguments = {"origdata": frame, "syndata": [frame], "syn.vars": "outcome"}
    arguments |= {"m": 1, "n": records, "r": 0.2}
    code = find_functions(checkout)[_THEIRS].code
    call = {"code": code, "name": _THEIRS, "arguments": arguments}
    theirs = bridge.call("authors", "time_function", call)
    times = []
    for _ in range(1000):
        start = process_time()
        ours = pairwise_weights(y)
        times.append(process_time() - start)
    np.testing.assert_allclose(ours, theirs["value"], rtol=0, atol=1e-12)
    return float(theirs["seconds"][0]), median(times)


def compare(checkout: Path) -> None:
    """Print the times of both and their ratio."""
    table = Table(title=f"pairwise weights, {_THEIRS} in R and pyvws")
    for heading in ("records", "theirs, s", "ours, s", "ratio"):
        table.add_column(heading, justify="right")
    for records in (100, 200, 300):
        theirs, ours = beside_theirs(checkout, records)
        table.add_row(str(records), f"{theirs:.2f}", f"{ours:.6f}", f"{theirs / ours:,.0f}")
    Console().print(table)


def peak() -> float:
    """Largest resident memory of this process so far, in gigabytes."""
    unit = 1e9 if sys.platform == "darwin" else 1e6
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def main() -> None:
    """Run every size and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--largest", type=int, default=10_000_000, help="records of the last row")
    parser.add_argument("--patterns", type=int, default=1)
    parser.add_argument("--authors", type=Path, help="checkout of the authors' scripts")
    options = parser.parse_args()
    if options.authors is not None:
        compare(options.authors)
        return
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
