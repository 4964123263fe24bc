"""Weights at a bound t beside LW, SW and truncation: three tables at equal epsilons.

Each table is a tree of conditional tables: every column has the earlier column as its predictor
that says most of it. The files are public: NIST's excerpt of the American Community Survey 2019
(ma2019.csv) [nist2023], the members of 5,000 households of 2012 (households.txt, whose unit is the
household), and the Consumer Expenditure Survey of 2017 (ce_2017.csv) [hornby2021]. So levels and
predictors are read off the files, numbers lie in bands, and t is searched where epsilons have to
meet. The rows at a given t are what a user runs. The last tables have one column, of levels with
500 and 499 records and a third with 1 or none.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl
from rich.console import Group

from pyvws.errors import InputError, MisfitWarning, PyvwsError
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.evaluation.regression_utility import regression_utility
from pyvws.mechanisms.inverse_weighted import InverseWeighted
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.whole_tables import DATASETS, DESIGNS

TARGETS: Final = (4.0, 5.0, 8.0, 10.0, 16.0, 32.0)
"""Epsilons of a dataset that searches aim at."""
CONSTANTS: Final = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Bounds t in nats, each with its own rows."""
POWERS: Final = (0.5, 1.0)
COUNTS: Final = {"a": 500, "b": 499, "c": 1}
"""The records of each level of the last table."""
_OF_COUNTS: Final[dict[str, str | Mechanism]] = {
    "inverse, t = 2": InverseWeighted(t=2.0),
    "LW": "lw",
}
_MISSING: Final = "N"
_AGES: Final = (5, 16, 25, 35, 45, 55, 65, 75)


@dataclass(frozen=True, slots=True)
class TableOfFile:
    """The columns of a file in the order of synthesis, the bands of its numbers, and regressions.

    A regression reads codes and the places of bands as numbers.
    """

    columns: tuple[str, ...]
    regressions: tuple[str, ...]
    bands: Mapping[str, Sequence[float]] = field(default_factory=dict)
    unit: str | None = None

    def read(self, path: Path) -> pl.DataFrame:
        """The table as text, a level for what is missing."""
        whole = read_table(path).as_written
        if lacking := {*self.columns, *filter(None, [self.unit])} - {*whole.columns}:
            raise InputError.by("file-lacks-columns", file=path.name, lacking=sorted(lacking))
        frame = whole.select(*filter(None, [self.unit]), *self.columns).with_columns(
            sum(((_number(name) >= edge).cast(pl.Int64) for edge in edges), pl.lit(0)).alias(name)
            for name, edges in self.bands.items()
        )
        text = pl.col(self.columns).cast(pl.String).fill_null(_MISSING).replace("NA", _MISSING)
        return frame.with_columns(text)

    def schema(self, frame: pl.DataFrame) -> Schema:
        """A tree of conditional tables."""
        ids = {} if self.unit is None else {self.unit: Column(role="id")}
        tables = {
            name: Column(
                model="table",
                levels=tuple(frame[name].unique().sort()),
                predictors=_says_most(frame, name, self.columns[:place]),
            )
            for place, name in enumerate(self.columns)
        }
        return Schema({**ids, **tables}, unit=self.unit)


FILES: Final = {
    "ma2019.csv": TableOfFile(
        ("SEX", "MSP", "RAC1P", "OWN_RENT", "EDU", "INDP_CAT", "HISP", "DVET", "DEYE", "DPHY"),
        ("EDU ~ SEX + DPHY", "DPHY ~ SEX + EDU + DEYE"),
    ),
    "households.txt": TableOfFile(
        (
            *("headsex", "headage", "headrace", "headhisp", "ownership"),
            *("relate", "sex", "age", "race", "hisp"),
        ),
        ("age ~ headage + sex", "ownership ~ headage + headsex"),
        {"headage": _AGES, "age": _AGES},
        unit="Hhindex",
    ),
    "ce_2017.csv": TableOfFile(
        tuple(DESIGNS["ce_2017"].columns),
        ("Income ~ Age + Educ + Urban", "Expenditure ~ Income + Educ"),
        DESIGNS["ce_2017"].bins,
    ),
}
"""The tables of the study, by the names of their files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InverseRow:
    """One run on a file.

    `target` is the epsilon that its search aimed at, `epsilon` that of a dataset; larger = less
    private. `t` in nats is given, or was found. `score` is the mean k-marginal score, from 0 to
    1000, and `overlap` the mean overlap of the intervals of regressions, from 0 to 1; larger = more
    useful. Processor seconds are of the run alone. Without a run `problem` says why.
    """

    file: str
    run: str
    target: float | None = None
    t: float | None = None
    epsilon: float | None = None
    score: float | None = None
    overlap: float | None = None
    mean_weight: float | None = None
    processor_seconds: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class InverseStudy:
    """The rows of all files, and those of the last table: mean records of each level by run."""

    rows: list[InverseRow]
    counts: list[dict[str, Any]]

    @property
    def problems(self) -> list[str]:
        """What was left out, and why."""
        return [f"Left out: {x.file}, {x.run}: {x.problem}" for x in self.rows if x.problem]


def run(
    folder: Path, *, synthesize: Callable[..., Any], seed: int, listener: Listener = SILENT
) -> InverseStudy:
    """Make the tables of `FILES` that a folder has by each mechanism, and score them.

    `synthesize` is `vws.synthesize`. Each run makes five datasets. Raises InputError for a folder
    without a file of the study, and for a file without its columns.
    """
    there = {name: file for name, file in FILES.items() if (folder / name).is_file()}
    if not there:
        raise InputError.by("folder-of-no-file", known=", ".join(FILES))
    rows = []
    for name, file in there.items():
        rows += _of_file(name, file, file.read(folder / name), synthesize, seed)
        listener.line(f"  {name}: {sum(x.processor_seconds or 0.0 for x in rows):.0f} s so far")
    return InverseStudy(rows, _counted(synthesize, seed))


def _counted(synthesize: Callable[..., Any], seed: int) -> list[dict[str, Any]]:
    """Mean records of each level of one column, with the rarest level and without it."""
    rows = []
    for levels in (COUNTS, {level: n for level, n in COUNTS.items() if n > 1}):
        frame = pl.DataFrame({"level": [level for level, n in levels.items() for _ in range(n)]})
        schema = Schema({"level": Column(model="table", levels=tuple(levels))})
        rows.append({"run": "records", **levels})
        for name, mechanism in _OF_COUNTS.items():
            release = _made(synthesize, frame, schema, mechanism, seed)
            made = pl.concat(release.datasets)["level"]
            means = {level: float((made == level).sum()) / DATASETS for level in levels}
            rows.append({"run": name, **means})
    return rows


def _of_file(
    name: str, file: TableOfFile, frame: pl.DataFrame, synthesize: Callable[..., Any], seed: int
) -> list[InverseRow]:
    """The rows of one file: without weights, at given t, and at each target."""
    schema, original = file.schema(frame), frame.select(file.columns)
    runs: list[tuple[str, str | Mechanism, float | None]] = [("unweighted", "unweighted", None)]
    for power in POWERS:
        label = f"inverse, power {power:g}"
        runs += [(label, InverseWeighted(t=t, power=power), None) for t in CONSTANTS]
        searched = InverseWeighted(search_t=True, power=power)
        runs += [(f"{label}, t searched", searched, target) for target in TARGETS]
    for label, name_of in (("LW", "lw"), ("SW", "sw"), ("Weighted-e", "weighted-epsilon")):
        runs += [(label, name_of, target) for target in TARGETS]
    rows = []
    for label, mechanism, target in runs:
        began, asked = time.process_time(), {} if target is None else {"epsilon": target}
        given: dict[str, Any] = {"file": name, "run": label, "target": target}
        try:
            release = _made(synthesize, frame, schema, mechanism, seed, **asked)
        except PyvwsError as error:
            rows.append(InverseRow(**given, problem=str(error)))
            continue
        seconds = time.process_time() - began
        datasets = [dataset.select(file.columns) for dataset in release.datasets]
        row = InverseRow(
            **given,
            t=getattr(mechanism, "t", None) or release.summary["settings"].get("t"),
            epsilon=release.summary["privacy"]["epsilon_per_dataset"],
            score=k_marginal(original, datasets).score,
            overlap=_overlap(original, datasets, file.regressions),
            mean_weight=release.summary["fits"][-1]["mean_weight"],
            processor_seconds=seconds,
        )
        rows.append(row)
    scale = k_marginal(original, [original])
    ends = {"independent columns": scale.independent, "bootstrap": scale.bootstrap}
    return [*rows, *(InverseRow(file=name, run=end, score=score) for end, score in ends.items())]


def _made(
    synthesize: Callable[..., Any],
    frame: pl.DataFrame,
    schema: Schema,
    mechanism: str | Mechanism,
    seed: int,
    **asked: float,
) -> Any:
    # The table has the score.
    with warnings.catch_warnings(action="ignore", category=MisfitWarning):
        given = {"schema": schema, "mechanism": mechanism, "datasets": DATASETS, "seed": seed}
        return synthesize(frame, **given, **asked)


def _number(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.Float64, strict=False)


def _overlap(
    original: pl.DataFrame, datasets: Sequence[pl.DataFrame], formulas: Sequence[str]
) -> float | None:
    """The mean overlap of all coefficients' intervals; None where one cannot be estimated."""
    numbers = [_number(name) for name in original.columns]
    data, made = original.select(numbers), [dataset.select(numbers) for dataset in datasets]
    try:
        found = [regression_utility(data, made, formula).overlap for formula in formulas]
    except InputError:
        return None
    return float(np.mean(np.concatenate(found)))


def _says_most(frame: pl.DataFrame, name: str, before: Sequence[str]) -> tuple[str, ...]:
    """The earlier column of the largest mutual information with a column; () for the first."""
    said = {other: _mutual_information(frame, name, other) for other in before}
    return (max(said, key=lambda other: said[other]),) if said else ()


def _mutual_information(frame: pl.DataFrame, name: str, other: str) -> float:
    """Mutual information in nats of two columns."""
    n, size = len(frame), pl.col("len")
    apart = size.sum().over(name) * size.sum().over(other) / n
    counts = frame.group_by(name, other).len().select(size / n * (size / apart).log())
    return float(counts["len"].sum())


_SHOWN: Final = {
    **{"file": ("file", ""), "run": ("run", ""), "target": ("target", "g"), "t": ("t", ".2g")},
    **{"epsilon": ("epsilon", ".1f"), "k-marginal": ("score", ".0f")},
    **{"regressions": ("overlap", ".2f"), "mean weight": ("mean_weight", ".2f")},
    "processor s": ("processor_seconds", ".1f"),
}


def table(result: InverseStudy) -> Any:
    """The rows of all files, and the one column of three levels under it."""
    rows = [asdict(row) for row in result.rows if not row.problem]
    files = table_of(f"{DATASETS} datasets of each run", rows, _SHOWN, left=2, group="file")
    levels = {"run": ("run", ""), **{level: (level, ".0f") for level in COUNTS}}
    return Group(files, table_of("Mean records of a dataset", result.counts, levels))


def write(result: InverseStudy, folder: Path) -> list[str]:
    rows = [asdict(row) for row in result.rows]
    pl.DataFrame(rows, infer_schema_length=None).write_csv(folder / "table.csv")
    pl.DataFrame(result.counts, infer_schema_length=None).write_csv(folder / "counts.csv")
    return ["table.csv", "counts.csv"]
