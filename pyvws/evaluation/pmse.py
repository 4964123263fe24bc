"""pMSE: how well a model tells synthetic records from confidential ones [woo2009] [snoke2018].

N_o original and N_s synthetic records are stacked: N records, a share c of them synthetic. A model
estimates each record's probability p_i of being synthetic, and pMSE = mean((p_i - c)^2).

The null hypothesis holds the confidential records fixed and draws the synthetic records from the
same distribution. Under this hypothesis the pMSE of a logistic model with k coefficients (the
constant among them) has mean (k - 1) (1 - c)^2 c / N and standard deviation
sqrt(2 (k - 1)) (1 - c)^2 c / N. For trees both numbers come from permuted labels. Permuted labels
are the null hypothesis of two independent samples: their numbers are about 1 / (1 - c) times
larger, so the comparison is more lenient.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, choice, whole_number
from pyvws.errors import InputError, MissingDependencyError
from pyvws.evaluation.glm import glm
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets
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
    design, synthetic_records = _stacked(original, synthetic, formula)
    if design.shape[1] < 2:
        raise InputError.by("formula-of-constant", formula=formula)
    if model == "logistic":
        return logistic_pmse(design[: len(design) - synthetic_records], design[-synthetic_records:])
    return tree_pmse(
        design[: len(design) - synthetic_records],
        design[-synthetic_records:],
        leaf=leaf,
        permutations=permutations,
        seed=seed,
    )


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
        columns = plain_columns(frame, names, role="pmse")
        parts.append(
            pd.DataFrame(
                {
                    n: c if pd.api.types.is_numeric_dtype(c) else c.astype(str)
                    for n, c in columns.items()
                }
            )
        )
    wanted = dotted(formula or "~ .", names)
    both = open_frame(pd.concat(parts, ignore_index=True))
    return make_design(both, wanted, outcome="").matrix, len(second)
