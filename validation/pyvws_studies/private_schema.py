"""What a schema that is paid for costs in k-marginal, beside one made by hand, at one budget.

The files are ma2019.csv by its ten columns and ce_2017.csv, both of `pyvws_studies.whole_tables`,
the persons of households.txt, and the households of `pyvws example`. Schema and run share the
budget. By a steward's word the schema has all but levels and ranges, without it nothing.
"""

from __future__ import annotations

import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import whole_number
from pyvws.errors import InputError, MisfitWarning
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.privacy.budget import Budget
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.synthesis.private_answers import OTHER
from pyvws.synthesis.private_schema import buy_schema, cost_of_schema
from pyvws.tables.files.example import example_schema
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.whole_tables import DATASETS, DESIGNS

BUDGET: Final = (1.0, 1e-6)
"""Epsilon and delta of schema and run together."""
SPLITS: Final = (0.1, 0.2, 0.3)
"""Epsilons of the schema. The run has what then is left of the budget."""

_OF_SCHEMA: Final = 0.2  # The share of delta.

_PRIVATE: Final[dict[str, Any]] = {"levels": "private", "range": "private"}
_MONEY: Final[dict[str, Any]] = {
    "outcome_scale": "signed-log",
    "settings": {"outcome_unit": 1000.0},
}
_AGES: Final = ("age", "headage")
_PERSONS: Final[dict[str, tuple[str, ...]]] = {
    name: tuple(map(str, range(1, 1 + levels)))
    for head in ("", "head")
    for name, levels in ((f"{head}sex", 2), (f"{head}race", 9), (f"{head}hisp", 5))
} | {"relate": tuple(map(str, range(2, 14))), "ownership": ("1", "2")}


@dataclass(frozen=True, slots=True)
class _File:
    """A schema by hand, what a steward knows without levels and ranges, and the score's bins.

    `decades` are dates that are scored by their decade.
    """

    hand: Schema
    known: Schema
    bins: Mapping[str, Sequence[float]]
    decades: tuple[str, ...] = ()

    def scored(self, frame: pl.DataFrame) -> pl.DataFrame:
        """The columns that are scored, as text without NA; one that lost all levels has nothing."""
        names = [n for n in self.hand.columns if self.hand.columns[n].role == "synthesize"]
        text = frame.with_columns(pl.all().cast(pl.String))
        gone = [n for n in names if n not in text.columns or (text[n] == OTHER).all()]
        text = text.with_columns(pl.lit("").alias(n) for n in gone).select(names)
        text = text.with_columns(pl.all().fill_null("").replace("NA", ""))
        return text.with_columns(pl.col(self.decades).str.slice(0, 3))


def _number(**given: Any) -> Column:
    return Column(**{"model": "normal", "range": "private", "decimals": 0, **given})


def _files() -> Iterator[_File]:
    ten, seven = DESIGNS["ma2019"], DESIGNS["ce_2017"]
    age: dict[str, Any] = {"decimals": 0, "cuts": tuple(range(5, 95, 5))}
    known: dict[str, Column] = {
        name: Column(**_PRIVATE, missing="N" if "N" in (own.levels or ()) else None)
        for name, own in ten.columns.items()
    }
    hand = {**ten.columns, "AGEP": Column(model="normal", range=(0, 99), **age)}
    yield _File(Schema(hand), Schema({**known, "AGEP": _number(**age)}), {"AGEP": age["cuts"]})
    spent = {"Income": _number(mass=(0,), **_MONEY), "Expenditure": _number(decimals=2, **_MONEY)}
    known = {name: Column(**_PRIVATE) for name in seven.columns}
    known |= {"Age": _number(), **spent}
    ranges: dict[str, Any] = {"Age": (15, 90), "Income": (-1e6, 5e6), "Expenditure": (-1e5, 1e6)}
    hand = {**seven.columns, "Urban": Column(model="nominal", levels=("1", "2"))}
    hand |= {name: replace(known[name], range=own, private=()) for name, own in ranges.items()}
    yield _File(Schema(hand), Schema(known), seven.bins)
    numbers = {n: Column(model="normal", range=(0, 99), missing="NA", **age) for n in _AGES}
    hand = {n: Column(model="nominal", levels=own, missing="NA") for n, own in _PERSONS.items()}
    known = {name: Column(**_PRIVATE, missing="NA") for name in _PERSONS}
    known |= {name: _number(missing="NA", **age) for name in _AGES}
    yield _File(Schema(hand | numbers), Schema(known), dict.fromkeys(_AGES, tuple(range(5, 95, 5))))
    by_hand = Schema.parse(example_schema("households"))
    assert by_hand is not None
    of_any: dict[str, Any] = {"outcome_scale": "log", "missing": True}
    own = by_hand.columns
    known = {
        "household": own["household"],
        "region": Column(levels="private"),
        "persons": Column(**_PRIVATE),
        "tenure": Column(levels="private"),
        "income": _number(mass=(0,), cuts=own["income"].cuts, **of_any),
        "rent": _number(
            rule="missing only where tenure == 'owner'", cuts=own["rent"].cuts, **of_any
        ),
        "moved_in": Column(model="normal", days_since="2000-01-01", range="private"),
    }
    bins = {"income": (1, *(own["income"].cuts or ())), "rent": own["rent"].cuts or ()}
    yield _File(by_hand, Schema(known), bins, ("moved_in",))


@dataclass(frozen=True, slots=True, kw_only=True)
class SchemaRow:
    """The mean k-marginal score over runs, from 0 to 1000; larger = more useful.

    `share` is the epsilon of the schema alone, and `epsilon` that of it and the run together;
    larger = less private. `lost` is what the score is below that of the hand-made schema at the
    whole budget. `spread` is the standard deviation between runs.
    """

    schema: str
    share: float
    epsilon: float
    score: float
    spread: float
    lost: float


@dataclass(frozen=True, slots=True)
class SchemaStudy:
    """The rows of the study, of so many records and runs."""

    n: int
    runs: int
    rows: list[SchemaRow]
    problems: tuple[str, ...] = ()


def run(
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    listener: Listener = SILENT,
) -> SchemaStudy:
    """Buy the schema of a file so often at each of `SPLITS`, and make datasets with what is left.

    `synthesize` is `vws.synthesize`; `seed` is the public seed of the first run. Raises InputError
    for a file of other columns.
    """
    whole_number(runs, "runs", least=1)
    whole = read_table(file).as_written
    found = [own for own in _files() if {*own.hand.columns} <= {*whole.columns}]
    if not found:
        raise InputError.by(
            "file-of-no-design", known="ma2019, ce_2017, households.txt, households"
        )
    own, delta = found[0], BUDGET[1]
    frame, rows = whole.select(list(own.hand.columns)), list[SchemaRow]()
    of_records = own.scored(frame)

    def add(
        name: str, share: float, schemas: Sequence[Schema], budget: tuple[float, float]
    ) -> None:
        asked = {"epsilon": budget[0], "delta": budget[1], "datasets": DATASETS}
        scores, costs = [], []
        for number, schema in enumerate(schemas):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", MisfitWarning)  # The table has the score.
                given = {"schema": schema, "mechanism": "noisy-counts", "seed": seed + number}
                release = synthesize(frame, **given, **asked)
            made = [own.scored(dataset) for dataset in release.datasets]
            scores.append(k_marginal(of_records, made, bins=own.bins, replicates=1).score)
            costs.append(release.privacy["epsilon_total"])
        mean, spread = float(np.mean(scores)), float(np.std(scores))
        lost = rows[0].score - mean if rows else 0.0
        of_score = {"score": mean, "spread": spread, "lost": lost}
        rows.append(SchemaRow(schema=name, share=share, epsilon=max(costs), **of_score))
        listener.line(f"  {name}, {share:g}: {mean:.1f}")

    add("by hand", 0.0, [own.hand] * runs, BUDGET)
    for share in SPLITS:
        given: dict[str, Any] = {"epsilon": share, "delta": delta * _OF_SCHEMA}
        bought = {
            name: [buy_schema(frame, known=known, **given) for _ in range(runs)]
            for name, known in (("a steward's word", own.known), ("no word", None))
        }
        left = min(_left(schemas[0]) for schemas in bought.values()), delta * (1.0 - _OF_SCHEMA)
        add("by hand, what is left", share, [own.hand] * runs, left)
        for name, schemas in bought.items():
            add(name, share, schemas, left)
    return SchemaStudy(len(frame), runs, rows)


def _left(schema: Schema) -> float:
    """The largest epsilon of a run, in thousandths, within the budget with a schema's own."""

    def together(thousandths: int) -> float:
        delta = BUDGET[1] * (1.0 - _OF_SCHEMA)
        run = Budget(epsilon=thousandths / 1000, delta=delta, neighbours="loo", adaptive=True)
        return float(cost_of_schema(schema.paid, run)["together"])

    return bisect_right(range(1, 1 + round(1000 * BUDGET[0])), BUDGET[0], key=together) / 1000


_SHOWN: Final = {
    **{"schema": ("schema", ""), "its epsilon": ("share", "g"), "together": ("epsilon", ".3f")},
    **{"k-marginal": ("score", ".1f")},
    **{"between runs": ("spread", ".1f"), "lost": ("lost", ".1f")},
}


def table(result: SchemaStudy) -> Any:
    """The study as a table for a terminal."""
    title = f"{result.n} records, epsilon {BUDGET[0]:g}, delta {BUDGET[1]:g}, {result.runs} runs"
    return table_of(title, [asdict(row) for row in result.rows], _SHOWN, group="share")


def write(result: SchemaStudy, folder: Path) -> list[str]:
    rows = pl.DataFrame([asdict(row) for row in result.rows])
    rows.with_columns(pl.col("score", "spread", "lost").round(1)).write_csv(folder / "table.csv")
    return ["table.csv"]
