"""Noisy counts of whole tables: k-marginal scores of pairs and of triples against the budget.

The first table is one of `pyvws_studies.whole_tables`: ten columns of NIST's excerpt of the
American Community Survey 2019 for Massachusetts (ma2019.csv) [nist2023], which have the levels of
the file's own documentation. With a schema of the file a second table has all its columns, whose
numbers are scored in public cells. Each row is the mean over runs under fresh noise, so a second
study prints other last digits. Where sets of three columns are not counted, their score shows what
the model holds. `pyvws_studies.other_tools` sets the tables of other tools beside.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final, NamedTuple

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import Floats, whole_number
from pyvws.errors import ConvergenceWarning, InputError, MisfitWarning
from pyvws.evaluation.k_marginal import k_marginal, predicted_k_marginals
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.whole_tables import DATASETS, DESIGNS

BEST: Final = ((1.0, 1e-5), (4.0, 1e-5), (1.0, 0.0))
"""Epsilon and delta of one dataset, the best file of what `auto` counts."""

BUDGETS: Final = ((1.0, 1e-5), (4.0, 1e-5))
"""Those of several datasets together."""

REGRESSIONS: Final = {
    "income": ("PINCP_DECILE", "SEX", "AGEP", "EDU"),
    "education": ("EDU", "SEX", "AGEP", "OWN_RENT"),
    "renting": ("OWN_RENT", "AGEP", "EDU", "PINCP_DECILE"),
}
"""Responses, each before its predictors, by the name of the regression."""

_NEEDS: Final = {
    name: f"{response} ~ {' + '.join(predictors)}"
    for name, (response, *predictors) in REGRESSIONS.items()
}
_OF_NEEDS: Final = 4.0, 1e-5
_EDGES: Final = {
    "AGEP": tuple(range(5, 100, 5)),
    "PINCP": (0, 1, 5e3, 1e4, 2e4, 3e4, 4e4, 6e4, 8e4, 1e5, 1.5e5, 2.5e5),
    "POVPIP": (50, 100, 150, 200, 250, 300, 350, 400, 450, 501),
    "PWGTP": (20, 40, 60, 80, 100, 150, 200),
    "WGTP": (1, 20, 40, 60, 80, 100, 150, 200),
}
"""Where cells begin that numbers are scored in."""


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
class ScoredRow:
    """The mean over runs of one way to make a table: `Scores`, and more.

    `spread` is the standard deviation of `pairs` between runs. Epsilon is of all datasets together;
    None without a guarantee.
    """

    columns: str
    epsilon: float | None = None
    pairs: float
    spread: float
    triples: float
    income: float
    education: float
    renting: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CountsRow(ScoredRow):
    """A row of so many `runs`; delta is as epsilon, and processor seconds are of one run.

    The predicted scores are what the statements say of the cells that were counted, as means over
    runs. The counted scores are the right ones of these cells, and those of `pairs` and `triples`
    are of the study's.
    """

    way: str
    delta: float | None = None
    predicted_pairs: float | None = None
    predicted_triples: float | None = None
    counted_pairs: float | None = None
    counted_triples: float | None = None
    processor_seconds: float | None = None
    runs: int


@dataclass(frozen=True, slots=True)
class CountsStudy:
    """The rows of the study, of so many records."""

    n: int
    rows: list[CountsRow]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Table:
    """Records as runs get them, and how they are scored: as categories of these levels."""

    columns: str
    frame: pl.DataFrame
    schema: Schema
    levels: Mapping[str, Sequence[str]]
    cells: Callable[[pl.DataFrame], pl.DataFrame]


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    copies: int = 1,
    schema: Path | None = None,
    listener: Listener = SILENT,
) -> CountsStudy:
    """Make the tables of ma2019.csv from noisy counts at each of `BEST` and `BUDGETS`.

    `synthesize` is `vws.synthesize`. `seed` is the public seed of the first run, and of the scores
    that bound the scale; the noise has none. `copies` is how many times each record stands in the
    table. With the `schema` of all columns these are a second table. Raises InputError for a file
    without the columns.
    """
    whole_number(runs, "runs", least=1)
    whole, rows = read_table(file).frame, list[CountsRow]()
    for table in _tables(whole, copies, schema):
        for row in _rows(table, synthesize, seed, runs):
            rows.append(row)
            listener.line(f"  {row.columns}, {row.way}: {row.pairs:.1f}, {row.triples:.1f}")
    return CountsStudy(len(whole) * copies, rows)


def _tables(whole: pl.DataFrame, copies: int, every: Path | None) -> Iterator[_Table]:
    design = DESIGNS["ma2019"]
    if not set(design.source) <= set(whole.columns):
        raise InputError.by("not-ma2019")
    whole = pl.concat([whole] * copies)
    own = {name: column.levels or () for name, column in design.columns.items()}
    ten = design.prepare(whole.select(design.source))
    yield _Table("ten columns", ten, design.schema(), own, lambda frame: frame.cast(pl.String))
    if every is not None:
        public = Schema.read(every)
        columns = {n: public.columns[n] for n in public.synthesized}
        kept = {n: own for n, own in columns.items() if own.levels or not own.is_computed}
        frame, levels = whole.select(list(columns)), {n: _levels(n, x) for n, x in kept.items()}
        yield _Table("all columns", frame, public, levels, partial(_in_cells, levels=levels))


def _levels(name: str, column: Column) -> list[str]:
    """The levels that a column of a schema is scored by."""
    edges = _EDGES.get(name)
    levels = column.levels or () if edges is None else map(str, range(len(edges) + 1))
    return [*levels, *([str(column.missing)] if column.missing else [])]


def _in_cells(frame: pl.DataFrame, levels: Mapping[str, Sequence[str]]) -> pl.DataFrame:
    """The columns of a table that are scored, numbers in their cells of `_EDGES`."""

    def cell(name: str) -> pl.Expr:
        edges = _EDGES.get(name)
        if edges is None:
            return pl.col(name)
        number = pl.col(name).cast(pl.Float64, strict=False)
        cells = pl.sum_horizontal((number >= edge).cast(pl.Int64) for edge in edges)
        return pl.when(number.is_null()).then(pl.col(name)).otherwise(cells.cast(pl.String))

    return frame.cast(pl.String).select(cell(name).alias(name) for name in levels)


def _rows(
    table: _Table, synthesize: Callable[..., Any], seed: int, runs: int
) -> Iterator[CountsRow]:
    """The rows of noisy counts, and of what bounds the scale."""
    whole, rng = table.cells(table.frame), np.random.default_rng(seed)
    order = rng.permutation(len(whole))
    halves = [order[: len(order) // 2], order[len(order) // 2 :]]
    told = whole[halves[1]]

    def row(way: str, budget: tuple[float, float], of: Any = None, **given: Any) -> CountsRow:
        scores, told_of, began = [], [], time.process_time()
        for number in range(runs):
            frame = table.frame if of is None else table.frame[of]
            asked = {"schema": table.schema, "seed": seed + number, **given}
            release = counted(synthesize, frame, budget, **asked)
            made = [table.cells(own) for own in release.datasets]
            scores.append((time.process_time() - began, made))
            told_of.append(_told(release, frame))
            began = time.process_time()
        seconds = float(np.mean([spent for spent, _ in scores]))
        found = [scored(whole if of is None else told, made) for _, made in scores]
        means: dict[str, Any] = {
            name: float(np.mean([own[name] for own in told_of]))
            for name in told_of[0]
            if of is None and all(name in own for own in told_of)
        }
        return replace(_row(table, way, found, seconds, *budget), **means)

    for budget in BEST:
        yield row("best file", budget)
    if table.columns == "ten columns":
        for name, need in _NEEDS.items():
            yield row(f"best file, need of {name}", _OF_NEEDS, needs=(need,))
        yield row("best file, all three needs", _OF_NEEDS, needs=tuple(_NEEDS.values()))
        yield row("best file of a half, on the other", BEST[0], halves[0])
        yield _row(table, "a half's bootstrap, on the other", [scored(told, [whole[halves[0]]])])
        for budget in BUDGETS:
            yield row(f"{DATASETS} datasets", budget, datasets=DATASETS, measure=("pairs",))
    for name, made in ends(whole, rng).items():
        yield _row(table, name, [scored(whole, [made])])


def _told(release: Any, frame: pl.DataFrame) -> dict[str, float]:
    """The predicted scores of a release, and the right ones, in the cells that were counted."""
    said, public = release.privacy["counts"]["predicted"], Schema.parse(release.public_schema)
    assert public is not None
    columns = counted_columns(public).values()
    own, *made = (
        np.column_stack([x.read(nw.from_native(one, eager_only=True))[0] for x in columns])
        for one in (frame, *release.datasets)
    )
    right = [predicted_k_marginals([own, other]) for other in made]
    found = dict[str, float]()
    for name in {"pairs", "triples"} & {*said}:
        found[f"predicted_{name}"] = said[name]
        found[f"counted_{name}"] = float(np.mean([x[name] for x in right]))
    return found


def counted(
    synthesize: Callable[..., Any], frame: pl.DataFrame, budget: tuple[float, float], **given: Any
) -> Any:
    """The release from noisy counts at an epsilon and delta; one dataset of what `auto` counts."""
    own = {"datasets": 1, "measure": ("auto",), "mechanism": "noisy-counts", **given}
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, MisfitWarning):  # The table has the score.
            warnings.simplefilter("ignore", kind)
        return synthesize(frame, epsilon=budget[0], delta=budget[1], **own)


def ends(frame: pl.DataFrame, rng: np.random.Generator) -> dict[str, pl.DataFrame]:
    """The tables that bound the scale: each column in an order of its own, and a second sample."""
    shuffled = frame.with_columns(
        pl.Series(name, rng.permutation(frame[name].to_numpy())) for name in frame.columns
    )
    sample = frame[rng.integers(0, len(frame), len(frame))]
    return {"independent columns": shuffled, "a bootstrap": sample}


def _row(
    table: _Table,
    way: str,
    scores: Sequence[Scores],
    seconds: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> CountsRow:
    """A row of the scores of several runs."""
    return CountsRow(
        columns=table.columns,
        way=way,
        epsilon=epsilon,
        delta=delta,
        **means_of(scores),
        processor_seconds=seconds,
        runs=len(scores),
    )


def means_of(scores: Sequence[Scores]) -> dict[str, float]:
    """The means of the scores of several runs, and the `spread`, by the names of `ScoredRow`."""
    spread = float(np.std([score.pairs for score in scores]))
    return {**Scores(*np.mean(scores, axis=0).tolist())._asdict(), "spread": spread}


def scored(original: pl.DataFrame, datasets: Sequence[pl.DataFrame]) -> Scores:
    """How near datasets with the columns of ma2019.csv are to the original."""
    texts = [dataset.select(original.columns).cast(pl.String) for dataset in datasets]
    triples = float(np.mean([score_of_triples(original, dataset) for dataset in texts]))
    distances = []
    for name in REGRESSIONS:
        fitted, error = regression_of(original, name)
        mean = np.mean([regression_of(dataset, name)[0] for dataset in texts], axis=0)
        distances.append(float(np.abs((mean - fitted) / error).mean()))
    pairs = k_marginal(original, texts).score
    return Scores(pairs, triples, *distances)


def score_of_triples(original: pl.DataFrame, dataset: pl.DataFrame) -> float:
    """The k-marginal score of all triples of columns, from 0 to 1000; larger = more useful."""
    coded = []
    for name in original.columns:
        cells = [*original[name].cast(pl.String), *dataset[name]]
        coded.append(np.unique(cells, return_inverse=True)[1])
    n, distances = len(original), []
    for a, b, c in combinations(coded, 3):
        cells = (a * (b.max() + 1) + b) * (c.max() + 1) + c
        counts = [np.bincount(part, minlength=cells.max() + 1) for part in (cells[:n], cells[n:])]
        distances.append(float(np.abs(counts[0] / n - counts[1] / (len(cells) - n)).sum()))
    return float(500.0 * (2.0 - np.mean(distances)))


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
    **{"way": ("way", ""), "epsilon": ("epsilon", "g"), "delta": ("delta", "g")},
    **{"pairs": ("pairs", ".1f"), "between runs": ("spread", ".1f"), "triples": ("triples", ".1f")},
    **{
        f"{of} {own}": (f"{of}_{own}", ".1f")
        for of in ("predicted", "counted")
        for own in ("pairs", "triples")
    },
    **{name: (name, ".2f") for name in REGRESSIONS},
    **{"processor s": ("processor_seconds", ".1f"), "runs": ("runs", "")},
}


def table(result: CountsStudy) -> Any:
    """The study as a table for a terminal, one part for each table."""
    rows = [asdict(row) for row in result.rows]
    return table_of(f"{result.n} records", rows, _SHOWN, group="columns")


def write(result: CountsStudy, folder: Path) -> list[str]:
    rows = pl.DataFrame([asdict(row) for row in result.rows])
    scores = [*Scores._fields, "spread", "processor_seconds", "^(predicted|counted)_.*$"]
    rows.with_columns(pl.col(scores).round(2)).write_csv(folder / "table.csv")
    return ["table.csv"]
