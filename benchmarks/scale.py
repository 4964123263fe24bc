"""Growth of the whole LW pipeline with the number of records: seconds and peak memory.

Counts from a negative binomial with two categorical predictors, in a parquet file. Each size runs
in a process of its own: three kinds of fit, bounds, weights, re-weighting, the synthetic datasets
written as parquet with their predictors. The last column is the number of distinct records.

    python benchmarks/scale.py                       # 10^3 to 10^7 records, 20 datasets
    python benchmarks/scale.py --largest 8 --datasets 1
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

AT_ONCE = 1_000_000


def write(path: Path, n: int) -> None:
    """n records, a million at a time."""
    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(1)
    regions, answers = pa.array(["north", "south", "east", "west"]), pa.array(["no", "yes"])
    writer = None
    for first in range(0, n, AT_ONCE):
        size = min(AT_ONCE, n - first)
        region, urban = rng.integers(0, 4, size), rng.integers(0, 2, size)
        mean = np.exp(3.0 + 0.2 * region - 0.3 * urban)
        visits = rng.poisson(mean * rng.gamma(5.0, 0.2, size))
        table = pa.table(
            {"region": regions.take(region), "urban": answers.take(urban), "visits": visits}
        )
        if writer is None:
            writer = parquet.ParquetWriter(path, table.schema)
        writer.write_table(table)
    if writer is not None:
        writer.close()


def pipeline(path: Path, out: Path, datasets: int) -> dict[str, float]:
    """Run it here; seconds, peak gigabytes, and distinct records."""
    from pyvws.io.large_files import open_large
    from pyvws.large_release import large_release
    from pyvws.run_settings import RunSettings

    began = time.perf_counter()
    settings = RunSettings(
        outcome="visits",
        formula="~ region + urban",
        mechanism="lw",
        reweight=True,
        datasets=datasets,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        large_release(settings, open_large(path), out, seed=1)
    summary = json.loads((out / "confidential" / "summary.json").read_text())
    return {
        "seconds": time.perf_counter() - began,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "fits": len(summary["fits"]),
        "distinct": summary["cells"],
    }


def main() -> None:
    """Run every size and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--smallest", type=int, default=3, help="power of ten")
    parser.add_argument("--largest", type=int, default=7, help="power of ten")
    parser.add_argument("--datasets", type=int, default=20)
    parser.add_argument("--one", nargs=2, metavar=("FILE", "OUT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        path, out = map(Path, options.one)
        print(json.dumps(pipeline(path, out, options.datasets)))
        return
    table = Table(title=f"LW with re-weighting, {options.datasets} datasets as parquet")
    for name in ("records", "seconds", "peak GB", "fits", "distinct records"):
        table.add_column(name, justify="right")
    for power in range(options.smallest, options.largest + 1):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "table.parquet"
            write(path, 10**power)
            command = [sys.executable, __file__, "--datasets", str(options.datasets)]
            run = subprocess.run(
                [*command, "--one", str(path), str(Path(folder) / "out")],
                capture_output=True,
                text=True,
                check=True,
            )
        found = json.loads(run.stdout.splitlines()[-1])
        table.add_row(
            f"10^{power}",
            f"{found['seconds']:.1f}",
            f"{found['gigabytes']:.2f}",
            f"{found['fits']:.0f}",
            f"{found['distinct']:.0f}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
