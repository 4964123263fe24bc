"""Weighted counts of samples whose weights follow the outcome: totals, means of areas, intervals.

A population of four areas has a share of poor people in each. People are drawn with replacement,
and poor ones less often, so their weights are larger: the design is informative. Each replicate is
a sample, its release, and figures of the release beside those of the sample: the sum of all
weights, and the shares of poor people by area, with intervals of the population.

A second population has clusters, which differ in their share of poor people; each lies in one area.
A sample draws some clusters of each area with replacement, and people within each as above. The
cluster is a column like the others. Intervals of shares of poor people, of all and by area, take it
for one, with areas as strata or without strata, or take records for independent.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws._base.resumable_jobs import Key, Result
from pyvws.evaluation.published_table import CellFigure, tabulate
from pyvws.mechanisms.noisy_counts import NoisyCounts
from pyvws.release.release import Release
from pyvws.release.synthesizer import synthesize
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_studies._report import terminal_table, write_report
from pyvws_studies.replicates import ReplicatedStudy, Report

SETTINGS: Final[Mapping[str, Any]] = {
    "population": 200_000,
    "population_seed": 2026,
    "areas": {"a": 0.3, "b": 0.27, "c": 0.23, "d": 0.2},
    "poor": {"a": 0.35, "b": 0.45, "c": 0.5, "d": 0.6},
    "spread": 0.4,
    "tie": 0.8,
    "n": 2_000,
    "weight_range": [20, 400],
    "epsilon": 1.0,
    "delta": 1e-5,
    "datasets": 2,
    "clusters": {"all": 300, "drawn": 30, "spread": 0.6, "epsilons": [1.0, 4.0]},
}
"""`areas` are shares of the population, and `poor` those of poor people. Weights have the `spread`
on the log scale, and those of the poor are exp(`tie`) times as large. Shares of `clusters` have a
spread on the logit scale about those of areas, and releases of their samples `epsilons` of their
own."""


def keys(replicates: int) -> list[Key]:
    return [(number,) for number in range(1, replicates + 1)]


def population(settings: Mapping[str, Any]) -> tuple[pl.DataFrame, Floats]:
    """People by area and whether they are poor, and the weight that each has in a sample."""
    rng, N = np.random.default_rng(settings["population_seed"]), settings["population"]
    area = rng.choice([*settings["areas"]], N, p=[*settings["areas"].values()])
    poor = rng.random(N) < np.array([settings["poor"][own] for own in area])
    weights = np.exp(rng.normal(0.0, settings["spread"], N) + settings["tie"] * poor)
    weights *= (1.0 / weights).sum() / settings["n"]  # One over n times the chance of a draw.
    low, high = settings["weight_range"]
    return pl.DataFrame({"area": area, "poor": np.where(poor, "yes", "no")}), np.clip(
        weights, low, high
    )


def replicate(settings: Mapping[str, Any], key: Key, seed: np.random.SeedSequence) -> Result:
    """Samples and their releases: a row for each area, the sum of the weights, and clusters."""
    people, weights = population(settings)
    rng = np.random.default_rng(seed)
    chances = (1.0 / weights) / (1.0 / weights).sum()
    at = rng.choice(len(chances), settings["n"], p=chances)
    sample = people[at.tolist()].with_columns(w=1.0 / (settings["n"] * chances[at]))
    release = _released(settings, sample, settings["epsilon"], area=settings["areas"])
    total = float(sample["w"].sum())
    rows = [
        {
            **{"figure": "population", "area": "", "truth": float(len(people)), "sample": total},
            **{"estimate": release.privacy["population"]},
        }
    ]
    found = tabulate(release, by=["area"], share={"poor": ("no", "yes")})
    for one in found.figures:
        (area,) = one.cell
        if one.point == "yes":
            truth = _share(people.filter(pl.col("area") == area))
            shares = [_share(x.filter(pl.col("area") == area)) for x in release.datasets]
            rows.append(
                {
                    **{"figure": "share of poor", "area": area, "truth": truth},
                    "sample": _share(sample.filter(pl.col("area") == area)),
                    **{"estimate": one.estimate, "datasets": float(np.mean(shares))},
                    **_held(one, truth),
                }
            )
    rows += _of_clusters(settings, rng)
    known = [{k: None if x != x else x for k, x in row.items()} for row in rows]
    return Result([{"replicate": key[0], **row} for row in known])


def _released(
    settings: Mapping[str, Any], sample: pl.DataFrame, epsilon: float, **levels: Any
) -> Release:
    """The release of a sample of poor people, with one more column by its levels."""
    columns = {name: Column(model="nominal", levels=tuple(own)) for name, own in levels.items()}
    schema = Schema(
        {**columns, "poor": Column(model="nominal", levels=("no", "yes"))},
        weight="w",
        weight_range=tuple(settings["weight_range"]),
        weight_kind="design",
    )
    mechanism = NoisyCounts(epsilon=epsilon, delta=settings["delta"], measure="pairs")
    return synthesize(sample, schema=schema, mechanism=mechanism, datasets=settings["datasets"])


def _of_clusters(settings: Mapping[str, Any], rng: np.random.Generator) -> list[dict[str, Any]]:
    """Rows of a sample of clusters: shares of poor people, with two kinds of intervals."""
    own, n = settings["clusters"], settings["n"]
    fixed, size = np.random.default_rng(settings["population_seed"]), settings["population"]
    cluster = np.repeat(np.arange(own["all"]), size // own["all"])
    ends = own["all"] * np.cumsum([*settings["areas"].values()])
    area = np.array([*settings["areas"]])[np.searchsorted(ends, cluster, side="right")]
    share = np.array([settings["poor"][name] for name in area])
    logit = np.log(share / (1.0 - share)) + fixed.normal(0.0, own["spread"], own["all"])[cluster]
    poor = fixed.random(len(cluster)) < 1.0 / (1.0 + np.exp(-logit))
    odds = np.exp(-fixed.normal(0.0, settings["spread"], len(cluster)) - settings["tie"] * poor)
    people = pl.DataFrame({"area": area, "poor": np.where(poor, "yes", "no")})
    each, samples = n // own["drawn"], list[pl.DataFrame]()
    for name, part in settings["areas"].items():
        all_of = np.unique(cluster[area == name])
        count = round(part * own["drawn"])
        for place in rng.choice(all_of, count):
            there = np.flatnonzero(cluster == place)
            chances = odds[there] / odds[there].sum()
            at = rng.choice(len(there), each, p=chances)
            label = pl.lit(str(len(samples)))
            weights = len(all_of) / count / (each * chances[at])
            samples.append(people[there[at].tolist()].with_columns(cluster=label, w=weights))
    sample = pl.concat(samples).with_columns(pl.col("w").clip(*settings["weight_range"]))
    designs: list[Any] = [{"clusters": "cluster", "strata": "area"}, {"clusters": "cluster"}, {}]
    rows, drawn = [], map(str, range(len(samples)))
    levels: dict[str, Any] = {"cluster": [*drawn], "area": settings["areas"]}
    for epsilon in own["epsilons"]:
        release = _released(settings, sample, epsilon, **levels)
        for by in ([], ["area"]):
            asked: Any = {"by": by, "share": {"poor": ("no", "yes")}}
            found = [tabulate(release, **design, **asked).figures for design in designs]
            for one, unstratified, alone in zip(*found, strict=True):
                if one.point == "yes":
                    of_cell = [pl.col("area").is_in(one.cell or [*settings["areas"]])]
                    truth = _share(people.filter(of_cell))
                    rows.append(
                        {
                            "figure": f"share of poor, clusters, epsilon {epsilon:g}",
                            **{"area": "".join(one.cell), "truth": truth},
                            **{"sample": _share(sample.filter(of_cell)), "estimate": one.estimate},
                            **_held(one, truth),
                            **{f"{x}_alone": v for x, v in _held(unstratified, truth).items()},
                            "plain": _held(alone, truth)["within"],
                        }
                    )
    return rows


def _held(figure: CellFigure, truth: float) -> dict[str, float]:
    """Whether an interval holds the truth, and its width."""
    within = float(figure.lower <= truth <= figure.upper)
    return {"within": within, "width": figure.upper - figure.lower}


def _share(people: pl.DataFrame) -> float:
    """The share of poor people, by weights where there are any."""
    weights = people["w"].to_numpy() if "w" in people.columns else np.ones(len(people))
    return float(weights @ (people["poor"].to_numpy() == "yes") / weights.sum())


def lines(results: Mapping[Key, Result]) -> list[dict[str, Any]]:
    """A line for the sum of the weights, and one for each area of each figure, or for all of them.

    `sample_error` and the other errors are root mean squares against the truth, of the sum against
    the sample's, as a share of it. `within` is the share of intervals that hold the truth, `wide`
    their median width over 3.92 errors, and `within_3` that of sums within 3 % of the sample's.
    `plain` is the share of intervals that hold it where records are taken for independent. Those of
    clusters without strata are `within_alone` and `wide_alone`.
    """
    rows = pl.DataFrame(
        [row for result in results.values() for row in result.rows], infer_schema_length=None
    )
    found = []
    for (figure, area), own in sorted(rows.group_by(["figure", "area"])):
        columns = {name: own[name].cast(pl.Float64) for name in own.columns[3:]}
        sample, of_sum = columns["sample"], figure == "population"
        beside = sample if of_sum else columns["truth"]
        scale = sample if of_sum else 1.0
        off = {name: (columns[name] - beside) / scale for name in ("estimate", "datasets")}
        error, of_datasets = (_mean(own**2) ** 0.5 for own in off.values())
        wide, alone = (_mean(columns[x], middle=True) for x in ("width", "width_alone"))
        found.append(
            {
                **{"figure": figure, "area": area, "samples": len(own)},
                "sample_error": _mean((sample - columns["truth"]) ** 2) ** 0.5,
                **{"error": error, "error_of_datasets": of_datasets},
                **{"within": _mean(columns["within"]), "wide": wide / 3.92 / error},
                "within_3": _mean(off["estimate"].abs() <= 0.03) if of_sum else np.nan,
                **{x: _mean(columns[x]) for x in ("plain", "within_alone")},
                "wide_alone": alone / 3.92 / error,
            }
        )
    return found


def _mean(own: pl.Series, *, middle: bool = False) -> float:
    """The mean or median of what is known; NaN of nothing."""
    found: Any = own.median() if middle else own.mean()
    return np.nan if found is None else float(found)


def report(settings: Mapping[str, Any], results: Mapping[Key, Result], out: Path) -> Report:
    """Show a line for each figure; write survey-counts.csv."""
    found = lines(results)
    table = terminal_table(
        f"n {settings['n']:,}, epsilon {settings['epsilon']:g}, delta {settings['delta']:g}, "
        f"{found[0]['samples']} samples",
        left=["figure", "area"],
        right=[
            *("sample's error", "error", "of datasets", "within", "width"),
            *("within 3 % of the sample's", "plain", "without strata", "width"),
        ],
    )
    numbers = (
        *("sample_error", "error", "error_of_datasets", "within", "wide", "within_3"),
        *("plain", "within_alone", "wide_alone"),
    )
    for one in found:
        table.add_row(one["figure"], one["area"], *(f"{one[name]:.4g}" for name in numbers))
    text = (
        'Intervals of clusters have areas as strata, or none; "plain" ones take no clusters.',
        "Errors are root mean squares against the population; that of the sum of the weights is "
        "against the sample's, as a share of it. Intervals are at 95 %; their median width is over "
        "3.92 errors.",
    )
    return write_report(out, [table], tables={"survey-counts.csv": found}, text=text, pictures={})


STUDY = ReplicatedStudy(
    name="survey-counts",
    settings=SETTINGS,
    replicates=200,
    keys=keys,
    replicate=replicate,
    report=report,
)
