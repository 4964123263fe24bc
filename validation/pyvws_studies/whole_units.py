"""Noisy counts of whole units: households, whose members are slots, and a panel, whose waves are.

The households are those of the R package NestedCategBayesImpute, whose records are the persons
beside a head, or `eusilc` of the R package laeken. Partners are spouses there; here they are the
first two adults of a home, if their sexes differ and their ages by 15 years at most. The panel of
four waves is made up: a state that follows the last wave's, an income that follows the person and
the state, and waves that a person misses. Each figure stands beside that of the table. The score of
pairs within households is 0 for independent columns and 1 for a bootstrap: of pairs of a column of
the home with one of a member, and of two members.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import polars as pl

from pyvws._base.checks import whole_number
from pyvws.errors import ConvergenceWarning, InputError, MisfitWarning
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
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


_SILC: Final = {
    **{"db030": "home", "db040": "region", "age": "age", "rb090": "sex"},
    **{"pl030": "work", "pb220a": "citizen"},
}
_OF_STATES: Final = tuple(f"state_{k}:state_{k - 1}" for k in range(2, 1 + len(WAVES)))
_APART: Final = 15  # Years between partners at most, where no column says who they are.


@dataclass(frozen=True, slots=True)
class UnitsRow:
    """A figure of a table, and its mean over the datasets of several runs.

    `off` is their difference and `worst` that of the worst run; of a `relative` figure as a share
    of the table's.
    """

    of: str
    figure: str
    table: float
    dataset: float
    off: float
    worst: float

    @classmethod
    def of_runs(
        cls, of: str, figure: str, table: float, runs: list[float], *, relative: bool
    ) -> Self:
        size = table if relative and table else 1.0
        off = (np.array(runs) - table) / size
        worst = float(off[np.abs(off).argmax()])
        return cls(of, figure, table, float(np.mean(runs)), float(off.mean()), worst)


@dataclass(frozen=True, slots=True)
class UnitsStudy:
    """The rows of the study, of so many runs."""

    runs: int
    rows: list[UnitsRow]
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Homes:
    """Households: rows, schema, the columns that are compared, their cells, and figures."""

    rows: pl.DataFrame
    schema: Schema
    member: tuple[str, ...]
    cuts: Mapping[str, Iterable[float]]
    figures: Callable[[pl.DataFrame], dict[str, float]]
    tables: tuple[str, ...]

    @property
    def unit(self) -> str:
        return str(self.schema.unit)

    @property
    def home(self) -> tuple[str, ...]:
        """The columns of the whole home."""
        return self.schema.members.of_unit if self.schema.members else ()


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


def _silc_schema(homes: pl.DataFrame) -> Schema:
    """What a steward knows of the homes of EU-SILC: the codes are those of the file."""
    codes = {x: _category(homes[x].unique().sort()) for x in ("region", "sex", "work", "citizen")}
    columns = {"home": Column(role="id"), **codes, "age": _number(0, 97, _AGES)}
    members: Any = {"sizes": (1, 9), "of_unit": ("region",), "summaries": {"persons": "size"}}
    return Schema({x: columns[x] for x in _SILC.values()}, unit="home", members=members)


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
    file: Path,
    *,
    synthesize: Callable[..., Any],
    seed: int,
    runs: int = 5,
    persons: int = 10_000,
    listener: Listener = SILENT,
) -> UnitsStudy:
    """The figures of the households of a file, and of a panel of so many persons.

    `synthesize` is `vws.synthesize`; `seed` is the public seed of the first run. Raises InputError
    for a file of other columns.
    """
    whole_number(runs, "runs", least=1)
    homes, waves = _homes(read_table(file).as_written), panel(persons, seed)

    def made(frame: pl.DataFrame, schema: Schema, tables: tuple[str, ...]) -> list[pl.DataFrame]:
        counts = NoisyCounts(epsilon=EPSILON, delta=DELTA, tables=tables, measure="pairs")
        given: Any = {"schema": schema, "mechanism": counts, "datasets": 1}
        with warnings.catch_warnings():
            for kind in (ConvergenceWarning, MisfitWarning):  # The table has the figures.
                warnings.simplefilter("ignore", kind)
            return [synthesize(frame, seed=seed + k, **given).datasets[0] for k in range(runs)]

    rows = [*_of_households(homes, made(homes.rows, homes.schema, homes.tables), seed)]
    listener.line(f"  {rows[-1].figure}: {rows[-1].dataset:.3f}")
    found = [_panel_figures(x) for x in (waves, *made(waves, panel_schema(), _OF_STATES))]
    return UnitsStudy(runs, [*rows, *_rows("panel", *found)])


def _homes(frame: pl.DataFrame) -> _Homes:
    """The households of a file that the study knows."""
    if {"Hhindex", *_HEAD, *_MEMBER} <= {*frame.columns}:
        whole = frame.with_columns(pl.all().cast(pl.Int64, strict=False))
        cuts = {"headage": _HEADS, "age": _AGES}
        tables = ("age:relate:headage",)
        return _Homes(whole, households_schema(), _MEMBER, cuts, _household_figures, tables)
    if {*_SILC} <= {*frame.columns}:
        own = frame.select(pl.col(x).alias(y) for x, y in _SILC.items())
        known = own.with_columns(pl.col("work", "citizen").replace("NA", None).fill_null("child"))
        ages = pl.col("age").cast(pl.Float64).clip(0, 97).cast(pl.Int64)
        known = known.with_columns(ages)
        cuts = {"age": _AGES}
        member, given = (*_SILC.values(),)[2:], ("age_2:age_1", "sex_2:sex_1:age_2")
        return _Homes(known, _silc_schema(known), member, cuts, _silc_figures, given)
    raise InputError.by("file-of-no-design", known="households.txt, eusilc.csv")


def _rows(of: str, table: dict[str, float], *runs: dict[str, float]) -> Iterator[UnitsRow]:
    for name, own in table.items():
        found = [run[name] for run in runs]
        yield UnitsRow.of_runs(of, name, own, found, relative=" to " not in name)


def _of_households(homes: _Homes, made: list[pl.DataFrame], seed: int) -> Iterator[UnitsRow]:
    yield from _rows("households", *(homes.figures(x) for x in (homes.rows, *made)))
    rng, columns = np.random.default_rng(seed), [*homes.home, *homes.member]
    first, *coded = (
        _banded(x, homes.cuts).select(homes.unit, pl.col(columns).cast(pl.String).fill_null(""))
        for x in (homes.rows, *made)
    )
    again = _bootstrap(first, homes.unit, rng)
    apart = first.with_columns(first[x].gather(rng.permutation(len(first))) for x in homes.member)
    heads = first.group_by(homes.unit, maintain_order=True).agg(pl.col(homes.home).first())
    mixed = heads.with_columns(heads[x].gather(rng.permutation(len(heads))) for x in homes.home)
    apart = apart.drop(homes.home).join(mixed, on=homes.unit, maintain_order="left")
    truth = _pairs(first, homes)
    low, high, *scores = (_alike(truth, _pairs(x, homes)) for x in (apart, again, *coded))
    parts = [(score - low) / (high - low) for score in scores]
    yield UnitsRow.of_runs("households", "pairs", 1.0, parts, relative=False)


def _household_figures(homes: pl.DataFrame) -> dict[str, float]:
    whole = [pl.col(x).cast(pl.Float64) for x in ("relate", "age", "headage")]
    table = homes.with_columns(whole)
    of_home = table.group_by("Hhindex").agg(
        pl.len().alias("persons"), (pl.col("relate") == _CHILD).sum().alias("children")
    )
    spouses = table.filter(pl.col("relate") == _SPOUSE).drop_nulls(["age", "headage"])
    ages = {"age of partners": spouses["age"], "age of their heads": spouses["headage"]}
    return _figures(of_home, 3, ages)


def _silc_figures(homes: pl.DataFrame) -> dict[str, float]:
    table = homes.with_columns(pl.col("age").cast(pl.Float64))
    of_home = table.group_by("home").agg(
        pl.len().alias("persons"), (pl.col("age") < 16).sum().alias("children")
    )
    adults = table.filter(pl.col("age") >= 16).group_by("home", maintain_order=True).head(2)
    two = adults.group_by("home").agg(
        pl.col("sex").n_unique().alias("sexes"),
        pl.col("age").max().alias("older"),
        pl.col("age").min().alias("younger"),
    )
    near = pl.col("older") - pl.col("younger") <= _APART
    partners = two.filter((pl.col("sexes") == 2) & near)
    ages = {
        "age of older partners": partners["older"],
        "of younger ones": partners["younger"],
        "years between them": partners["older"] - partners["younger"],
    }
    return _figures(of_home, 5, ages) | {"homes with partners": len(partners) / len(of_home)}


def _figures(of_home: pl.DataFrame, sizes: int, ages: dict[str, pl.Series]) -> dict[str, float]:
    """The shares of sizes, and means of homes and of ages."""
    shares = {f"share of size {k}": (of_home["persons"] == k).mean() for k in range(1, 1 + sizes)}
    means = {name: of_home[name].mean() for name in ("persons", "children")}
    found: Mapping[str, Any] = {**shares, **means, **{x: own.mean() for x, own in ages.items()}}
    return {name: float(own) for name, own in found.items()}


def _banded(homes: pl.DataFrame, cuts: Mapping[str, Iterable[float]]) -> pl.DataFrame:
    """The households with numbers by the cells between cuts."""
    number = {name: pl.col(name).cast(pl.Float64) for name in cuts}
    return homes.with_columns(
        pl.when(own.is_not_null())
        .then(pl.sum_horizontal((own >= cut).cast(pl.Int64) for cut in cuts[name]))
        .alias(name)
        for name, own in number.items()
    )


def _bootstrap(homes: pl.DataFrame, unit: str, rng: np.random.Generator) -> pl.DataFrame:
    ids = homes[unit].unique().sort()
    taken = pl.DataFrame({unit: ids.gather(rng.integers(0, len(ids), len(ids)))})
    again = taken.with_row_index("again").join(homes, on=unit, maintain_order="left")
    return again.drop(unit).rename({"again": unit})


def _pairs(frame: pl.DataFrame, homes: _Homes) -> list[dict[Any, float]]:
    """The shares of the cells of each pair within households."""
    placed = frame.with_columns(pl.int_range(pl.len()).over(homes.unit).alias("place"))
    others = placed.select(homes.unit, pl.col("place", *homes.member).name.suffix("_2"))
    two = placed.join(others, on=homes.unit).filter(pl.col("place") < pl.col("place_2"))
    asked = [(frame, home, member) for home, member in product(homes.home, homes.member)]
    asked += [(two, first, f"{other}_2") for first, other in product(homes.member, homes.member)]
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


_SHOWN: Final = {
    "figure": ("figure", ""),
    **{name: (name, ".4f") for name in ("table", "dataset", "off", "worst")},
}


def table(result: UnitsStudy) -> Any:
    """The study as a table for a terminal."""
    title = f"Whole units at epsilon {EPSILON:g} and delta {DELTA:g}, {result.runs} runs"
    return table_of(title, [asdict(row) for row in result.rows], _SHOWN, group="of")


def write(result: UnitsStudy, folder: Path) -> list[str]:
    pl.DataFrame([asdict(row) for row in result.rows]).write_csv(folder / "table.csv")
    return ["table.csv"]
