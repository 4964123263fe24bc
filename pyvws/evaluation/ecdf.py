"""Utility by the distance between empirical distribution functions [woo2009]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import dataset_list, finite_vector
from pyvws.r_numbers import rarith


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
