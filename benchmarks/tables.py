"""Whole tables by their schemas: growth in rows, columns and levels, and a survey file as it is.

Each run has a process of its own. It reads a file, fits a conditional for each column, bounds and
weighs the records (SW), and writes synthetic datasets. Seconds are those of the clock, and
processor seconds those of all threads.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from pyvws_studies.own_process import peak_gigabytes
from pyvws_studies.whole_tables import DESIGNS

from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws import SamplerSettings, Schema, Synthesizer
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.tables.schema.column import Column

__all__ = [
    "LEVELS",
    "SURVEY",
    "categories",
    "logit_figures",
    "run",
    "survey_figures",
    "survey_schema",
    "violations",
]

LEVELS: Final = (2, 5, 8, 3, 4, 6, 10, 2, 5, 7)
_NO_LIMIT: Final = 1e9  # Seconds of a run.
_BRIEF: Final = SamplerSettings(draws=100, warmup=200)
SURVEY: Final = Path(__file__).parents[2] / "shared" / "data" / "ma2019.csv"
_SCHEMA: Final = Path(__file__).with_name("ma2019.toml")
_OF_LOGITS: Final = ("epsilon", "k_marginal", "processor", "seconds")
_SYNTHPOP: Final = """
library(synthpop)
table <- read.csv(commandArgs(TRUE)[1], stringsAsFactors = TRUE)
for (name in grep("^c", names(table), value = TRUE)) table[[name]] <- factor(table[[name]])
spent <- system.time(syn(table, m = 1, seed = 1, print.flag = FALSE, maxfaclevels = 1000))
cat(sum(spent[c("user.self", "sys.self")]))
"""


def categories(n: int, levels: tuple[int, ...]) -> pl.DataFrame:
    """n records of a column for each number of levels, each column given the one before it."""
    rng = np.random.default_rng(1)
    found, last = {}, np.zeros(n, dtype=np.int64)
    for place, L in enumerate(levels):
        below = np.cumsum(rng.dirichlet(np.ones(L), size=16), axis=1)
        last = (
            np.searchsorted(
                (below + np.arange(16)[:, None]).ravel(), last % 16 + rng.random(n)
            ).clip(last % 16 * L, last % 16 * L + L - 1)
            - last % 16 * L
        )
        found[f"c{place}"] = last.astype(np.int16)
    return pl.DataFrame(found)


def short_conditionals(levels: tuple[int, ...]) -> dict[str, Column]:
    """A conditional table for each of these columns, given the two columns before it."""
    names = [f"c{place}" for place in range(len(levels))]
    return {
        name: Column(
            model="table",
            levels=tuple(map(str, range(L))),
            predictors=tuple(names[max(0, place - 2) : place]),
        )
        for place, (name, L) in enumerate(zip(names, levels, strict=True))
    }


def amounts(table: pl.DataFrame, many: int) -> pl.DataFrame:
    """Amounts beside categories, a third of them 0."""
    rng = np.random.default_rng(2)
    made = {}
    for place in range(many):
        drawn = rng.lognormal(8.0 + 0.2 * table[f"c{place % 8}"].to_numpy(), 0.7).round()
        made[f"x{place}"] = np.where(rng.random(len(drawn)) < 1 / 3, 0.0, drawn)
    return table.with_columns(**{name: pl.Series(one) for name, one in made.items()})


def mixed_columns(levels: tuple[int, ...], many: int) -> dict[str, Column]:
    """The schema of `categories` and `amounts`."""
    part = {"model": "table"}
    return short_conditionals(levels) | {
        f"x{place}": Column(
            model="normal",
            outcome_scale="log",
            range=(0, 1e7),
            mass=(0,),
            part=part,
            decimals=0,
            predictors=(f"c{place % 8}", f"c{(place + 1) % 8}"),
        )
        for place in range(many)
    }


def pipeline(path: Path, schema: Path, out: Path, datasets: int) -> dict[str, float]:
    """Seconds, processor seconds, peak gigabytes and distinct records of one run."""
    began, spent = time.perf_counter(), time.process_time()
    synthesizer = Synthesizer(
        schema=str(schema), mechanism="sw", datasets=datasets, settings=_BRIEF
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        synthesizer.fit_to(path, out, seed=1)
    summary = json.loads((out / "confidential" / "summary.json").read_text())
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - spent,
        "gigabytes": peak_gigabytes(),
        "distinct": summary["cells"],
    }


def measured(table: pl.DataFrame, columns: dict[str, Column], datasets: int) -> dict[str, float]:
    """One run in a fresh process, from a parquet file to a folder."""
    with tempfile.TemporaryDirectory() as folder:
        path, schema = Path(folder) / "table.parquet", Path(folder) / "schema.toml"
        table.write_parquet(path)
        Schema(columns).write(schema)
        del table
        with Worker() as worker:
            return dict(worker.ask(pipeline, path, schema, Path(folder) / "out", datasets))


def synthpop_seconds(table: pl.DataFrame) -> float | None:
    """Processor seconds of synthpop's CART for one dataset; None where it is not installed."""
    rscript = shutil.which("Rscript")
    if rscript is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        table.write_csv(path)
        ran = subprocess.run(
            [rscript, "-e", _SYNTHPOP, str(path)], capture_output=True, text=True, check=False
        )
    return float(ran.stdout.split()[-1]) if ran.returncode == 0 else None


def survey_schema() -> Schema:
    """What is public of all columns of NIST's ACS excerpt of Massachusetts, 2019."""
    return Schema.read(_SCHEMA)


def violations(table: pl.DataFrame) -> int:
    """Values of a table of that survey that break one of its rules."""
    age, home = table["AGEP"].cast(pl.Int64), table["HOUSING_TYPE"] == "1"
    ages = {"MSP": 15, "PINCP": 15, "PINCP_DECILE": 15, "EDU": 3, "DREM": 5, "DPHY": 5}
    found = sum(int(((table[name] == "N") != (age < own)).sum()) for name, own in ages.items())
    found += int((~home & (table["WGTP"] != "0")).sum()) + int(
        (~home & (table["NPF"] != "N")).sum()
    )
    found += int(((table["NOC"] == "N") != ~home).sum())
    return found + int(((table["INDP"] == "N") != (table["INDP_CAT"] == "N")).sum())


def missing_pairs(table: pl.DataFrame) -> Any:
    """The share of records in which both of two columns are missing, (K, K)."""
    missing = np.column_stack([(table[name] == "N").to_numpy() for name in table.columns])
    return missing.T.astype(np.float64) @ missing / len(table)


def binned(table: pl.DataFrame, original: pl.DataFrame) -> pl.DataFrame:
    """The 21 columns without area and weights, numbers in bins: ages by 5, tenths of the data."""
    found = {}
    for name in table.columns:
        if name in ("PUMA", "PWGTP", "WGTP"):
            continue
        values = table[name]
        if name == "AGEP":
            values = values.cast(pl.Int64) // 5
        elif name in ("DENSITY", "PINCP", "POVPIP"):
            numbers = original[name].cast(pl.Float64, strict=False).drop_nulls().to_numpy()
            ends = np.unique(np.quantile(numbers, np.arange(0.1, 1.0, 0.1)))
            own = values.cast(pl.Float64, strict=False).fill_null(np.inf).to_numpy()
            values = pl.Series(np.where(np.isinf(own), -1, np.searchsorted(ends, own)))
        found[name] = values.cast(pl.String)
    return pl.DataFrame(found)


def survey_figures(path: Path, datasets: int, settings: SamplerSettings) -> dict[str, float]:
    """What a run on the survey's file keeps: rules, missing pairs, pairs of columns."""
    table = pl.read_csv(path, infer_schema=False)
    began, spent = time.perf_counter(), time.process_time()
    run = Synthesizer(
        schema=survey_schema(),
        mechanism="unweighted",
        types="table",
        datasets=datasets,
        settings=settings,
        most_seconds=_NO_LIMIT,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = run.fit(table, seed=1).datasets
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    off = np.mean([missing_pairs(one) for one in made], axis=0) - missing_pairs(table)
    score = k_marginal(binned(table, table), [binned(one, table) for one in made])
    return {
        "seconds": seconds,
        "processor": processor,
        "violations": sum(map(violations, made)),
        "points": 100.0 * float(np.abs(off).max()),
        "k_marginal": score.score,
        "independent": score.independent,
    }


def logit_figures(path: Path, settings: SamplerSettings) -> dict[str, float]:
    """LW on the ten columns of the study of tables, each nominal given all before it."""
    design = DESIGNS["ma2019"]
    table = design.prepare(pl.read_csv(path, infer_schema=False).select(design.source))
    columns = {
        name: Column(model="nominal", levels=column.levels)
        for name, column in design.columns.items()
    }
    given: Any = {"datasets": 5, "settings": settings, "most_seconds": _NO_LIMIT}
    run = Synthesizer(schema=Schema(columns), mechanism="lw", **given)
    began, spent = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = run.fit(table, seed=1)
    return {
        "seconds": time.perf_counter() - began,
        "processor": time.process_time() - spent,
        "epsilon": release.privacy["epsilon_per_dataset"],
        "k_marginal": k_marginal(table, release.datasets).score,
    }


def run(plan: Plan) -> Found:
    """Growth in rows, columns and levels; a mixed table beside synthpop; a survey's file."""
    left_out: list[str] = []
    rows: list[tuple[Entry, ...]] = []
    for power in range(3, 6 if plan.small else min(plan.largest, 7) + 1):
        found = measured(
            categories(10**power, LEVELS), short_conditionals(LEVELS), 1 if plan.small else 5
        )
        rows.append((10**power, len(LEVELS), max(LEVELS), *_shown(found)))
        plan.say(f"  10^{power} x 10: {found['seconds']:.1f} s, {found['gigabytes']:.2f} GB")
    n = 10**4 if plan.small else 10**5
    shapes = [(5,) * 5, (5,) * 20, (5,) * 40, (5, 50), (5, 500)]
    for levels in shapes:
        found = measured(categories(n, levels), short_conditionals(levels), 1)
        rows.append((n, len(levels), max(levels), *_shown(found)))
        plan.say(f"  {n:,} x {len(levels)}, {max(levels)} levels: {found['seconds']:.1f} s")
    columns = ("records", "columns", "most levels", "distinct", "seconds", "processor s", "peak GB")
    note = " ".join((__doc__ or "").split("\n\n", 1)[1].split())
    tables = [Table("Whole tables: growth", columns, rows, note)]
    tables.append(_mixed(n, left_out))
    if SURVEY.is_file():
        tables.append(_survey(1 if plan.small else 20))
        if not plan.small:
            tables.append(_logits())
    else:
        left_out.append("ma2019.csv, which is not beside the project")
    return Found(tables, {}, left_out)


def _shown(found: dict[str, float]) -> tuple[Entry, ...]:
    return tuple(found[name] for name in ("distinct", "seconds", "processor", "gigabytes"))


def _mixed(n: int, left_out: list[str]) -> Table:
    """Ten categories and ten amounts with zeros."""
    table = amounts(categories(n, LEVELS), 10)
    found = measured(table, mixed_columns(LEVELS, 10), 1)
    rows: list[tuple[Entry, ...]] = [("pyvws, SW", n, found["processor"], found["seconds"])]
    theirs = synthpop_seconds(table)
    if theirs is None:
        left_out.append("synthpop, which is not installed")
    else:
        rows.append(("synthpop, CART", n, theirs, "one process"))
    columns = ("run", "records", "processor s", "seconds")
    note = "Ten categories and ten amounts of which a third are 0; one dataset."
    return Table("A mixed table of 20 columns", columns, rows, note)


def _survey(datasets: int) -> Table:
    with Worker() as worker:
        found = worker.ask(survey_figures, SURVEY, datasets, _BRIEF)
    columns = ("datasets", "broken rules", "missing pairs off by", "k-marginal", "seconds")
    row: tuple[Entry, ...] = (
        datasets,
        found["violations"],
        f"{found['points']:.2f} points",
        f"{found['k_marginal']:.0f} (independent columns {found['independent']:.0f})",
        found["seconds"],
    )
    note = (
        "All 24 columns of NIST's ACS excerpt of Massachusetts 2019 as the file has them, "
        "unweighted. Missing pairs: the largest difference between the share of records in which "
        "two columns are missing and its mean over datasets. k-marginal of 21 columns, without "
        "area and weights, numbers in tenths of the data; 1000 is best."
    )
    return Table("A survey's file, all of its columns", columns, [row], note)


def _logits() -> Table:
    rows: list[tuple[Entry, ...]] = []
    for draws in (500, 1000):
        with Worker() as worker:
            found = worker.ask(logit_figures, SURVEY, SamplerSettings(draws=draws))
        rows.append((4 * draws, *(found[name] for name in _OF_LOGITS)))
    note = (
        "Ten columns of the same file, nominal, each given all before it: LW under the default "
        "priors, four chains, five datasets. Two fits, kernels compiled before."
    )
    return Table("A table of logits", ("draws", *_OF_LOGITS), rows, note)
