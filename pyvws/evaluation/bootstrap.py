"""Records drawn with replacement: bootstrap intervals [risk2024], and a second sample of a table.

A survey that were held again would draw households or persons anew, each with all its records. So
scores of a second sample have the noise of units, and not that of single records.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats, dataset_list, finite_vector, open_unit_interval, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.r_numbers.r_random import RRandom
from pyvws.tables.files.frame import check_columns, refuse_lost_digits, units_by_id


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """Mean and quantiles of the pooled statistics, each in the unit of the statistic."""

    estimate: float
    lower: float
    upper: float

    @property
    def length(self) -> float:
        """The length of the interval, upper - lower; larger = less certain."""
        return self.upper - self.lower


def bootstrap_interval(
    datasets: Sequence[Any],
    statistic: Callable[[Floats], float],
    *,
    n: int,
    replicates: int = 1000,
    seed: int,
    level: float = 0.95,
) -> BootstrapInterval:
    """Bootstrap estimate and interval of a statistic over synthetic datasets (section 2.3.1).

    The function draws `replicates` samples of n values with replacement from each dataset, and
    pools the statistics of all samples. The estimate is the mean of the pooled statistics. The ends
    of the interval are their type 7 quantiles at (1 - level) / 2 and 1 - (1 - level) / 2. All
    samples come from one random stream, R's after ``set.seed(seed)``. The outer loop runs over
    datasets and the inner loop over replicates, so an equal loop in R gives the same numbers.
    (A dataset of a single value is repeated; R's ``sample`` would take the value for a range.)

    Parameters
    ----------
    datasets : sequence of array_like, each of shape (N_l,)
        Synthetic values. One dataset, or the confidential data, stands in a list too.
    statistic : callable
        The function of a sample (n,) that returns a number. `pyvws.r_numbers.rarith.mean`, and a
        quantile through `pyvws.quantile`, give the same bits as R.
    n : int
        Size of a bootstrap sample, usually the number of records.
    replicates : int
        Samples from each dataset.
    seed : int
        R's seed.
    level : float
        Share of the pooled statistics within the interval, in (0, 1).

    Returns
    -------
    BootstrapInterval

    Raises
    ------
    InputError
        For missing values, an empty list, a statistic that is no finite number, or an argument out
        of range.

    Examples
    --------
    >>> found = bootstrap_interval([[1.0, 2.0, 4.0]], rarith.mean, n=3, replicates=200, seed=1)
    >>> found.lower < found.estimate < found.upper
    True
    """
    size = whole_number(n, "n", least=1)
    repeats = whole_number(replicates, "replicates", least=1)
    # In doubles 1 - 0.95 is not 0.05. The user means the short decimal.
    tail = round((1.0 - open_unit_interval(level, "level")) / 2.0, 12)
    if not callable(statistic):
        raise InputError.by("statistic-not-a-function")
    outcomes = dataset_list(datasets, "datasets")
    values = [finite_vector(d, f"dataset {number}") for number, d in enumerate(outcomes, start=1)]
    stream = RRandom(seed)
    pooled = np.empty(len(values) * repeats)
    for number in range(len(pooled)):
        source = values[number // repeats]
        value: Any = statistic(source[stream.sample(len(source), size) - 1])
        if np.ndim(value) or np.asarray(value).dtype.kind not in "biuf" or not np.isfinite(value):
            raise InputError.by("statistic-not-finite")
        pooled[number] = value
    lower, upper = rarith.quantile(pooled, np.array([tail, 1.0 - tail]))
    return BootstrapInterval(rarith.mean(pooled), float(lower), float(upper))


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
