"""Cases of `pyvws.evaluation` for imputed records: rules of the population and of the table."""

from __future__ import annotations

from typing import Any, Final, Literal

import numpy as np
import polars as pl

from pyvws._base.checks import Floats, Ints
from pyvws.evaluation.combining_rules import combine, combine_formula
from pyvws.evaluation.published_table import tabulate
from pyvws_validation._draws import Draws
from pyvws_validation.cases.evaluation import _partial

Of = Literal["population", "table"]

_estimates: Final = _partial

_PARTS: Final = ("estimate", "standard_error", "df", "lower", "upper")


def imputed_estimate(estimates: Floats, variances: Floats, of: Of) -> Floats:
    """Estimate, T and degrees of freedom."""
    found = combine(estimates, variances, of=of)
    return np.array([found.estimate, found.variance, found.df])


def imputed_regression(outcomes: list[Floats], x: Floats, group: Ints, of: Of) -> Floats:
    """The same of the coefficients of outcome ~ x + group, part after part."""
    tables = [
        pl.DataFrame({"outcome": outcome, "x": x, "group": group.astype(str)})
        for outcome in outcomes
    ]
    found = combine_formula(tables, "outcome ~ x + group", of=of).values()
    return np.array(
        [getattr(own, part) for part in ("estimate", "variance", "df") for own in found]
    )


def imputed_table(y: Floats, cell: Ints, datasets: int, of: Of, level: float) -> Floats:
    """Counts and means by cell of a table of datasets, part after part."""
    each = len(y) // datasets
    records = pl.DataFrame({"y": y, "cell": cell})
    table = tabulate(
        [records[each * place : each * (place + 1)] for place in range(datasets)],
        by={"cell": sorted(set(np.asarray(cell).tolist()))},
        count=True,
        mean="y",
        of=of,
        level=level,
    )
    return np.array([getattr(figure, part) for part in _PARTS for figure in table.figures])


def _outcomes(seed: int, datasets: int) -> dict[str, Any]:
    draws = Draws(seed)
    x, group = draws.bell(40, 10.0, 3.0), draws.whole(40, 3)
    group[:3] = 0, 1, 2
    outcomes = [5.0 + 2.0 * x + 3.0 * group + draws.bell(40, 0.0, 4.0) for _ in range(datasets)]
    return {"outcomes": outcomes, "x": x, "group": group}


def _records(seed: int, each: int, cells: int) -> dict[str, Any]:
    """Records of some datasets, each of which has records in all cells."""
    datasets, draws = 2 + seed % 3, Draws(seed)
    cell = draws.whole(datasets * each, cells)
    for start in range(0, len(cell), each):
        cell[start : start + 2 * cells] = np.repeat(np.arange(cells), 2)
    return {"y": draws.bell(len(cell), 3.0, 40.0), "cell": cell, "datasets": datasets}
