"""The same table made by other tools where they are installed: synthpop, and dpmm's MST and AIM.

synthpop is an R package without a formal guarantee. dpmm is a Python package of mechanisms whose
guarantee, by its makers' account, is (epsilon, delta)-differential privacy for all tables of a fit
together. Each tool runs as a program of its own, on a table of categories as codes, and prints what
it took. Two have fewer steps than by default, which take long: multinomial regressions of synthpop
100 in the place of 1000, and AIM 100 in the place of 1000 with models of at most 1 megabyte.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import polars as pl

from pyvws._base.folders import private_folder

_DELTA: Final = 1e-5
_SYNTHPOP: Final = """
suppressMessages(library(synthpop))
given <- commandArgs(TRUE)
table <- read.csv(given[2], colClasses = "factor")
made <- syn(table, m = as.integer(given[4]), method = given[1], seed = as.integer(given[5]),
            print.flag = FALSE, maxfaclevels = 1000, polyreg.maxit = 100)
tables <- if (made$m == 1) list(made$syn) else made$syn
for (one in seq_len(made$m)) {
  path <- file.path(given[3], paste0(one, ".csv"))
  write.csv(tables[[one]], path, row.names = FALSE, quote = FALSE)
}
status <- "/proc/self/status"
peak <- if (file.exists(status)) grep("^VmHWM", readLines(status), value = TRUE) else NA
cat("\\n", sum(proc.time()[1:2]), as.numeric(gsub("[^0-9]", "", peak)) * 1024 / 1e9)
"""
_DPMM: Final = """
import os, sys, time, warnings
warnings.simplefilter("ignore")
import pandas as pd
from dpmm.pipelines.aim import AIMPipeline
from dpmm.pipelines.mst import MSTPipeline
kind, epsilon, delta, path, out, datasets, seed, *levels = sys.argv[1:]
pipeline, own = {
    "mst": (MSTPipeline, {}),
    "aim": (AIMPipeline, {"max_model_size": 1, "gen_kwargs": {"n_iters": 100}}),
}[kind]
table = pd.read_csv(path)
made = pipeline(
    epsilon=float(epsilon), delta=float(delta), disable_processing=True, n_jobs=1, **own
)
made.fit(table, domain=dict(zip(table, map(int, levels))), random_state=int(seed))
for one in range(int(datasets)):
    drawn = made.generate(n_records=len(table), random_state=int(seed) + one)
    drawn[list(table)].astype(int).to_csv(f"{out}/{one + 1}.csv", index=False)
status = "/proc/self/status"
lines = open(status) if os.path.exists(status) else ()
peak = [int(line.split()[1]) for line in lines if line.startswith("VmHWM")]
print("\\n", time.process_time(), peak[0] * 1024 / 1e9 if peak else "nan")
"""


@dataclass(frozen=True, slots=True)
class Tool:
    """A way of another tool: its name, program and promise; `epsilon` is of all its tables."""

    name: str
    program: tuple[str, ...]
    guarantee: str = "none"
    epsilon: float | None = None


def installed(
    python: Path,
    ways: Sequence[tuple[str, float]] = (("MST", 1.0), ("MST", 10.0), ("AIM", 1.0)),
) -> tuple[list[Tool], list[str]]:
    """The ways of the tools that are installed, and a line for each other; `python` has dpmm.

    `ways` are mechanisms of dpmm with an epsilon each.
    """
    tools, left_out = [], []
    version = _printed("Rscript", "-e", "cat(as.character(packageVersion('synthpop')))")
    if version is None:
        left_out.append("Left out: synthpop, which R does not have here.")
    else:
        for kind in ("CART", "parametric"):
            program = ("Rscript", "-e", _SYNTHPOP, kind.lower())
            tools.append(Tool(f"synthpop {version}, {kind}", program))
    version = _printed(
        str(python), "-c", "from importlib.metadata import version; print(version('dpmm'))"
    )
    if version is None:
        left_out.append(f"Left out: MST and AIM of dpmm, which {python} does not have.")
    else:
        for kind, epsilon in ways:
            name = f"{kind} (dpmm {version}), ({epsilon:g}, {_DELTA:g})-DP"
            asked = ("-c", _DPMM, kind.lower(), f"{epsilon:g}", f"{_DELTA:g}")
            tools.append(Tool(name, (str(python), *asked), "approximate-dp", epsilon))
    return tools, left_out


def _printed(*command: str) -> str | None:
    """What a command prints; None where it fails or is not there."""
    try:
        ran = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError:
        return None
    return ran.stdout.strip() or None if ran.returncode == 0 else None


def made_by(
    tool: Tool,
    table: pl.DataFrame,
    levels: Mapping[str, Sequence[str]],
    *,
    datasets: int,
    seed: int,
    minutes: float = 60.0,
) -> tuple[list[pl.DataFrame], float, float] | str:
    """The tables of a tool, its processor seconds and peak gigabytes; or why there are none."""
    kinds = {name: pl.Enum(list(levels[name])) for name in table.columns}
    with private_folder() as folder:
        codes = [pl.col(name).cast(kind).to_physical() for name, kind in kinds.items()]
        table.select(codes).write_csv(folder / "table.csv")
        own = (folder / "table.csv", folder, datasets, seed % 2**31)
        sizes = [str(len(levels[name])) for name in table.columns]
        try:
            ran = subprocess.run(
                [*tool.program, *map(str, own), *sizes],
                capture_output=True,
                text=True,
                check=False,
                timeout=60.0 * minutes,
            )
        except subprocess.TimeoutExpired:
            return f"Left out: {tool.name}, which took more than {minutes:g} minutes."
        if ran.returncode:
            return f"Left out: {tool.name}, which ended with exit status {ran.returncode}."
        tables = [pl.read_csv(folder / f"{dataset + 1}.csv") for dataset in range(datasets)]
    spent, peak = map(float, ran.stdout.split()[-2:])
    labels = [
        pl.lit(pl.Series(list(levels[name]))).gather(pl.col(name)).alias(name) for name in kinds
    ]
    return [table.select(labels) for table in tables], spent, peak
