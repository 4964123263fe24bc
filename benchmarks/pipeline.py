"""The whole LW pipeline on the 2024 paper's mixture, n = 1000, beside one that is wholly R's.

Unweighted, weighted and re-weighted fit (k = 0.95, one refit), bounds, weights, 20 datasets, risk
and utility; one chain of 2000 draws after a warm-up of 1000 each fit. R runs `lw_pipeline` of
r_reference/pipeline.R: rstan on the papers' program, and between the fits either the loops of the
references or vectorised R. Other engines run inside the package's own pipeline. Compilation is left
out. The native run is the median of five, all others run once. What came out stands beside the
seconds: both sides estimate the same numbers.
"""

from __future__ import annotations

import os
import warnings
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import polars as pl
from pyvws_studies.negative_binomial_mixture import RADIUS, simulate

import pyvws as vws
from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import SamplerSettings
from pyvws._base import resources as _resources
from pyvws.engines.registry import engine_version
from pyvws.engines.rstan import _program_file
from pyvws.engines.stan_run import paper_program
from pyvws.errors import MissingDependencyError
from pyvws.models.registry import find_model
from pyvws.r.bridge import call

__all__ = ["run"]

_DATASETS, _K = 20, 0.95
_RUNS = (1, 5)  # Of a peer, and of the native engine, whose run is short.
_ANY_BOUND = 0.99  # A tolerance at which the first refit ends the search, as in R.
_USUAL = SamplerSettings(draws=2000, warmup=1000, chains=1)
_BRIEF = SamplerSettings(draws=20, warmup=100, chains=1)
_OUTCOMES = ("Delta", "mean weight", "mean risk", "U_m", "U_a")


def _used() -> float:
    """Processor seconds of this process and of those that it started and that ended."""
    return sum(os.times()[:4])


def ours(engine: str, settings: SamplerSettings) -> dict[str, Any]:
    """Seconds, processor seconds, fits, and what came out."""
    table = pl.DataFrame({"y": simulate(2024)})
    began, used = perf_counter(), _used()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = vws.Synthesizer(
            outcome="y",
            mechanism="lw",
            reweight=True,
            k=_K,
            tolerance=_ANY_BOUND,
            datasets=_DATASETS,
            settings=settings,
            engine=engine,
        ).fit(table, seed=1)
    synthetic = [made["y"] for made in release.aligned()]
    risk = vws.identification_risk(table["y"], synthetic, radius=RADIUS)
    utility = vws.ecdf_utility(table["y"], synthetic)
    seconds, spent = perf_counter() - began, _used() - used
    fits = release.summary["fits"]
    return {
        "seconds": seconds,
        "processor": spent,
        "fits": len(fits),
        "parts": {"fits": sum(fit["seconds"] for fit in fits)},
        "outcomes": (
            fits[-1]["Delta"],
            fits[-1]["mean_weight"],
            float(np.mean(risk)),
            utility.maximum,
            utility.average,
        ),
    }


def in_r(vectorised: bool) -> dict[str, Any]:
    """The same of R's own pipeline, with its seconds by kind of step."""
    program: Path = _program_file(paper_program(find_model("negative-binomial")))
    arguments = {
        "file": str(program),
        "folder": str(_resources.folder("r_reference")),
        "y": simulate(2024),
        "vectorised": vectorised,
        "k": _K,
        "datasets": _DATASETS,
        "radius": RADIUS,
        "warmup": _USUAL.warmup,
        "draws": _USUAL.draws,
        "seed": 1,
    }
    began, used = perf_counter(), _used()
    found = call("pipeline", "lw_pipeline", arguments)
    seconds, spent = perf_counter() - began, _used() - used
    return {
        "seconds": seconds,
        "processor": spent,
        "fits": 3,
        "parts": {kind: float(took[0]) for kind, took in found["seconds"].items()},
        "outcomes": tuple(
            float(found[name][0]) for name in ("bound", "mean_weight", "mean_risk", "u_m", "u_a")
        ),
    }


def run(plan: Plan) -> Found:
    """Ours by each engine that is there, and R's."""
    left_out: list[str] = []
    found: dict[str, dict[str, Any]] = {}
    for engine in ("native",) if plan.small else ("native", "cmdstan", "pystan", "rstan"):
        try:
            engine_version(engine)
        except MissingDependencyError as missing:
            left_out.append(f"pyvws on {engine}: {missing}")
            continue
        with Worker() as worker:
            worker.ask(ours, engine, _BRIEF)  # compiles
            runs = [worker.ask(ours, engine, _USUAL) for _ in range(_RUNS[engine == "native"])]
            found[f"pyvws on {engine}"] = _middle(runs)
    figures: dict[str, float] = {}
    try:
        engine_version("rstan")
    except MissingDependencyError as missing:
        left_out.append(f"the pipeline in R: {missing}")
    else:
        for kind in ("in vectors", "in the references' loops")[: 1 if plan.small else None]:
            with Worker() as worker:
                worker.ask(ours, "rstan", _BRIEF)  # compiles, and loads rstan
                made = worker.ask(in_r, kind == "in vectors")
            found[f"R {kind}"] = made
            plan.say(f"  R {kind}: {made['seconds']:.1f} s")
            ratio = made["seconds"] / found["pyvws on native"]["seconds"]
            figures[f"pipeline: over R {kind}"] = ratio
    return Found([_seconds(found), _parts(found), _outcomes(found)], figures, left_out)


def _middle(runs: list[dict[str, Any]]) -> dict[str, Any]:
    """The run of median seconds, of an odd number."""
    middle = median(made["seconds"] for made in runs)
    return next(made for made in runs if made["seconds"] == middle)


def _seconds(found: dict[str, dict[str, Any]]) -> Table:
    native = found["pyvws on native"]["seconds"]
    rows: list[tuple[Entry, ...]] = [
        (name, made["fits"], made["seconds"], made["processor"], made["seconds"] / native)
        for name, made in found.items()
    ]
    columns = ("pipeline", "fits", "seconds", "processor seconds", "over native")
    return Table(
        "LW pipeline", columns, rows, " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    )


def _parts(found: dict[str, dict[str, Any]]) -> Table:
    rows: list[tuple[Entry, ...]] = []
    for name, made in found.items():
        parts = made["parts"]
        rest = made["seconds"] - sum(parts.values())
        kinds = ("fits", "bounds", "datasets", "risk", "utility")
        rows.append((name, *(parts.get(kind, "") for kind in kinds), rest))
    columns = ("pipeline", "fits", "bounds", "datasets", "risk", "utility", "all else")
    note = "Seconds. What pyvws does between its fits is all in the last column."
    return Table("Where the seconds go", columns, rows, note)


def _outcomes(found: dict[str, dict[str, Any]]) -> Table:
    rows: list[tuple[Entry, ...]] = [(name, *made["outcomes"]) for name, made in found.items()]
    return Table("What came out", ("pipeline", *_OUTCOMES), rows)
