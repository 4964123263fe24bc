"""How often 95 % intervals from noisy counts hold the truth, over repeated databases.

The population has categories, whose shares in all cells are known. Each column depends on two
columns before it, so no product of pairs gives the population. Each replicate draws databases of n
records, counts them under fresh noise with a noisy n, and makes datasets of the counts by fits of
their own, as a run does. What is counted are all pairs, or the pairs of the first column alone,
which leaves other pairs to the model. No triple is counted.

Figures are the shares of cells of margins, pairs and triples. Their truth is the population's
share, or that of the confidential table. Pairs of cells whose share is two points or more off the
product of their margins are strong pairs, and stand apart too. Beside the intervals of the
combining rules [rubin1987] stand those of the confidential records, and those of one imputed
dataset which takes it for data. Those of the noisy counts come by least squares, without a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations
from pathlib import Path
from typing import Any, Final, Literal

import numpy as np
import polars as pl
from scipy.special import ndtri

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.evaluation.combining_rules import OF, combine
from pyvws.evaluation.counted_cells import counted_cells
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.drawn_fits import drawn_fits
from pyvws.mechanisms.counts.measurements import (
    Measurements,
    bought_number,
    bought_tables,
    count_noise,
)
from pyvws.mechanisms.counts.workload import OF_ALL, Workload, workload
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.privacy.seller import Seller
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import terminal_table, write_report
from pyvws_studies.replicates import ReplicatedStudy, Report

SETTINGS: Final[Mapping[str, Any]] = {
    "levels": {"a": 6, "b": 4, "c": 5, "d": 2},
    "population_seed": 2022,
    "concentration": 1.5,
    "runs": [
        {"n": 1_000, "epsilon": 1.0, "delta": 1e-5},
        {"n": 1_000, "epsilon": 4.0, "delta": 1e-5},
        {"n": 1_000, "epsilon": 1.0, "delta": 0.0},
        {"n": 7_634, "epsilon": 1.0, "delta": 1e-5, "every": 3},
        {"n": 7_634, "epsilon": 4.0, "delta": 1e-5, "every": 3},
    ],
    "measure": {"all_pairs": ["pairs"], "pairs_of_a": ["a:b", "a:c", "a:d"]},
    "least_share": 0.02,
    "strong": 0.02,
    "datasets": 20,
    "classes": 30,
    "level": 0.95,
}
"""Shares of columns given two others are Dirichlet draws of `concentration`, by `population_seed`.
`least_share` is the smallest share of the population that counts as a figure, and `strong` the
least distance from the product of the margins that makes a pair a strong one. A run that takes long
has `every`: it takes each such replicate alone."""

KINDS: Final = ("margin", "measured pair", "strong pair", "other pair", "triple")
METHODS: Final = ("fits", "counted", "confidential", "one dataset")


@dataclass(frozen=True, slots=True, eq=False)
class _Figure:
    """A cell of some columns, by their places and codes, and its share of the population.

    `strong` says whether it is a measured pair far from the product of its margins.
    """

    kind: str
    places: tuple[int, ...]
    codes: tuple[int, ...]
    share: float
    strong: bool


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """What databases are drawn from: codes (N, K) of its cells or records, and shares (N,)."""

    schema: Schema
    codes: Codes
    shares: Floats

    def sample(self, n: int, rng: np.random.Generator) -> Codes:
        """The codes (n, K) of independent records."""
        return self.codes[rng.choice(len(self.shares), n, p=self.shares)]

    def margin(self, places: tuple[int, ...], sizes: tuple[int, ...]) -> Floats:
        """The shares of all cells of some columns, an axis for each."""
        own = tuple(sizes[k] for k in places)
        cells = np.ravel_multi_index(self.codes[:, places].T, own)
        summed = np.bincount(cells, self.shares, minlength=int(np.prod(own)))
        return np.asarray(summed.reshape(own))


def population(settings: Mapping[str, Any]) -> Population:
    """The made population: each column depends on the two before."""
    rng = np.random.default_rng(settings["population_seed"])
    sizes = list(settings["levels"].values())
    joint = rng.dirichlet(np.full(sizes[0], 3.0))
    for k, size in enumerate(sizes[1:], start=1):
        parents = sizes[:k][-2:]
        shares = rng.dirichlet(np.full(size, settings["concentration"]), parents)
        joint = joint[..., None] * shares.reshape([1] * (k - len(parents)) + [*parents, size])
    codes = np.column_stack([axis.ravel() for axis in np.indices(sizes, dtype=np.int32)])
    return Population(_schema(settings), codes, joint.ravel() / joint.sum())


def keys(settings: Mapping[str, Any], replicates: int) -> list[Key]:
    """A key for each database: run, what is counted, and replicate."""
    return [
        (run, name, number)
        for number in range(1, replicates + 1)
        for run, each in enumerate(settings["runs"])
        if number % each.get("every", 1) == 0
        for name in settings["measure"]
    ]


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """Coverage and width of all kinds of figures, on one database."""
    run, name = _budget(settings["runs"][key[0]]), str(key[1])
    whole = population(settings)
    table = workload(whole.schema, settings["measure"][name])
    database = Database.drawn(settings, whole, table, run, seed)
    rows = database.coverage(settings, whole, table)
    place = {**run, "noise": database.noise, "measure": name, "replicate": key[2]}
    return Result([{**place, **row} for row in rows])


@dataclass(frozen=True, slots=True, eq=False)
class Database:
    """Records (n, K) of a population, their noisy counts, and datasets of these by the method."""

    records: Codes
    noisy: Measurements
    made: Mapping[str, list[Codes]]

    @classmethod
    def drawn(
        cls,
        settings: Mapping[str, Any],
        whole: Population,
        table: Workload,
        run: Mapping[str, Any],
        seed: np.random.SeedSequence,
    ) -> Database:
        """Records drawn by a seed, counted under fresh noise with a noisy n."""
        records = whole.sample(run["n"], np.random.default_rng(seed.spawn(1)[0]))
        budget = NoisyCounts(epsilon=run["epsilon"], delta=run["delta"]).budget
        sold = count_noise(budget, table, hidden=True)
        seller = Seller.of_noise(sold, records)
        number = bought_number(seller, len)
        noisy = bought_tables(seller, sold, table, lambda codes: codes, records=number)
        asked: Any = {name: settings[name] for name in ("datasets", "classes")}
        asked["seed"] = whole_seed(seed.spawn(1)[0])
        return cls(records, noisy, {"fits": drawn_fits(noisy, **asked).codes})

    @property
    def noise(self) -> float:
        """The mean deviation of a count's noise, as a share of n."""
        return float(self.noisy.deviations.mean()) / len(self.records)

    def coverage(
        self, settings: Mapping[str, Any], whole: Population, table: Workload
    ) -> Iterator[dict[str, Any]]:
        """A row for each kind of figure, truth and method."""
        figures = list(_figures(settings, table, whole))
        counted = {of: _counted(self.noisy, whole.schema, of, settings["level"]) for of in OF}
        return _rows(settings["level"], figures, self.records, self.made, counted)


def _budget(run: Mapping[str, Any]) -> dict[str, Any]:
    """What a row says of its run."""
    return {name: run[name] for name in ("n", "epsilon", "delta")}


def _schema(settings: Mapping[str, Any]) -> Schema:
    return Schema(
        {
            name: Column(model="nominal", levels=tuple(f"{name}{code}" for code in range(size)))
            for name, size in settings["levels"].items()
        }
    )


def _figures(settings: Mapping[str, Any], table: Workload, whole: Population) -> Iterator[_Figure]:
    """Cells of one, two and three columns that have at least `least_share` of the population."""
    names = [*table.columns]
    sizes = tuple(column.size for column in table.columns.values())
    for size in (1, 2, 3):
        for places in combinations(range(len(sizes)), size):
            own_names = {names[k] for k in places}
            pair = "measured pair" if any(own_names <= {*s} for s in table.sets) else "other pair"
            kind = {1: "margin", 2: pair, 3: "triple"}[size]
            own = whole.margin(places, sizes)
            product = reduce(np.multiply.outer, [whole.margin((k,), sizes) for k in places])
            strong = (abs(own - product) >= settings["strong"]) & (kind == "measured pair")
            for codes in map(tuple, np.argwhere(own >= settings["least_share"]).tolist()):
                yield _Figure(kind, places, codes, float(own[codes]), bool(strong[codes]))


def _shares(figures: list[_Figure], records: Codes) -> Floats:
    """The share of records (N, K) in the cell of each figure (F,)."""
    most = max(int(records.max()), *(code for figure in figures for code in figure.codes))
    steps = (most + 1) ** np.arange(3)
    counts = {
        places: np.bincount(records[:, places] @ steps[: len(places)], minlength=(most + 1) ** 3)
        for places in {figure.places for figure in figures}
    }
    cells = [int(np.dot(f.codes, steps[: len(f.codes)])) for f in figures]
    found = [counts[f.places][cell] for f, cell in zip(figures, cells, strict=True)]
    return np.array(found) / len(records)


def _counted(
    noisy: Measurements, schema: Schema, whose: Literal["population", "table"], level: float
) -> dict[Any, tuple[float, float]]:
    """The interval of each counted cell, by places and codes, from its noisy count."""
    table, place = noisy.table, {name: k for k, name in enumerate(noisy.table.columns)}
    rows = [(OF_ALL, "", noisy.records, noisy.records_scale)]
    cells = []
    for q, (low, high) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        for codes, count in zip(
            np.ndindex(table.cliques[q].sizes), noisy.counts[low:high].tolist(), strict=True
        ):
            cells.append((tuple(place[name] for name in table.sets[q]), codes))
            rows.append((table.names[q], "", count, float(noisy.scales[q])))
    frame = pl.DataFrame(rows, schema=["set", "label", "count", "scale"], orient="row")
    kind: Literal["laplace", "gaussian"] = "laplace" if noisy.laplace else "gaussian"
    asked: Any = {"noise": kind, "of": whose, "level": level, "schema": schema}
    seen = counted_cells(frame.with_columns(cell=0), **asked)
    ends = zip(seen["share_lower"], seen["share_upper"], strict=True)
    return dict(zip(cells, ends, strict=True))


def _rows(
    level: float,
    figures: list[_Figure],
    records: Codes,
    made: Mapping[str, list[Codes]],
    counted: Mapping[str, Mapping[Any, tuple[float, float]]],
) -> Iterator[dict[str, Any]]:
    """A row for each kind of figure, truth and method."""
    z = float(ndtri(0.5 + 0.5 * level))
    held: dict[tuple[str, str, str], list[tuple[bool, float]]] = {}

    def see(method: str, whose: str, ends: tuple[float, float], truth: float) -> None:
        low, high = ends
        for kind in [figure.kind, *(["strong pair"] if figure.strong else [])]:
            held.setdefault((method, whose, kind), []).append((low <= truth <= high, high - low))

    of_records = _shares(figures, records).tolist()
    of_made = {by: np.array([_shares(figures, x) for x in own]) for by, own in made.items()}
    for at, (figure, own) in enumerate(zip(figures, of_records, strict=True)):
        truth = {"population": figure.share, "table": own}
        shares = {by: of_all[:, at] for by, of_all in of_made.items()}
        variances = {by: q * (1.0 - q) / len(made[by][0]) for by, q in shares.items()}
        for whose in OF:
            for by, own_shares in shares.items():
                combined = combine(own_shares, variances[by], of=whose).interval(level)
                see(by, whose, combined, truth[whose])
            direct = counted[whose].get((figure.places, figure.codes))
            if direct is not None:
                see("counted", whose, direct, truth[whose])
        half = z * (own * (1.0 - own) / len(records)) ** 0.5
        see("confidential", "population", (own - half, own + half), figure.share)
        share, variance = next((own[0], variances[by][0]) for by, own in shares.items())
        half = z * variance**0.5
        alone = (share - half, share + half)
        see("one dataset", "population", alone, figure.share)
    for (method, whose, kind), seen in held.items():
        within, width = map(float, np.mean(seen, axis=0))
        place = {"method": method, "of": whose, "kind": kind, "figures": len(seen)}
        yield {**place, "within": within, "width": width}


def means(results: Mapping[Key, Result]) -> list[dict[str, Any]]:
    """A line for each run, method, truth and kind: means over the databases.

    `within` is the share of intervals that hold the truth, and `error` its standard error between
    databases; `width` is the mean width of the intervals, and `noise` the mean deviation of a
    count's noise, as a share of n.
    """
    names = ("n", "epsilon", "delta", "noise", "measure", "method", "of", "kind")
    by_place: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for result in results.values():
        for row in result.rows:
            by_place.setdefault(tuple(row[name] for name in names), []).append(row)
    lines = []
    for place, rows in by_place.items():
        within = np.array([row["within"] for row in rows])
        error = float(within.std(ddof=1) / len(rows) ** 0.5) if len(rows) > 1 else float("nan")
        lines.append(
            {
                **dict(zip(names, place, strict=True)),
                "databases": len(rows),
                "within": float(within.mean()),
                "error": error,
                "width": float(np.mean([row["width"] for row in rows])),
            }
        )
    return lines


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Show a table for each run and what is counted; write coverage.csv and the explanation."""
    lines = means(results)
    shown = []
    for run in map(_budget, settings["runs"]):
        for name in settings["measure"]:
            own = [line for line in lines if {**line, **run, "measure": name} == line]
            if own:
                shown.append(_table(run, name, own))
    text = (
        "Each entry is the share of intervals that hold the truth, in percent, with the mean width "
        "of the intervals. Figures that were counted are margins and measured pairs. Strong pairs "
        "are the measured ones that are 2 points or more off the product of their margins. Others "
        "rest on the model. A line says what the intervals are made of, and what their truth is.",
    )
    return write_report(out, shown, tables={"coverage.csv": lines}, text=text, pictures={})


def _table(run: Mapping[str, Any], name: str, lines: list[dict[str, Any]]) -> Any:
    kinds = [kind for kind in KINDS if any(line["kind"] == kind for line in lines)]
    table = terminal_table(
        f"n {run['n']:,}, epsilon {run['epsilon']:g}, delta {run['delta']:g}, "
        f"noise {lines[0]['noise']:.1%} of n, counted: {name.replace('_', ' ')}, "
        f"{lines[0]['databases']} databases",
        left=["intervals of", "truth of"],
        right=kinds,
    )
    for method in METHODS:
        for whose in OF:
            by_kind = {x["kind"]: x for x in lines if (x["method"], x["of"]) == (method, whose)}
            if by_kind:
                entries = (
                    f"{100 * by_kind[kind]['within']:.1f} ({by_kind[kind]['width']:.3f})"
                    if kind in by_kind
                    else ""
                    for kind in kinds
                )
                table.add_row(method, whose, *entries)
    return table


STUDY = ReplicatedStudy(
    name="counts-coverage",
    settings=SETTINGS,
    replicates=60,
    keys=partial(keys, SETTINGS),
    replicate=replicate,
    report=report,
)
