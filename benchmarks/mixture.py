"""The normal mixture on incomes of a survey: seconds of `lw`, and whether chains agree.

A mixture's labels may switch, so chains are compared by what they say of the records: R-hat is
that of the log density at records that are evenly spaced by income.
"""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import pandas as pd
from pyvws_studies._native_loop import native_loop

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import SamplerSettings
from pyvws.families import NormalMixture
from pyvws.mechanisms import LipschitzWeighted
from pyvws.mechanisms.mechanism import Request
from pyvws.posterior.draws import diagnose
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import open_frame

__all__ = ["FILE", "mixture_figures", "run"]

FILE: Final = Path(__file__).parents[2] / "shared" / "data" / "ce_2017.csv"
FORMULA: Final = "~ factor(Urban) + factor(Marital) + factor(Education)"
_PLACES: Final = 100


def mixture_figures(path: Path, components: int, settings: SamplerSettings) -> dict[str, float]:
    """Figures of the last fit of `lw` on the survey's incomes, by a mixture of `components`.

    R-hat and effective sample size are the worst over log densities at records that are evenly
    spread over the outcome's order; epsilon is 2 Delta, and the mean log density is over all
    records and draws, in nats.
    """
    table = pd.read_csv(path)
    codes = table["Educ"].to_numpy(dtype=np.float64)
    education = 1.0 + np.searchsorted((12.0, 13.0, 15.0), codes, side="right")  # Four groups.
    frame = open_frame(table.assign(Education=education))
    y = table["Income"].to_numpy(dtype=np.float64)
    model = NormalMixture(components=components, outcome_scale="signed-log", labels="prior")
    design = make_design(frame, FORMULA, outcome="Income").matrix
    loop = native_loop(model, y, design, settings, seed=1)
    spent, began = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = LipschitzWeighted().run(loop, Request(y=y)).fit
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    order = np.argsort(loop.cells.outcome, kind="stable")
    places = np.sort(order[np.linspace(0, len(order) - 1, _PLACES).astype(np.intp)])
    log_density = model.log_likelihood(fit.posterior.draws, loop.cells)
    chains = log_density[:, places].reshape(settings.chains, settings.draws, -1)
    density = diagnose(chains, 0)
    return {
        "records": len(y),
        "components": components,
        "target accept": settings.target_accept,
        "seconds": seconds,
        "processor": processor,
        "divergences": fit.posterior.diagnostics.divergences,
        "rhat": density.rhat_max,
        "ess": round(density.ess_bulk_min),
        "epsilon": fit.bounds.epsilon,
        "mean log density": log_density.mean(axis=0)[loop.cells.cell_of_record].mean(),
    }


def run(plan: Plan) -> Found:
    """The survey's file, where it is found; few draws where small."""
    if not FILE.is_file():
        return Found([], {}, [f"{FILE.name}, which is not beside the project"])
    brief = SamplerSettings(draws=100, warmup=100, chains=2)
    usual = SamplerSettings()
    careful = SamplerSettings(target_accept=0.95)
    runs = [(4, brief)] if plan.small else [(3, usual), (4, usual), (4, careful), (10, usual)]
    rows: list[tuple[Entry, ...]] = []
    with Worker() as worker:
        worker.ask(mixture_figures, FILE, 2, brief)  # Compiles.
        for components, settings in runs:
            found: dict[str, Any] = worker.ask(mixture_figures, FILE, components, settings)
            figures = {**found, "rhat": f"{found['rhat']:.4f}"}
            rows.append(tuple(figures.values()))
    of = runs[0][1]
    note = (
        f"Incomes given Urban, Marital and grouped education, lw: two fits of {of.chains} "
        f"chains of {of.draws} draws after {of.warmup}. R-hat and effective sample "
        f"size are the worst over the log densities at {_PLACES} records; the mean log density is "
        "over all records and draws, in nats."
    )
    columns = (
        *(
            "records",
            "components",
            "target accept",
            "seconds",
            "processor seconds",
            "divergences",
            "R-hat",
        ),
        *("bulk ESS", "epsilon", "mean log density"),
    )
    return Found([Table("Normal mixture", columns, rows, note)])
