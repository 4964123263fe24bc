"""How useful synthetic tables are, by scores beside those of a second sample and of no ties.

Every score is computed for the synthetic datasets, for a bootstrap of the original's records or
units (what a second sample would about have), and for independent columns: the original with each
column in an order of its own, so that each margin is right and nothing ties columns together. A
score says where a synthetic table stands between these two [nist2023] [snoke2018] [cramer1946].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from pyvws._base.checks import Floats, whole_number
from pyvws._base.html_table import html_table
from pyvws.evaluation.associations import associations
from pyvws.evaluation.ecdf import ecdf_utility
from pyvws.evaluation.k_marginal import (
    Standing,
    chained_k_marginal,
    coded_k_marginal,
    share_of_the_way,
    standing,
)
from pyvws.evaluation.original_and_datasets import (
    OriginalAndDatasets,
    PlainTables,
    plain_tables,
)
from pyvws.evaluation.s_pmse import tree_score, two_way_pmse
from pyvws.evaluation.second_sample import second_sample, units_drawn
from pyvws.tables.schema.schema import Schema

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Plain = dict[str, NDArray[Any]]

BLIND: Final = {
    "k_marginal": (
        "what ties three or more columns together, differences within a bin, and rare cells"
    ),
    "s_pmse": (
        "what ties three or more columns together, and of a number's distribution all but its "
        "mean; with more records the same fault scores higher"
    ),
    "s_pmse_tree": "faults in fewer records than a leaf has",
    "margins": "what ties columns together: a permuted column scores 0",
    "missing": "values, and what ties a missing value to the value of another column",
    "associations": "the margins, and ties that neither ranks nor shares show",
}
"""What each score cannot see. None of them says anything of privacy."""


@dataclass(frozen=True, slots=True)
class Score:
    """One score of the synthetic datasets, and what gives it a scale.

    - `name`: Such as "k_marginal".
    - `value`: Mean over the datasets.
    - `by_dataset`: The score of each dataset.
    - `bootstrap`: The score of records, or of whole units, drawn from the original with
      replacement: as good as a second sample.
    - `independent`: The score of independent columns with the original's margins.
    - `best`, `worst`: The ends of the score for this table. A copy of the original has the best
      one.
    - `larger_is_better`: The direction.
    - `blind`: What the score cannot see.
    """

    name: str
    value: float
    by_dataset: tuple[float, ...]
    bootstrap: float
    independent: float
    best: float
    worst: float
    larger_is_better: bool
    blind: str


@dataclass(frozen=True, slots=True)
class ColumnUtility:
    """One column in the original and in the datasets.

    - `name`, `kind`: The column; "category" or "number".
    - `margin`: Of a category half the sum of the differences of shares, its missing values as a
      level; of a number U_m, the largest difference of the distribution functions of its values.
      Mean over the datasets, in [0, 1]; 0 = best.
    - `missing`, `missing_synthetic`: Shares in [0, 1] of missing values in the original and, as a
      mean, in the datasets.
    - `associations_kept`: 1 - sum |difference of the column's associations| / the same sum of
      independent columns, at most 1: 1 = the original's associations, 0 or below = those of a
      permuted column. NaN without any.
    """

    name: str
    kind: str
    margin: float
    missing: float
    missing_synthetic: float
    associations_kept: float


@dataclass(frozen=True, slots=True, eq=False)
class AssociationChange:
    """Associations of K columns before and after, as `pyvws.associations` measures them.

    - `names` (tuple of str, length K): The columns.
    - `categorical` (tuple of bool, length K): Whether each column counts as categories.
    - `original`, `synthetic` (K, K): Associations in the original, and their means over the
      datasets, in [-1, 1].
    - `by_dataset` (m, K, K): Associations in each dataset.
    - `independent` (K, K): Associations of independent columns: of the size of chance.
    """

    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    original: Floats
    synthetic: Floats
    by_dataset: Floats
    independent: Floats

    @property
    def difference(self) -> Floats:
        """synthetic - original, shape (K, K); 0 = kept."""
        return self.synthetic - self.original

    def largest(self, count: int = 10) -> list[tuple[str, str, float, float]]:
        """The pairs with the largest differences: both names, before, and after."""
        pairs = [
            (i, j)
            for i, j in combinations(range(len(self.names)), 2)
            if np.isfinite(self.difference[i, j])
        ]
        pairs.sort(key=lambda pair: -abs(self.difference[pair]))
        return [
            (self.names[i], self.names[j], float(self.original[i, j]), float(self.synthetic[i, j]))
            for i, j in pairs[:count]
        ]

    def plot(self) -> Figure:
        """A picture of the associations: of the original, of the datasets, and the difference."""
        from pyvws.plots.tables import association_matrices

        return association_matrices(
            {"data": self.original, "synthetic": self.synthetic, "difference": self.difference},
            self.names,
        )


@dataclass(frozen=True, slots=True, eq=False)
class TableUtility:
    """What `table_utility` finds; each of `scores` says its direction, ends and blind spots.

    Attributes
    ----------
    k_marginal, k_marginal_independent, k_marginal_bootstrap : float
        k-marginal scores in [0, 1000] of the datasets, of independent columns and of a bootstrap;
        larger = better.
    k_marginal_together : float
        The score of all datasets as one table, as an analyst's means over them see it; larger =
        better. A dataset has noise of its own besides, so its score is lower.
    k_marginal_margin : float
        How far scores of second samples lie apart: what chance makes of a score.
    k_marginal_conditional : float
        The same score of tables whose columns each follow from one earlier column, without noise;
        larger = better.
    s_pmse : float or None
        Mean S_pMSE by a logistic model with all two-way terms, at least 0; smaller = better. About
        1 = as a second sample of records, below 3 good, below 10 usable; where units are drawn, its
        `Score.bootstrap` takes the place of 1. None if it was not asked for.
    s_pmse_tree : float or None
        Mean S_pMSE by a classification tree, if asked for; at least 0, smaller = better.
    associations : AssociationChange
        Associations before and after.
    columns : tuple of ColumnUtility
        Margins, missing values and associations by column.
    by_pair : dict
        The k-marginal distance of each pair of columns, from 0 to 2; larger = worse.
    missing_pairs : ndarray, shape (2, K, K)
        Shares in [0, 1] of records with both columns missing, in the original and, as a mean, in
        the datasets; on the diagonal the column's own.
    scores : tuple of Score
        All scores of the table.
    folded, left_out, by_data : tuple of str
        Categories whose rarest levels count as one in `s_pmse`, columns that are not judged, and
        numbers without public bins. The bins of these numbers are tenths of the original's values.
    unseen_pairs : int
        Pairs of columns whose products the model of `s_pmse` has no room for.
    unit : str or None
        The column of ids whose units a second sample draws whole; None where it draws records.
    """

    k_marginal: float
    k_marginal_together: float
    k_marginal_independent: float
    k_marginal_bootstrap: float
    k_marginal_margin: float
    k_marginal_conditional: float
    s_pmse: float | None
    s_pmse_tree: float | None
    associations: AssociationChange
    columns: tuple[ColumnUtility, ...]
    by_pair: Mapping[tuple[str, str], float]
    missing_pairs: Floats
    scores: tuple[Score, ...]
    folded: tuple[str, ...]
    left_out: tuple[str, ...]
    by_data: tuple[str, ...]
    unseen_pairs: int
    unit: str | None = None

    @property
    def worse_than_independent(self) -> bool:
        """Whether the k-marginal score lies below independent columns' by more than chance."""
        return self.standing == "worse"

    @property
    def standing(self) -> Standing:
        """Where the datasets stand beside independent columns, as `k_marginal.standing` says."""
        return standing(
            self.k_marginal,
            self.k_marginal_independent,
            self.k_marginal_bootstrap,
            self.k_marginal_margin,
        )

    @property
    def share_of_the_way(self) -> float:
        """How far a dataset's k-marginal score lies from independent columns' to a bootstrap's.

        0 = as independent columns, 1 = as a second sample. NaN where a bootstrap scores no higher.
        """
        return self._share(self.k_marginal)

    @property
    def share_together(self) -> float:
        """`share_of_the_way` of all datasets as one table; larger = better."""
        return self._share(self.k_marginal_together)

    def _share(self, score: float) -> float:
        return share_of_the_way(score, self.k_marginal_independent, self.k_marginal_bootstrap)

    def _repr_html_(self) -> str:
        """The scores as a table, for a notebook."""
        of_units = "" if self.unit is None else f", a second sample draws units of {self.unit}"
        return html_table(
            f"Scores of the synthetic tables (confidential{of_units})",
            ("score", "synthetic", "second sample", "independent", "better"),
            [
                (
                    *(score.name, f"{score.value:.4g}", f"{score.bootstrap:.4g}"),
                    f"{score.independent:.4g}",
                    "larger" if score.larger_is_better else "smaller",
                )
                for score in self.scores
            ],
        )

    def plot(self) -> Figure:
        """The picture of the associations before and after."""
        return self.associations.plot()


def table_utility(
    original: Any,
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
    measured = _Measured(first, tables.synthetic, bootstrap, apart)

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
        score = two_way_pmse(first, table)
        folded.update(score.folded)
        unseen.append(score.unseen)
        share = 1.0 - N / (N + len(next(iter(table.values()))))
        largest.append(share * (1.0 - share) / score.score.null_mean)
        return score.score.ratio

    if s_pmse:
        scores.append(measured.score("s_pmse", two_way, lambda: max(largest)))
    if trees:
        scores.append(
            measured.score(
                "s_pmse_tree", lambda table: tree_score(first, table, seed=seed), lambda: np.inf
            )
        )
    scores.append(measured.score("margins", lambda table: float(_margins(tables, table).mean())))
    missing = _both_missing(tables, first)
    if missing.any() or any(_both_missing(tables, table).any() for table in tables.synthetic):
        scores.append(
            measured.score(
                "missing",
                lambda table: float(np.abs(_both_missing(tables, table) - missing).max()),
            )
        )
    change = _associations(tables, apart)
    scores.append(
        measured.score(
            "associations",
            lambda table: _mean_size(_matrix(tables, table) - change.original),
            lambda: 2.0 if (change.original < 0).any() else 1.0,
        )
    )
    by_name = {score.name: score for score in scores}
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
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Measured:
    """The tables that each score is computed for."""

    original: Plain
    synthetic: list[Plain]
    bootstrap: Plain
    apart: Plain

    def score(
        self,
        name: str,
        measure: Callable[[Plain], float],
        worst: Callable[[], float] = lambda: 1.0,
    ) -> Score:
        """A score for which smaller is better, 0 the best."""
        values = tuple(measure(table) for table in self.synthetic)
        ends = measure(self.bootstrap), measure(self.apart)
        mean = float(np.mean(values))
        return Score(name, mean, values, *ends, 0.0, float(worst()), False, BLIND[name])


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
