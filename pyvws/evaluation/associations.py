"""How strongly the columns of a table go together, pair by pair.

Two categories have Cramer's V, the root of chi^2 / (N (min(rows, columns) - 1)) of their counts
[cramer1946]. Two numbers have Spearman's rank correlation. A category and a number have the
correlation ratio of the number's ranks: the root of the share of their sum of squares that lies
between the categories, so that (N - 1) times its square is Kruskal and Wallis's H [kruskal1952].
All three stay as they are under a rising function of a number, so no single large value decides.
None is corrected for chance: of N independent records each is of the size of 1 / sqrt(N).
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import narwhals as nw
import numpy as np
import scipy  # Its parts are imported where they are first used, each for half a second.
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, finite_vector, same_length
from pyvws.errors import InputError
from pyvws.evaluation.original_and_datasets import Codes
from pyvws.tables.files.frame import check_columns, open_frame
from pyvws.tables.files.kinds import distinct, floats_of, has_labels


@dataclass(frozen=True, slots=True, eq=False)
class Associations:
    """Associations of the K columns of a table.

    - `names` (tuple of str, length K): The columns, in the table's order.
    - `categorical` (tuple of bool, length K): Whether each column counts as categories.
    - `matrix` (K, K): Symmetric, without unit: rank correlations in [-1, 1], others in [0, 1]; 0 =
      the columns do not go together. The diagonal is 1. A column of one value has NaN throughout.
    """

    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    matrix: Floats


def associations(table: IntoFrame, *, categories: Sequence[str] = ()) -> Associations:
    """How strongly each two columns of a table go together [cramer1946] [kruskal1952].

    Two categories have Cramer's V, two numbers Spearman's rank correlation, and a category and a
    number the correlation ratio of the number's ranks.

    Parameters
    ----------
    table : pandas, polars or Arrow table, N rows
        Columns of numbers, and columns of text, truth values or categories.
    categories : sequence of str
        Columns of numbers that are codes of categories.

    Returns
    -------
    Associations
        .names, .categorical and .matrix. The empty cells of a category are one more category. A
        record whose number is missing or infinite is left out of the pairs of that column.

    Raises
    ------
    InputError
        For a column that `categories` names and the table lacks, and for a column of another type.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"a": ["x", "x", "y", "y"], "b": [1.0, 2.0, 3.0, 4.0]})
    >>> associations(table).matrix.round(4).tolist()
    [[1.0, 0.8944], [0.8944, 1.0]]
    """
    frame = open_frame(table, least=1)
    check_columns(frame, categories, role="categories")
    columns = [_column(frame[name], name in categories) for name in frame.columns]
    itself = np.array([_pair(column, column) for column in columns])
    matrix = np.diag(np.where(np.isnan(itself), itself, 1.0))
    for i, j in combinations(range(len(columns)), 2):
        matrix[i, j] = matrix[j, i] = _pair(columns[i], columns[j])
    return Associations(
        tuple(frame.columns), tuple(column.categorical for column in columns), matrix
    )


def cramers_v(first: ArrayLike, second: ArrayLike) -> float:
    """Cramer's V of two columns of labels or codes (N,), in [0, 1]; 0 = independent.

    NaN where a column has one value. Raises InputError for columns of unlike lengths.

    >>> cramers_v(["a", "a", "b", "b"], [1, 1, 2, 1]) == 3**-0.5
    True
    """
    codes, others = _codes(first, "first"), _codes(second, "second")
    same_length(codes, others, ("first", "second"))
    return _v(codes, others)


def correlation_ratio(categories: ArrayLike, numbers: ArrayLike) -> float:
    """The correlation ratio eta of a category and a number, (N,) each, in [0, 1].

    eta^2 is the share of the number's sum of squares that lies between the categories; 0 = all
    categories have the same mean. NaN where a column has one value. Of `numbers` as ranks it is
    what `associations` gives. Raises InputError for missing numbers and columns of unlike lengths.

    >>> correlation_ratio(["a", "a", "b", "b"], [1.0, 3.0, 5.0, 7.0])
    0.8944271909999159
    """
    codes, values = _codes(categories, "categories"), finite_vector(numbers, "numbers")
    same_length(codes, values, ("categories", "numbers"))
    return _eta(codes, values)


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float:
    """Spearman's rank correlation of two numbers (N,), in [-1, 1]; equal values share a rank.

    NaN where a column has one value. Raises InputError for missing numbers and columns of unlike
    lengths.

    >>> round(rank_correlation([1.0, 2.0, 9.0], [3.0, 5.0, 4.0]), 12)
    0.5
    """
    x, y = finite_vector(first, "first"), finite_vector(second, "second")
    same_length(x, y, ("first", "second"))
    return _correlation(scipy.stats.rankdata(x), scipy.stats.rankdata(y))


@dataclass(frozen=True, slots=True, eq=False)
class _Column:
    """A category as codes 0, 1, ..., or a number as ranks; `there` has the records with a value."""

    values: Any
    ranks: Floats | None
    there: NDArray[np.bool_]

    @property
    def categorical(self) -> bool:
        return self.ranks is None

    def of(self, kept: NDArray[np.bool_]) -> Any:
        """The codes of the kept records, or their ranks among themselves."""
        if self.ranks is None:
            return self.values[kept]
        return self.ranks if kept.all() else scipy.stats.rankdata(self.values[kept])


def _column(column: nw.Series[Any], coded: bool) -> _Column:
    if coded or column.dtype == nw.Boolean or has_labels(column):
        codes = _places(*distinct(column))
        return _Column(codes, None, np.ones(len(codes), dtype=np.bool_))
    if not column.dtype.is_numeric():
        raise InputError.by(
            "column-type", column=column.name, dtype=str(column.dtype).partition("(")[0]
        )
    values = floats_of(column)
    return _Column(values, scipy.stats.rankdata(values), np.isfinite(values))


def _codes(labels: ArrayLike, name: str) -> Codes:
    import pandas as pd

    column = np.asarray(labels)
    if column.ndim != 1 or column.size == 0:
        raise InputError.by("not-labels-or-codes", name=name, shape=column.shape)
    return _places(*pd.factorize(pd.Series(column)))


def _places(places: Codes, labels: Sized) -> Codes:
    """Places among the labels; an empty cell, at place -1, becomes one more."""
    return np.where(places < 0, len(labels), places).astype(np.intp)


def _pair(first: _Column, second: _Column) -> float:
    kept = first.there & second.there
    if not kept.any():
        return float("nan")
    a, b = first.of(kept), second.of(kept)
    if first.categorical and second.categorical:
        return _v(a, b)
    if first.categorical or second.categorical:
        return _eta(a, b) if first.categorical else _eta(b, a)
    return _correlation(a, b)


def _v(first: Codes, second: Codes) -> float:
    """V from the N records' pairs that occur: a pair that does not adds what was expected of it."""
    N, width = len(first), int(second.max()) + 1
    rows, columns = np.bincount(first), np.bincount(second)
    smaller = min(np.count_nonzero(rows), np.count_nonzero(columns))
    if smaller < 2:
        return float("nan")
    pairs, counts = np.unique(first * width + second, return_counts=True)
    expected = rows[pairs // width] * columns[pairs % width]  # Whole numbers: N times too large.
    occurring = ((counts * N - expected).astype(np.float64) ** 2 / (expected * float(N))).sum()
    chi_squared = float(occurring) + (N * N - int(expected.sum())) / N
    return float(min(1.0, np.sqrt(chi_squared / (N * (smaller - 1)))))


def _eta(codes: Codes, numbers: Floats) -> float:
    centred = numbers - numbers.mean()
    whole = float(centred @ centred)
    sizes = np.bincount(codes)
    if whole == 0.0 or np.count_nonzero(sizes) < 2:
        return float("nan")
    sums = np.bincount(codes, centred)[sizes > 0]
    return float(min(1.0, np.sqrt((sums**2 / sizes[sizes > 0]).sum() / whole)))


def _correlation(first: Floats, second: Floats) -> float:
    x, y = first - first.mean(), second - second.mean()
    size = float(np.sqrt((x @ x) * (y @ y)))
    return float("nan") if size == 0.0 else float(np.clip(x @ y / size, -1.0, 1.0))
