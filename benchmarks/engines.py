"""Effective draws per second of every engine that is installed, side by side in one run.

The data are the 2024 paper's mixture, 0.2 NB(100, 5) + 0.8 NB(100, 20), n = 1000, under the
unweighted negative binomial model. Every engine runs one chain at a time, so that none profits
from more processors. Seconds are those of warm-up and sampling; compilation is left out. The
effective draws are the smallest bulk ESS over the unconstrained parameters. rstan runs the papers'
program, the other Stans the modern one.

    python benchmarks/engines.py
"""

from __future__ import annotations

import argparse
from statistics import median

import numpy as np
from rich.console import Console
from rich.table import Table

from pyvws.engines._engine import SamplerSettings
from pyvws.engines.registry import ENGINES, engine_version, find_engine
from pyvws.errors import MissingDependencyError
from pyvws.io.cells import make_cells
from pyvws.models.registry import find_model
from pyvws.pseudo_posterior import PseudoPosterior


def mixture(n: int, seed: int) -> PseudoPosterior:
    """The unweighted pseudo posterior of n records of the mixture, with an intercept alone."""
    rng = np.random.default_rng(seed)
    phi = np.where(rng.uniform(size=n) < 0.2, 5.0, 20.0)
    outcome = rng.negative_binomial(phi, phi / (phi + 100.0)).astype(np.float64)
    cells = make_cells(outcome, np.ones((n, 1)))
    return PseudoPosterior(find_model("negative-binomial"), cells, np.ones(n))


def main() -> None:
    """Run every installed engine and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1000)
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--runs", type=int, default=5, help="runs an engine; the median counts")
    options = parser.parse_args()
    target = mixture(options.records, seed=1)
    settings = SamplerSettings(draws=options.draws, warmup=1000, chains=1)
    brief = SamplerSettings(draws=4, warmup=100, chains=1)
    console = Console()
    measured: dict[str, list[float]] = {}
    versions: dict[str, str] = {}
    for name in ENGINES:
        try:
            versions[name] = engine_version(name)
        except MissingDependencyError as missing:
            console.print(f"{name} is left out: {missing}", markup=False, highlight=False)
            continue
        find_engine(name).sample(target, brief, seed=1)  # compiles
        measured[name] = []
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in measured}
    for seed in range(options.runs):
        for name in measured:
            fit = find_engine(name).sample(target, settings, seed=seed)
            ess = fit.diagnostics.ess_bulk_min
            found[name].append((ess, fit.seconds))
            measured[name].append(ess / fit.seconds)
    native = median(measured["native"])
    table = Table(
        title=f"n = {options.records}, {options.draws} draws, median of {options.runs} runs"
    )
    for heading in ("engine", "runs", "smallest bulk ESS", "seconds", "ESS a second", "native is"):
        table.add_column(heading, justify="left" if heading in ("engine", "runs") else "right")
    for name, rates in measured.items():
        ess, seconds = (median(column) for column in zip(*found[name], strict=True))
        rate = median(rates)
        table.add_row(
            name,
            versions[name],
            f"{ess:.0f}",
            f"{seconds:.3f}",
            f"{rate:.0f}",
            f"{native / rate:.1f} x",
        )
    console.print(table)


if __name__ == "__main__":
    main()
