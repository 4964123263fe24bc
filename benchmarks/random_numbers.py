"""A million random numbers of each kind: R beside the package's own streams.

Processor seconds, the least of seven runs each, so that a busy machine favours neither. A ratio
above 1 says that ours is faster. Needs R with MASS.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from time import process_time
from typing import Any, Final

import numpy as np

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import RRandom

__all__ = ["run"]

N: Final = 1_000_000
RUNS: Final = 7
ROWS: Final[dict[str, Callable[[RRandom], Any]]] = {
    "runif(N)": lambda r: r.runif(N),
    "rnorm(N)": lambda r: r.rnorm(N),
    "rexp(N)": lambda r: r.rexp(N),
    "rgamma(N, 0.5)": lambda r: r.rgamma(N, 0.5),
    "rgamma(N, 5)": lambda r: r.rgamma(N, 5),
    "rbeta(N, 0.5, 3)": lambda r: r.rbeta(N, 0.5, 3),
    "rbeta(N, 2, 5)": lambda r: r.rbeta(N, 2, 5),
    "rpois(N, 3)": lambda r: r.rpois(N, 3),
    "rpois(N, 100)": lambda r: r.rpois(N, 100),
    "rbinom(N, 10, 0.3)": lambda r: r.rbinom(N, 10, 0.3),
    "rbinom(N, 1000, 0.4)": lambda r: r.rbinom(N, 1000, 0.4),
    "rnbinom(N, 20, mu = 100)": lambda r: r.rnbinom(N, 20, mu=100),
    "MASS::rnegbin(N, 100, 20)": lambda r: r.rnegbin(N, 100, 20),
    "rmultinom(N, 20, 1:3)": lambda r: r.rmultinom(N, 20, [1, 2, 3]),
    "sample.int(1000, N, TRUE)": lambda r: r.sample_int(1000, N, replace=True),
    "sample.int(N)": lambda r: r.sample_int(N),
    "sample.int(7, N, TRUE, 1:7)": lambda r: r.sample_int(7, N, replace=True, prob=np.arange(1, 8)),
    "sample.int(500, N, TRUE, 1:500)": lambda r: r.sample_int(
        500, N, replace=True, prob=np.arange(1, 501)
    ),
    "sample.int(2e7, N)": lambda r: r.sample_int(20_000_000, N),
}


def in_r() -> list[float]:
    """R's seconds for each row."""
    lines = [
        f"N <- {N}",
        "invisible(MASS::rnegbin)",
        "least <- function(f) {",
        f"  cat(min(replicate({RUNS}, sum(system.time(f())[1:2]))), '\\n')",
        "}",
        *(f"least(function() {row})" for row in ROWS),
    ]
    run = subprocess.run(
        ["Rscript", "--vanilla", "-e", "\n".join(lines)], capture_output=True, text=True, check=True
    )
    return [float(word) for word in run.stdout.split()]


def ours(row: str) -> float:
    """Our seconds for a row, compiled before."""
    draw, stream = ROWS[row], RRandom(1)
    draw(stream)
    seconds = []
    for _ in range(RUNS):
        start = process_time()
        draw(stream)
        seconds.append(process_time() - start)
    return min(seconds)


def run(plan: Plan) -> Found:
    """A row for each kind."""
    if shutil.which("Rscript") is None:
        return Found([], {}, ["random numbers: Rscript is not installed"])
    try:
        theirs = in_r()
    except subprocess.CalledProcessError:
        return Found([], {}, ["random numbers: R has no package MASS"])
    rows: list[tuple[Entry, ...]] = []
    with Worker() as worker:
        for row, seconds in zip(ROWS, theirs, strict=True):
            own = worker.ask(ours, row)
            rows.append((row, seconds * 1e3, own * 1e3, seconds / own))
    columns = ("call", "R, ms", "pyvws, ms", "R over pyvws")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    return Found([Table(f"{N:,} random numbers of each kind", columns, rows, note)])
