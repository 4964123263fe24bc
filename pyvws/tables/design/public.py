"""A design matrix whose coding is public: it follows from a schema, never from the records.

Levels are those of the schema, whether a record has them or not, and numbers enter on a public
scale. So a row's coding depends on the row's own values alone, and the same holds for synthetic
rows. Nothing checks the rank: a level that no record has gives a column of zeros, for which the
families have proper priors.

The design of a conditional table has one column: the pattern of its predictors' values. A category
counts by its level, and a number, or a category whose levels are numbers, by the interval of its
public cut points.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats, Places, Values
from pyvws.errors import InputError
from pyvws.tables.design.model_matrix import assembled, evaluated, named_columns, of_own_row
from pyvws.tables.files.labels import label_of
from pyvws.tables.schema.arithmetic import level_numbers
from pyvws.tables.schema.category import Category
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.factors import Factor
from pyvws.tables.schema.formula import Expression, ReadFormula, Token, read_formula
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


def bands(column: Column | Category) -> tuple[list[str | None], Places]:
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


_POINTS: Final = 257  # Of a number's range, where a call such as log(x) is looked at.
_TRUTH: Final = ("FALSE", "TRUE")


@dataclass(frozen=True, slots=True)
class PublicScale:
    """Numbers (N, k) on a public scale: (x - `middle`) / `half`, each of shape (k,)."""

    middle: Floats
    half: Floats


@dataclass(frozen=True, slots=True)
class PublicDesign:
    """The design of one synthesized column: K columns, their `names` as R's ``model.matrix`` has.

    - `predictors`: Columns that the design reads.
    - `names`: Names of the K columns, such as "(Intercept)", "sexm", "age" and "sexm:age".
    """

    predictors: tuple[str, ...]
    names: tuple[str, ...]
    read: ReadFormula
    columns: Mapping[str, Column | Category]
    codings: tuple[Factor | PublicScale, ...]

    def matrix(self, values: Mapping[str, Any], *, n: int | None = None) -> Floats:
        """The matrix (N, K) of coded predictors, each (N,) as `Schema.coded` gives them.

        - `values` (mapping of str to array_like of shape (N,)): Codes 1 to L of categories, and
          numbers; other columns than the predictors may be there.
        - `n`: The number of rows, for a design without predictors.

        Raises InputError for a term that has no finite value in some row.
        """
        if n is None:
            n = len(next(iter(values.values())))
        coded = {name: np.asarray(values[name], dtype=np.float64) for name in self.predictors}
        variables = self._variables(coded, n)
        for expression, variable in zip(self.read.variables, variables, strict=True):
            if not (isinstance(variable, Factor) or np.isfinite(variable).all()):
                raise InputError.by(
                    "formula-values-of-schema", formula=self.read.text, label=expression.label
                )
        return assembled(self.read, variables, n)

    def _variables(self, values: Values, n: int) -> list[Any]:
        within = {
            name: _within(self.columns[name], _raw(self.columns[name], values[name]))
            for name in self.predictors
        }
        variables = []
        for expression, coding in zip(self.read.variables, self.codings, strict=True):
            (variable,) = evaluated(self.read.alone(expression), within, n, single=True)
            if isinstance(coding, PublicScale):
                variable = (variable - coding.middle) / coding.half
            else:
                variable = Factor(coding.levels, variable.coded_by(coding.levels))
            variables.append(variable)
        return variables


def public_design(schema: Schema | ModelledSchema, name: str) -> PublicDesign | PatternDesign:
    """The design of a synthesized column's predictors by what is public of them.

    Categories have treatment contrasts on the schema's levels, or on the intervals of their cut
    points. A number x is (x - middle) / half
    width of its range, or (x - centre) / width of its scale. In a formula, a call of one number
    such as log(age) or I(age^2) is scaled in the same way, by the lowest and highest value that the
    call has over the range.

    Raises InputError for a number without range and scale, and for a term that reads other rows,
    such as poly(age, 2), or several columns. A column of model "table" has `pattern_design`.
    """
    column = schema.columns[name]
    if column.model == "table":
        return pattern_design(schema, name)
    predictors = schema.predictors_of(name)
    formula = schema.formula_of(name)
    if formula is None:
        variables = tuple(Expression([Token("quoted", predictor)]) for predictor in predictors)
        terms = tuple((place,) for place in range(len(variables)))
        read = ReadFormula(True, variables, terms, f"of {name}")
    else:
        read = read_formula(formula)
    columns = {predictor: schema.columns[predictor] for predictor in predictors}
    for other, entries in columns.items():
        if not (entries.categorical or entries.range or entries.scale):
            raise InputError.by("predictor-without-scale", other=other, name=name)
    codings = tuple(_coding(read.alone(expression), columns) for expression in read.variables)
    first = [
        Factor(own.levels, np.zeros(1, np.intp)) if isinstance(own, Factor) else own.middle[None, :]
        for own in codings
    ]
    names, _ = named_columns(read, first)
    return PublicDesign(predictors, tuple(names), read, columns, codings)


def _raw(column: Column | Category, values: Floats) -> Any:
    """The column for a formula: a pandas Categorical of the public bands, or the numbers."""
    if not column.categorical:
        return values
    import pandas as pd

    names, place = bands(column)
    empty = "NA" if "NA" not in names else "(empty)"
    labels = [empty if name is None else name for name in names]
    return pd.Categorical.from_codes(place[values.astype(np.intp) - 1], labels)


def _within(column: Column | Category, values: Floats) -> Any:
    """Numbers moved into their public range, and missing ones to the middle of their scale.

    The category of a number's parts, beside it in the design, tells them apart.
    """
    if column.categorical:
        return values
    known = np.where(np.isnan(values), _scale(column)[0], values)
    return np.clip(known, *column.range) if column.range else known


def _coding(read: ReadFormula, columns: Mapping[str, Column | Category]) -> Factor | PublicScale:
    """The levels or the scale of a variable, from the public values of the one column it reads."""
    (expression,) = read.variables
    if len(expression.columns) != 1:
        raise InputError.by("formula-of-several-columns", label=expression.label)
    (name,) = expression.columns
    column = columns[name]
    if column.categorical:
        values = np.arange(1.0, len(column.coded_levels) + 1)
    else:
        centre, width = _scale(column)
        if expression.label.strip("`") in expression.columns:
            return PublicScale(np.array([centre]), np.array([width]))
        values = np.linspace(centre - width, centre + width, _POINTS)
    raw = {name: _raw(column, values)}
    (variable,) = evaluated(read, raw, len(values), single=True)
    if not all(of_own_row(read, [variable], raw, len(values))):
        raise InputError.by("formula-of-other-rows", label=expression.label)
    if isinstance(variable, Factor):
        if not (column.categorical or variable.levels == _TRUTH):
            raise InputError.by("formula-levels-from-records", label=expression.label, name=name)
        return variable
    low, high = variable.min(axis=0), variable.max(axis=0)
    if not (np.isfinite(low) & np.isfinite(high) & (low < high)).all():
        raise InputError.by("formula-public-values", label=expression.label, name=name)
    return PublicScale((low + high) / 2.0, (high - low) / 2.0)


def _scale(column: Column | Category) -> tuple[float, float]:
    """Centre and width of a number on its public scale."""
    if column.scale is not None:
        return column.scale
    assert column.range is not None
    low, high = column.range
    return low + (high - low) / 2.0, (high - low) / 2.0
