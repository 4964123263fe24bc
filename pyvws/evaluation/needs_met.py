"""Whether what analysts need is met, from what a release holds alone.

Shares of groups come from the noisy counts, by least squares over all sets and without a model. A
regression has the combining rule of the population. With T its variance and v that of as many
records without noise, sqrt(T / v) says how many of their standard errors it has.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product
from typing import Any, Final

import numpy as np
import polars as pl
from scipy.special import ndtri

from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import RULES, NoisyCells
from pyvws.evaluation.counted_cells import CountedFigures
from pyvws.evaluation.public_cells import CellStatistic
from pyvws.evaluation.regressions import fit_formula
from pyvws.mechanisms.counts.needs import LEVEL, Need
from pyvws.tables.schema.schema import Schema

_OF: Final = "population"


def needs_met(
    needs: Sequence[Need], cells: NoisyCells, schema: Schema, datasets: Sequence[pl.DataFrame]
) -> list[dict[str, Any]]:
    """Each need with what it reaches, as `privacy.json` has it.

    `schema` is that of the release. The `datasets` are read for regressions alone.
    """
    figures = CountedFigures.read(cells, schema, of=_OF, level=LEVEL) if needs else None
    found = []
    for need in needs:
        met, groups = None, {}
        if need.regression or figures is None:
            reached = _of_regression(need, datasets, schema)
            if need.within is not None and reached is not None:
                met = reached <= need.within
        else:
            widths = _of_shares(need, figures, schema)
            reached = max((x for x in widths if x is not None), default=None)
            kept = sum(x is not None and x <= (need.within or math.inf) for x in widths)
            groups = {"groups": len(widths), "groups_met": kept}
            met = None if need.within is None else kept == len(widths)
        by = "combining rule" if need.regression else "noisy counts"
        own = {"need": need.words, "by": by, "within": need.within, "reached": reached}
        found.append({**own, **groups, "met": met})
    return found


def _of_shares(need: Need, figures: CountedFigures, schema: Schema) -> list[float | None]:
    """How far the intervals of shares reach, in points: the furthest of each group.

    None of a group that noise hides.
    """
    column, *by = need.columns
    asked = CellStatistic("share", column, tuple(schema.columns[column].levels or ()))
    widths = []
    for cell in product(*(schema.columns[name].levels or () for name in by)):
        found = figures.of_cell(dict(zip(by, cell, strict=True)), asked)
        half = 100.0 * float(ndtri(0.5 + 0.5 * LEVEL))
        widths.append(None if found is None else max(half * x["standard_error"] for x in found))
    return widths


def _of_regression(need: Need, datasets: Sequence[pl.DataFrame], schema: Schema) -> float | None:
    """The largest sqrt(T / v) of a coefficient; None where the datasets tell none."""
    if len(datasets) < 2:
        return None
    try:
        fits = [fit_formula(own, need.words, schema=schema) for own in datasets]
    except InputError:
        return None
    if any(fit.names != fits[0].names for fit in fits):
        return None
    between = np.var([fit.coefficients for fit in fits], axis=0, ddof=1)
    within = np.mean([fit.variances for fit in fits], axis=0)
    totals = [
        RULES[_OF].moments(float(b), float(v), len(fits))[0] / float(v)
        for b, v in zip(between, within, strict=True)
        if v > 0.0
    ]
    return math.sqrt(max(totals)) if totals else None
