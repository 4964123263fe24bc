"""Whole tables under one epsilon: utility of pairs of columns against what a table costs.

Two public files have a design here, which names the columns, their order and their levels from the
files' own documentation: NIST's excerpt of the American Community Survey 2019 for Massachusetts
(ma2019.csv) [nist2023], and the Consumer Expenditure Survey of 2017 (ce_2017.csv) [hornby2021]. The
predictors of conditional tables, and all priors and the weights under a clamp, were chosen by
scores on the first, public file.
Each row of the study is a whole run in a process of its own. The k-marginal score stands beside
the score of independent columns and of a bootstrap, since its scale is short.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import (
    ConvergenceError,
    ConvergenceWarning,
    InputError,
    MisfitWarning,
    SearchError,
)
from pyvws.evaluation.k_marginal import KMarginal, k_marginal
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.registry import make_mechanism
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.own_process import in_own_process, peak_gigabytes

DATASETS: Final = 5
_NO_LIMIT: Final = 1e9  # Seconds of a run: a study takes what it takes.
_STRICT: Final = ((16.0, 1.0), (16.0, 0.45), (12.0, 0.34))
"""The epsilons of a table under the clamp, and the weight of all records there."""

_LONGER: Final = {"draws": 10, "warmup": 2}  # Times those of other rows: `dp` needs R-hat at 1.01.
_CONCENTRATION: Final = 2.0
_COEFFICIENT_SD: Final = 2.0


@dataclass(frozen=True, slots=True)
class StudyDesign:
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
        settings = {"concentration": _CONCENTRATION}
        tables = {
            name: replace(self.columns[name], model="table", predictors=own, settings=settings)
            for name, own in self.patterns.items()
            if exact
        }
        return Schema({**self.columns, **tables})


@dataclass(frozen=True, slots=True, kw_only=True)
class DesignRow:
    """One way to make the table.

    `epsilon` is the cost of one dataset, and `separate` that of its columns in runs of their own
    under the same weights, which by column are separate LW runs; larger = less private. `score` is
    the mean k-marginal score, from 0 to 1000; larger = more useful. `rhat` is the worst of the last
    fits. Processor seconds and `gigabytes` are of the row's process.
    """

    name: str
    guarantee: str
    epsilon: float | None
    separate: float | None = None
    score: float
    mean_weight: float | None = None
    rhat: float | None = None
    processor_seconds: float
    gigabytes: float


@dataclass(frozen=True, slots=True)
class TableStudy:
    """The rows of the study, the scores that bound the scale, and what was left out."""

    n: int
    rows: list[DesignRow]
    independent: float
    bootstrap: float
    problems: list[str]


def _nominal(levels: Iterable[object]) -> Column:
    settings = {"coefficient_sd": _COEFFICIENT_SD}
    return Column(model="nominal", levels=tuple(map(str, levels)), settings=settings)


def _five_years(frame: pl.DataFrame) -> pl.DataFrame:
    age = pl.col("AGEP").cast(pl.Int64) // 5 * 5
    return frame.with_columns(age.cast(pl.String).alias("AGEP")).with_columns(
        pl.all().cast(pl.String)
    )


_ACS: Final = {
    "AGEP": _nominal(range(0, 100, 5)),
    "MSP": _nominal((1, 2, 3, 4, 5, 6, "N")),
    "SEX": _nominal((1, 2)),
    "EDU": _nominal((*range(1, 13), "N")),
    "PINCP_DECILE": _nominal((*range(10), "N")),
    "OWN_RENT": _nominal((0, 1, 2)),
    "HOUSING_TYPE": _nominal((1, 2, 3)),
    "RAC1P": _nominal(range(1, 10)),
    "DVET": _nominal((*range(1, 7), "N")),
    "DEYE": _nominal((1, 2)),
}
_ACS_PATTERNS: Final[dict[str, tuple[str, ...]]] = {
    "AGEP": (),
    "MSP": ("AGEP",),
    "SEX": ("MSP",),
    "EDU": ("AGEP",),
    "PINCP_DECILE": ("AGEP", "SEX"),
    "OWN_RENT": ("AGEP", "MSP"),
    "HOUSING_TYPE": ("OWN_RENT",),
    "RAC1P": ("OWN_RENT",),
    "DVET": ("AGEP", "SEX"),
    "DEYE": ("AGEP",),
}
_CE: Final = {
    "Age": Column(role="public", range=(15.0, 90.0)),
    "Urban": Column(role="public", levels=("1", "2")),
    "Marital": _nominal(range(1, 6)),
    "Educ": _nominal((0, *range(10, 17))),
    "Tenure": _nominal(range(1, 7)),
    "Income": Column(
        model="normal",
        outcome_scale="signed-log",
        settings={"outcome_unit": 1000.0},
        range=(-1e6, 5e6),
        scale=(5e4, 1e5),
        mass=(0,),
        decimals=0,
    ),
    "Expenditure": Column(
        model="normal", outcome_scale="signed-log", settings={"outcome_unit": 1000.0}, decimals=0
    ),
}

DESIGNS: Final[dict[str, StudyDesign]] = {
    "ma2019": StudyDesign(_ACS, _ACS_PATTERNS, tuple(_ACS), _five_years, {}),
    "ce_2017": StudyDesign(
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
    sampling: str = "independent",
    settings: SamplerSettings | None = None,
    listener: Listener = SILENT,
) -> TableStudy:
    """Make the table of a file with the columns of one of `DESIGNS` in several ways; score each.

    `synthesize` is `vws.synthesize`: the study stands below the runs that it makes. `strict` also
    runs the deviance clamp, all records at one public weight, which takes the longest. `exact`
    makes categories conditional tables of few predictors, whose draws are exact without a clamp.
    `copies` is how many times each record stands in the table. `sampling` is how synthetic records
    are drawn. Each fit has four chains of 250 draws if `settings` are not given. Raises InputError
    for a file of no design.
    """
    whole = read_table(Path(file)).frame
    design = _design(whole.columns)
    schema = design.schema(exact=exact)
    frame = pl.concat([design.prepare(whole.select(design.source))] * copies)
    sampler = settings or SamplerSettings(draws=250, warmup=250)
    how = {"draws": sampler.draws, "warmup": sampler.warmup, "chains": sampler.chains}
    given = {"schema": schema, "seed": seed, "sampling": sampling, **how}
    study = _Study(frame, design, given, synthesize, listener, [], [])
    study.add("unweighted", "unweighted")
    lw = study.add("LW", "lw")
    study.add_unless_failed("LW, re-weighted", "lw", reweight=True)
    study.add("SW", "sw")
    study.add("LW by column", "lw", by_column=True)
    if exact:  # A search takes many fits, and these cost little.
        at_most = {"epsilon": lw.epsilon}
        study.add_unless_failed(
            "LW, re-weighted, at most LW's epsilon", "lw", reweight=True, **at_most
        )
        study.add_unless_failed("SW, at most LW's epsilon", "sw", **at_most)
    for epsilon, c in _STRICT if strict else ():
        longer = {name: times * how[name] for name, times in _LONGER.items()}
        name = f"deviance clamp {epsilon:g}, weights {c:g}"
        study.add_unless_failed(name, _clamp(epsilon, c), **longer)
    scale = study.scored([])
    return TableStudy(len(frame), study.rows, scale.independent, scale.bootstrap, study.left_out)


def _clamp(epsilon: float, c: float) -> Mechanism:
    """The deviance clamp, all records at the weight c."""
    weights = {"weights": "constant", "c": c} if c < 1.0 else {"weights": "none"}
    return make_mechanism("censored", epsilon=epsilon, **weights)


def _design(columns: list[str]) -> StudyDesign:
    for design in DESIGNS.values():
        if set(design.source) <= set(columns):
            return design
    raise InputError.by("file-of-no-design", known=", ".join(DESIGNS))


@dataclass(frozen=True, slots=True)
class _Study:
    """A study under way: its table, what all runs are given, and the rows so far."""

    frame: pl.DataFrame
    design: StudyDesign
    given: Mapping[str, Any]
    synthesize: Callable[..., Any]
    listener: Listener
    rows: list[DesignRow]
    left_out: list[str]

    def scored(self, datasets: list[Any]) -> KMarginal:
        """The score of datasets, beside those of independent columns and of a bootstrap."""
        table = self.frame.select(list(self.design.columns))
        return k_marginal(table, datasets or [table], bins=self.design.bins)

    def add(self, name: str, mechanism: str | Mechanism, **settings: Any) -> DesignRow:
        """The row of one run on the whole table, added to the rows."""
        given = {**self.given, "mechanism": mechanism, **settings}
        datasets, measured = in_own_process(_one_run, self.synthesize, self.frame, given)
        row = DesignRow(name=name, score=self.scored(datasets).score, **measured)
        self.listener.line(f"  {row.name}: {row.processor_seconds:.0f} s of processors")
        self.rows.append(row)
        return row

    def add_unless_failed(self, name: str, mechanism: str | Mechanism, **settings: Any) -> None:
        """As `add`; where a search or its chains fail, a line says so in the row's place."""
        try:
            self.add(name, mechanism, **settings)
        except (ConvergenceError, SearchError) as error:
            self.left_out.append(f"Left out: {name}. {error}")


def _one_run(
    synthesize: Callable[..., Any], frame: pl.DataFrame, given: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """The datasets of a run, and the figures of its row but for the score."""
    with warnings.catch_warnings():
        for kind in (ConvergenceWarning, MisfitWarning):  # The table has R-hat and the score.
            warnings.simplefilter("ignore", kind)
        given = {"datasets": DATASETS, "keep_order": True, "most_seconds": _NO_LIMIT, **given}
        release = synthesize(frame, **given)
    exact, final = release.summary["privacy"], release.summary["fits"][-1]
    return release.datasets, {
        "guarantee": release.privacy["guarantee"],
        "epsilon": exact["epsilon_per_dataset"],
        "separate": exact["epsilon_of_separate_runs"],
        "mean_weight": final["mean_weight"],
        "rhat": final["diagnostics"]["rhat_max"],
        "processor_seconds": time.process_time(),
        "gigabytes": peak_gigabytes(),
    }


_SHOWN: Final = {
    **{"run": ("name", ""), "guarantee": ("guarantee", ""), "epsilon": ("epsilon", ".1f")},
    **{"separate runs": ("separate", ".1f"), "k-marginal": ("score", ".0f")},
    **{"mean weight": ("mean_weight", ".2f"), "R-hat": ("rhat", ".3f")},
    **{"processor s": ("processor_seconds", ".0f"), "peak GB": ("gigabytes", ".2f")},
}


def table(result: TableStudy) -> Any:
    """The study as a table for a terminal, the scores that bound the scale last."""
    rows: list[dict[str, Any]] = [asdict(row) for row in result.rows]
    for row in rows:
        if row["rhat"] is None and row["mean_weight"] is not None:
            row["rhat"] = "exact"
    ends = {"independent columns": result.independent, "bootstrap": result.bootstrap}
    rows += [{"name": name, "score": score, "part": "ends"} for name, score in ends.items()]
    title = f"{result.n} records, {DATASETS} datasets of each run"
    return table_of(title, rows, _SHOWN, left=2, group="part")


def write(result: TableStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
