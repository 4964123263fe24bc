"""Quantiles and means of an outcome, confidential beside synthetic [risk2024]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats, dataset_list, finite_vector
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.sheet.sheet import Sheet

_PROBABILITIES: Final = (0.1, 0.15, 0.25, 0.5, 0.75, 0.9)


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
        rows = {
            "data": self.original,
            "average": self.average,
            "lowest": self.lowest,
            "highest": self.highest,
        }
        return Sheet(
            title,
            ("table", *self.names),
            [(x if x == "data" else f"synthetic, {x}", *row) for x, row in rows.items()],
            facts={x: dict(zip(self.names, row, strict=True)) for x, row in rows.items()},
            digits=6,
        )


def utility_table(
    original: Any, synthetic: Sequence[Any], *, probabilities: Any = _PROBABILITIES
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
        raise InputError("probabilities must lie in [0, 1].")
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
