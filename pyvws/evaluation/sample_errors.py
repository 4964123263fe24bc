"""Standard errors of figures of a number: a bootstrap's to first order, and what noise adds.

Each record has an influence on a figure such as a mean, a standard deviation or the share below a
quantile. The root mean square of influences over N^(1/2) is the standard error of a second sample.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pyvws._base.checks import Floats


@dataclass(frozen=True, slots=True, eq=False)
class CellNoise:
    """The noise of the counts that a number was drawn by.

    `edges` (C + 1,) are the ends of its cells, which rise. `deviation` is the standard deviation of
    the noise of a cell's count, in records.
    """

    edges: Floats
    deviation: float

    def at(self, values: Floats) -> Floats:
        """A number (C,) for each cell: the mean of those in it, or else its middle."""
        cells = len(self.edges) - 1
        place = np.clip(np.searchsorted(self.edges, values, side="right") - 1, 0, cells - 1)
        many = np.bincount(place, minlength=cells)
        sums = np.bincount(place, values, minlength=cells)
        middle = 0.5 * (self.edges[:-1] + self.edges[1:])
        return np.where(many > 0, sums / np.maximum(many, 1), middle)


@dataclass(frozen=True, slots=True, eq=False)
class SampleErrors:
    """The standard errors of figures of datasets less the data's, by chance and by noise.

    The data's numbers `y` (N,) stand for `counts` (N,) records of `units` (N,), where either is
    given. There are so many `datasets`, the shortest of so many `rows`.
    """

    y: Floats
    counts: Floats | None
    units: Any
    datasets: int
    rows: float
    noise: CellNoise | None

    def error(self, influence: Callable[[Floats], Floats], of_own: float) -> float:
        """The standard error of a mean over datasets less the data's figure.

        `influence` is that of numbers on the figure. `of_own` is the mean of its square over the
        rows of a dataset.
        """
        each = influence(self.y)
        many = np.ones(len(each)) if self.counts is None else self.counts
        total, m = many.sum(), self.datasets
        sums = many * each**2 if self.units is None else np.bincount(self.units, each) ** 2
        sample = float(sums.sum()) / total**2
        variance = sample * (1.0 + 1.0 / m) + of_own / self.rows / m
        if self.noise is not None:
            cells = influence(self.noise.at(self.y))
            variance += float((cells**2).sum()) * (self.noise.deviation / total) ** 2
        return math.sqrt(variance)
