"""What both pages say of columns and of pairs of columns: margins, statistics and associations."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.evaluation.associations import associations
from pyvws.evaluation.one_column import LevelMargin
from pyvws.evaluation.table_scores import TableUtility
from pyvws.evaluation.table_utility import table_utility
from pyvws.plots.drawing import thinned
from pyvws.r_numbers import rarith
from pyvws.report.output_folder import PublicPart
from pyvws.report.released_columns import MOST_ROWS, ColumnValues, ReportedColumn, read_some, valued
from pyvws.tables.schema.schema import Schema

DRAWN: Final = 12
"""A page draws at most so many columns, and so many levels of a category."""

MEASURES: Final = (
    "Associations of pairs of columns, where 0 = none and 1 or −1 = the strongest there is. Two "
    "numbers have their rank correlation, and two categories Cramer's V. A number and a category "
    "have the correlation ratio of the number's ranks."
)

_LISTED: Final = 10
_CURVES: Final = 8  # A reader can tell this many curves apart.
_LEVELS: Final = np.array([0.15, 0.5, 0.9])


@dataclass(frozen=True, slots=True, eq=False)
class NumberMargin:
    """A number in several tables: Q15, Q90, mean and median of each, shape (tables, 4).

    `curves` are values of the first tables, at most 20,000 evenly spaced ones of each.
    """

    name: str
    statistics: Floats
    curves: list[Floats]


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Associations of K columns in several tables, shape (tables, K, K)."""

    names: tuple[str, ...]
    categorical: tuple[bool, ...]
    matrices: Floats

    def measure(self, i: int, j: int) -> str:
        """What the association of two columns is called."""
        both = self.categorical[i] + self.categorical[j]
        return ("rank correlation", "correlation ratio", "Cramer's V")[both]

    def largest(self, matrix: Floats) -> list[tuple[int, int]]:
        """The ten pairs of columns whose entry of `matrix` (K, K) is largest in size."""
        pairs = combinations(range(len(self.names)), 2)
        known = [pair for pair in pairs if np.isfinite(matrix[pair])]
        return sorted(known, key=lambda pair: -abs(matrix[pair]))[:_LISTED]


def four_statistics(tables: Iterable[Floats]) -> Floats:
    """Q15, Q90, mean and median of each table, shape (tables, 4), in the outcome's unit."""
    rows = []
    for values in tables:
        q15, median, q90 = rarith.quantile(values, _LEVELS)
        rows.append([q15, q90, rarith.mean(values), median])
    return np.array(rows)


def margin_of(values: ColumnValues) -> NumberMargin | LevelMargin:
    """What a page keeps of a column's values."""
    if values.levels is not None:
        return LevelMargin.of(values.name, values.levels, values.tables)
    curves = [thinned(table) for table in values.tables[:_CURVES]]
    return NumberMargin(values.name + values.unit, four_statistics(values.tables), curves)


def pairs_of(public: PublicPart) -> Pairs | None:
    """The associations of a table's columns in each dataset; None of a run on one outcome.

    A number that may be missing stands in no pair.
    """
    columns = _paired(public, [column for column in public.columns if not column.missing])
    if len(columns) < 2:
        return None
    parts = {file.path.name: read_some(columns, file.path, file.rows) for file in public.files}
    values = [
        valued(column, {name: part[column.name] for name, part in parts.items()})
        for column in columns
    ]
    tables = [
        pl.DataFrame({column.name: column.tables[place] for column in values})
        for place in range(len(parts))
    ]
    categories = [column.name for column in values if column.levels is not None]
    return Pairs(
        tuple(column.name for column in values),
        tuple(column.levels is not None for column in values),
        np.array([associations(table, categories=categories).matrix for table in tables]),
    )


def scores_of(public: PublicPart, data: pl.DataFrame, schema: Schema | None) -> TableUtility | None:
    """How near the datasets come to `data`, the confidential table; None of a run on one outcome.

    The schema is that of the run. At most `MOST_ROWS` rows are compared.
    """
    columns = _paired(public, public.columns)
    names, unit = [column.name for column in columns], public.privacy.get("unit_column")
    if len(names) < 2:
        return None
    unit = unit if unit in data.columns and unit not in names else None
    return table_utility(
        data.select(*names, *filter(None, [unit])).gather_every(-(-len(data) // MOST_ROWS)),
        [read_some(columns, file.path, file.rows) for file in public.files],
        schema=schema,
        columns=names,
        unit=unit,
        s_pmse=False,
    )


def _paired(public: PublicPart, among: Sequence[ReportedColumn]) -> list[ReportedColumn]:
    """The synthesized columns and, while there is room, the public ones that predict them."""
    entries = public.privacy.get("columns", ())
    predictors = {name for entry in entries for name in entry["predictors"]}
    wanted = [column for column in among if column.synthetic and entries]
    wanted += [column for column in among if not column.synthetic and column.name in predictors]
    chosen = {column.name for column in wanted[:DRAWN]}
    return [column for column in public.columns if column.name in chosen]
