"""The whole LW pipeline by each engine that is installed, side by side in one run.

The 2024 paper's mixture, n = 1000: unweighted, weighted and re-weighted fits, bounds, weights, 20
datasets, risk and utility. Everything but the sampling is the package's own, so one wholly in
R takes longer than the line of rstan. Compilation is left out by a short run before.

    python benchmarks/pipeline.py
    python benchmarks/pipeline.py --engines native,rstan
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import polars as pl
from rich.console import Console
from rich.table import Table

import pyvws as vws
from pyvws.engines._engine import SamplerSettings
from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws.studies.negative_binomial_mixture import simulate


def run(table: pl.DataFrame, engine: str, settings: SamplerSettings) -> float:
    """Seconds of one pipeline."""
    began = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = vws.Synthesizer(
            outcome="y", mechanism="lw", reweight=True, settings=settings, engine=engine
        ).fit(table, seed=1)
    synthetic = [made["y"] for made in release.datasets]
    vws.identification_risk(table["y"], synthetic, radius=0.3)
    vws.ecdf_utility(table["y"], synthetic)
    return perf_counter() - began


def main() -> None:
    """Run each engine and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--engines", default="native,cmdstan,pystan,rstan")
    parser.add_argument("--chains", type=int, default=2)
    options = parser.parse_args()
    table = pl.DataFrame({"y": simulate(2024)})
    settings = SamplerSettings(draws=1000, warmup=1000, chains=options.chains)
    brief = SamplerSettings(draws=20, warmup=100, chains=1)
    console, seconds = Console(), {}
    for engine in options.engines.split(","):
        try:
            version = engine_version(engine)
        except MissingDependencyError as missing:
            console.print(f"{engine} is left out: {missing}", markup=False, highlight=False)
            continue
        run(table, engine, brief)  # compiles
        seconds[engine] = (run(table, engine, settings), version)
    made = Table(title="LW pipeline on the mixture, n = 1000")
    for name in ("engine", "version", "seconds", "native is faster by"):
        made.add_column(name, justify="left" if name in ("engine", "version") else "right")
    for engine, (took, version) in seconds.items():
        ratio = took / seconds["native"][0] if "native" in seconds else float("nan")
        made.add_row(engine, version, f"{took:.1f}", f"{ratio:.1f}")
    console.print(made)


if __name__ == "__main__":
    main()
