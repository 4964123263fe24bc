"""pMSE: how well a model tells synthetic records from confidential ones [woo2009] [snoke2018].

N_o original and N_s synthetic records are stacked: N records, a share c of them synthetic. A model
estimates each record's probability p_i of being synthetic, and pMSE = mean((p_i - c)^2).

The null hypothesis holds the confidential records fixed and draws the synthetic records from the
same distribution. Under this hypothesis the pMSE of a logistic model with k coefficients (the
constant among them) has mean (k - 1) (1 - c)^2 c / N and standard deviation
sqrt(2 (k - 1)) (1 - c)^2 c / N. For trees both numbers come from permuted labels. Permuted labels
are the null hypothesis of two independent samples: their numbers are about 1 / (1 - c) times
larger, so the comparison is more lenient.

S_pMSE of a table is the pMSE of a logistic model with all two-way terms, over its null expectation.
The model has a term for each column and for the product of each two columns, as synthpop's
``utility.gen`` has [raab2021]. A category enters by its levels. A number enters by its value, and
where it is missing by a level of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb
from typing import Any, Final, Literal

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice, whole_number
from pyvws.errors import InputError, MissingDependencyError
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets, Plain
from pyvws.evaluation.regressions import glm
from pyvws.tables.design.model_matrix import make_design
from pyvws.tables.files.frame import open_frame, plain_columns
from pyvws.tables.schema.formula import dotted


@dataclass(frozen=True, slots=True)
class PropensityScore:
    """The pMSE `value` in [0, 1] and its null distribution, without unit; smaller = more useful.

    `ratio` and `standardized` raise InputError where the null distribution is a single point. Trees
    with a single leaf for all records have such a distribution.
    """

    value: float
    null_mean: float
    null_sd: float

    @property
    def ratio(self) -> float:
        """value / null mean; the expected ratio of a correct synthesizer is 1."""
        return self.value / _not_zero(self.null_mean)

    @property
    def standardized(self) -> float:
        """(value - null mean) / null standard deviation: larger = easier to tell apart."""
        return (self.value - self.null_mean) / _not_zero(self.null_sd)


def _not_zero(of_null: float) -> float:
    if of_null == 0.0:
        raise InputError.by("null-distribution-constant")
    return of_null


def pmse(
    original: IntoFrame,
    synthetic: IntoFrame,
    *,
    formula: str | None = None,
    model: Literal["logistic", "tree"] = "logistic",
    leaf: int = 20,
    permutations: int = 100,
    seed: int = 1,
) -> PropensityScore:
    """Propensity score mean squared error of one synthetic table.

    Parameters
    ----------
    original, synthetic : pandas, polars or Arrow table
        Records with the same columns; the numbers of records may differ.
    formula : str, optional
        A one-sided formula such as "~ income * region", or "~ .^2" for all columns and their pairs;
        by default "~ .", the main effects of all columns.
    model : {"logistic", "tree"}
        Trees come from scikit-learn (``pip install scikit-learn``).
    leaf : int
        For trees: the fewest records in a leaf.
    permutations : int
        For trees: the number of permutations for the null distribution.
    seed : int
        The seed of the permutations.

    Returns
    -------
    PropensityScore
        .value, .null_mean, .null_sd, .ratio and .standardized.

    Raises
    ------
    InputError
        For tables whose columns differ, or that spell categories apart, missing values, or a
        formula that cannot be read or has no term besides the constant.
    MissingDependencyError
        For trees without scikit-learn.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.0, 2.0, 3.0, 4.0]})
    >>> pmse(table, table).value < 1e-20
    True
    """
    choice(model, "model", ("logistic", "tree"))
    design, count = _stacked(original, synthetic, formula)
    if design.shape[1] < 2:
        raise InputError.by("formula-of-constant", formula=formula)
    first, second = design[: len(design) - count], design[-count:]
    if model == "logistic":
        return logistic_pmse(first, second)
    return tree_pmse(first, second, leaf=leaf, permutations=permutations, seed=seed)


def logistic_pmse(original: Floats, synthetic: Floats) -> PropensityScore:
    """pMSE of a logistic regression on design matrices (N_o, K) and (N_s, K), constant included.

    k counts the columns that follow from none before them. Groups that a plane separates have no
    finite fit: their probabilities approach 0 and 1, and the pMSE approaches c (1 - c), its largest
    value.

    >>> one = np.ones((4, 1))
    >>> logistic_pmse(one, one).value
    0.0
    """
    design = np.vstack([original, synthetic])
    n = len(design)
    is_synthetic = np.arange(n) >= len(original)
    share = len(synthetic) / n
    fit = glm(design, is_synthetic.astype(np.float64), family="logistic")
    scale = (1.0 - share) * (1.0 - share) * share / n
    return PropensityScore(
        float(np.mean((fit.fitted - share) ** 2)),
        (fit.rank - 1) * scale,
        float(np.sqrt(2.0 * (fit.rank - 1))) * scale,
    )


def tree_pmse(
    original: Floats, synthetic: Floats, *, leaf: int = 20, permutations: int = 100, seed: int = 1
) -> PropensityScore:
    """pMSE of a classification tree on design matrices (N_o, K) and (N_s, K).

    Both numbers of the null distribution come from `permutations` of the labels.

    >>> one = np.ones((4, 1))
    >>> tree_pmse(one, one, permutations=2).value
    0.0
    """
    leaf = whole_number(leaf, "leaf", least=1)
    permutations = whole_number(permutations, "permutations", least=2)
    seed = whole_number(seed, "seed", least=0)
    design = np.vstack([original, synthetic])
    is_synthetic = np.arange(len(design)) >= len(original)
    value = _tree_value(design, is_synthetic, leaf, seed)
    random = np.random.default_rng(seed)
    null = [
        _tree_value(design, random.permutation(is_synthetic), leaf, seed)
        for _ in range(permutations)
    ]
    return PropensityScore(value, float(np.mean(null)), float(np.std(null, ddof=1)))


def _tree_value(design: Floats, is_synthetic: NDArray[np.bool_], leaf: int, seed: int) -> float:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingDependencyError(
            "Trees need scikit-learn. Run: pip install scikit-learn, or use model='logistic'."
        ) from None
    tree = DecisionTreeClassifier(min_samples_leaf=leaf, random_state=seed)
    fitted = tree.fit(design, is_synthetic).predict_proba(design)[:, 1]
    return float(np.mean((fitted - is_synthetic.mean()) ** 2))


def _stacked(original: IntoFrame, synthetic: IntoFrame, formula: str | None) -> tuple[Floats, int]:
    """The design matrix of both tables, synthetic rows last, and the number of synthetic rows."""
    import pandas as pd

    first, second = open_frame(original), open_frame(synthetic)
    if set(first.columns) != set(second.columns):
        differing = ", ".join(sorted(set(first.columns) ^ set(second.columns)))
        raise InputError.by("tables-differ-in-columns", differing=differing)
    names = first.columns
    tables = OriginalAndDatasets({"original": first, "synthetic": second})
    text = [n for n in names if not all(x[n].dtype.is_numeric() for x in (first, second))]
    tables.refuse_other_spellings({name: tables.codes(name) for name in text})
    parts = []
    for frame in (first, second):
        columns = plain_columns(frame, names, role="pmse").items()
        numeric = pd.api.types.is_numeric_dtype
        parts.append(pd.DataFrame({n: c if numeric(c) else c.astype(str) for n, c in columns}))
    wanted = dotted(formula or "~ .", names)
    both = open_frame(pd.concat(parts, ignore_index=True))
    return make_design(both, wanted, outcome="").matrix, len(second)


_MOST_COEFFICIENTS: Final = 400
_MOST_RECORDS: Final = 50_000


@dataclass(frozen=True, slots=True)
class TwoWayScore:
    """The pMSE with its null distribution, and the columns whose rarest levels count as one.

    `score.ratio` is S_pMSE: 1 is expected of a correct synthesizer, larger = easier to tell apart.
    `unseen` counts the pairs of columns for whose products the model has no room.
    """

    score: PropensityScore
    folded: tuple[str, ...]
    unseen: int = 0


def two_way_pmse(
    original: Plain, synthetic: Plain, *, most: int = _MOST_COEFFICIENTS
) -> TwoWayScore:
    """pMSE of the main effects and all products of two columns of plain tables.

    Where the model would have more than `most` coefficients, each category keeps its most common
    levels, equally many in each, and the others count as one. Where two levels each are still too
    many, products of columns that stand near each other come first, and the others are left out. Of
    a table with more than 50,000 records the function takes as many, evenly spaced.

    >>> table = {"a": np.array([0, 0, 1, 1]), "b": np.array([0, 1, 0, 1])}
    >>> two_way_pmse(table, table).score.value < 1e-20
    True
    """
    both, count = _stacked_columns(original, synthetic)
    levels = {
        name: len(np.unique(values)) for name, values in both.items() if not _is_number(values)
    }
    kept = _kept_levels(both, levels, most)
    blocks = [_block(values, kept) for values in both.values()]
    chosen = _chosen_pairs([block.shape[1] for block in blocks], most)
    products = [
        (blocks[i][:, :, None] * blocks[j][:, None, :]).reshape(len(blocks[i]), -1)
        for i, j in chosen
    ]
    design = np.column_stack([np.ones(len(blocks[0])), *blocks, *products])
    folded = tuple(name for name, many in levels.items() if many > kept)
    unseen = comb(len(blocks), 2) - len(chosen)
    return TwoWayScore(logistic_pmse(design[:count], design[count:]), folded, unseen)


def tree_score(
    original: Plain, synthetic: Plain, *, leaf: int = 20, permutations: int = 20, seed: int = 1
) -> float:
    """S_pMSE of a classification tree: pMSE over (1 - c) times its mean under permuted labels.

    The factor brings the mean of two independent samples to that of an original that is held fixed,
    as synthpop's does for c = 1/2.
    """
    both, count = _stacked_columns(original, synthetic)
    design = np.column_stack([_block(values, len(values)) for values in both.values()])
    score = tree_pmse(
        design[:count], design[count:], leaf=leaf, permutations=permutations, seed=seed
    )
    return score.ratio * len(design) / count


def _stacked_columns(original: Plain, synthetic: Plain) -> tuple[dict[str, NDArray[Any]], int]:
    """The columns of both tables, original records first, and the number of original records."""
    sizes = [len(next(iter(table.values()))) for table in (original, synthetic)]
    rows = [np.linspace(0, size - 1, min(size, _MOST_RECORDS)).astype(np.intp) for size in sizes]
    stacked = {
        name: np.concatenate([original[name][rows[0]], synthetic[name][rows[1]]])
        for name in original
    }
    return stacked, len(rows[0])


def _is_number(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f"


def _kept_levels(both: Plain, levels: Mapping[str, int], most: int) -> int:
    """How many levels of each category the model can have."""
    numbers = [1 + bool(np.isnan(values).any()) for values in both.values() if _is_number(values)]

    def coefficients(kept: int) -> int:
        widths = [*numbers, *(min(many, kept) - 1 for many in levels.values())]
        products = (sum(widths) ** 2 - sum(width * width for width in widths)) // 2
        return 1 + sum(widths) + products

    kept = max(levels.values(), default=2)
    while kept > 2 and coefficients(kept) > most:
        kept -= 1
    return kept


def _chosen_pairs(widths: Sequence[int], most: int) -> list[tuple[int, int]]:
    """The pairs of columns, in order, whose products fit; those near each other in a ring first."""
    K, room, chosen = len(widths), most - 1 - sum(widths), []
    pairs = combinations(range(K), 2)
    for i, j in sorted(pairs, key=lambda pair: min(pair[1] - pair[0], K - pair[1] + pair[0])):
        room -= widths[i] * widths[j]
        if room < 0:
            break
        chosen.append((i, j))
    return sorted(chosen)


def _block(values: NDArray[Any], kept: int) -> Floats:
    """A column's part of the design (N, w): all its levels but the most common, or its numbers."""
    if _is_number(values):
        gone = np.isnan(values)
        there = values[~gone]
        spread = float(there.std()) if len(there) else 0.0
        scaled = np.where(gone, 0.0, values - (there.mean() if len(there) else 0.0))
        scaled = np.where(gone, 0.0, scaled) / (spread or 1.0)
        return np.column_stack([scaled, gone.astype(np.float64)]) if gone.any() else scaled[:, None]
    _, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.minimum(np.arange(len(order)), kept - 1)
    own = place[codes]
    return np.asarray(own[:, None] == np.arange(1, min(len(order), kept)), dtype=np.float64)
