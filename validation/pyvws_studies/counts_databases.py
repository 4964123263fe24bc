"""How often 95 % intervals from noisy counts hold the truth, over repeated databases.

Databases of n records are drawn from a population whose shares in all cells are known. They are
counted under fresh noise with a noisy n, and datasets are made of the counts by fits of their own,
as a run does. No triple is counted.

Figures are the shares of cells of margins, pairs and triples. Their truth is the population's
share, or that of the confidential table. Pairs of cells whose share is two points or more off the
product of their margins are strong pairs, and stand apart too. Intervals are those of the combining
rules [rubin1987], and those of the noisy counts by least squares, without a model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Any, Final, Literal

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import whole_seed
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
from pyvws.mechanisms.counts.workload import OF_ALL, Workload
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.privacy.seller import Seller
from pyvws.tables.schema.schema import Schema

SETTINGS: Final[Mapping[str, Any]] = {
    "least_share": 0.02,
    "strong": 0.02,
    "datasets": 20,
    "classes": 30,
    "level": 0.95,
}
"""`least_share` is the smallest share of the population that counts as a figure, and `strong` the
least distance from the product of the margins that makes a pair a strong one."""


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
        budget = NoisyCounts(epsilon=run["epsilon"], delta=run["delta"], measure="pairs").budget
        sold = count_noise(budget, table, hidden=True)
        seller = Seller.of_noise(sold, records)
        number = bought_number(seller, len)
        noisy = bought_tables(seller, sold, table, table.counts, records=number)
        asked: Any = {name: settings[name] for name in ("datasets", "classes")}
        asked["seed"] = whole_seed(seed.spawn(1)[0])
        return cls(records, noisy, {"fits": drawn_fits(noisy, **asked).codes})

    def coverage(
        self, settings: Mapping[str, Any], whole: Population, table: Workload
    ) -> Iterator[dict[str, Any]]:
        """A row for each kind of figure, truth and method."""
        figures = list(_figures(settings, table, whole))
        counted = {of: _counted(self.noisy, whole.schema, of, settings["level"]) for of in OF}
        return _rows(settings["level"], figures, self.records, self.made, counted)


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
    for (method, whose, kind), seen in held.items():
        within, width = map(float, np.mean(seen, axis=0))
        place = {"method": method, "of": whose, "kind": kind, "figures": len(seen)}
        yield {**place, "within": within, "width": width}
