"""Noisy counts of a whole table: k-marginal scores of pairs and of triples against the budget.

The table is one of `pyvws_studies.whole_tables`: NIST's excerpt of the American Community Survey
2019 for Massachusetts (ma2019.csv) [nist2023], whose columns have the levels of the file's own
documentation. Each row is the mean over runs under fresh noise, so a second study prints other last
digits. Triples are no part of what is counted: their score shows what the model holds. Tables that
other tools make of the same records stand beside, where the tools are installed.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import choice, whole_number
from pyvws.errors import InputError, MisfitWarning
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws_studies._tables import terminal_table
from pyvws_studies.counted_designs import (
    REGRESSION_SET,
    REGRESSIONS,
    CountedDesign,
    all_columns,
    regression_of,
    ten_columns,
)
from pyvws_studies.other_tools import installed, made_by
from pyvws_studies.whole_tables import DATASETS

BUDGETS: Final = ((1.0, 1e-5), (2.0, 1e-5), (4.0, 1e-5), (8.0, 1e-5), (1.0, 0.0), (2.0, 0.0))
"""Epsilon and delta of all datasets together."""

COLUMNS: Final = {"ten": ten_columns, "all": all_columns}
"""What makes the table of the file, by the word of --columns."""
_REGRESSED: Final = (4.0, 1e-5)
_PEERS: Final = (("MST", 1.0), ("MST", 4.0), ("AIM", 1.0))
_SETS: Final[dict[str, tuple[Any, ...]]] = {"coarse": ("pairs", REGRESSION_SET)}
_FAMILY: Final = "family"


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsRow:
    """The mean over runs at one budget.

    `pairs` and `triples` are k-marginal scores from 0 to 1000, means over datasets and runs; larger
    = more useful. `spread` is the standard deviation of `pairs` between runs. `income`, `education`
    and `renting` are the regressions of `REGRESSIONS`: the mean distance of the coefficients, in
    standard errors of the records' own; larger = less useful. `further` is "coarse" where the set
    of `REGRESSION_SET` is counted too, and "family" where its own family gives the income. `misfit`
    is near 1 where the model is large enough. Processor seconds are of one run.
    """

    epsilon: float
    delta: float
    further: str
    pairs: float
    spread: float
    triples: float
    income: float
    education: float
    renting: float
    misfit: float
    processor_seconds: float


@dataclass(frozen=True, slots=True)
class CountsStudy:
    """The rows of the study, what `_judged` gives at the ends of the scale, and of other tools."""

    n: int
    runs: int
    rows: list[CountsRow]
    independent: tuple[float, ...]
    bootstrap: tuple[float, ...]
    others: dict[str, tuple[float, ...]]
    problems: list[str]


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    copies: int = 1,
    columns: str = "ten",
    chosen: Sequence[float] | None = None,
    others: Path | None = None,
    listener: Listener = SILENT,
) -> CountsStudy:
    """Make the table of ma2019.csv from noisy counts of all pairs at each of `BUDGETS`.

    `synthesize` is `vws.synthesize`. `seed` is the public seed of the first run, and of the scores
    that bound the scale; the noise has none. `copies` is how many times each record stands in the
    table. `columns` is ten or all, and `chosen` has the epsilons of `BUDGETS` to run, if not all.
    `others` is a Python interpreter that may have dpmm: other tools then make the ten columns too.
    Raises InputError for a file without the columns, and for other tools on all columns.
    """
    whole_number(runs, "runs", least=1)
    if others is not None and columns != "ten":
        raise InputError.by("others-get-ten-columns")
    design = COLUMNS[choice(columns, "columns", tuple(COLUMNS))](read_table(file).frame, copies)
    frame, rng = design.table, np.random.default_rng(seed)
    own = design.judged(frame)
    shuffled = own.with_columns(
        pl.Series(name, rng.permutation(own[name].to_numpy())) for name in own.columns
    )
    sample = frame[rng.integers(0, len(frame), len(frame))]
    rows = []
    asked = [*((*budget, "") for budget in BUDGETS), (*_REGRESSED, "coarse")]
    asked += [(*_REGRESSED, _FAMILY) for _ in design.by_family]
    for epsilon, delta, further in asked:
        if chosen is not None and epsilon not in chosen:
            continue
        scores, misfits, began = [], [], time.process_time()
        for number in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MisfitWarning)  # The table has the score.
                release = synthesize(
                    frame,
                    schema=design.schema,
                    mechanism="noisy-counts",
                    epsilon=epsilon,
                    delta=delta,
                    measure=_SETS.get(further, ("pairs",)),
                    tables=design.by_family if further == _FAMILY else (),
                    datasets=DATASETS,
                    seed=seed + number,
                )
            scores.append(_judged(design, own, release.datasets))
            misfits.append(release.summary["imputation"]["misfit"])
        seconds = (time.process_time() - began) / runs
        pairs, triples, *distances = np.mean(scores, axis=0).tolist()
        rows.append(
            CountsRow(
                epsilon=epsilon,
                delta=delta,
                further=further,
                pairs=pairs,
                spread=float(np.std([score[0] for score in scores])),
                triples=triples,
                **dict(zip(REGRESSIONS, distances, strict=True)),
                misfit=float(np.mean(misfits)),
                processor_seconds=seconds,
            )
        )
        listener.line(
            f"  epsilon {epsilon:g}, delta {delta:g}: {seconds:.0f} s of processors a run"
        )
    independent, bootstrap = (_judged(design, own, [table]) for table in (shuffled, sample))
    tools, problems = ([], []) if others is None else installed(others, _PEERS)
    beside: dict[str, tuple[float, ...]] = {}
    levels = {name: column.levels or () for name, column in design.schema.columns.items()}
    for tool in tools:
        made_or_reason = made_by(tool, frame, levels, datasets=DATASETS, seed=seed)
        if isinstance(made_or_reason, str):
            problems.append(made_or_reason)
        else:
            beside[tool.name] = _judged(design, own, made_or_reason[0])
            listener.line(f"  {tool.name}: {made_or_reason[1]:.0f} s of processors")
    return CountsStudy(
        n=len(frame),
        runs=runs,
        rows=rows,
        independent=independent,
        bootstrap=bootstrap,
        others=beside,
        problems=problems,
    )


def _judged(
    design: CountedDesign, own: pl.DataFrame, datasets: Sequence[pl.DataFrame]
) -> tuple[float, ...]:
    """Scores of pairs and triples, and the distance of each regression, of means over datasets."""
    judged = [design.judged(dataset) for dataset in datasets]
    pairs = k_marginal(own, judged, bins=design.bins).score
    original = _binned(own, design.bins)
    triples = [_distance(original, _binned(dataset, design.bins)) for dataset in judged]
    distances = []
    for name in REGRESSIONS:
        fitted, error = regression_of(own, name)
        mean = np.mean([regression_of(dataset, name)[0] for dataset in judged], axis=0)
        distances.append(float(np.abs((mean - fitted) / error).mean()))
    return pairs, float(500.0 * (2.0 - np.mean(triples))), *distances


def _binned(frame: pl.DataFrame, bins: Mapping[str, Sequence[float]]) -> pl.DataFrame:
    """The table with numbers as the labels of their bins."""
    return frame.with_columns(
        pl.Series(name, np.searchsorted(edges, frame[name].fill_null(np.inf), side="right"))
        for name, edges in bins.items()
    )


def _distance(original: pl.DataFrame, dataset: pl.DataFrame) -> float:
    """The mean distance of the joint shares of all triples of columns, from 0 to 2."""
    coded = []
    for name in original.columns:
        cells = [*original[name].cast(pl.String), *dataset[name].cast(pl.String)]
        coded.append(np.unique(cells, return_inverse=True)[1])
    n, distances = len(original), []
    for a, b, c in combinations(coded, 3):
        cells = (a * (b.max() + 1) + b) * (c.max() + 1) + c
        counts = [np.bincount(part, minlength=cells.max() + 1) for part in (cells[:n], cells[n:])]
        distances.append(float(np.abs(counts[0] / n - counts[1] / (len(cells) - n)).sum()))
    return float(np.mean(distances))


def table(result: CountsStudy) -> Any:
    """The study as a table for a terminal, the scores that bound the scale last."""
    table = terminal_table(
        f"{result.n} records, {DATASETS} datasets a run, {result.runs} runs a row",
        left=["sets"],
        right=[
            *("epsilon", "delta", "pairs", "between runs", "triples", *REGRESSIONS, "misfit"),
            "processor s",
        ],
    )
    for row in result.rows:
        table.add_row(
            f"pairs, {row.further}" if row.further else "pairs",
            *(f"{row.epsilon:g}", f"{row.delta:g}", f"{row.pairs:.1f}", f"{row.spread:.1f}"),
            *(
                f"{row.triples:.1f}",
                *(f"{getattr(row, name):.2f}" for name in REGRESSIONS),
                f"{row.misfit:.2f}",
                f"{row.processor_seconds:.0f}",
            ),
        )
    table.add_section()
    for name, scores in _beside(result).items():
        pairs, triples, *distances = scores
        table.add_row(
            *(name, "", "", f"{pairs:.1f}", "", f"{triples:.1f}"),
            *(f"{distance:.2f}" for distance in distances),
        )
    return table


def _beside(result: CountsStudy) -> dict[str, tuple[float, ...]]:
    """The scores of tables that are not of noisy counts."""
    return {"independent": result.independent, "bootstrap": result.bootstrap, **result.others}


def write(result: CountsStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    names = ("pairs", "triples", *REGRESSIONS)
    rows = [
        {"table": name, **dict(zip(names, scores, strict=True))}
        for name, scores in _beside(result).items()
    ]
    pl.DataFrame(rows).write_csv(folder / "beside.csv")
    return ["table.csv", "beside.csv"]
