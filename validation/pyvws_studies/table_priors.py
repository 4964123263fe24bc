"""The prior of conditional tables: what a lone record loses, and what a table is worth, by prior.

Each column of a file is a conditional table given those before it that tell most of it. Numbers of
many values become groups of equal size. The levels come from the file, so it has to be a public
one. The prior counts a number of records for each level of a pattern, the same in all columns, or
one record for the whole pattern (1/L). An audit leaves out the records of the largest bounds, those
of lone levels and some at random, and computes everything anew.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import polars as pl
from sklearn.metrics import mutual_info_score

from pyvws.auditing.audit import audit
from pyvws.evaluation.table_utility import table_utility
from pyvws.release.synthesizer import synthesize
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of

PRIORS: Final = (None, 0.1, 0.3, 0.5, 1.0)
"""Records that the prior counts for each level of a pattern; None counts one for a pattern."""

MECHANISMS: Final[dict[str, dict[str, Any]]] = {
    "unweighted": {"mechanism": "unweighted"},
    "inverse, t = 1": {"mechanism": "inverse", "t": 1.0},
    "inverse, t = 2": {"mechanism": "inverse", "t": 2.0},
    "lw": {"mechanism": "lw"},
}
_MOST_LEVELS: Final = 30
_GROUPS: Final = 10


@dataclass(frozen=True, slots=True)
class PriorRow:
    """One mechanism under one prior, in nats a dataset; larger = less private, but for the score.

    `loss` is the largest of the audit's records, which 99 % of draws stay below. `score` is the
    mean k-marginal score, from 0 to 1000; larger = more useful.
    """

    mechanism: str
    prior: str
    stated: float
    loss: float
    score: float


@dataclass(frozen=True, slots=True)
class PriorStudy:
    """The rows of the study, and the score of independent columns."""

    n: int
    rows: list[PriorRow]
    independent: float
    problems: list[str]


def tables_of(file: Path, columns: Sequence[str], predictors: int) -> tuple[pl.DataFrame, Any]:
    """The file's categories, and the most telling `predictors` of each among those before it."""
    frame = read_table(Path(file)).frame
    frame = frame.select(list(columns) or frame.columns).with_columns(
        frame[name].rank("ordinal") * _GROUPS // (len(frame) + 1)
        for name in columns or frame.columns
        if frame[name].dtype.is_numeric() and frame[name].n_unique() > _MOST_LEVELS
    )
    frame = frame.select(pl.all().cast(pl.String).fill_null("NA"))
    telling: dict[str, tuple[str, ...]] = {}
    for name in frame.columns:
        tells = {other: mutual_info_score(frame[name], frame[other]) for other in telling}
        telling[name] = tuple(sorted(tells, key=lambda other: -tells[other])[:predictors])
    return frame, telling


def run(
    file: Path,
    *,
    seed: int,
    columns: Sequence[str] = (),
    predictors: int = 1,
    records: int = 4,
    datasets: int = 3,
    listener: Listener = SILENT,
) -> PriorStudy:
    """Each of `MECHANISMS` under each of `PRIORS` on all columns of a public file, or those named.

    Each column has at most `predictors` others as predictors. `records` are left out in turn.
    """
    frame, given = tables_of(file, columns, predictors)
    levels = {name: tuple(sorted(frame[name].unique())) for name in frame.columns}
    rows, independent = [], 0.0
    for prior in PRIORS:
        schema = Schema(
            {
                name: Column(
                    model="table",
                    levels=own,
                    predictors=given[name],
                    settings={"concentration": 1.0 if prior is None else prior * len(own)},
                )
                for name, own in levels.items()
            }
        )
        for mechanism, settings in MECHANISMS.items():
            asked = {"schema": schema, "seed": seed, **settings}
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made = synthesize(frame, datasets=datasets, **asked)
                found = audit(frame, records=records, **asked)
                worth = table_utility(frame, made.datasets, schema=schema, s_pmse=False)
            independent = worth.k_marginal_independent
            name = "1/L" if prior is None else f"{prior:g}"
            rows.append(PriorRow(mechanism, name, found.stated, found.largest, worth.k_marginal))
            listener.line(f"  {mechanism}, {name} a level: {found.largest:.3g} nats")
    rows.sort(key=lambda row: [*MECHANISMS].index(row.mechanism))
    return PriorStudy(len(frame), rows, independent, [])


_SHOWN: Final = {
    **{"mechanism": ("mechanism", ""), "prior of a level": ("prior", "")},
    **{"stated": ("stated", ".1f"), "loss, 99 %": ("loss", ".2f"), "k-marginal": ("score", ".0f")},
}


def table(result: PriorStudy) -> Any:
    """The study as a table for a terminal, a line between mechanisms."""
    title = f"{result.n} records; k-marginal of independent columns {result.independent:.0f}"
    rows = [asdict(row) for row in result.rows]
    return table_of(title, rows, _SHOWN, left=2, group="mechanism")


def write(result: PriorStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
