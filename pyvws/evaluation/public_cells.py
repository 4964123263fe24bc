"""The public cells and statistics of a table of estimates, and the records of a frame by cell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, product
from typing import Any

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import NDArray

from pyvws._base.checks import Floats, open_unit_interval
from pyvws.errors import InputError, UsageError
from pyvws.evaluation.original_and_datasets import described
from pyvws.evaluation.survey_estimates import (
    SurveyDesign,
    SurveyEstimate,
    survey_design,
    survey_mean,
    survey_quantile,
    survey_total,
)
from pyvws.tables.files.frame import check_columns, open_frame, refuse_lost_digits
from pyvws.tables.files.headers import about
from pyvws.tables.files.kinds import distinct, holds_dates
from pyvws.tables.files.labels import by_meaning, id_of, label_of, meant
from pyvws.tables.schema.read_values import numbers_and_codes, refuse_other_readings
from pyvws.tables.schema.schema import Schema

Names = str | Sequence[str]
Levels = Mapping[str, Sequence[Any]]


@dataclass(frozen=True, slots=True)
class CellStatistic:
    """A statistic of each cell: "count", "total", "mean", "share" or "quantile" of a column.

    `points` are the levels of a share, or the levels between 0 and 1 of a quantile; one empty text
    for the others. The statistic has one figure for each point.
    """

    kind: str
    column: str = ""
    points: tuple[Any, ...] = ("",)


@dataclass(frozen=True, slots=True)
class TablePlan:
    """What is public of a table of estimates.

    - `by`: The levels, as text, of each column that makes cells. The cells are all combinations.
    - `statistics`: At least one.
    - `weights`, `strata`, `clusters`: Columns of the survey's design.
    - `missing`: The codes of missing values of the columns of a schema.
    - `to_review`: The columns and entries of a schema that the table takes and that are still under
      review.
    """

    by: dict[str, tuple[str, ...]]
    statistics: tuple[CellStatistic, ...]
    weights: str | None
    strata: str | None
    clusters: str | None
    missing: dict[str, tuple[str | None, ...]]
    to_review: tuple[tuple[str, str], ...]

    @property
    def cells(self) -> list[tuple[str, ...]]:
        """The labels of each cell, the last column fastest; one cell without columns."""
        return [*product(*self.by.values())]


@dataclass(frozen=True, slots=True, eq=False)
class CellRecords:
    """N records by cell.

    - `cell` (N,): Each record's cell from 0, or -1 in none.
    - `weights` (N,): Survey weights, 1 without a column of them.
    - `numbers`: Columns (N,), NaN where missing.
    - `levels`: The place (N,) of each record among the levels of a share, -1 where it has none of
      them.
    - `strata`, `clusters` (N,): Codes.
    - `squares` (N,): As in `SurveyDesign`, for records without clusters.
    """

    cell: NDArray[np.intp]
    weights: Floats
    numbers: dict[str, Floats]
    levels: dict[str, NDArray[np.intp]]
    strata: NDArray[np.intp] | None
    clusters: NDArray[np.intp] | None
    squares: Floats | None = None


def table_plan(
    by: Levels | Names,
    *,
    count: bool = False,
    total: Names = (),
    mean: Names = (),
    share: Levels | Names = (),
    quantile: Mapping[str, Any] | None = None,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    schema: Schema | None = None,
) -> TablePlan:
    """Check what is asked for; InputError where a level is missing or nothing is asked for."""
    quantile = {} if quantile is None else quantile
    if not isinstance(quantile, Mapping):
        raise InputError.by("quantile-levels-missing")
    statistics = [CellStatistic("count")] if count else []
    statistics += [CellStatistic("total", name) for name in _names(total)]
    statistics += [CellStatistic("mean", name) for name in _names(mean)]
    statistics += [
        CellStatistic("share", name, levels)
        for name, levels in _with_levels(share, schema, "share").items()
    ]
    for name, levels in quantile.items():
        points = tuple(open_unit_interval(level, "quantile") for level in np.atleast_1d(levels))
        statistics.append(CellStatistic("quantile", name, points))
    if not statistics:
        raise UsageError.by("no-statistic")
    codes = described(schema)
    for statistic in statistics:
        own = codes.get(statistic.column or "")
        if statistic.kind != "share" and own is not None and own.days_since is not None:
            raise InputError.by("dates-have-no-total", name=statistic.column)
    missing = {name: tuple(dict.fromkeys([*x.missing_codes, None])) for name, x in codes.items()}
    cells = _with_levels(by, schema, "by")
    without_levels = [names for names in (by, share) if not isinstance(names, Mapping)]
    taken = [(name, "levels") for names in without_levels for name in _names(names)]
    taken += [(asked.column, entry) for asked in statistics for entry in ("range", "missing")]
    taken += [(weights, "range")] if weights else []
    open_entries = () if schema is None else schema.to_review
    return TablePlan(
        *(cells, tuple(statistics), weights, strata, clusters, missing),
        to_review=tuple(entry for entry in dict.fromkeys(taken) if entry in open_entries),
    )


def read_records(table: IntoFrame, plan: TablePlan, name: str) -> CellRecords:
    """The records of a frame by cell.

    Raises InputError, with the frame's name before it, for columns that the frame lacks, for cells
    that are no numbers, and for weights, strata or clusters that are missing.
    """
    with about(name):
        return _read(open_frame(table, least=1), plan)


def _read(frame: nw.DataFrame[Any], plan: TablePlan) -> CellRecords:
    used = [*plan.by, *(statistic.column for statistic in plan.statistics if statistic.column)]
    check_columns(frame, used, role="The table of estimates")
    cell = np.zeros(len(frame), dtype=np.intp)
    for name, levels in plan.by.items():
        places = _places(frame[name], levels)
        cell = np.where((cell < 0) | (places < 0), -1, cell * len(levels) + places)
    numbers, coded = {}, {}
    for statistic in plan.statistics:
        if statistic.kind == "share":
            coded[statistic.column] = _places(frame[statistic.column], statistic.points)
        elif statistic.column and statistic.column not in numbers:
            if holds_dates(frame[statistic.column]):
                raise InputError.by("dates-have-no-total", name=statistic.column)
            codes = plan.missing.get(statistic.column, (None,))
            numbers[statistic.column] = numbers_and_codes(frame[statistic.column], codes)[0]
    weights = np.ones(len(frame))
    if plan.weights is not None:
        check_columns(frame, [plan.weights], role="weights")
        weights = numbers_and_codes(frame[plan.weights], ())[0]
    strata, clusters = (
        None if name is None else _labels(frame, name, role)
        for name, role in ((plan.strata, "strata"), (plan.clusters, "clusters"))
    )
    return CellRecords(cell, weights, numbers, coded, strata, clusters)


def _places(column: nw.Series[Any], levels: Sequence[str]) -> NDArray[np.intp]:
    """The place (N,) of each cell's value among the levels, -1 for another or no value."""
    refuse_lost_digits(column)
    refuse_other_readings(column, levels)
    places, labels = distinct(column)
    known = by_meaning(levels)
    every = [*labels, None]
    return np.array([known.get(meant(label), -1) for label in every], dtype=np.intp)[places]


def _labels(frame: nw.DataFrame[Any], name: str, role: str) -> NDArray[np.intp]:
    check_columns(frame, [name], role=role)
    if role == "clusters":
        refuse_lost_digits(frame[name])
    codes, labels = distinct(frame[name])
    places = np.asarray(codes, dtype=np.intp)
    if (places < 0).any():
        raise InputError.by("empty-cells", role=role, name=name, it=int((places < 0).sum()))
    code: dict[str, int] = {}  # 1 and "1" are one label.
    if role == "clusters":  # The Laplace mechanism takes them as units.
        labels = [id_of(label) for label in labels]
    return np.array([code.setdefault(label, len(code)) for label in labels], dtype=np.intp)[places]


def _names(given: Names) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _with_levels(
    given: Levels | Names, schema: Schema | None, role: str
) -> dict[str, tuple[str, ...]]:
    """The levels of each column, as text: those given, or those of the schema."""
    if isinstance(given, Mapping):
        by_name = {name: tuple(map(label_of, levels)) for name, levels in given.items()}
    else:
        known = described(schema)
        by_name = {x: known[x].levels or () if x in known else () for x in _names(given)}
    for name, levels in by_name.items():
        if not levels or len(set(map(meant, levels))) < len(levels):
            raise InputError.by("levels-not-public", role=role, name=name)
    return by_name


def estimates_by_cell(
    records: CellRecords, plan: TablePlan
) -> list[list[tuple[int, list[SurveyEstimate]]]]:
    """By statistic and cell of one dataset: the number of records used, and the points' estimates.

    Records without a value of the statistic's column are not used.
    """
    design = survey_design(records.weights, records.strata, records.clusters)
    if records.clusters is None:
        design = replace(design, squares=records.squares)
    order = np.argsort(records.cell, kind="stable")
    starts = np.searchsorted(records.cell[order], np.arange(len(plan.cells) + 1))
    cells = [order[start:end] for start, end in pairwise(starts)]
    estimates = []
    for asked in plan.statistics:
        values = _values(asked, records)
        used = [rows[np.isfinite(values[rows])] for rows in cells]
        of_cells = [(len(rows), list(_estimates(asked, values, design, rows))) for rows in used]
        estimates.append(of_cells)
    return estimates


def _values(statistic: CellStatistic, records: CellRecords) -> Floats:
    """What a statistic is of (N,): ones, places among the levels of a share, or numbers.

    NaN where a record has none.
    """
    if statistic.kind == "count":
        return np.ones(len(records.cell))
    if statistic.kind == "share":
        places = records.levels[statistic.column]
        return np.where(places < 0, np.nan, places)
    return records.numbers[statistic.column]


def _estimates(
    statistic: CellStatistic, values: Floats, design: SurveyDesign, rows: NDArray[np.intp]
) -> Iterator[SurveyEstimate]:
    """The estimates of a statistic of the values (N,) in `rows`, a point each."""
    y = values[rows]
    if statistic.kind == "share":
        for place in range(len(statistic.points)):
            yield survey_mean(y == place, design, rows)
    elif statistic.kind == "quantile":
        for point in statistic.points:
            yield survey_quantile(y, point, design, rows)
    else:
        yield (survey_mean if statistic.kind == "mean" else survey_total)(y, design, rows)
