"""Noisy counts of whole units: households, whose members are slots, and a panel, whose waves are.

The households are those of the R package NestedCategBayesImpute, whose records are the persons
beside a head. The panel of four waves is made up: a state that follows the last wave's, an income
that follows the person and the state, and waves that a person misses. Each figure stands beside
that of the table. The score of pairs within households is 0 for independent columns and 1 for a
bootstrap: of pairs of a column of the head with one of a member, and of two members. Run it by
`python -m pyvws_studies.whole_units households.txt`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of

EPSILON: Final = 4.0
DELTA: Final = 1e-5
WAVES: Final = ("1", "2", "3", "4")

_AGES: Final = (5, 10, 16, 18, 21, 25, *range(30, 85, 5))
_HEADS: Final = (20, 25, *range(30, 85, 5))
_HEAD: Final = ("headage", "headsex", "headrace", "headhisp", "ownership")
_MEMBER: Final = ("relate", "sex", "age", "race", "hisp")
_SPOUSE, _CHILD = 2, 3
_STATES: Final = ("work", "search", "out")
_MOVES: Final = np.array([[0.92, 0.05, 0.03], [0.35, 0.50, 0.15], [0.06, 0.04, 0.90]])
_INCOMES: Final = pl.DataFrame(
    {"person": pl.Int64, "wave": pl.String, "sex": pl.String, "state": pl.String, "pay": pl.Int64}
).schema


@dataclass(frozen=True, slots=True)
class UnitsRow:
    """A figure of a table and of a dataset.

    `off` is their difference, of a `relative` figure as a share of the table's.
    """

    of: str
    figure: str
    table: float
    dataset: float
    relative: bool

    @property
    def off(self) -> float:
        difference = self.dataset - self.table
        return difference / self.table if self.relative and self.table else difference


def _category(levels: Iterable[object], *, missing: bool = False) -> Column:
    own = tuple(map(str, levels))
    return Column(model="table", levels=own, predictors=(), missing=missing or None)


def _number(low: float, high: float, cuts: Iterable[float], *, missing: bool = False) -> Column:
    ends: Any = {"range": (low, high), "cuts": tuple(cuts), "decimals": 0, "predictors": ()}
    return Column(model="normal", **ends, missing=missing or None)


def households_schema() -> Schema:
    """What is public of the households: codes, and the rules by which some are impossible."""
    before = {"0": "2", "1": "3", "2": "4"}
    columns = {
        "Hhindex": Column(role="id"),
        "headage": _number(16, 97, _HEADS),
        "headsex": _category((1, 2), missing=True),
        "headrace": _category(range(1, 10), missing=True),
        "headhisp": _category(range(1, 6), missing=True),
        "ownership": _category((1, 2), missing=True),
        "pernum": Column(levels=("2", "3", "4"), lookup={"before": before}),
        "relate": _category(range(2, 14), missing=True),
        "sex": _category((1, 2), missing=True),
        "age": _number(0, 97, _AGES, missing=True),
        "race": _category(range(1, 10), missing=True),
        "hisp": _category(range(1, 6), missing=True),
    }
    spouses = "count where relate == 2"
    members: Any = {
        "sizes": (1, 3),
        "of_unit": _HEAD,
        "summaries": {"persons": "size", "before": "count", "spouses": spouses},
        "impossible": (
            "relate == 2 and (spouses > 0 or age < 16 or sex == headsex)",
            "relate == 2 and (headage - age > 49 or age - headage > 49)",
            "relate == 3 and headage - age < 7",
        ),
    }
    return Schema(columns, unit="Hhindex", members=members)


def panel_schema() -> Schema:
    """What is public of the panel: a wave is a slot."""
    columns = {
        "person": Column(role="id"),
        "sex": _category("fm"),
        "wave": _category(WAVES),
        "state": _category(_STATES),
        "pay": _number(0, 20_000, (250, 500, 750, 1000, 1500, 2000, 2500, 3000, 4000, 6000)),
    }
    members: Any = {
        "sizes": (1, 4),
        "of_unit": ("sex",),
        "summaries": {"waves": "size"},
        "slot": "wave",
    }
    return Schema(columns, unit="person", members=members)


def panel(persons: int, seed: int) -> pl.DataFrame:
    """A made-up panel, of which each wave after the first misses some persons."""
    rng = np.random.default_rng(seed)
    sex, skill = rng.choice(["f", "m"], persons), rng.normal(0.0, 0.4, persons)
    state = rng.choice(3, persons, p=(0.55, 0.1, 0.35))
    waves = []
    for wave, there in zip(WAVES, (1.0, 0.93, 0.9, 0.88), strict=True):
        log = np.choose(state, (7.5, 6.6, 6.2)) + skill + rng.normal(0.0, 0.2, persons)
        pay = np.rint(np.minimum(np.exp(log), 20_000.0)).astype(np.int64)
        own = (np.arange(persons), np.full(persons, wave), sex, np.array(_STATES)[state], pay)
        rows = pl.DataFrame(dict(zip(_INCOMES, own, strict=True)))
        waves.append(rows.filter(pl.Series(rng.random(persons) < there)))
        state = (rng.random(persons)[:, None] > np.cumsum(_MOVES, axis=1)[state]).sum(axis=1)
    return pl.concat(waves).sort("person", "wave")


def run(
    file: Path, *, synthesize: Callable[..., Any], seed: int, persons: int = 10_000
) -> list[UnitsRow]:
    """The figures of the households of a file, and of a panel of so many persons.

    `synthesize` is `vws.synthesize`; `seed` is the public seed.
    """
    homes = pl.read_csv(file, separator=" ", null_values="NA", infer_schema_length=None)
    given: Any = {"datasets": 1, "seed": seed}
    counts = NoisyCounts(
        epsilon=EPSILON, delta=DELTA, tables=("age:relate:headage",), measure="pairs"
    )
    made = synthesize(homes, schema=households_schema(), mechanism=counts, **given).datasets[0]
    rows = list(_of_households(homes, made, np.random.default_rng(seed)))
    waves = panel(persons, seed)
    counts = NoisyCounts(epsilon=EPSILON, delta=DELTA, measure="pairs")
    made = synthesize(waves, schema=panel_schema(), mechanism=counts, **given).datasets[0]
    return [*rows, *_of_panel(waves, made)]


def _of_households(
    homes: pl.DataFrame, made: pl.DataFrame, rng: np.random.Generator
) -> Iterator[UnitsRow]:
    for name, own in _household_figures(homes).items():
        yield UnitsRow("households", name, own, _household_figures(made)[name], relative=True)
    columns = [*_HEAD, *_MEMBER]
    coded = [_banded(x).select("Hhindex", pl.col(columns).fill_null(-1)) for x in (homes, made)]
    again = _bootstrap(coded[0], rng)
    apart = coded[0].with_columns(
        coded[0][name].gather(rng.permutation(len(coded[0]))) for name in _MEMBER
    )
    heads = coded[0].group_by("Hhindex", maintain_order=True).agg(pl.col(_HEAD).first())
    mixed = heads.with_columns(heads[x].gather(rng.permutation(len(heads))) for x in _HEAD)
    apart = apart.drop(_HEAD).join(mixed, on="Hhindex", maintain_order="left")
    truth = _pairs(coded[0])
    score, low, high = (_alike(truth, _pairs(x)) for x in (coded[1], apart, again))
    yield UnitsRow("households", "pairs", 1.0, (score - low) / (high - low), relative=False)


def _household_figures(homes: pl.DataFrame) -> dict[str, float]:
    whole = [pl.col(x).cast(pl.Float64) for x in ("relate", "age", "headage")]
    table = homes.with_columns(whole)
    of_home = table.group_by("Hhindex").agg(
        pl.len().alias("persons"), (pl.col("relate") == _CHILD).sum().alias("children")
    )
    spouses = table.filter(pl.col("relate") == _SPOUSE).drop_nulls(["age", "headage"])
    sizes = {f"share of size {k}": (of_home["persons"] == k).mean() for k in (1, 2, 3)}
    found: Mapping[str, Any] = {
        **sizes,
        "persons": of_home["persons"].mean(),
        "children": of_home["children"].mean(),
        "age of spouses": spouses["age"].mean(),
        "age of their heads": spouses["headage"].mean(),
    }
    return {name: float(own) for name, own in found.items()}


def _banded(homes: pl.DataFrame) -> pl.DataFrame:
    whole = homes.with_columns(pl.col(*_HEAD, *_MEMBER).cast(pl.Int64))
    bands = [
        pl.when(pl.col(name).is_not_null()).then(
            sum((pl.col(name) >= cut).cast(pl.Int64) for cut in cuts)
        ).alias(name)
        for name, cuts in (("headage", _HEADS), ("age", _AGES))
    ]  # fmt: skip
    return whole.with_columns(bands)


def _bootstrap(homes: pl.DataFrame, rng: np.random.Generator) -> pl.DataFrame:
    ids = homes["Hhindex"].unique().sort()
    taken = pl.DataFrame({"Hhindex": ids.gather(rng.integers(0, len(ids), len(ids)))})
    again = taken.with_row_index("again").join(homes, on="Hhindex", maintain_order="left")
    return again.drop("Hhindex").rename({"again": "Hhindex"})


def _pairs(homes: pl.DataFrame) -> list[dict[Any, float]]:
    """The shares of the cells of each pair within households."""
    placed = homes.with_columns(pl.int_range(pl.len()).over("Hhindex").alias("place"))
    others = placed.select("Hhindex", pl.col("place", *_MEMBER).name.suffix("_2"))
    two = placed.join(others, on="Hhindex").filter(pl.col("place") < pl.col("place_2"))
    asked = [(homes, head, member) for head, member in product(_HEAD, _MEMBER)]
    asked += [(two, first, f"{other}_2") for first, other in product(_MEMBER, _MEMBER)]
    return [
        {tuple(cell): n / len(frame) for *cell, n in frame.group_by(x, y).len().iter_rows()}
        for frame, x, y in asked
    ]


def _alike(truth: list[dict[Any, float]], found: list[dict[Any, float]]) -> float:
    """1 less the mean total variation distance of pairs."""
    apart = [
        0.5 * sum(abs(own.get(cell, 0.0) - other.get(cell, 0.0)) for cell in {*own, *other})
        for own, other in zip(truth, found, strict=True)
    ]
    return 1.0 - float(np.mean(apart))


def _of_panel(waves: pl.DataFrame, made: pl.DataFrame) -> Iterator[UnitsRow]:
    table, dataset = (_panel_figures(x) for x in (waves, made))
    for name, own in table.items():
        yield UnitsRow("panel", name, own, dataset[name], relative=" to " not in name)


def _panel_figures(waves: pl.DataFrame) -> dict[str, float]:
    """The shares of moves between states from one wave to the next, and totals."""
    state = waves.select("person", pl.col("wave").cast(pl.Int64), "state", "pay")
    before = state.with_columns(pl.col("wave") + 1)
    moves = before.join(state, on=["person", "wave"], suffix="_next")
    figures = {}
    for first, then in product(_STATES, _STATES):
        own = moves.filter(pl.col("state") == first)
        figures[f"{first} to {then}"] = len(own.filter(state_next=then)) / max(1, len(own))
    return {**figures, "rows": float(len(waves)), "total pay": float(waves["pay"].sum())}


def table(rows: list[UnitsRow]) -> Any:
    """The study as a table for a terminal."""
    shown = {name: (name, ".4f") for name in ("table", "dataset", "off")}
    listed = [{**asdict(row), "off": row.off} for row in rows]
    columns: Any = {"of": ("of", ""), "figure": ("figure", ""), **shown}
    return table_of(f"Whole units at epsilon {EPSILON:g}", listed, columns, group="of")


if __name__ == "__main__":
    from rich.console import Console

    import pyvws as vws

    Console().print(table(run(Path(sys.argv[1]), synthesize=vws.synthesize, seed=1)))
