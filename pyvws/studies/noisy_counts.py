"""Noisy counts of a whole table: k-marginal scores of pairs and of triples against the budget.

The table is one of `pyvws.studies.whole_tables`: NIST's excerpt of the American Community Survey
2019 for Massachusetts (ma2019.csv) [nist2023], whose columns have the levels of the file's own
documentation. Each row is the mean over runs under fresh noise, so a second study prints other last
digits. Triples are no part of what is counted: their score shows what the model holds.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import whole_number
from pyvws.errors import InputError, MisfitWarning
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.studies._tables import terminal_table
from pyvws.studies.whole_tables import DATASETS, DESIGNS
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table

BUDGETS: Final = ((1.0, 1e-5), (2.0, 1e-5), (4.0, 1e-5), (8.0, 1e-5), (1.0, 0.0), (2.0, 0.0))
"""Epsilon and delta of all datasets together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsRow:
    """The mean over runs at one budget.

    `pairs` and `triples` are k-marginal scores from 0 to 1000, means over datasets and runs; larger
    = more useful. `spread` is the standard deviation of `pairs` between runs. `misfit` is near 1
    where the model is large enough. Processor seconds are of one run.
    """

    epsilon: float
    delta: float
    pairs: float
    spread: float
    triples: float
    misfit: float
    processor_seconds: float


@dataclass(frozen=True, slots=True)
class CountsStudy:
    """The rows of the study, and the scores of pairs and triples that bound the scale."""

    n: int
    runs: int
    rows: list[CountsRow]
    independent: tuple[float, float]
    bootstrap: tuple[float, float]
    problems: list[str]


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    copies: int = 1,
    listener: Listener = SILENT,
) -> CountsStudy:
    """Make the table of ma2019.csv from noisy counts of all pairs at each of `BUDGETS`.

    `synthesize` is `vws.synthesize`. `seed` is the public seed of the first run, and of the scores
    that bound the scale; the noise has none. `copies` is how many times each record stands in the
    table. Raises InputError for a file without the columns.
    """
    design, whole = DESIGNS["ma2019"], read_table(Path(file)).frame
    if not set(design.source) <= set(whole.columns):
        raise InputError("The file lacks columns of ma2019.csv. Name a copy of NIST's file.")
    whole_number(runs, "runs", least=1)
    frame = pl.concat([design.prepare(whole.select(design.source))] * copies)
    schema, rng = design.schema(), np.random.default_rng(seed)
    shuffled = frame.with_columns(
        pl.Series(name, rng.permutation(frame[name].to_numpy())) for name in frame.columns
    )
    sample = frame[rng.integers(0, len(frame), len(frame))]
    rows = []
    for epsilon, delta in BUDGETS:
        scores, misfits, began = [], [], time.process_time()
        for number in range(runs):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MisfitWarning)  # The table has the score.
                release = synthesize(
                    frame,
                    schema=schema,
                    mechanism="noisy-counts",
                    epsilon=epsilon,
                    delta=delta,
                    datasets=DATASETS,
                    seed=seed + number,
                )
            scores.append(_scores(frame, release.datasets))
            misfits.append(release.summary["imputation"]["misfit"])
        seconds = (time.process_time() - began) / runs
        pairs, triples = np.mean(scores, axis=0)
        rows.append(
            CountsRow(
                epsilon=epsilon,
                delta=delta,
                pairs=float(pairs),
                spread=float(np.std([score[0] for score in scores])),
                triples=float(triples),
                misfit=float(np.mean(misfits)),
                processor_seconds=seconds,
            )
        )
        listener.line(
            f"  epsilon {epsilon:g}, delta {delta:g}: {seconds:.0f} s of processors a run"
        )
    return CountsStudy(
        len(frame), runs, rows, _scores(frame, [shuffled]), _scores(frame, [sample]), []
    )


def _scores(original: pl.DataFrame, datasets: Sequence[pl.DataFrame]) -> tuple[float, float]:
    """The k-marginal scores of pairs and of triples of categories, as means over the datasets."""
    own = k_marginal(original, list(datasets)).score
    triples = [_distance(original, dataset) for dataset in datasets]
    return own, float(500.0 * (2.0 - np.mean(triples)))


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
        right=["epsilon", "delta", "pairs", "between runs", "triples", "misfit", "processor s"],
    )
    for row in result.rows:
        table.add_row(
            *(f"{row.epsilon:g}", f"{row.delta:g}", f"{row.pairs:.1f}", f"{row.spread:.1f}"),
            *(f"{row.triples:.1f}", f"{row.misfit:.2f}", f"{row.processor_seconds:.0f}"),
        )
    table.add_section()
    for name, scores in (("independent", result.independent), ("bootstrap", result.bootstrap)):
        table.add_row(name, "", f"{scores[0]:.1f}", "", f"{scores[1]:.1f}")
    return table


def write(result: CountsStudy, folder: Path) -> list[str]:
    """Write table.csv into `folder`; return the file's name."""
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
