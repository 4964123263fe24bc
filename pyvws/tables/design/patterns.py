"""The design of a conditional table: each row is the pattern of its predictors' values.

A category counts by its level, and a number, or a category whose levels are numbers, by the
interval of its public cut points. The coding follows from the schema alone.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.errors import InputError
from pyvws.tables.files.labels import label_of
from pyvws.tables.schema.arithmetic import level_numbers
from pyvws.tables.schema.category import Category
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.parts import ModelledSchema
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class PatternDesign:
    """The patterns of one synthesized column: a design with one column, the pattern from 0.

    - `predictors`: Columns that make the pattern; the last changes fastest.
    - `places` (tuple of (ndarray or None, ndarray), one a predictor): Cut points, None for a
      category, and the place among the pattern's values of each interval, or of each code.
    """

    predictors: tuple[str, ...]
    places: tuple[tuple[Floats | None, Floats], ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The name of the one column."""
        return ("pattern",)

    @property
    def patterns(self) -> int:
        """P, the number of patterns."""
        return math.prod(int(place.max()) + 1 for _, place in self.places)

    def matrix(self, values: Mapping[str, Any], *, n: int | None = None) -> Floats:
        """The patterns (N, 1), by predictors (N,) as `Schema.coded` gives them.

        `n` is the number of rows of a design without predictors. A missing number counts to the
        first interval: the category of a number's parts, beside it, tells the two apart.
        """
        if n is None:
            n = len(next(iter(values.values())))
        patterns = np.zeros((n, 1))
        for name, (cuts, place) in zip(self.predictors, self.places, strict=True):
            own = np.asarray(values[name], dtype=np.float64)
            if cuts is None:
                at = own.astype(np.intp) - 1
            else:
                at = np.searchsorted(cuts, np.nan_to_num(own, nan=-np.inf), side="right")
            patterns[:, 0] *= place.max() + 1.0
            patterns[:, 0] += place[at]
        return patterns


def pattern_design(schema: Schema | ModelledSchema, name: str) -> PatternDesign:
    """The patterns of a column of model "table".

    Raises InputError for a formula, and for a number without cut points.
    """
    if schema.formula_of(name) is not None:
        raise InputError.by("formula-of-table-model", name=name)
    predictors = schema.predictors_of(name)
    for other in predictors:
        column = schema.columns[other]
        if not column.categorical and column.cuts is None:
            raise InputError.by("predictor-without-cuts", other=other, name=name)
    return PatternDesign(predictors, tuple(_places(schema.columns[x]) for x in predictors))


def _places(column: Column | Category) -> tuple[Floats | None, Floats]:
    """Cut points and the places of a column's values in a pattern."""
    if column.categorical:
        return None, bands(column)[1].astype(np.float64)
    cuts = np.array(column.cuts)
    return cuts, np.arange(len(cuts) + 1.0)


def bands(column: Column | Category) -> tuple[list[str | None], NDArray[np.intp]]:
    """How a category enters as a predictor: its levels, or the intervals of its cut points.

    Gives the names of the B bands, None for an empty cell, and the place of each level's (L,).
    """
    levels = list(column.coded_levels)
    if column.cuts is None:
        return levels, np.arange(len(levels))
    cuts, numbers = list(map(label_of, column.cuts)), level_numbers(column, "cuts are of numbers")
    names: list[str | None] = [f"below {cuts[0]}" if cuts else "any"]
    names += [f"{low} to {high}" for low, high in pairwise(cuts)]
    names += [f"from {last}" for last in cuts[-1:]]
    interval, missing = np.searchsorted(column.cuts, numbers, side="right"), np.isnan(numbers)
    interval[missing] = len(names) + np.arange(missing.sum())
    names += [levels[place] for place in np.flatnonzero(missing)]
    used, place = np.unique(interval, return_inverse=True)
    return [names[at] for at in used], place
