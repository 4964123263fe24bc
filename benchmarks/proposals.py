"""What a proposal accepted without an edit gives: families held out, and runs of noisy counts.

Each number of a file is proposed from a random half of the records, and all families are fitted to
that half by scipy. The mean log densities are those of the other half. Each run is whole: from the
file to datasets at epsilon 4 and delta 1e-5, in a process of its own.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray
from pyvws_studies.own_process import peak_gigabytes
from scipy import stats
from scipy.optimize import minimize

import pyvws as vws
from benchmarks._found import Entry, Found, Plan, Table
from benchmarks._worker import Worker
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.parts import follows
from pyvws.tables.schema.schema import Schema

__all__ = ["DATA", "FILES", "held_out", "run", "run_of", "worst_of"]

DATA: Final = Path(__file__).parents[2] / "shared" / "data"
FILES: Final = {"ma2019.csv": None, "ce_2017.csv": None, "households.txt": 3}
"""The files, and the cap of the units of one that has units."""

_CASES: Final = DATA.parent / "cases"
"""Made-up files, each of a kind of fault; run where a proposal of one can be accepted."""
_CAP_OF_CASES = 3  # Of those that have a unit.

_EPSILON, _DELTA = 4.0, 1e-5
_SEEDS: Final = (1, 2, 3)
_Floats = NDArray[np.float64]


def held_out(table: pl.DataFrame, seed: int = 1) -> dict[str, tuple[str, float, float]]:
    """By number the proposed family, and the mean log densities of it and of the best one.

    They are of records that neither the proposal nor a fit has seen, without those at points of
    mass and missing codes.
    """
    half = np.random.default_rng(seed).permutation(len(table)) < len(table) // 2
    schema = Schema.propose(table.filter(half))
    found = {}
    for name, column in schema.columns.items():
        if column.role != "synthesize" or column.categorical or column.is_computed:
            continue
        if column.days_since is not None:
            continue
        wide = replace(
            column, range=None, outside=None, rule=None, predictors=None, part=None, review=()
        )
        plain = Schema({name: wide})
        first, second = (plain.coded(table.filter(one).select(name))[name] for one in (half, ~half))
        low, high = column.range or (-np.inf, np.inf)
        first, second = (
            x[(low <= x) & (x <= high) & ~np.isin(x, column.mass)] for x in (first, second)
        )
        laws = dict(_laws(first, second, column))
        own = f"{column.model} {column.outcome_scale or ''}".strip()
        found[name] = own, laws[own], max(laws.values())
    return found


def worst_of(found: dict[str, tuple[str, float, float]]) -> float:
    """The largest gap between the proposed family and the best one, in nats a record."""
    return max(best - own for _, own, best in found.values())


def _laws(first: _Floats, second: _Floats, column: Column) -> Iterator[tuple[str, float]]:
    """Each family that can have the numbers, fitted to the first, and its density at the second."""
    low, high = column.range or (-np.inf, np.inf)
    both = np.concatenate([first, second])
    count = column.decimals == 0 and both.min() >= 0 and both.max() <= 1000

    def density(law: Any, scale: str | None, unit: float) -> float:
        if count:  # The probability of a whole number, of draws within the range.
            edges = np.clip([second - 0.5, second + 0.5], low, high)
            with np.errstate(divide="ignore"):
                below, above = (law.cdf(_on(edge, scale, unit)[0]) for edge in edges)
                least, most = law.cdf(_on(np.array([low, high]), scale, unit)[0])
            return float(np.log(np.maximum((above - below) / (most - least), 1e-300)).mean())
        v, slope = _on(second, scale, unit)
        return float((law.logpdf(v) + slope).mean())

    units = [("", None, 1.0)]
    if both.min() > 0:
        units.append((" log", "log", 1.0))
    if both.min() < 0 < both.max():
        unit = column.settings.get("outcome_unit", 1.0)
        own = unit if column.outcome_scale == "signed-log" else 1e-3 * float(np.abs(both).max())
        units.append((" signed-log", "signed-log", own))
    for name, scale, unit in units:
        v = _on(first, scale, unit)[0]
        yield f"normal{name}", density(stats.norm(v.mean(), v.std()), scale, unit)
        with np.errstate(divide="ignore"):
            ends = _on(np.array([low, high]), scale, unit)[0]
        yield f"truncated-normal{name}", density(_truncated(v, *ends), scale, unit)
    if both.min() > 0:
        shape, _, size = stats.gamma.fit(first, floc=0.0)
        yield "gamma", density(stats.gamma(shape, scale=size), None, 1.0)
    if low < both.min() and both.max() < high:
        a, b, *_ = stats.beta.fit(first, floc=low, fscale=high - low)
        yield "beta", density(stats.beta(a, b, low, high - low), None, 1.0)
    if count:
        mean = first.mean()

        def loss(at: _Floats) -> float:
            size = np.exp(at[0])
            return -float(stats.nbinom.logpmf(first, size, size / (size + mean)).mean())

        bounds = [(-12.0, 12.0)]  # Of larger sizes the law's logarithms are noise.
        size = np.exp(minimize(loss, [0.0], method="Nelder-Mead", bounds=bounds).x[0])
        law = stats.nbinom(size, size / (size + mean))
        yield "negative-binomial", float(law.logpmf(second).mean())


def _truncated(v: _Floats, low: float, high: float) -> Any:
    m, s = v.mean(), v.std()

    def law(at: _Floats) -> Any:
        centre, width = m + s * at[0], s * np.exp(at[1])
        return stats.truncnorm((low - centre) / width, (high - centre) / width, centre, width)

    options = {"xatol": 1e-3, "fatol": 1e-5}
    bounds = [(-20.0, 20.0), (-3.0, 3.0)]

    def loss(at: _Floats) -> float:
        return -float(law(at).logpdf(v).mean())

    return law(minimize(loss, [0.0, 0.0], method="Nelder-Mead", bounds=bounds, options=options).x)


def _on(y: _Floats, scale: str | None, unit: float) -> tuple[_Floats, _Floats]:
    if scale is None:
        return y, np.zeros(len(y))
    if scale == "log":
        y = np.maximum(y, 0.0)  # An end of a range below 0 is none.
        return np.log(y), -np.log(y)
    return np.sign(y) * np.log1p(np.abs(y) / unit), -np.log(unit + np.abs(y))


def run_of(path: Path, cap: int | None, seed: int) -> dict[str, float]:
    """One run from a file to datasets by an accepted proposal, and what it kept."""
    began, spent = time.perf_counter(), time.process_time()
    table = read_table(path).with_codes
    schema = Schema.propose(table).accepted()
    mechanism = vws.NoisyCounts(epsilon=_EPSILON, delta=_DELTA, cap=cap)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = vws.synthesize(table, schema=schema, mechanism=mechanism, datasets=5, seed=seed)
    seconds, processor = time.perf_counter() - began, time.process_time() - spent
    gigabytes = peak_gigabytes()
    broken = 0
    for dataset in made.datasets:
        values = schema.coded(dataset)
        broken += sum(int(follows(schema, x, values).breaking.sum()) for x in schema.synthesized)
    found = vws.table_utility(table, made.datasets, schema=schema, s_pmse=False)
    return {
        "columns": len(schema.synthesized),
        "seconds": seconds,
        "processor": processor,
        "gigabytes": gigabytes,
        "epsilon": float(made.privacy["epsilon_total"]),
        "independent": found.k_marginal_independent,
        "score": found.k_marginal,
        "bootstrap": found.k_marginal_bootstrap,
        "share": found.share_of_the_way,
        "together": found.share_together,
        "broken": broken,
    }


def _can_be_accepted(path: Path) -> bool:
    """Whether a proposal has records enough to be accepted, and two columns, which have a score."""
    schema = Schema.propose(read_table(path).with_codes)
    return schema.why_not_accepted is None and len(schema.synthesized) > 1


def _has_unit(path: Path) -> bool:
    return Schema.propose(read_table(path).with_codes).unit is not None


def run(plan: Plan) -> Found:
    """The files that are there: families held out, and three seeds of a run; one where small.

    Of the cases one seed each, but where small.
    """
    families: list[tuple[Entry, ...]] = []
    rows: list[tuple[Entry, ...]] = []
    gone = [name for name in FILES if not (DATA / name).is_file()]
    seeds = _SEEDS[:1] if plan.small else _SEEDS
    runs = []
    for name, cap in FILES.items():
        if name in gone:
            continue
        for column, (own, at, best) in held_out(read_table(DATA / name).with_codes).items():
            families.append((name, column, own, round(at, 3), round(best, 3), round(best - at, 3)))
        runs += [(DATA / name, cap, seed) for seed in seeds]
    if not plan.small:
        cases = (path for path in sorted(_CASES.glob("*.csv")) if _can_be_accepted(path))
        runs += [(path, _CAP_OF_CASES if _has_unit(path) else None, _SEEDS[0]) for path in cases]
    for path, cap, seed in runs:
        with Worker() as worker:
            one = worker.ask(run_of, path, cap, seed)
        there = bool(np.isfinite(one["share"]))  # Columns may be as good as independent.
        share, together = (round(one[x], 2) if there else "" for x in ("share", "together"))
        plan.say(f"{path.name}, seed {seed}: share of the way {share}")
        figures = (round(one[key]) for key in ("independent", "score", "bootstrap"))
        rows.append(
            (
                *(path.name, one["columns"], seed, round(one["seconds"], 1)),
                *(round(one["processor"], 1), round(one["gigabytes"], 2), one["epsilon"]),
                *(*figures, share, together, one["broken"]),
            )
        )
    return Found(
        [
            Table(
                "Families that a proposal takes, held out",
                ("file", "column", "proposed", "its density", "best density", "gap, nats"),
                families,
                "Mean log densities of the half of the records that no proposal and fit has seen.",
            ),
            Table(
                "Runs by proposals that are accepted without an edit",
                (
                    *("file", "columns", "seed", "seconds", "processor seconds", "GB", "epsilon"),
                    *("independent", "k-marginal", "second sample", "share of the way"),
                    *("all five together", "broken rules"),
                ),
                rows,
                f"noisy-counts at epsilon {_EPSILON:g} and delta {_DELTA:g}, 5 datasets, by pairs; "
                "files with a unit have cap 3.",
            ),
        ],
        {},
        [f"{name}, which is not beside the project" for name in gone],
    )
