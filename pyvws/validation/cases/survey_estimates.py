"""Cases of `pyvws.evaluation.survey_estimates`: what R's package survey gives for one dataset."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.validation._draws import Draws, Floats

_Statistic = Callable[[Any, SurveyDesign, Any], SurveyEstimate]


def totals(y: Any, cell: Any, weights: Any, strata: Any, clusters: Any) -> Floats:
    """Totals of the cells that hold a record, then their standard errors."""
    return _by_cell(survey_total, y, cell, survey_design(weights, strata, clusters))


def means(y: Any, cell: Any, weights: Any, strata: Any, clusters: Any) -> Floats:
    """Means of the cells that hold a record, then their standard errors."""
    return _by_cell(survey_mean, y, cell, survey_design(weights, strata, clusters))


def shares(y: Any, cell: Any, weights: Any, strata: Any, clusters: Any) -> Floats:
    """The share of values above 0 among all records, then its standard error."""
    design = survey_design(weights, strata, clusters)
    return _by_cell(survey_mean, np.asarray(y > 0, np.float64), np.zeros(len(y)), design)


def quantiles(y: Any, cell: Any, weights: Any, strata: Any, clusters: Any, level: float) -> Floats:
    """Quantiles of the cells that hold a record, then their standard errors."""

    def of(values: Any, design: SurveyDesign, rows: Any) -> SurveyEstimate:
        return survey_quantile(values, level, design, rows)

    return _by_cell(of, y, cell, survey_design(weights, strata, clusters))


def _by_cell(statistic: _Statistic, y: Any, cell: Any, design: SurveyDesign) -> Floats:
    cells = [np.flatnonzero(cell == code) for code in np.unique(cell)]
    figures = [statistic(y[rows], design, rows) for rows in cells]
    errors = [np.sqrt(figure.variance) for figure in figures]
    return np.array([*(figure.estimate for figure in figures), *errors])


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
