"""Noisy counts of a whole table: k-marginal scores of pairs and of triples against the budget.

The table is one of `pyvws_studies.whole_tables`: ten columns of NIST's excerpt of the American
Community Survey 2019 for Massachusetts (ma2019.csv) [nist2023], which have the levels of the file's
own documentation. Each row is the mean over runs under fresh noise, so a second study prints other
last digits. Triples are no part of what is counted: their score shows what the model holds. Tables
that other tools make of the same records stand beside, where the tools are installed.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, whole_number
from pyvws.errors import InputError, MisfitWarning
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws_studies._report import table_of
from pyvws_studies.other_tools import installed, made_by
from pyvws_studies.whole_tables import DATASETS, DESIGNS

BUDGETS: Final = ((1.0, 1e-5), (2.0, 1e-5), (4.0, 1e-5), (8.0, 1e-5), (1.0, 0.0), (2.0, 0.0))
"""Epsilon and delta of all datasets together."""

BEST: Final = ((1.0, 1e-5), (4.0, 1e-5), (1.0, 0.0))
"""Those of one dataset, the best file."""

REGRESSIONS: Final = {
    "income": ("PINCP_DECILE", "SEX", "AGEP", "EDU"),
    "education": ("EDU", "SEX", "AGEP", "OWN_RENT"),
    "renting": ("OWN_RENT", "AGEP", "EDU", "PINCP_DECILE"),
}
"""Responses, each before its predictors, by the name of the regression."""

_OF_INCOME: Final = {
    "columns": ["SEX", "AGEP", "EDU", "PINCP_DECILE"],
    "cuts": {
        **{"AGEP": [15, 30, 45, 65], "EDU": [5, 7, 9, 10]},
        "PINCP_DECILE": [2, 4, 6, 8, "N"],
    },
}
"""A set of 300 cells that holds the regression of income."""

_REGRESSED: Final = (4.0, 1e-5)
_FURTHER: Final[dict[str, dict[str, Any]]] = {
    "one file": {"datasets": 1},
    "coarse": {"measure": ("pairs", _OF_INCOME)},
    "family": {"tables": ("PINCP_DECILE",)},
}
_PEERS: Final = (("MST", 1.0), ("MST", 4.0), ("AIM", 1.0))


class Scores(NamedTuple):
    """How near tables are to the original, as means over datasets.

    `pairs` and `triples` are k-marginal scores from 0 to 1000; larger = more useful. The others are
    the regressions of `REGRESSIONS`: the mean distance of the coefficients, in standard errors of
    the records' own; larger = less useful.
    """

    pairs: float
    triples: float
    income: float
    education: float
    renting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsRow:
    """The mean over runs at one budget: `Scores`, and more.

    `spread` is the standard deviation of `pairs` between runs. `predicted_pairs` and
    `predicted_triples` are what the datasets say of their own scores. `further` is "coarse" where a
    set is counted that holds the regression of income, and "family" where its own family gives the
    income. It is "one file" where a single dataset, the best file of a fit, stands for the five.
    `misfit` is near 1 where the model is large enough. Processor seconds are of one run.
    """

    epsilon: float
    delta: float
    further: str
    pairs: float
    spread: float
    triples: float
    predicted_pairs: float
    predicted_triples: float
    income: float
    education: float
    renting: float
    misfit: float
    processor_seconds: float


@dataclass(frozen=True, slots=True)
class CountsStudy:
    """The rows of the study, the scores at the ends of the scale, and those of other tools."""

    n: int
    runs: int
    rows: list[CountsRow]
    others: dict[str, Scores]
    problems: list[str]


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    copies: int = 1,
    others: Path | None = None,
    listener: Listener = SILENT,
) -> CountsStudy:
    """Make the table of ma2019.csv from noisy counts of all pairs at each of `BUDGETS`.

    `synthesize` is `vws.synthesize`. `seed` is the public seed of the first run, and of the scores
    that bound the scale; the noise has none. `copies` is how many times each record stands in the
    table. `others` is a Python interpreter that may have dpmm: other tools then make the table too.
    Raises InputError for a file without the columns.
    """
    whole_number(runs, "runs", least=1)
    design, whole = DESIGNS["ma2019"], read_table(file).frame
    if not set(design.source) <= set(whole.columns):
        raise InputError.by("not-ma2019")
    frame = pl.concat([design.prepare(whole.select(design.source))] * copies)
    rng, rows = np.random.default_rng(seed), []
    shuffled = frame.with_columns(
        pl.Series(name, rng.permutation(frame[name].to_numpy())) for name in frame.columns
    )
    sample = frame[rng.integers(0, len(frame), len(frame))]
    for epsilon, delta, further in (
        *((*budget, "") for budget in BUDGETS),
        *((*budget, "one file") for budget in BEST),
        *((*_REGRESSED, further) for further in _FURTHER if further != "one file"),
    ):
        scores, own, began = [], [], time.process_time()
        for number in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MisfitWarning)  # The table has the score.
                release = synthesize(
                    frame,
                    schema=design.schema(),
                    mechanism="noisy-counts",
                    epsilon=epsilon,
                    delta=delta,
                    **{"measure": ("pairs",), "datasets": DATASETS, **_FURTHER.get(further, {})},
                    seed=seed + number,
                )
            scores.append(scored(frame, release.datasets))
            said = release.privacy["counts"].get(
                "predicted", {}
            )  # One file says nothing of itself.
            misfit = release.summary["imputation"]["misfit"]
            own.append((said.get("pairs", math.nan), said.get("triples", math.nan), misfit))
        seconds = (time.process_time() - began) / runs
        pairs, triples, misfit = np.mean(own, axis=0).tolist()
        rows.append(
            CountsRow(
                epsilon=epsilon,
                delta=delta,
                further=further,
                **Scores(*np.mean(scores, axis=0).tolist())._asdict(),
                spread=float(np.std([score.pairs for score in scores])),
                predicted_pairs=pairs,
                predicted_triples=triples,
                misfit=misfit,
                processor_seconds=seconds,
            )
        )
        listener.line(f"  epsilon {epsilon:g}, delta {delta:g}: {seconds:.0f} s of processors")
    tools, problems = ([], []) if others is None else installed(others, _PEERS)
    beside = {"independent": scored(frame, [shuffled]), "bootstrap": scored(frame, [sample])}
    levels = {name: column.levels or () for name, column in design.columns.items()}
    for tool in tools:
        made_or_reason = made_by(tool, frame, levels, datasets=DATASETS, seed=seed)
        if isinstance(made_or_reason, str):
            problems.append(made_or_reason)
        else:
            beside[tool.name] = scored(frame, made_or_reason[0])
            listener.line(f"  {tool.name}: {made_or_reason[1]:.0f} s of processors")
    return CountsStudy(len(frame), runs, rows, beside, problems)


def scored(original: pl.DataFrame, datasets: Sequence[pl.DataFrame]) -> Scores:
    """How near datasets with the columns of ma2019.csv are to the original."""
    texts = [dataset.select(original.columns).cast(pl.String) for dataset in datasets]
    triples = np.mean([_distance(original, dataset) for dataset in texts])
    distances = []
    for name in REGRESSIONS:
        fitted, error = regression_of(original, name)
        mean = np.mean([regression_of(dataset, name)[0] for dataset in texts], axis=0)
        distances.append(float(np.abs((mean - fitted) / error).mean()))
    pairs = k_marginal(original, texts).score
    return Scores(pairs, float(500.0 * (2.0 - triples)), *distances)


def _distance(original: pl.DataFrame, dataset: pl.DataFrame) -> float:
    """The mean distance of the joint shares of all triples of columns, from 0 to 2."""
    coded = []
    for name in original.columns:
        cells = [*original[name].cast(pl.String), *dataset[name]]
        coded.append(np.unique(cells, return_inverse=True)[1])
    n, distances = len(original), []
    for a, b, c in combinations(coded, 3):
        cells = (a * (b.max() + 1) + b) * (c.max() + 1) + c
        counts = [np.bincount(part, minlength=cells.max() + 1) for part in (cells[:n], cells[n:])]
        distances.append(float(np.abs(counts[0] / n - counts[1] / (len(cells) - n)).sum()))
    return float(np.mean(distances))


def regression_of(frame: pl.DataFrame, name: str = "income") -> tuple[Floats, Floats]:
    """Coefficients (P,) of a regression of `REGRESSIONS` by least squares, and standard errors.

    Records that lack a number of it are left out, and no education counts as 0. Errors of no more
    records than coefficients are NaN.
    """
    response = REGRESSIONS[name][0]
    values = (
        frame.select(
            pl.col(column)
            .cast(pl.String)
            .replace("N", "0" if column == "EDU" != response else None)
            .cast(pl.Float64)
            for column in REGRESSIONS[name]
        )
        .drop_nulls()
        .to_numpy()
    )
    design = np.column_stack([np.ones(len(values)), values[:, 1:]])
    inverse = np.linalg.pinv(design.T @ design, hermitian=True)  # Of few records, one sex alone.
    fitted = inverse @ (design.T @ values[:, 0])
    left = values[:, 0] - design @ fitted
    freedom = len(values) - len(fitted)
    variance = float(left @ left) / freedom if freedom > 0 else np.nan
    return fitted, np.sqrt(np.diag(inverse) * variance)


_SHOWN: Final = {
    **{"sets": ("sets", ""), "epsilon": ("epsilon", "g"), "delta": ("delta", "g")},
    **{"pairs": ("pairs", ".1f"), "between runs": ("spread", ".1f"), "triples": ("triples", ".1f")},
    "predicted": ("predicted_pairs", ".1f"),
    "of triples": ("predicted_triples", ".1f"),
    **{name: (name, ".2f") for name in (*REGRESSIONS, "misfit")},
    "processor s": ("processor_seconds", ".0f"),
}


def table(result: CountsStudy) -> Any:
    """The study as a table for a terminal, the scores that bound the scale last."""
    rows: list[dict[str, Any]] = [
        {**asdict(row), "sets": ", ".join(filter(None, ("pairs", row.further)))}
        for row in result.rows
    ]
    rows += [{"sets": name, "part": "ends", **x._asdict()} for name, x in result.others.items()]
    title = f"{result.n} records, {DATASETS} datasets a run, {result.runs} runs a row"
    return table_of(title, rows, _SHOWN, group="part")


def write(result: CountsStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    rows = [{"table": name, **scores._asdict()} for name, scores in result.others.items()]
    pl.DataFrame(rows).write_csv(folder / "beside.csv")
    return ["table.csv", "beside.csv"]
