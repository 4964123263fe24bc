"""Whole tables under one epsilon: utility of pairs of columns against what a table costs.

Two public files have a design here, which names the columns, their order and their levels from the
files' own documentation: NIST's excerpt of the American Community Survey 2019 for Massachusetts
(ma2019.csv) [nist2023], and the Consumer Expenditure Survey of 2017 (ce_2017.csv) [hornby2021].
Each row of the study is a whole run. The k-marginal score stands beside the score of independent
columns and of a bootstrap, since its scale is short.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.registry import make_mechanism
from pyvws.studies._printed import terminal_table
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.column import Column
from pyvws.tables.files import read_table
from pyvws.tables.schema import Schema

__all__ = ["DESIGNS", "Design", "Row", "TableStudy", "run", "table", "write"]

DATASETS: Final = 5
_STRICT: Final = (16.0, 12.0)


@dataclass(frozen=True, slots=True)
class Design:
    """A file's columns in the order of synthesis, and what turns the file into them.

    `bins` are public edges of numbers for the score. `source` names the columns that the file has.
    `patterns` names the few predictors that each category has as a conditional table.
    """

    columns: Mapping[str, Column]
    patterns: Mapping[str, tuple[str, ...]]
    source: tuple[str, ...]
    prepare: Callable[[pl.DataFrame], pl.DataFrame]
    bins: Mapping[str, tuple[float, ...]]

    def schema(self, *, exact: bool = False) -> Schema:
        """What is public of the table; `exact` makes the categories conditional tables."""
        columns = dict(self.columns)
        for name, predictors in self.patterns.items() if exact else ():
            columns[name] = replace(columns[name], model="table", predictors=predictors)
        return Schema(columns)


@dataclass(frozen=True, slots=True)
class Row:
    """One way to make the table.

    `epsilon` is the cost of one dataset and `separate` that of its columns in runs of their own
    under the same weights; larger = less private. By column the weights are those that LW gives
    each column's own run, so `separate` is the cost of separate LW runs of the same conditionals.
    `score` is the mean k-marginal score of the datasets, from 0 to 1000; larger = more useful.
    `rhat` is the worst R-hat of the last fits, None
    where all draws are exact.
    """

    name: str
    guarantee: str
    epsilon: float
    separate: float
    score: float
    mean_weight: float
    rhat: float | None
    seconds: float


@dataclass(frozen=True, slots=True)
class TableStudy:
    """The rows of the study, the scores that bound the scale, and problems of fits."""

    n: int
    rows: list[Row]
    independent: float
    bootstrap: float
    problems: list[str]


def _nominal(levels: Any, **more: Any) -> Column:
    return Column(model="nominal", levels=tuple(map(str, levels)), **more)


def _five_years(frame: pl.DataFrame) -> pl.DataFrame:
    age = pl.col("AGEP").cast(pl.Int64) // 5 * 5
    return frame.with_columns(age.cast(pl.String).alias("AGEP")).with_columns(
        pl.all().cast(pl.String)
    )


_ACS: Final = {
    "SEX": _nominal((1, 2)),
    "AGEP": _nominal(range(0, 100, 5)),
    "MSP": _nominal((1, 2, 3, 4, 5, 6, "N")),
    "EDU": _nominal((*range(1, 13), "N")),
    "PINCP_DECILE": _nominal((*range(10), "N")),
    "OWN_RENT": _nominal((0, 1, 2)),
    "HOUSING_TYPE": _nominal((1, 2, 3)),
    "RAC1P": _nominal(range(1, 10)),
    "DVET": _nominal((*range(1, 7), "N")),
    "DEYE": _nominal((1, 2)),
}
_ACS_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "SEX": (),
    "AGEP": ("SEX",),
    "MSP": ("AGEP", "SEX"),
    "EDU": ("AGEP", "MSP"),
    "PINCP_DECILE": ("EDU", "AGEP", "SEX"),
    "OWN_RENT": ("PINCP_DECILE", "AGEP", "MSP"),
    "HOUSING_TYPE": ("OWN_RENT", "AGEP"),
    "RAC1P": ("OWN_RENT", "AGEP", "MSP"),
    "DVET": ("AGEP", "SEX"),
    "DEYE": ("AGEP", "RAC1P"),
}
_CE: Final = {
    "Age": Column(role="public", range=(15.0, 90.0)),
    "Urban": Column(role="public", levels=("1", "2")),
    "Marital": _nominal(range(1, 6)),
    "Educ": _nominal((0, *range(10, 17))),
    "Tenure": _nominal(range(1, 7)),
    "Income": Column(
        model="normal", outcome_scale="signed-log", range=(-1e6, 5e6), scale=(5e4, 1e5), decimals=0
    ),
    "Expenditure": Column(model="normal", outcome_scale="signed-log", decimals=0),
}

DESIGNS: Final[dict[str, Design]] = {
    "ma2019": Design(_ACS, _ACS_PATTERNS, tuple(_ACS), _five_years, {}),
    "ce_2017": Design(
        _CE,
        {"Marital": ("Urban",), "Educ": ("Marital",), "Tenure": ("Marital", "Educ")},
        tuple(_CE),
        lambda frame: frame,
        {
            "Age": tuple(range(20, 90, 10)),
            "Income": (0, 1, 2e4, 4e4, 6e4, 1e5, 1.5e5, 2.5e5),
            "Expenditure": (2e3, 4e3, 6e3, 8e3, 1.2e4, 2e4),
        },
    ),
}
"""The files that the study knows, by the name of their design."""


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    strict: bool = False,
    exact: bool = False,
    copies: int = 1,
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> TableStudy:
    """Make the table of a file in several ways, and score each.

    Parameters
    ----------
    file : path
        A file with the columns of one of `DESIGNS`.
    synthesize : callable
        `vws.synthesize`: the study stands below the runs that it makes.
    seed : int
        Seed of every run.
    strict : bool
        Run the deviance clamp as well; it takes the longest.
    exact : bool
        Make categories conditional tables of few predictors, whose draws are exact, in the place of
        regressions on all earlier columns.
    copies : int
        How many times each record stands in the table: a larger table of the same kind.
    settings : SamplerSettings, optional
        Draws of each fit; four chains of 250 if not given.
    listener : Listener
        Gets a line for each run.

    Returns
    -------
    TableStudy

    Raises
    ------
    InputError
        For a file that has the columns of no design, and for `strict` and `exact` together.
    """
    if strict and exact:
        raise InputError("No clamp takes conditional tables. Leave strict or exact out.")
    whole = read_table(Path(file)).frame
    design = _design(whole.columns)
    frame = pl.concat([design.prepare(whole.select(design.source))] * copies)
    sampler = settings or SamplerSettings(draws=250, warmup=250)
    schema = design.schema(exact=exact)
    study = _Study(frame, design, schema, sampler, seed, synthesize, listener, [], [])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # The table has each run's R-hat.
        study.add("unweighted", "unweighted")
        study.add("LW", "lw")
        study.add("LW, re-weighted", "lw", reweight=True)
        study.add("SW at LW's epsilon", "sw")
        study.add("LW by column", "lw", by_column=True)
        for epsilon in _STRICT if strict else ():
            mechanism = make_mechanism("censored", epsilon=epsilon, weights="none")
            study.add(f"deviance clamp {epsilon:g}", mechanism, accept_unconverged=True)
    scale = study.scored([])
    return TableStudy(len(frame), study.rows, scale[1], scale[2], study.problems)


def _design(columns: list[str]) -> Design:
    for design in DESIGNS.values():
        if set(design.source) <= set(columns):
            return design
    raise InputError(
        f"The file has the columns of no design that this study knows: {', '.join(DESIGNS)}."
    )


@dataclass(frozen=True, slots=True)
class _Study:
    """A study under way: its table, and the rows so far."""

    frame: pl.DataFrame
    design: Design
    schema: Schema
    sampler: SamplerSettings
    seed: int
    synthesize: Callable[..., Any]
    listener: Listener
    rows: list[Row]
    problems: list[str]

    def scored(self, datasets: list[Any]) -> tuple[float, float, float]:
        """The score of datasets, of independent columns, and of a bootstrap."""
        made = k_marginal(self.frame, datasets or [self.frame], bins=self.design.bins)
        return made.score, made.independent, made.bootstrap

    def add(self, name: str, mechanism: str | Mechanism, **settings: Any) -> None:
        """Add the row of one run on the whole table."""
        began = time.perf_counter()
        sampler = asdict(self.sampler)
        release = self.synthesize(
            self.frame,
            schema=self.schema,
            mechanism=mechanism,
            datasets=DATASETS,
            seed=self.seed,
            keep_order=True,
            **{name: sampler[name] for name in ("draws", "warmup", "chains")},
            **settings,
        )
        seconds = time.perf_counter() - began
        exact, final = release.summary["privacy"], release.summary["fits"][-1]
        self.listener.line(f"  {name}: {seconds:.0f} s")
        self.rows.append(
            Row(
                name,
                release.privacy["guarantee"],
                exact["epsilon_per_dataset"],
                exact["epsilon_of_separate_runs"],
                self.scored(release.datasets)[0],
                final["mean_weight"],
                final["diagnostics"]["rhat_max"],
                seconds,
            )
        )


def table(result: TableStudy) -> Any:
    """The study as a table for a terminal, the scores that bound the scale last."""
    made = terminal_table(
        f"{result.n} records, {DATASETS} datasets of each run",
        left=["run", "guarantee"],
        right=["epsilon", "separate runs", "k-marginal", "mean weight", "R-hat", "seconds"],
    )
    for row in result.rows:
        made.add_row(
            row.name,
            row.guarantee,
            f"{row.epsilon:.1f}",
            f"{row.separate:.1f}",
            f"{row.score:.0f}",
            f"{row.mean_weight:.2f}",
            "exact" if row.rhat is None else f"{row.rhat:.3f}",
            f"{row.seconds:.0f}",
        )
    made.add_section()
    for name, score in (
        ("independent columns", result.independent),
        ("bootstrap", result.bootstrap),
    ):
        made.add_row(name, "", "", "", f"{score:.0f}", "", "", "")
    return made


def write(result: TableStudy, folder: Path) -> list[str]:
    """Write table.csv into `folder`; return the files' names."""
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
