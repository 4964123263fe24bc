"""What a run tells its agency of its synthetic columns: statistics in summary.json, and warnings.

Both describe the confidential table, so nothing of them enters `release/`, and no draw or statement
depends on them. A strict run stays within its claim as long as the agency keeps them inside.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws._base.phrase import counted
from pyvws.errors import MisfitWarning
from pyvws.evaluation.column_checks import TROUBLES, ColumnCheck, Predictor, check_column
from pyvws.evaluation.k_marginal import KMarginal, coded_k_marginal
from pyvws.evaluation.sample_errors import CellNoise
from pyvws.mechanisms.mechanism import Mechanism
from pyvws.mechanisms.remedies import Remedies, remedies
from pyvws.plan.coded import OutcomeColumn
from pyvws.synthesis.confidential_table import ConfidentialTable
from pyvws.tables.files.headers import named
from pyvws.tables.files.row_order import RowNumbers

Sample = dict[str, Floats]
"""Some rows of a synthetic dataset, by column: the synthesized ones and the public predictors."""

ROWS: Final = 20_000
"""The checks look at so many rows of each dataset at most."""

_SELDOM: Final = 0.01  # A rule that a larger share of the records breaks may be a wrong one.
_OF_RULES: Final = (
    f"more than {_SELDOM:.0%} of the records break its rules, and have no term there. Compare the "
    "rules with the table: every synthetic record keeps them. records_that_break_rules has the "
    "numbers."
)
_PUBLIC_SIZES: Final = (
    "size_shares in the schema gives the sizes. Compare these shares with the table's, and with "
    "where they were published."
)
_FAILS: Final = (
    "The release fails: it is worse than independent columns. Columns of the data, each in a "
    "random order of its own, are nearer to the data's pairs (k-marginal score). {help} pyvws "
    "compare finds the best mechanism."
)
_REST: Final = (
    "{more}column_checks in confidential/summary.json has the figures and what to do about each "
    "column, and so has the board's page of pyvws report. These lines describe the confidential "
    "table: keep them inside."
)
_BY_WEIGHTS: Final = (
    *("repeated", "mean", "spread", "quantiles", "missing", "levels", "order", "slope", "given"),
)
"""What weights can do to a column, whatever its family."""

_OF_JOINT: Final = ("score", "independent", "bootstrap", "margin", "worse_than_independent")
_STRICT: Final = ("dp", "approximate-dp", "dp-if-bounded")
_LITTLE: Final = 0.25  # Records that keep less than this share of their likelihood keep little.
_TENTHS: Final = np.arange(1, 10) / 10
_MOST_LINES: Final = 5  # Of a warning; the last of them says where the rest is.
_MOST_NAMED: Final = 5  # Columns of a line.


def sampled(
    values: Mapping[str, Floats],
    table: ConfidentialTable,
    rows: RowNumbers | None,
    *,
    first: int = 1,
    length: int,
) -> Sample:
    """Every k-th of a dataset's `length` rows, of which `values` (n,) begin with number `first`.

    Row j stands for record `rows[j]`, or j. k is the least with which the checks get no more rows
    than they look at. The rows are copies: a view would keep the whole dataset.
    """
    step = max(1, -(-length // ROWS))
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
    mechanism: Mechanism,
    rounded: bool,
    records: Mapping[str, Floats],
    noise: Callable[[str], CellNoise | None] = lambda _name: None,
) -> dict[str, Any]:
    """The part of summary.json on the columns; MisfitWarning of those that differ from their data.

    The warning has five lines at most, and `advice` has what is wrong with each column and what to
    do: where a column has the shares of the weighted data, its weights are the cause. A table that
    is worse than independent columns is in the first line. `records` has the run's figures of
    records, their weights (N,) among them. `noise` is that of the counts that made a column.

    Records that break a rule of a column are left out of its data. `rounded` says whether the run
    releases whole numbers. Under survey weights as exponents the data are weighted, for as many
    records as would be as sure without weights; beside columns released unchanged, which are the
    sample's, nothing is compared.
    """
    counts = table.counts
    many = _SELDOM * float(table.records if counts is None else counts.sum())
    wrong = {name: [_OF_RULES] for name, broken in table.breaking.items() if broken > many}
    e = table.exponents
    if e is not None:
        each = e if counts is None else e * counts
        counts = each * (each.sum() / (each @ e))
    help_of = remedies(mechanism)
    strict = mechanism.facts.claim in _STRICT
    units = table.units if counts is None else None
    checks: dict[str, ColumnCheck] = {}
    others: dict[str, dict[str, str]] = {}
    apart = e is not None and bool(table.unchanged)
    fitted = {outcome.name: outcome for outcome in table.outcomes} if table.drawn else {}
    for name, outcome in table.synthesized.items():
        levels = (
            list(map(str, outcome.kind.to_list())) if isinstance(outcome.kind, nw.Series) else None
        )
        own = [dataset[name] for dataset in datasets]
        keeping = slice(None) if outcome.keeping is None else outcome.keeping
        data, own_counts = outcome.y[keeping], None if counts is None else counts[keeping]
        if apart or np.isnan(data).all():  # Nothing to compare with, or all break a rule.
            checks[name] = ColumnCheck(())
            continue
        if rounded and levels is None:
            data, own = np.rint(data), [np.rint(dataset) for dataset in own]
        predictors = []
        if name in fitted:
            predictors = _predictors(table, fitted[name], keeping, datasets)
        how: dict[str, Any] = {
            "levels": levels,
            "predictors": predictors,
            "units": None if units is None else units[keeping],
            "beyond_is_trouble": not strict,
        }
        how["noise"] = noise(name) if levels is None else None
        checks[name] = check_column(data, own, counts=own_counts, **how)
        kept = _kept(records, name)
        if name in _given(table):
            others[name] = {"levels": _PUBLIC_SIZES}
        elif kept is not None and checks[name].troubles:
            each = kept[keeping] * (1.0 if own_counts is None else own_counts)
            others[name] = _by_weights(checks[name], data, own, each, own_counts, how, help_of)
    joint = None if apart else _joint(table, datasets, counts)
    for name, check in checks.items():
        if check.troubles:
            own_help = {**help_of.by_trouble, **others.get(name, {})}
            wrong.setdefault(name, []).extend(_wrong(check.troubles, own_help))
    advice = {name: " Also ".join(parts) for name, parts in wrong.items()}
    fails = joint is not None and joint.worse_than_independent
    _warn(advice, table.released, fails=_FAILS.format(help=help_of.pairs) if fails else "")
    of_joint = {name: getattr(joint, name) for name in _OF_JOINT} if joint else {}
    return {
        **({"k_marginal": {**of_joint, "help": help_of.pairs}} if joint else {}),
        "rows_checked": min(len(next(iter(dataset.values()))) for dataset in datasets),
        "columns": {
            name: [asdict(statistic) for statistic in check.statistics]
            for name, check in checks.items()
        },
        "advice": advice,
    }


def _given(table: ConfidentialTable) -> set[str]:
    """The columns that public shares in the schema give: the sizes of units, where it has them."""
    return set() if table.members is None else {*table.members.members.known_draws}


def _kept(records: Mapping[str, Floats], name: str) -> Floats | None:
    """The share (N,) of their likelihood that records keep in a column; None without a fit."""
    weights = records.get(f"weight_final_{name}", records.get("weight_final"))
    outside = records.get("share_outside_window")
    return weights if weights is None or outside is None else weights * (1.0 - outside)


def _by_weights(
    check: ColumnCheck,
    data: Floats,
    own: Sequence[Floats],
    kept: Floats,
    counts: Floats | None,
    how: Mapping[str, Any],
    help_of: Remedies,
) -> dict[str, str]:
    """Other remedies than the usual ones, by key of `TROUBLES`, where weights or a clamp decide.

    `kept` (N,) is what is left of each entry's `counts`. The data are compared once more with
    these shares, for as many records.
    """
    records = float(len(data) if counts is None else counts.sum())
    if not kept[~np.isnan(data)].any():
        return {}
    how = {**how, "units": None}
    under = check_column(data, own, counts=kept * (records / kept.sum()), **how).troubles
    little = kept.sum() < _LITTLE * records
    return {
        key: help_of.small if key in under else help_of.uneven
        for key in check.troubles
        if key in _BY_WEIGHTS and (little or key not in under)
    }


def _joint(
    table: ConfidentialTable, datasets: Sequence[Sample], counts: Floats | None
) -> KMarginal | None:
    """The k-marginal score of the synthesized columns, by the data's tenths; None of one column.

    A column that a run computes and does not read has nothing to be compared with, and sizes by
    public shares are no copy of the table's.
    """
    columns = {
        name: column
        for name, column in table.synthesized.items()
        if name not in _given(table) and not np.isnan(column.y).all()
    }
    lengths = [{len(column.y) for column in columns.values()}]
    lengths += [{len(dataset[name]) for name in columns} for dataset in datasets]
    if len(columns) < 2 or any(len(length) > 1 for length in lengths):
        return None
    each = np.ones(lengths[0].pop()) if counts is None else counts.copy()
    for column in columns.values():
        if column.keeping is not None:  # Records that break a rule are no part of the data.
            each[~column.keeping] = 0.0
    number = min(ROWS, round(each.sum()))
    if number < 2:
        return None
    rows = np.searchsorted(each.cumsum(), (np.arange(number) + 0.5) / number * each.sum())
    coded = []
    for name, column in columns.items():
        tables = [column.y[rows], *(dataset[name] for dataset in datasets)]
        if not isinstance(column.kind, nw.Series):
            there = tables[0][~np.isnan(tables[0])]
            edges = np.unique(np.quantile(there, _TENTHS)) if len(there) else _TENTHS
            tables = [
                np.where(np.isnan(y), np.nan, np.searchsorted(edges, y, side="right"))
                for y in tables
            ]
        coded.append([np.nan_to_num(y + 1.0).astype(np.intp) for y in tables])
    data, *own = (np.column_stack(parts) for parts in zip(*coded, strict=True))
    units = table.units[rows] if table.units is not None and counts is None else None
    return coded_k_marginal(data, own, list(columns), units=units)


def _predictors(
    table: ConfidentialTable,
    column: OutcomeColumn,
    keeping: NDArray[np.bool_] | slice,
    datasets: Sequence[Sample],
) -> list[Predictor]:
    """The column's predictors whose values the checks have, but for those of a table's patterns."""
    if column.model.name == "table":
        return []
    outcomes = {name: outcome.y for name, outcome in table.synthesized.items()}
    predictors = []
    for name in column.predictors:
        x = table.public.get(name, outcomes.get(name))
        if x is None:
            continue
        trouble = "slope" if name in column.terms else "given"
        if column.model.name == "ordinal":
            trouble = "order"
        predictors.append(
            Predictor(name, x[keeping], [dataset[name] for dataset in datasets], trouble)
        )
    return predictors


def _wrong(troubles: Sequence[str], by_trouble: Mapping[str, str]) -> list[str]:
    """What is wrong with a column and its remedy; keys with one remedy go together."""
    by_remedy: dict[str, list[str]] = {}
    for key in troubles:
        by_remedy.setdefault(by_trouble[key], []).append(TROUBLES[key])
    return [f"{'; '.join(what)}. {remedy}" for remedy, what in by_remedy.items()]


def _warn(advice: Mapping[str, str], header: Sequence[str], *, fails: str) -> None:
    """MisfitWarning of columns and their advice, a line for all that have the same advice.

    `fails` is the first line where the release fails, else empty.
    """
    by_advice: dict[str, list[str]] = {}
    for name, words in advice.items():
        by_advice.setdefault(words, []).append(name)
    lines = [fails] if fails else []
    lines += [f"{_some(names, header)}: {words}" for words, names in by_advice.items()]
    if not lines:
        return
    rest = list(by_advice.values())[_MOST_LINES - 1 - bool(fails) :]
    others = counted(sum(map(len, rest)), "more column")
    more = f"Synthetic values differ from the data in {others}. " if rest else ""
    told = [*lines[: _MOST_LINES - 1], _REST.format(more=more)]
    warnings.warn("\n".join(told), MisfitWarning, stacklevel=5)


def _some(names: Sequence[str], header: Sequence[str]) -> str:
    """The first names of columns for a warning, and how many more there are."""
    more = len(names) - _MOST_NAMED
    return named(names[:_MOST_NAMED], header) + (f" and {more} more" if more > 0 else "")
