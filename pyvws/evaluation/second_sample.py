"""A second sample of a table: its records, or whole units of several, drawn with replacement.

A survey that were held again would draw households or persons anew, each with all its records. So
scores of such a sample have the noise of units, and not that of single records.
"""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws.tables.files.frame import check_columns, refuse_lost_digits, units_by_id


def second_sample(
    rng: np.random.Generator, N: int, units: NDArray[np.intp] | None = None
) -> NDArray[np.intp]:
    """The places (n,), from 0 to N - 1, of a second sample's records.

    Of `units` (N,), whole numbers from 0 on, as many as there are are drawn, each with all its
    records, so n varies. Without them N records are drawn.

    >>> rows = second_sample(np.random.default_rng(1), 4, np.array([0, 0, 1, 1]))
    >>> rows.tolist()
    [0, 1, 2, 3]
    """
    if units is None:
        return rng.integers(0, N, N)
    _, first, own = np.unique(units, return_index=True, return_inverse=True)
    number = np.argsort(np.argsort(first))[own]  # In the order of their first records.
    order, sizes = np.argsort(number, kind="stable"), np.bincount(number)
    drawn = rng.integers(0, len(sizes), len(sizes))
    begins, lengths = np.cumsum(sizes)[drawn] - sizes[drawn], sizes[drawn]
    within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return order[np.repeat(begins, lengths) + within]


def units_drawn(frame: nw.DataFrame[Any], unit: str) -> NDArray[np.intp]:
    """The units (N,) that a second sample draws, by a column of ids; one of its own without an id.

    Raises InputError where the frame lacks the column, and where ids may have lost digits.
    """
    check_columns(frame, [unit], role="unit")
    refuse_lost_digits(frame[unit])
    units = units_by_id(frame[unit])
    alone = units < 0
    return np.where(alone, units.max(initial=-1) + np.cumsum(alone), units)
