"""One column in the original and in synthetic datasets: a number, or the levels of a category.

The quantiles and means of a number are those of [risk2024], the distances between empirical
distribution functions those of [woo2009].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, Final, Self

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, dataset_list, finite_vector
from pyvws.errors import InputError
from pyvws.evaluation.pmse import pmse
from pyvws.r_numbers import rarith
from pyvws.sheet import InSheets, Sheet

_PROBABILITIES: Final = (0.1, 0.15, 0.25, 0.5, 0.75, 0.9)
_BESIDE: Final = ("data", "average", "lowest", "highest")
_ONE_MARGIN: Final = (
    "One margin cannot see what ties the column to others: a permuted column scores as a copy. "
    "Leave --outcome out to judge the whole table."
)


@dataclass(frozen=True, slots=True)
class UtilityTable:
    """Quantiles at the P `probabilities`, then the mean, each (P + 1,) in the outcome's unit.

    `original` has the numbers of the confidential data. `average`, `lowest` and `highest` have the
    mean, smallest and largest number over the synthetic datasets. The nearer these numbers are to
    `original`, the more useful the datasets.
    """

    probabilities: Floats
    original: Floats
    average: Floats
    lowest: Floats
    highest: Floats

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the entries: R's names of the quantiles, such as "10%", then "mean"."""
        return (*(f"{100 * p:.7g}%" for p in self.probabilities), "mean")

    def sheet(self, title: str) -> Sheet:
        """The data's numbers, then those of the datasets."""
        figures = self.original, self.average, self.lowest, self.highest
        rows = dict(zip(_BESIDE, figures, strict=True))
        return Sheet(
            title,
            ("table", *self.names),
            [(x if x == "data" else f"synthetic, {x}", *row) for x, row in rows.items()],
            facts={x: dict(zip(self.names, row, strict=True)) for x, row in rows.items()},
            digits=6,
        )


@dataclass(frozen=True, slots=True, eq=False)
class LevelMargin(InSheets):
    """A category in several tables: the share of each of its L levels, shape (tables, L)."""

    name: str
    levels: tuple[str, ...]
    shares: Floats

    @classmethod
    def of(cls, name: str, levels: Sequence[str], tables: Sequence[NDArray[np.intp]]) -> Self:
        """Of codes 0 to L - 1 of the levels in each table (N_l,)."""
        counts = (np.bincount(codes, minlength=len(levels)) / len(codes) for codes in tables)
        return cls(name, tuple(levels), np.array([*counts]))

    @property
    def distance(self) -> float:
        """Half the sum of the differences to the first table's shares, as a mean over the others.

        The share of rows that would have to change; in [0, 1].
        """
        return float(np.abs(self.shares[1:] - self.shares[0]).sum(axis=1).mean()) / 2

    @property
    def sheet(self) -> Sheet:
        """The share of each level in the data and in the datasets."""
        own = self.shares[1:]
        rows = [
            *zip(self.shares[0], own.mean(axis=0), own.min(axis=0), own.max(axis=0), strict=True)
        ]
        distance = f"distance {self.distance:.4f}: the share of rows that would have to change"
        return Sheet(
            f"{self.name}: shares in the data and in {len(own)} synthetic datasets",
            ("level", *_BESIDE),
            [(level, *row) for level, row in zip(self.levels, rows, strict=True)],
            notes=[f"{distance} (smaller = nearer)", _ONE_MARGIN],
            facts={
                "outcome": self.name,
                "datasets": len(own),
                "distance": self.distance,
                "blind": _ONE_MARGIN,
                "levels": {
                    level: dict(zip(_BESIDE, row, strict=True))
                    for level, row in zip(self.levels, rows, strict=True)
                },
            },
        )

    def folded(self, most: int) -> LevelMargin:
        """The margin with the rarest levels in one, so that at most `most` are left to draw."""
        if len(self.levels) <= most:
            return self
        common = np.sort(np.argsort(-self.shares.mean(axis=0), kind="stable")[: most - 1])
        others = 1.0 - self.shares[:, common].sum(axis=1)
        return LevelMargin(
            self.name,
            (*(self.levels[place] for place in common), f"{len(self.levels) - most + 1} others"),
            np.column_stack([self.shares[:, common], np.maximum(others, 0.0)]),
        )


def one_column(name: str, levels: Sequence[str] | None, tables: Sequence[Any]) -> Sequence[Sheet]:
    """The sheets of a column in the original, the first of `tables` (N_l,), and in the datasets.

    The values are numbers, or codes of the `levels`.
    """
    if levels is None:
        return [_of_number(name, tables[0], tables[1:])]
    return LevelMargin.of(name, levels, tables).sheets


def _of_number(name: str, original: Floats, datasets: Sequence[Floats]) -> Sheet:
    """Quantiles and means of the number in each table, and how far the tables are apart."""
    distance, table = ecdf_utility(original, datasets), utility_table(original, datasets)
    data, *own = (pl.DataFrame({"value": x}) for x in (original, *datasets))
    scores = [pmse(data, one, formula="~ value + I(value^2)") for one in own]
    value, ratio = (fmean(getattr(score, part) for score in scores) for part in ("value", "ratio"))
    sheet = table.sheet(f"{name}: data and {len(own)} synthetic datasets")
    return replace(
        sheet,
        notes=[
            f"U_m {distance.maximum:.4f}, U_a {distance.average:.6f} (smaller = nearer)",
            f"pMSE {value:.3g}, {ratio:.2f} times what chance gives (1 = alike)",
            _ONE_MARGIN,
        ],
        facts={
            "outcome": name,
            "datasets": len(own),
            "u_m": distance.maximum,
            "u_a": distance.average,
            "pmse": value,
            "pmse_ratio": ratio,
            "blind": _ONE_MARGIN,
            **sheet.facts,
        },
    )


def utility_table(
    original: ArrayLike, synthetic: Sequence[Any], *, probabilities: ArrayLike = _PROBABILITIES
) -> UtilityTable:
    """Quantiles (type 7) and the mean of confidential data and of synthetic datasets.

    The function uses R's arithmetic: R's ``quantile`` and ``mean`` give the same numbers to the
    bit.

    Parameters
    ----------
    original : array_like, shape (N,)
        Confidential outcome.
    synthetic : sequence of array_like, each of shape (N_l,)
        Synthetic outcomes, in the same unit. A single dataset stands in a list too.
    probabilities : array_like, shape (P,)
        Levels of the quantiles, in [0, 1].

    Returns
    -------
    UtilityTable
        .original, .average, .lowest and .highest, in the order of .names. The numbers in .original
        are confidential.

    Raises
    ------
    InputError
        For missing or infinite values, an empty list, or a probability outside [0, 1].

    Examples
    --------
    >>> found = utility_table([1.0, 2.0, 6.0], [[1.0, 3.0], [2.0, 6.0]], probabilities=[0.5])
    >>> found.names, found.original.tolist(), found.average.tolist()
    (('50%', 'mean'), [2.0, 3.0], [3.0, 3.0])
    >>> found.lowest.tolist(), found.highest.tolist()
    ([2.0, 2.0], [4.0, 4.0])
    """
    y = finite_vector(original, "original")
    levels = finite_vector(probabilities, "probabilities")
    if ((levels < 0) | (levels > 1)).any():
        raise InputError.by("probabilities-range")
    rows = np.array(
        [
            _row(finite_vector(dataset, f"synthetic dataset {number}"), levels)
            for number, dataset in enumerate(dataset_list(synthetic, "synthetic"), start=1)
        ]
    )
    return UtilityTable(
        levels, _row(y, levels), rarith.column_means(rows), rows.min(axis=0), rows.max(axis=0)
    )


def _row(values: Floats, levels: Floats) -> Floats:
    return np.append(rarith.quantile(values, levels), rarith.mean(values))


@dataclass(frozen=True, slots=True)
class EcdfUtility:
    """Distances between distribution functions, without unit, in [0, 1]; smaller = more useful.

    `maximum` is U_m, the largest absolute difference. `average` is U_a, the mean squared
    difference. Both are averages over the synthetic datasets.
    """

    maximum: float
    average: float


def ecdf_utility(original: ArrayLike, synthetic: Sequence[Any]) -> EcdfUtility:
    """U_m and U_a of synthetic datasets against the confidential data [risk2024].

    For each dataset the function merges both sets of values, with duplicates, and takes
    d = F_original - F_synthetic at every merged value. U_m = max |d| and U_a = mean(d^2). The
    result has the means of U_m and U_a over the datasets.

    Parameters
    ----------
    original : array_like, shape (N,)
        Confidential outcome.
    synthetic : sequence of array_like, each of shape (N_l,)
        Synthetic outcomes, in the same unit. A single dataset stands in a list too.

    Returns
    -------
    EcdfUtility
        Smaller = closer to the confidential distribution.

    Raises
    ------
    InputError
        For missing or infinite values or an empty list.

    Examples
    --------
    >>> ecdf_utility([1.0, 2.0], [[1.0, 3.0]])
    EcdfUtility(maximum=0.5, average=0.0625)
    """
    y = finite_vector(original, "original")
    largest, squared = [], []
    for number, dataset in enumerate(dataset_list(synthetic, "synthetic"), start=1):
        values = finite_vector(dataset, f"synthetic dataset {number}")
        merged = np.concatenate([y, values])
        difference = rarith.ecdf_at(y, merged) - rarith.ecdf_at(values, merged)
        largest.append(float(np.abs(difference).max()))
        squared.append(rarith.mean(difference**2))
    return EcdfUtility(rarith.mean(largest), rarith.mean(squared))
