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

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import LipschitzWeighted, NormalMixture, SamplerSettings
from pyvws.mechanisms.mechanism import Request
from pyvws.posterior.diagnostics import diagnose
from pyvws.studies._native_loop import native_loop
from pyvws.studies.consumer_expenditure import FORMULA, education_groups
from pyvws.tables.design import make_design
from pyvws.tables.frame import open_frame

__all__ = ["FILE", "mixture_figures", "run"]

FILE: Final = Path(__file__).parents[2] / "shared" / "data" / "ce_2017.csv"
_PLACES: Final = 100


def mixture_figures(path: Path, settings: SamplerSettings) -> dict[str, float]:
    """Seconds, divergences and R-hat of the last fit of `lw` on the survey's incomes."""
    table = pd.read_csv(path)
    education = education_groups(table["Educ"].to_numpy(dtype=np.float64))
    frame = open_frame(table.assign(Education=education))
    y = table["Income"].to_numpy(dtype=np.float64)
    model = NormalMixture(outcome_scale="signed-log", labels="prior")
    design = make_design(frame, FORMULA, outcome="Income").matrix
    loop = native_loop(model, y, design, settings, seed=1)
    spent, began = time.process_time(), time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = LipschitzWeighted().run(loop, Request(y=y)).fit
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    order = np.argsort(loop.cells.outcome, kind="stable")
    places = np.sort(order[np.linspace(0, len(order) - 1, _PLACES).astype(np.intp)])
    log_density = model.log_likelihood(fit.posterior.draws, loop.cells.part(places))
    chains = log_density.reshape(settings.chains, settings.draws, -1)
    return {
        "records": len(y),
        "distinct": loop.cells.n_cells,
        "seconds": seconds,
        "processor": processor,
        "divergences": fit.posterior.diagnostics.divergences,
        "rhat": diagnose(chains, 0).rhat_max,
    }


def run(plan: Plan) -> Found:
    """The survey's file, where it is found; few draws where small."""
    if not FILE.is_file():
        return Found([], {}, [f"{FILE.name}, which is not beside the project"])
    brief = SamplerSettings(draws=100, warmup=100, chains=2)
    settings = brief if plan.small else SamplerSettings(draws=500, warmup=500, chains=4)
    with Worker() as worker:
        worker.ask(mixture_figures, FILE, brief)  # Compiles.
        found: dict[str, Any] = worker.ask(mixture_figures, FILE, settings)
    rows: list[tuple[Entry, ...]] = [tuple(round(value, 3) for value in found.values())]
    note = (
        f"Incomes given Urban, Marital and grouped education, ten components, lw: two fits of "
        f"{settings.chains} chains of {settings.draws} draws after {settings.warmup}. R-hat is the "
        f"largest over the log densities at {_PLACES} records."
    )
    columns = ("records", "distinct", "seconds", "processor seconds", "divergences", "R-hat")
    return Found([Table("Normal mixture", columns, rows, note)])
