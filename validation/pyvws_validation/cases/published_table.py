"""Cases of `pyvws.evaluation.published_table`: whole tables of estimates, and their Laplace noise.

R's package survey gives the figures of each dataset, and R joins them by the rules of [reiter2003].
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation.published_table import tabulate
from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema
from pyvws_validation._draws import Draws

_PARTS: Final = ("estimate", "standard_error", "df", "lower", "upper")
_AREA: Final = {"area": ["a"]}


def published_figures(
    y: Floats,
    group: Ints,
    cell: Ints,
    weights: Floats,
    strata: Ints,
    clusters: Ints,
    datasets: int,
    level: float,
) -> Floats:
    """Counts, totals, means and shares by cell of a table of datasets, part after part."""
    records = pl.DataFrame(
        {"y": y, "group": group, "cell": cell, "w": weights, "h": strata, "c": clusters}
    )
    design = {"weights": "w", "strata": "h", "clusters": "c"}
    asked = {"total": "y", "mean": "y", "share": {"group": [0, 1]}, "level": level}
    return figures_of(records, datasets, **asked, **design)


def figures_of(records: pl.DataFrame, datasets: int, **asked: Any) -> Floats:
    """Counts by cell of a table of datasets of equal sizes, and what is asked, part after part."""
    each = [*records.iter_slices(len(records) // datasets)]
    cells = records["cell"].unique().sort().to_list()
    table = tabulate(each, by={"cell": cells}, count=True, **asked)
    return np.array([getattr(figure, part) for part in _PARTS for figure in table.figures])


def laplace_errors(
    epsilon: float,
    statistics: int,
    heaviest: float,
    mean_weight: float,
    largest: float,
    members: int,
) -> Floats:
    """What a table says of the noise of a count and a total, among `statistics` that share epsilon.

    The weights are exponents of the datasets' fit; or units have up to `members` records, without
    weights.
    """
    columns: dict[str, Column] = {
        "area": Column(model="table", levels=("a", "b")),
        "y": Column(model="normal", range=(-largest, largest / 2.0)),
        "w": Column(role="drop", range=(0.0, heaviest)),
        "home": Column(role="id"),
    }
    units: dict[str, Any] = {}
    if members > 1:
        units = {"unit": "home", "members": {"sizes": [1, members], "summaries": {"n": "size"}}}
    else:
        units = {"survey_weight": "w", "mean_survey_weight": mean_weight}
    table = pl.DataFrame({"area": ["a", "b"], "y": [0.0, 0.0], "w": [1.0, 1.0], "home": [1, 2]})
    published = tabulate(
        [table, table],
        by=_AREA,
        count=True,
        total="y",
        mean=["y"] * (statistics - 2),
        schema=Schema(columns, **units),
        original=table,
        epsilon=epsilon,
    )
    return np.array([figure.laplace_noise for figure in published.figures[:2]])


def _records(seed: int, *shape: int) -> dict[str, Any]:
    """Records of some datasets: each has all cells, and two clusters at least in each stratum."""
    each, cells, strata = shape
    datasets = 2 + seed % 3
    parts = []
    for place in range(datasets):
        draws = Draws(10 * seed + place)
        stratum, cluster = draws.whole(each, strata), draws.whole(each, 4 + seed)
        for at in range(2 * strata):
            stratum[at], cluster[at] = at // 2, at % 2
        cell = draws.whole(each, cells)
        cell[:cells] = np.arange(cells)
        parts.append(
            {
                "y": draws.bell(each, 3.0, 40.0),
                "group": draws.whole(each, 2),
                "cell": cell,
                "weights": draws.uniform(each, 0.5, 400.0),
                "strata": stratum,
                "clusters": cluster,
            }
        )
    joined = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    return {**joined, "datasets": datasets}


# What R's package survey gives for one dataset


_Statistic = Callable[[Any, SurveyDesign, Any], SurveyEstimate]


def shares(y: Floats, cell: Ints, **design: Any) -> Floats:
    """The share of values above 0 among all records, then its standard error."""
    return means(y=np.asarray(y > 0, np.float64), cell=np.zeros(len(y), np.int64), **design)


def quantiles(level: float, **sample: Any) -> Floats:
    """Quantiles of the cells that hold a record, then their standard errors."""
    return _by_cell(lambda y, *rest: survey_quantile(y, level, *rest), **sample)


def _by_cell(
    statistic: _Statistic, *, y: Floats, cell: Ints, weights: Floats, strata: Ints, clusters: Ints
) -> Floats:
    """A statistic of the cells that hold a record, then its standard errors."""
    design = survey_design(weights, strata, clusters)
    cells = [np.flatnonzero(cell == code) for code in np.unique(cell)]
    figures = [statistic(y[rows], design, rows) for rows in cells]
    errors = [np.sqrt(figure.variance) for figure in figures]
    return np.array([*(figure.estimate for figure in figures), *errors])


totals, means = partial(_by_cell, survey_total), partial(_by_cell, survey_mean)


def _sample(seed: int, *shape: int) -> dict[str, Any]:
    """Records in cells, some of them in few clusters, and clusters of unlike sizes in strata."""
    records, cells, strata = shape
    draws = Draws(seed)
    per = 4 + seed  # Clusters in a stratum.
    stratum = draws.whole(records, strata)
    cluster = draws.whole(records, per)
    for place in range(2 * strata):  # Two clusters at least in each stratum.
        stratum[place], cluster[place] = place // 2, place % 2
    return {
        "y": draws.amounts(records),
        "cell": draws.whole(records, cells),
        "weights": draws.uniform(records, 0.5, 400.0),
        "strata": stratum,
        "clusters": cluster if seed % 2 else np.arange(records),
    }
