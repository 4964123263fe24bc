"""How often 95 % intervals from noisy counts hold the truth, over repeated databases.

The population has categories, whose shares in all cells are known. Each column depends on two
columns before it, so no product of pairs gives the population. Each replicate draws databases of n
records, counts them under fresh noise with a noisy n, and imputes datasets. What is counted are all
pairs, or the pairs of the first column alone, which leaves other pairs to the model. No triple is
counted.

Figures are the shares of cells of margins, pairs and triples. Their truth is the population's
share, or that of the confidential table. Beside the intervals of the combining rules [rubin1987]
stand those of the confidential records, and those of one imputed dataset which takes it for data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
from scipy.special import ndtri

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result, whole_seed
from pyvws.evaluation.combining_rules import OF, combine
from pyvws.mechanisms.counts.classes import impute
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.noisy_tables import measured
from pyvws.mechanisms.counts.sets import CountedTable, counted_table, usual_shares
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.studies._report import write_report
from pyvws.studies._tables import terminal_table
from pyvws.studies.replicates import ReplicatedStudy, Report
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema

SETTINGS: Final[Mapping[str, Any]] = {
    "levels": {"a": 6, "b": 4, "c": 5, "d": 2},
    "population_seed": 2022,
    "concentration": 1.5,
    "runs": [
        {"n": 1_000, "epsilon": 1.0, "delta": 1e-5},
        {"n": 1_000, "epsilon": 1.0, "delta": 0.0},
        {"n": 10_000, "epsilon": 2.0, "delta": 0.0, "every": 5},
    ],
    "measure": {"all_pairs": ["pairs"], "pairs_of_a": ["a:b", "a:c", "a:d"]},
    "least_share": 0.02,
    "datasets": 20,
    "sweeps": 350,
    "chains": 2,
    "classes": 30,
    "level": 0.95,
}
"""Shares of columns given two others are Dirichlet draws of `concentration`, by `population_seed`.
`least_share` is the smallest share of the population that counts as a figure. A run that takes long
has `every`: it takes each such replicate alone."""

KINDS: Final = ("margin", "measured pair", "other pair", "triple")
METHODS: Final = ("imputed", "confidential", "one dataset")


@dataclass(frozen=True, slots=True, eq=False)
class _Figure:
    """A cell of some columns, by their places and codes, and its share of the population."""

    kind: str
    places: tuple[int, ...]
    codes: tuple[int, ...]
    share: float

    def of(self, records: Codes) -> float:
        """The share of records (N, K) in the cell."""
        return float((records[:, self.places] == self.codes).all(axis=1).mean())


def population(settings: Mapping[str, Any]) -> Floats:
    """The population's shares of all cells, an axis for each column."""
    rng = np.random.default_rng(settings["population_seed"])
    sizes = list(settings["levels"].values())
    joint = rng.dirichlet(np.full(sizes[0], 3.0))
    for k, size in enumerate(sizes[1:], start=1):
        parents = sizes[:k][-2:]
        shares = rng.dirichlet(np.full(size, settings["concentration"]), parents)
        joint = joint[..., None] * shares.reshape([1] * (k - len(parents)) + [*parents, size])
    return np.asarray(joint, dtype=np.float64)


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
    shares = population(settings)
    table = counted_table(_schema(settings), settings["measure"][name])
    rng = np.random.default_rng(seed.spawn(1)[0])
    cells = rng.choice(shares.size, run["n"], p=shares.ravel() / shares.sum())
    records = np.column_stack(np.unravel_index(cells, shares.shape)).astype(np.int32)
    budget = NoisyCounts(epsilon=run["epsilon"], delta=run["delta"]).budget
    noisy, _ = measured(
        *(table, records, budget),
        usual_shares(table, pure=budget.pure, power=None),
    )
    imputed = impute(
        noisy,
        datasets=settings["datasets"],
        classes=settings["classes"],
        sweeps=settings["sweeps"],
        chains=settings["chains"],
        seed=whole_seed(seed.spawn(1)[0]),
    )
    figures = list(_figures(settings, table, shares))
    noise = float(noisy.deviations.mean()) / run["n"]
    place = {**run, "noise": noise, "measure": name, "replicate": key[2]}
    rows = _rows(settings["level"], figures, records, imputed.codes)
    return Result([{**place, **row} for row in rows])


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


def _figures(settings: Mapping[str, Any], table: CountedTable, shares: Floats) -> Iterator[_Figure]:
    """Cells of one, two and three columns that have at least `least_share` of the population."""
    for size in (1, 2, 3):
        for places in combinations(range(shares.ndim), size):
            pair = "measured pair" if any({*places} <= {*s} for s in table.sets) else "other pair"
            kind = {1: "margin", 2: pair, 3: "triple"}[size]
            others = tuple(k for k in range(shares.ndim) if k not in places)
            own = shares.sum(axis=others)
            for codes in np.argwhere(own >= settings["least_share"]).tolist():
                yield _Figure(kind, places, tuple(codes), float(own[tuple(codes)]))


def _rows(
    level: float, figures: list[_Figure], records: Codes, datasets: list[Codes]
) -> Iterator[dict[str, Any]]:
    """A row for each kind of figure, truth and method."""
    z = float(ndtri(0.5 + 0.5 * level))
    held: dict[tuple[str, str, str], list[tuple[bool, float]]] = {}

    def see(
        method: str, whose: str, figure: _Figure, ends: tuple[float, float], truth: float
    ) -> None:
        seen = held.setdefault((method, whose, figure.kind), [])
        seen.append((ends[0] <= truth <= ends[1], ends[1] - ends[0]))

    for figure in figures:
        own = figure.of(records)
        truth = {"population": figure.share, "table": own}
        shares = np.array([figure.of(codes) for codes in datasets])
        variances = [q * (1.0 - q) / len(codes) for q, codes in zip(shares, datasets, strict=True)]
        for whose in OF:
            combined = combine(shares, variances, of="table" if whose == "table" else "population")
            see("imputed", whose, figure, combined.interval(level), truth[whose])
        half = z * (own * (1.0 - own) / len(records)) ** 0.5
        see("confidential", "population", figure, (own - half, own + half), figure.share)
        half = z * variances[0] ** 0.5
        see("one dataset", "population", figure, (shares[0] - half, shares[0] + half), figure.share)
    for (method, whose, kind), seen in held.items():
        within, width = np.mean(seen, axis=0)
        yield {
            "method": method,
            "of": whose,
            "kind": kind,
            "figures": len(seen),
            "within": float(within),
            "width": float(width),
        }


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
        "of the intervals. Figures that were counted are margins and measured pairs. Others rest "
        "on the model. A line says what the intervals are made of, and what their truth is.",
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
                    for kind in kinds
                )
                table.add_row(method, whose, *entries)
    return table


def coverage_study(name: str, settings: Mapping[str, Any], replicates: int) -> ReplicatedStudy:
    return ReplicatedStudy(
        name=name,
        settings=settings,
        replicates=replicates,
        keys=partial(keys, settings),
        replicate=replicate,
        report=report,
    )


STUDY = coverage_study("counts-coverage", SETTINGS, 200)
