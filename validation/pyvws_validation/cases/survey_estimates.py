"""Cases of `pyvws.evaluation.survey_estimates`: what R's package survey gives for one dataset."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws_validation._draws import Draws

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
