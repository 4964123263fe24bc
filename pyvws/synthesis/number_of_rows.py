"""A public or noisy number of rows: draw its noise."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from pyvws.mechanisms.histogram.discrete_laplace import add_discrete_laplace
from pyvws.mechanisms.histogram.perturbed_histogram import noise_scale


def rows_to_draw(records: Any, epsilon: float | None, *, counted: int) -> int | None:
    """The public number of rows, or a noisy number of records; None for one row a record.

    `counted` is the number of records. One record more or less changes it by 1, so noise of scale
    1 / epsilon costs epsilon. Raises MissingDependencyError for noise where OpenDP is not
    installed.
    """
    if records is None:
        return None
    if epsilon is None:
        return cast(int, records)
    noisy = add_discrete_laplace(np.array([counted]), scale=noise_scale(epsilon, "loo"))
    return max(1, int(noisy[0]))
