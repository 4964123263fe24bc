"""The scores of synthetic tables: each with its direction, its ends, and what it cannot see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import combinations
from statistics import fmean
from typing import TYPE_CHECKING, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.evaluation.k_marginal import Standing, share_of_the_way, standing
from pyvws.sheet import InSheets, Sheet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_WORST: Final = 10  # So many pairs and columns are listed.

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
class TableUtility(InSheets):
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
    labels : dict
        What each column of the original is called, where its header may be a record.
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
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def worse_than_independent(self) -> bool:
        """Whether the k-marginal score lies below independent columns' by more than chance."""
        return self.standing == "worse"

    @property
    def standing(self) -> Standing:
        """Where the datasets stand beside independent columns, as `k_marginal.standing` says."""
        ends = self.k_marginal_independent, self.k_marginal_bootstrap
        return standing(self.k_marginal, *ends, self.k_marginal_margin)

    @property
    def share_of_the_way(self) -> float:
        """`k_marginal.share_of_the_way` of a dataset: 0 = as independent columns, 1 = best."""
        return self._share(self.k_marginal)

    @property
    def share_together(self) -> float:
        """`share_of_the_way` of all datasets as one table; larger = better."""
        return self._share(self.k_marginal_together)

    def _share(self, score: float) -> float:
        return share_of_the_way(score, self.k_marginal_independent, self.k_marginal_bootstrap)

    @property
    def verdict(self) -> str:
        """One line on where the datasets stand, by their k-marginal score."""
        beside = (
            ("independent columns", self.k_marginal_independent),
            ("tables of one predictor without noise", self.k_marginal_conditional),
            ("a second sample", self.k_marginal_bootstrap),
        )
        words = ["better" if self.k_marginal >= x else "worse" for _, x in beside]
        if self.standing == "hardly better":
            words[0] = "hardly better"
        stands = ", ".join(
            f"{word} than {name} ({x:.0f})" for word, (name, x) in zip(words, beside, strict=True)
        )
        share, number = self.share_of_the_way, len(self.scores[0].by_dataset)
        all_of_them = f", and all {number} together go {max(self.share_together, 0.0):.0%}"
        goes = f" A dataset goes {max(share, 0.0):.0%} of the way from the first to the last"
        way = f"{goes}{all_of_them if number > 1 else ''}." if share == share else ""
        return f"Verdict: k_marginal {self.k_marginal:.0f} is {stands}.{way}"

    @property
    def sheets(self) -> tuple[Sheet, ...]:
        """Pairs and columns, the worst first, under the verdict; then the scores."""
        fails = (
            f"Fails: worse than independent columns. k_marginal is {self.k_marginal:.0f}, and "
            "columns of the data in orders of their own have "
            f"{self.k_marginal_independent:.0f}."
        )
        lead = [fails, self.verdict] if self.worse_than_independent else [self.verdict]
        return self._pairs(lead), self._columns(), self._scores()

    def _called(self, *names: str) -> list[str]:
        """What columns are called where the table may have no header."""
        return [self.labels.get(name, name) for name in names]

    def _pairs(self, lead: list[str]) -> Sheet:
        changes = self.associations.largest(len(self.by_pair))
        tied = {frozenset((a, b)): ends for a, b, *ends in changes}
        worst = sorted(self.by_pair, key=lambda pair: -self.by_pair[pair])[:_WORST]
        return Sheet(
            "Pairs of columns, the worst first (confidential)",
            ("pair", "distance", "association in the data", "synthetic"),
            [
                (
                    " and ".join(self._called(*pair)),
                    self.by_pair[pair],
                    *tied.get(frozenset(pair), ("", "")),
                )
                for pair in worst
            ],
            notes=[
                "distance: of the joint shares, 0 (best) to 2. association: 0 = none, 1 or -1 = "
                "the strongest there is."
            ],
            lead=lead,
            facts={
                "verdict": self.verdict,
                "share_of_the_way": self.share_of_the_way,
                "share_together": self.share_together,
                "scores": {score.name: asdict(score) for score in self.scores},
                "worse_than_independent": self.worse_than_independent,
                "columns": {
                    name: asdict(column) | {"name": name}
                    for column in self.columns
                    for name in self._called(column.name)
                },
                "associations": {
                    ", ".join(self._called(a, b)): {"data": before, "synthetic": after}
                    for a, b, before, after in changes
                },
                "k_marginal_distance": {
                    ", ".join(self._called(*pair)): x for pair, x in self.by_pair.items()
                },
                "folded": self._called(*self.folded),
                "unseen_pairs": self.unseen_pairs,
                "left_out": self._called(*self.left_out),
                "unit": None if self.unit is None else self._called(self.unit)[0],
                "tenths_of_the_data": self._called(*self.by_data),
            },
        )

    def _columns(self) -> Sheet:
        far = {
            column.name: fmean(x for pair, x in self.by_pair.items() if column.name in pair)
            for column in self.columns
        }
        more = f"{len(far) - _WORST} more columns are in --json and `columns`."
        return Sheet(
            "Columns, the worst first (confidential)",
            (
                *("column", "kind", "pairs", "margin", "missing"),
                *("missing, synthetic", "associations kept"),
            ),
            [
                (
                    *self._called(column.name),
                    *(column.kind, far[column.name], column.margin, column.missing),
                    *(column.missing_synthetic, column.associations_kept),
                )
                for column in sorted(self.columns, key=lambda one: -far[one.name])[:_WORST]
            ],
            notes=[
                *([more] if len(far) > _WORST else []),
                "pairs: mean distance of the column's pairs, 0 (best) to 2.",
                "margin: distance from the data's distribution, 0 (best) to 1.",
                "associations kept: 1 = as in the data, 0 or below = as a permuted column.",
            ],
        )

    def _scores(self) -> Sheet:
        remarks = (
            ("Bins of k_marginal are tenths of the data", self.by_data),
            ("s_pmse counts the rarest levels as one", self.folded),
            ("Left out (constant or identifiers, or dropped by the schema)", self.left_out),
        )
        unit = None if self.unit is None else f"whole units, by {self._called(self.unit)[0]},"
        unseen = (
            f"s_pmse has no room for what ties {self.unseen_pairs} pairs of columns; name fewer "
            "columns."
        )
        return Sheet(
            f"Scores of {len(self.scores[0].by_dataset)} synthetic datasets (confidential)",
            ("score", "synthetic", "second sample", "independent", "best", "worst", "better"),
            [
                (
                    *(score.name, score.value, score.bootstrap, score.independent),
                    *(score.best, score.worst),
                    "larger" if score.larger_is_better else "smaller",
                )
                for score in self.scores
            ],
            notes=[
                f"second sample: {unit or 'records'} drawn from the data with replacement.",
                "independent: each column of the data in an order of its own, which no useful "
                "table should be near.",
                *(f"{score.name} cannot see {score.blind}." for score in self.scores),
                "No score says anything of privacy: a copy of the data has the best of each.",
                *(
                    f"{text}: {', '.join(self._called(*names))}."
                    for text, names in remarks
                    if names
                ),
                *([unseen] if self.unseen_pairs else []),
            ],
        )

    def plot(self) -> Figure:
        """The picture of the associations before and after."""
        return self.associations.plot()
