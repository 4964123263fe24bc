"""How often 95 % intervals from noisy counts hold the figures of a real file.

The population is ma2019.csv by its ten columns of `pyvws_studies.whole_tables`. Databases are drawn
from it with replacement, and counted and made into datasets by fits as in
`pyvws_studies.counts_databases`, whose kinds of figures these are. Beside them stand the
coefficients of three regressions, and the k-marginal score of a dataset's pairs against its
database. Figures come by the datasets alone, and as `pyvws.tabulate` gives them: by the counts
where they were counted. Noise is fresh, so a second study prints other last digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, Final, Literal

import narwhals as nw
import numpy as np
import polars as pl

from pyvws._base.checks import choice, whole_number
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import OF, NoisyCells, combine
from pyvws.evaluation.counted_cells import CountedFigures
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.mechanisms.counts.coding import Codes
from pyvws.mechanisms.counts.measurements import counts_columns
from pyvws.mechanisms.counts.workload import Workload, workload
from pyvws.mechanisms.noisy_counts import COUNT_MODELS
from pyvws.synthesis.loop import SILENT, Listener
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import table_of
from pyvws_studies.counts_databases import SETTINGS, Database, Population
from pyvws_studies.noisy_counts import REGRESSIONS, regression_of
from pyvws_studies.whole_tables import DESIGNS

RUNS: Final[list[dict[str, Any]]] = [
    {"n": n, "epsilon": epsilon, "delta": 1e-5}
    for epsilon in (1.0, 4.0)
    for n in (1_000, 7_634, 27_000)
]
KINDS: Final = ("margin", "measured pair", "strong pair", "triple", "regression")
_BY: Final = {"tabulate": ("fits", "counted"), "datasets": ("fits",)}
_SCORED: Final = 2  # Datasets of a database.
_OF_FAMILIES: Final = {"datasets": 5}  # Their fits take long,
_MOST: Final = 7_634  # so of no more records.


@dataclass(frozen=True, slots=True)
class RecordsStudy:
    """The rows of the study: percentages by kind, scores from 0 to 1000; larger = better."""

    rows: list[dict[str, Any]]
    problems: tuple[str, ...] = ()


def run(
    file: Path,
    *,
    seed: int,
    databases: int = 30,
    model: str = "classes",
    listener: Listener = SILENT,
) -> RecordsStudy:
    """Draw so many databases for each row, and make datasets under a model of `NoisyCounts`.

    Under "conditionals" a column has the few predictors of the file's conditional tables, and rows
    have fewer datasets. Raises InputError for a file without the columns.
    """
    whole_number(databases, "databases", least=1)
    families = choice(model, "model", COUNT_MODELS) == "conditionals"
    design, source = DESIGNS["ma2019"], read_table(file).frame
    if not {*design.source} <= {*source.columns}:
        raise InputError.by("not-ma2019")
    frame, schema = design.prepare(source.select(design.source)), design.schema()
    if families:
        predictors = design.patterns
        schema = Schema(
            {n: replace(own, predictors=predictors[n]) for n, own in schema.columns.items()}
        )
    table = workload(schema, ("pairs",), ("none",), conditionals=families)
    codes, _ = table.read(nw.from_native(frame, eager_only=True))
    population = Population(schema, codes, np.full(len(codes), 1.0 / len(codes)))
    truth = [regression_of(_frame(table, codes), name)[0] for name in REGRESSIONS]
    rows, own_settings = [], {**SETTINGS, **(_OF_FAMILIES if families else {})}
    for number, each in enumerate(RUNS):
        if families and each["n"] > _MOST:
            continue
        held: dict[tuple[str, ...], list[float]] = {}
        scores = []
        for one in range(databases):
            stream = np.random.SeedSequence([seed, number, one])
            own = Database.drawn(own_settings, population, table, each, stream)
            for row in own.coverage(SETTINGS, population, table):
                place = (row["method"], row["of"], row["kind"])
                held.setdefault(place, []).append(row["within"])
            for of in OF:
                margins = _margins(own, population, table, of)
                held.setdefault(("counted", of, "margin"), []).append(margins)
            made = [_frame(table, x) for x in own.made["fits"]]
            place = ("fits", "population", "regression")
            held.setdefault(place, []).append(_regressions(made, truth))
            scores.append(k_marginal(_frame(table, own.records), made[:_SCORED]).score)
        for of, (by, methods) in product(OF, _BY.items()):
            found = {
                kind: held[method, of, kind]
                for kind in KINDS
                for method in methods
                if (method, of, kind) in held
            }
            within = {kind: 100.0 * float(np.mean(x)) for kind, x in found.items()}
            whole = {**each, "of": of, "by": by, "databases": databases}
            rows.append({**whole, **within, "score": float(np.mean(scores))})
            shown = ", ".join(f"{kind} {x:.1f}" for kind, x in within.items())
            said = f"{each['n']} records, epsilon {each['epsilon']:g}, {of}, by {by}"
            listener.line(f"  {said}: {shown}, score {rows[-1]['score']:.1f}")
    return RecordsStudy(sorted(rows, key=lambda row: (row["n"], row["epsilon"])))


def _frame(table: Workload, codes: Codes) -> pl.DataFrame:
    """Records (n, K) with the labels of their codes."""
    labels = {name: np.array(column.labels) for name, column in table.columns.items()}
    return pl.DataFrame({name: own[codes[:, k]] for k, (name, own) in enumerate(labels.items())})


def _margins(
    own: Database, whole: Population, table: Workload, of: Literal["population", "table"]
) -> float:
    """The share of margins whose interval from the counts of all sets holds the truth."""
    kind = "laplace" if own.noisy.laplace else "gaussian"
    cells = NoisyCells.of(pl.DataFrame(counts_columns(own.noisy)), {"counts": {"noise": kind}})
    level = SETTINGS["level"]
    figures, within = CountedFigures.read(cells, whole.schema, of=of, level=level), []
    sizes = tuple(column.size for column in table.columns.values())
    for k, (name, column) in enumerate(table.columns.items()):
        true = shares = whole.margin((k,), sizes)
        if of == "table":
            true = np.bincount(own.records[:, k], minlength=sizes[k]) / len(own.records)
        found = figures.of_cell({}, CellStatistic("share", name, tuple(column.labels))) or []
        within += [
            one["lower"] <= x <= one["upper"]
            for one, x, share in zip(found, true, shares, strict=True)
            if share >= SETTINGS["least_share"]
        ]
    return float(np.mean(within))


def _regressions(made: list[pl.DataFrame], truth: list[Any]) -> float:
    """The share of coefficients whose interval holds that of the population."""
    within = []
    for name, whole in zip(REGRESSIONS, truth, strict=True):
        fits = [regression_of(dataset, name) for dataset in made]
        estimates, errors = (np.array(part) for part in zip(*fits, strict=True))
        for k, value in enumerate(whole):
            low, high = combine(estimates[:, k], errors[:, k] ** 2, of="population").interval(0.95)
            within.append(low <= value <= high)
    return float(np.mean(within))


_SHOWN: Final = {
    **{
        "records": ("n", ","),
        "epsilon": ("epsilon", "g"),
        "truth of": ("of", ""),
        "by": ("by", ""),
    },
    **{kind: (kind, ".1f") for kind in KINDS},
    **{"score": ("score", ".1f"), "databases": ("databases", "")},
}


def table(result: RecordsStudy) -> Any:
    """The study as a table for a terminal."""
    empty: Mapping[str, Any] = dict.fromkeys(KINDS)
    rows = [{**empty, **row} for row in result.rows]
    return table_of("Intervals that hold, in percent", rows, _SHOWN, group="n")


def write(result: RecordsStudy, folder: Path) -> list[str]:
    rows = pl.DataFrame(result.rows, infer_schema_length=None)
    rows.with_columns(pl.col(*KINDS, "score").round(1)).write_csv(folder / "table.csv")
    return ["table.csv"]
