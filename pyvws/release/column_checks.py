"""What a run tells its agency of each synthetic column: the statistics in summary.json, a warning.

Both describe the confidential table, so nothing of them enters `release/`, and no draw or statement
depends on them. A strict run stays within its claim as long as the agency keeps them inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import narwhals as nw
import numpy as np

from pyvws._base.checks import Floats
from pyvws.errors import MisfitWarning
from pyvws.evaluation.column_checks import TROUBLES, ColumnCheck, Predictor, check_column
from pyvws.synthesis.confidential_table import ConfidentialTable, OutcomeColumn
from pyvws.tables.headers import named
from pyvws.tables.row_order import RowNumbers

__all__ = ["ROWS", "Sample", "check_columns", "sampled"]

Sample = dict[str, Floats]
"""Some rows of a synthetic dataset, by column: the synthesized ones and the public predictors."""

ROWS: Final = 20_000
"""The checks look at so many rows of each dataset at most."""

_RANGE: Final = (
    "Give the public range in a schema (range), or a narrower one, or take another family or scale."
)
_INSIDE: Final = "This line describes the confidential table: keep it inside."
_ADVICE: Final = {
    "negative": _RANGE,
    "below": _RANGE,
    "above": _RANGE,
    "far": _RANGE,
    "fractions": "For whole numbers set decimals = 0 in a schema, or --round.",
    "repeated": "A value that many records have is a point of mass: mass in a schema.",
    "quantiles": "Take another family (money is no count), scale or predictors, or a larger "
    "epsilon.",
    "missing": "Missing values and levels follow their predictors: name more of them, or take a "
    "larger epsilon.",
}
_SELDOM: Final = 0.01  # A rule that a larger share of the records breaks may be a wrong one.
_ADVICE["levels"] = _ADVICE["missing"]
_ADVICE["order"] = 'Levels without an order need model = "nominal".'
_ADVICE["slope"] = "A predictor whose numbers are codes needs levels in a schema, or C(NAME)."
_ADVICE["given"] = "Name interactions, or take a larger epsilon."


def sampled(
    values: Mapping[str, Floats],
    table: ConfidentialTable,
    rows: RowNumbers | None,
    *,
    first: int = 1,
    of: int,
) -> Sample:
    """Every k-th of the `of` rows of a dataset, of which `values` (n,) begin with number `first`.

    Row j stands for record `rows[j]`, or j. k is the least with which the checks get no more rows
    than they look at. The rows are copies: a view would keep the whole dataset.
    """
    step = max(1, -(-of // ROWS))
    at = slice((1 - first) % step, None, step)
    kept = {name: values[name][at].copy() for name in table.synthesized}
    for name, x in table.public.items():
        own = values.get(name, x)  # Whole units come with their own summaries.
        kept[name] = own[at].copy() if rows is None else x[rows[at]]
    return kept


def check_columns(
    table: ConfidentialTable,
    datasets: Sequence[Sample],
    *,
    counts: Floats | None,
    rounded: bool,
) -> dict[str, Any]:
    """The part of summary.json on the columns; MisfitWarning of those that part from their data.

    Records that break a rule of a column are left out of its data. `counts` (N,) are the records
    that each row of a tally stands for; `rounded` says whether the run releases whole numbers.
    Under survey weights as exponents the data are weighted, for as many records as would be as sure
    without weights; beside columns released unchanged, which are the sample's, nothing is compared.
    """
    _warn_of_rules(table, float(table.records if counts is None else counts.sum()))
    e = table.exponents
    if e is not None:
        each = e if counts is None else e * counts
        counts = each * (each.sum() / (each @ e))
    found: dict[str, ColumnCheck] = {}
    fitted = {one.name: one for one in table.outcomes} if table.drawn else {}
    for name, one in table.synthesized.items():
        levels = list(map(str, one.kind.to_list())) if isinstance(one.kind, nw.Series) else None
        own = [made[name] for made in datasets]
        keeping = slice(None) if one.keeping is None else one.keeping
        data, of = one.y[keeping], None if counts is None else counts[keeping]
        apart = e is not None and bool(table.unchanged)
        if apart or np.isnan(data).all():  # Nothing to compare with, or all break a rule.
            found[name] = ColumnCheck(())
            continue
        if rounded and levels is None:
            data, own = np.rint(data), [np.rint(made) for made in own]
        predictors = []
        if name in fitted:
            predictors = _predictors(table, fitted[name], keeping, datasets)
        found[name] = check_column(data, own, levels=levels, counts=of, predictors=predictors)
    _warn({name: check.troubles for name, check in found.items()}, table.released)
    return {
        "rows_checked": min(len(next(iter(made.values()))) for made in datasets),
        "columns": {
            name: [asdict(statistic) for statistic in check.statistics]
            for name, check in found.items()
        },
    }


def _predictors(
    table: ConfidentialTable, column: OutcomeColumn, keeping: Any, datasets: Sequence[Sample]
) -> list[Predictor]:
    """The column's predictors whose values the checks have, but for those of a table's patterns."""
    if column.model.name == "table":
        return []
    made = {name: one.y for name, one in table.synthesized.items()}
    found = []
    for name in column.predictors:
        x = table.public.get(name, made.get(name))
        if x is None:
            continue
        trouble = "slope" if name in column.terms else "given"
        if column.model.name == "ordinal":
            trouble = "order"
        found.append(Predictor(name, x[keeping], [one[name] for one in datasets], trouble))
    return found


def _warn(troubles: Mapping[str, tuple[str, ...]], header: Sequence[str]) -> None:
    keys = [key for key in TROUBLES if any(key in found for found in troubles.values())]
    if not keys:
        return
    told = "; ".join(
        f"{TROUBLES[key]} ({named([n for n, found in troubles.items() if key in found], header)})"
        for key in keys
    )
    warnings.warn(
        f"Synthetic columns do what their data does not: {told}. "
        f"{' '.join(dict.fromkeys(_ADVICE[key] for key in keys))} column_checks in "
        f"confidential/summary.json has the figures. {_INSIDE}",
        MisfitWarning,
        stacklevel=4,
    )


def _warn_of_rules(table: ConfidentialTable, records: float) -> None:
    """MisfitWarning of columns whose rules many of the `records` break."""
    many = [name for name, broken in table.breaking.items() if broken > _SELDOM * records]
    if many:
        warnings.warn(
            f"More than {_SELDOM:.0%} of the records break the rules of {named(many, many)}, and "
            "have no term there. Compare the rules with the table: every synthetic record keeps "
            "them. records_that_break_rules in confidential/summary.json has the numbers. "
            f"{_INSIDE}",
            MisfitWarning,
            stacklevel=4,
        )
