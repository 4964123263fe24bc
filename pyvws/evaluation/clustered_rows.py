"""Means, totals and quantiles of synthetic rows, with the variance between counted clusters.

Clusters of synthetic rows differ by noise too, and datasets differ by it once more. So a mean has
the sampling variance of rows drawn one by one, and what noisy counts of cluster by column have more
[lumley2004]: each code stands for the mean of its rows. Values within a code count as independent.
A quantile has Woodruff's standard error, by that of the share of rows up to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.evaluation.counted_cells import AloneMean, CountedFigures
from pyvws.evaluation.public_cells import CellRecords, CellStatistic
from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.tables.files.frame import open_frame


@dataclass(frozen=True, slots=True, eq=False)
class ClusteredRows:
    """The rows of a dataset as if drawn one by one, and what was counted of their clusters.

    `codes` (N,) are those of numbers as they were counted, -1 for none, by column.
    """

    counted: CountedFigures
    rows: CellRecords
    codes: Mapping[str, NDArray[Any]]
    design: SurveyDesign

    @classmethod
    def read(cls, counted: CountedFigures, rows: CellRecords, table: IntoFrame) -> Self:
        """Those of a dataset; each row stands for the same number of records."""
        frame, columns = open_frame(table), counted.tables.columns
        codes = {name: columns[name].read(frame)[0] for name in rows.numbers if name in columns}
        design = replace(survey_design(np.ones(len(rows.cell))), squares=rows.squares)
        return cls(counted, rows, codes, design)

    def estimate(
        self, asked: CellStatistic, point: Any, place: int, cell: Mapping[str, str]
    ) -> SurveyEstimate | None:
        """That of a number in a cell, which has a `place`; None where clusters were not counted."""
        of_cell = self.counted.tables.of_labels(cell)
        if of_cell is None or self.counted.clusters is None or asked.column not in self.codes:
            return None
        values, codes = self.rows.numbers[asked.column], self.codes[asked.column]
        L = self.counted.tables.columns[asked.column].size
        used = np.flatnonzero(np.isfinite(values) & (codes >= 0))
        rows = used[self.rows.cell[used] == place]
        if not len(rows):
            return None
        found = survey_total(values[rows], self.design, rows)
        if asked.kind == "quantile":
            found = survey_quantile(values[rows], point, self.design, rows)
            values = np.where(values <= found.estimate, 1.0, 0.0)
        number = np.bincount(codes[used], minlength=L)
        sums = np.bincount(codes[used], values[used], minlength=L)
        of_code = sums / np.where(number > 0, number, np.nan)
        near, every, own = of_code[codes], self._alone(values, used), self._alone(values, rows)
        within = every.variance - self._alone(near, used).variance
        mean = self.counted.of_mean(asked.column, of_code, cell, own, every, within)
        if mean is None:
            return None
        if asked.kind == "mean":
            return SurveyEstimate(own.mean, mean.variance, mean.df)
        if asked.kind == "quantile":
            times = mean.variance / own.variance if own.variance else 1.0
            squares = np.ones(len(values)) if self.rows.squares is None else self.rows.squares
            design = replace(self.design, squares=times * squares)
            found = survey_quantile(self.rows.numbers[asked.column][rows], point, design, rows)
            return replace(found, df=mean.df)
        by_column, alone = {asked.column: np.nan_to_num(of_code)}, found.variance
        within, variance = alone - survey_total(near[used], self.design, used).variance, 0.0
        if cell:  # As if the means of clusters did not follow their numbers of records.
            of_count = survey_total(np.ones(len(rows)), self.design, rows)
            by_column, alone, within = of_cell, of_count.variance, 0.0
            variance = len(rows) ** 2 * mean.variance
        total = self.counted.sampling(by_column, alone, within)
        if total is None:
            return None
        variance += total.variance * (own.mean**2 if cell else 1.0)
        stands_for = float(self.rows.weights[0])
        return SurveyEstimate(stands_for * found.estimate, stands_for**2 * variance, total.df)

    def _alone(self, values: Floats, rows: NDArray[np.intp]) -> AloneMean:
        """The mean of the values (N,) in some rows, as if these were drawn one by one."""
        found, number = survey_mean(values[rows], self.design, rows), float(len(rows))
        squares = number if self.design.squares is None else float(self.design.squares[rows].sum())
        apart = float(np.var(values[rows]))
        return AloneMean(found.estimate, found.variance, squares / number**2, number, apart)
