"""How useful synthetic tables are, by scores beside those of a second sample and of no ties.

Every score is computed for the synthetic datasets, for a bootstrap of the original's records or
units (what a second sample would about have), and for independent columns: the original with each
column in an order of its own, so that each margin is right and nothing ties columns together. A
score says where a synthetic table stands between these two [nist2023] [snoke2018] [cramer1946].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats, whole_number
from pyvws.evaluation.associations import associations
from pyvws.evaluation.bootstrap import second_sample, units_drawn
from pyvws.evaluation.k_marginal import chained_k_marginal, coded_k_marginal
from pyvws.evaluation.one_column import ecdf_utility
from pyvws.evaluation.original_and_datasets import (
    OriginalAndDatasets,
    Plain,
    PlainTables,
    plain_tables,
)
from pyvws.evaluation.pmse import tree_score, two_way_pmse
from pyvws.evaluation.table_scores import (
    BLIND,
    AssociationChange,
    ColumnUtility,
    Score,
    TableUtility,
)
from pyvws.tables.files.headers import display_names
from pyvws.tables.schema.schema import Schema


def table_utility(
    original: IntoFrame,
    synthetic: Sequence[Any],
    *,
    schema: Schema | None = None,
    columns: Sequence[str] | None = None,
    bins: Mapping[str, Any] | None = None,
    unit: str | None = None,
    s_pmse: bool = True,
    trees: bool = False,
    seed: int = 1,
) -> TableUtility:
    """Scores of synthetic tables from any tool, each beside chance and independent columns.

    The scores: k-marginal [nist2023], S_pMSE [snoke2018], distances of the margins, differences of
    missing shares and of associations. `TableUtility.scores` has for each its direction, its best
    and worst value for this table, and what it cannot see. No score says anything of privacy: a
    copy of the original has the best of each.

    Parameters
    ----------
    original : pandas, polars or Arrow table
        Confidential records.
    synthetic : sequence of tables
        Synthetic datasets; row counts and the order of rows may differ. A single one stands in a
        list.
    schema : Schema, optional
        What is a category, a number and a code of a missing value. By default the original says
        so, as `Schema.propose` reads it.
    columns : sequence of str, optional
        Columns to judge, two or more; by default all but dropped ones, identifiers and `unit`.
    bins : mapping of str to array_like of shape (E,), optional
        Rising public edges of a number's bins for the k-marginal score. Without them the bins are
        tenths of the original's values, which `by_data` tells.
    unit : str, optional
        Column of the original with the ids of units of several records, such as households. Then a
        second sample draws whole units; a record without an id is one of its own. By default the
        schema's unit, where the original has that column.
    s_pmse : bool
        Whether to compute S_pMSE by a logistic model, on which most of the time is spent.
    trees : bool
        Whether to compute S_pMSE by trees too; needs scikit-learn, and takes longer.
    seed : int
        Seed of the bootstrap, of the independent columns and of permutations.

    Returns
    -------
    TableUtility

    Raises
    ------
    InputError
        For a column that a table lacks, fewer than two columns, and cells of a number that are
        neither numbers nor missing codes.
    MissingDependencyError
        For trees without scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> original = pd.DataFrame({"a": list("xxyy") * 25, "b": [1, 2, 3, 3] * 25})
    >>> found = table_utility(original, [original])
    >>> found.k_marginal, round(found.s_pmse, 6)
    (1000.0, 0.0)
    """
    seed = whole_number(seed, "seed", least=0)
    read = OriginalAndDatasets.read(original, synthetic, schema=schema)
    there = read.first.columns
    if unit is not None and columns is None:
        columns = [name for name in there if name != unit]
    of_schema = getattr(schema, "unit", None)
    unit = of_schema if unit is None and of_schema in there else unit
    units = None if unit is None else units_drawn(read.first, unit)
    tables = plain_tables(read, columns=columns, bins=bins)
    rng = np.random.default_rng(seed)
    first, N = tables.original, len(next(iter(tables.original.values())))
    again = second_sample(rng, N, units)
    bootstrap = {name: values[again] for name, values in first.items()}
    apart = {name: values[rng.permutation(N)] for name, values in first.items()}

    def score(
        name: str, measure: Callable[[Plain], float], worst: Callable[[], float] = lambda: 1.0
    ) -> Score:
        """A score for which smaller is better, 0 the best."""
        values = tuple(measure(table) for table in tables.synthetic)
        ends = measure(bootstrap), measure(apart)
        mean = float(np.mean(values))
        return Score(name, mean, values, *ends, 0.0, float(worst()), False, BLIND[name])

    cells = [tables.cells(table) for table in (first, *tables.synthetic)]
    k = coded_k_marginal(cells[0], cells[1:], tables.names, units=units, seed=seed)
    scores = [
        Score(
            *("k_marginal", k.score, k.by_dataset, k.bootstrap, k.independent),
            *(1000.0, 0.0, True, BLIND["k_marginal"]),
        )
    ]
    folded: set[str] = set()
    unseen = [0]
    largest: list[float] = []

    def two_way(table: Plain) -> float:
        found = two_way_pmse(first, table)
        folded.update(found.folded)
        unseen.append(found.unseen)
        share = 1.0 - N / (N + len(next(iter(table.values()))))
        largest.append(share * (1.0 - share) / found.score.null_mean)
        return found.score.ratio

    if s_pmse:
        scores.append(score("s_pmse", two_way, lambda: max(largest)))
    if trees:
        by_trees = partial(tree_score, first, seed=seed)
        scores.append(score("s_pmse_tree", by_trees, lambda: np.inf))
    scores.append(score("margins", lambda table: float(_margins(tables, table).mean())))
    missing = _both_missing(tables, first)
    if missing.any() or any(_both_missing(tables, table).any() for table in tables.synthetic):
        scores.append(
            score(
                "missing", lambda table: float(np.abs(_both_missing(tables, table) - missing).max())
            )
        )
    change = _associations(tables, apart)
    scores.append(
        score(
            "associations",
            lambda table: _mean_size(_matrix(tables, table) - change.original),
            lambda: 2.0 if (change.original < 0).any() else 1.0,
        )
    )
    by_name = {own.name: own for own in scores}
    return TableUtility(
        k_marginal=k.score,
        k_marginal_together=k.together,
        k_marginal_independent=k.independent,
        k_marginal_bootstrap=k.bootstrap,
        k_marginal_margin=k.margin,
        k_marginal_conditional=chained_k_marginal(cells[0], seed=seed),
        s_pmse=by_name["s_pmse"].value if s_pmse else None,
        s_pmse_tree=by_name["s_pmse_tree"].value if trees else None,
        associations=change,
        columns=_columns(tables, change),
        by_pair=k.by_pair,
        missing_pairs=np.array(
            [missing, np.mean([_both_missing(tables, table) for table in tables.synthetic], axis=0)]
        ),
        scores=tuple(scores),
        folded=tuple(name for name in tables.names if name in folded),
        unseen_pairs=max(unseen),
        left_out=tables.left_out,
        by_data=tables.by_data,
        unit=unit,
        labels=display_names(there),
    )


def _margins(tables: PlainTables, table: Plain) -> Floats:
    """The distance of each column's margin from the original's (K,)."""
    distances = []
    for name, values in tables.original.items():
        if name in tables.edges:
            both = [x[~np.isnan(x)] for x in (values, table[name])]
            some = all(len(x) for x in both)
            distances.append(ecdf_utility(both[0], [both[1]]).maximum if some else 1.0)
            continue
        width = 1 + int(max(values.max(), table[name].max()))
        shares = [np.bincount(x, minlength=width) / len(x) for x in (values, table[name])]
        distances.append(float(np.abs(shares[0] - shares[1]).sum()) / 2.0)
    return np.array(distances)


def _both_missing(tables: PlainTables, table: Plain) -> Floats:
    """The share of records with both columns of each pair missing (K, K)."""
    gone = np.column_stack([tables.missing(table, name) for name in tables.names])
    return (gone.T.astype(np.float64) @ gone) / len(gone)


def _matrix(tables: PlainTables, table: Plain) -> Floats:
    return associations(pl.DataFrame(table), categories=tables.categories).matrix


def _associations(tables: PlainTables, apart: Plain) -> AssociationChange:
    by_dataset = np.array([_matrix(tables, table) for table in tables.synthetic])
    return AssociationChange(
        names=tables.names,
        categorical=tuple(name in tables.categories for name in tables.names),
        original=_matrix(tables, tables.original),
        synthetic=by_dataset.mean(axis=0),
        by_dataset=by_dataset,
        independent=_matrix(tables, apart),
    )


def _mean_size(difference: Floats) -> float:
    """The mean size over pairs (K, K); a pair that lost its association counts as 1."""
    above = np.abs(difference[np.triu_indices(len(difference), 1)])
    return float(np.where(np.isnan(above), 1.0, above).mean())


def _columns(tables: PlainTables, change: AssociationChange) -> tuple[ColumnUtility, ...]:
    margins = np.mean([_margins(tables, table) for table in tables.synthetic], axis=0)
    columns = []
    for place, name in enumerate(tables.names):
        others = np.arange(len(tables.names)) != place
        before, after, apart = (
            matrix[place, others]
            for matrix in (change.original, change.synthetic, change.independent)
        )
        lost = float(np.nansum(np.abs(after - before)))
        most = float(np.nansum(np.abs(apart - before)))
        gone = [
            float(tables.missing(table, name).mean())
            for table in (tables.original, *tables.synthetic)
        ]
        columns.append(
            ColumnUtility(
                name=name,
                kind="number" if name in tables.edges else "category",
                margin=float(margins[place]),
                missing=gone[0],
                missing_synthetic=float(np.mean(gone[1:])),
                associations_kept=1.0 - lost / most if most else float("nan"),
            )
        )
    return tuple(columns)
