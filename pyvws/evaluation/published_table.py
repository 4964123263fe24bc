"""A table of estimates from m synthetic datasets, with standard errors and intervals.

In each dataset the estimates of `pyvws.evaluation.survey_estimates` are computed for every public
cell, their variances by linearisation [lumley2004]. The combining rules of
`pyvws.evaluation.combining_rules` join the datasets. Published tables of a survey from
synthetic values and weights are those of [tabular2021].

Beside them can stand the same table by the Laplace mechanism, from the confidential records. Its
figures cost their epsilon again, besides that of the synthetic datasets.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby
from typing import Any, Literal

import narwhals as nw
import numpy as np
from narwhals.typing import IntoFrame

from pyvws._base.checks import Floats, open_unit_interval
from pyvws.errors import UsageError
from pyvws.evaluation.combining_rules import (
    Combined,
    CombiningRule,
    Datasets,
    NoisyCells,
    SeveralDatasets,
    combine,
    rule_named,
)
from pyvws.evaluation.counted_cells import ClusteredRows, CountedFigures
from pyvws.evaluation.laplace_table import (
    Weighing,
    laplace_figures,
    most_records,
    public_ranges,
    weighing,
)
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets
from pyvws.evaluation.public_cells import Levels, Names, estimates_by_cell, read_records, table_plan
from pyvws.evaluation.survey_estimates import SurveyEstimate
from pyvws.evaluation.whole_tables import SquaredWeights
from pyvws.sheet import InSheets, Sheet
from pyvws.tables.files.frame import linked_by, open_frame
from pyvws.tables.schema.schema import Schema


@dataclass(frozen=True, slots=True)
class CellFigure:
    """One figure of a published table.

    - `cell`: The cell's levels, in the order of `PublishedTable.by`.
    - `statistic`, `column`: "count", "total", "mean", "share" or "quantile", and of which column;
      "" for a count.
    - `point`: The level of a share, or the level of a quantile between 0 and 1; else "".
    - `estimate`, `standard_error`, `df`, `lower`, `upper`: By the combining rules; in the column's
      unit. NaN where a dataset gives none. A larger standard error is less certain.
    - `records`: Mean over the datasets of the number of synthetic records that the estimate is of:
      those in the cell that have a value of the column, for a share one of the levels.
    - `empty`: The number of datasets without such a record.
    - `laplace`, `laplace_noise`: The figure by the Laplace mechanism, and the standard error of its
      noise alone; NaN without confidential records. No standard error stands beside a quantile.
    - `counted`: Whether the figure is that of noisy counts, so that neither it nor its interval
      rests on the model; None for datasets of which that is unknown. Totals, means and quantiles
      rest on the model within cells.
    """

    cell: tuple[str, ...]
    statistic: str
    column: str
    point: str
    estimate: float
    standard_error: float
    df: float
    lower: float
    upper: float
    records: float
    empty: int
    laplace: float
    laplace_noise: float
    counted: bool | None = None

    def name(self, by: Sequence[str]) -> str:
        """What the figure is of, in words; `by` are the columns of its cell."""
        where = ", ".join(f"{name} {level}" for name, level in zip(by, self.cell, strict=True))
        words = (self.statistic, self.column, self.point, where and f"in {where}")
        return " ".join(filter(None, words))


@dataclass(frozen=True, slots=True, eq=False)
class PublishedTable(InSheets):
    """Figures of public cells from m synthetic datasets: the result of `tabulate`.

    Attributes
    ----------
    by : tuple of str
        The columns that make the cells.
    figures : tuple of CellFigure
        Cell by cell within each statistic.
    datasets : int
        m.
    outside : float
        Mean over the datasets of the share in [0, 1] of synthetic records that lie in no cell.
    kind : {"partial", "full"}
        The combining rule.
    of : {"population", "table"} or None
        What figures of imputed records estimate; None under the rule of `kind`.
    level : float
        The level of the intervals.
    epsilon : float or None
        What the figures by the Laplace mechanism cost, for neighbours of which one lacks a record
        of the other, or a unit of the schema; None without them.
    unit : str or None
        The schema's column of ids whose units the neighbours lack; None where they lack a record.
    weights_of_laplace : str
        What a record counts in the figures by the Laplace mechanism: "1", or the column of weights.
        It is the column over its public mean where the weights were exponents of the datasets' fit.
    remark_on_laplace : str
        A sentence on weights that were exponents of the datasets' fit; empty without any.
    capped : str or None
        Which records the figures are of, where a cap leaves out others.
    lost : tuple of tuple of str
        Columns of sets whose noisy counts the datasets do not hold, of figures by the model.
    """

    by: tuple[str, ...]
    figures: tuple[CellFigure, ...]
    datasets: int
    outside: float
    kind: str
    of: str | None
    level: float
    epsilon: float | None
    unit: str | None
    weights_of_laplace: str
    remark_on_laplace: str
    _backend: Any
    capped: str | None = None
    lost: tuple[tuple[str, ...], ...] = ()

    @property
    def rule(self) -> CombiningRule:
        """The combining rule of the figures."""
        return rule_named(self.kind, self.of)

    @property
    def unit_of_laplace(self) -> str | None:
        """What a neighbour lacks, in the words of a statement; None without Laplace figures."""
        if self.epsilon is None:
            return None
        return "one record" if self.unit is None else f"all records of one {self.unit}"

    @property
    def columns(self) -> dict[str, list[Any]]:
        """The table by column: the cells' levels, then the parts of `CellFigure`.

        Beside figures by the Laplace mechanism every row says what all of them cost together, under
        which neighbours, for which unit, and what a record counts.
        """
        parts = [name for name in CellFigure.__slots__ if name != "cell"]
        claim: dict[str, Any] = {}
        if self.of is None:
            parts.remove("counted")
        if self.epsilon is None:
            parts = [name for name in parts if not name.startswith("laplace")]
        else:
            claim = {
                "epsilon_of_laplace": self.epsilon,
                "neighbours_of_laplace": "leave-one-out",
                "unit_of_laplace": self.unit_of_laplace,
                "weights_of_laplace": self.weights_of_laplace,
            }
        cells = {name: [x.cell[k] for x in self.figures] for k, name in enumerate(self.by)}
        figures = {name: [getattr(figure, name) for figure in self.figures] for name in parts}
        same = {name: [value] * len(self.figures) for name, value in claim.items()}
        return cells | figures | same

    @property
    def made_of(self) -> str:
        """Whose figures these are, and by which rule."""
        if self.capped:
            return f"imputed records, figures of {self.capped}"
        return f"rule for {self.rule.words}"

    @property
    def sheets(self) -> list[Sheet]:
        """A sheet for each statistic of a column, of cells of public levels."""
        grouped = groupby(self.figures, key=lambda figure: (figure.statistic, figure.column))
        sheets = [self._of_statistic(*asked, list(figures)) for asked, figures in grouped]
        columns = self.columns
        facts = {
            "datasets": self.datasets,
            "kind": self.kind,
            "of": self.capped or self.of,
            "level": self.level,
            "epsilon_of_laplace": self.epsilon,
            "unit_of_laplace": self.unit_of_laplace,
            "outside_the_cells": self.outside,
            "rows": [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ],
        }
        return [*sheets[:-1], replace(sheets[-1], notes=self._remarks(), facts=facts)]

    def _of_statistic(self, statistic: str, column: str, figures: Sequence[CellFigure]) -> Sheet:
        point = {"share": ["level"], "quantile": ["quantile"]}.get(statistic, [])
        beside = [] if self.epsilon is None else ["Laplace", "its noise"]
        counted = [] if self.of is None else ["counted"]
        title = f"{statistic} of {column}" if column else "count: sum of the weights"
        return Sheet(
            f"{title}, from {self.datasets} datasets, {self.made_of}",
            (
                *(*self.by, *point, "estimate", "standard error", "df"),
                *(f"lower {self.level:.0%}", "upper", "synthetic records", *counted, *beside),
            ),
            [
                (
                    *(*one.cell, *([one.point] if point else [])),
                    *(one.estimate, one.standard_error, one.df, one.lower, one.upper),
                    "no record" if one.empty == self.datasets else one.records,
                    *(["yes" if one.counted else "by the model"] if counted else []),
                    *((one.laplace, one.laplace_noise) if beside else ()),
                )
                for one in figures
            ],
            digits=6,
        )

    def _remarks(self) -> list[str]:
        remarks = []
        if self.outside:
            remarks.append(f"{self.outside:.3g} of the records lie in no cell.")
        if self.epsilon is not None:
            remarks.append(
                f"The Laplace figures spend epsilon {self.epsilon:g} besides that of the datasets, "
                f"for {self.unit_of_laplace} more or less; their noise is without the sampling of "
                "the survey."
            )
            remarks += [self.remark_on_laplace] if self.remark_on_laplace else []
        if self.of is not None:
            counted = sum(bool(figure.counted) for figure in self.figures)
            others = len(self.figures) - counted
            remarks.append(f"{counted} figures were counted. {others} others depend on the model.")
        remarks += [
            f"The datasets do not hold the noisy counts of {' by '.join(columns)}, and neither do "
            "figures of these columns by the model."
            for columns in self.lost
        ]
        return remarks + of_capped(self.capped)

    @property
    def frame(self) -> Any:
        """The table as a frame of the kind of the datasets: a row for each figure."""
        return nw.from_dict(self.columns, backend=self._backend).to_native()


def of_capped(records: str | None) -> list[str]:
    """The line on the records that figures are of, where a cap leaves out others."""
    if records is None:
        return []
    return [
        f"Figures and intervals are of {records}, not of the whole table or the population. Counts "
        "and totals of large units are too low for these."
    ]


def tabulate(
    datasets: Datasets,
    *,
    by: Levels | Names = (),
    count: bool = False,
    total: Names = (),
    mean: Names = (),
    share: Levels | Names = (),
    quantile: Mapping[str, Any] | None = None,
    weights: str | None = None,
    strata: str | None = None,
    clusters: str | None = None,
    schema: Schema | None = None,
    level: float = 0.95,
    kind: Literal["partial", "full"] = "partial",
    of: Literal["population", "table"] | None = None,
    counted: NoisyCells | None = None,
    noise_of_records: float = 0.0,
    size_ratio: float = 1.0,
    draw_of_dataset: Sequence[Any] | None = None,
    original: IntoFrame | None = None,
    epsilon: float | None = None,
    ranges: Mapping[str, tuple[float, float]] | None = None,
) -> PublishedTable:
    """Estimate totals, means, shares and quantiles of public cells from m synthetic datasets.

    Parameters
    ----------
    datasets : sequence of m pandas, polars or Arrow tables, Release, or path of its folder
        Synthetic tables with the same columns, at least 2. A release says its own rule, draws,
        schema and counted sets.
    by : mapping of column to levels, or column names
        The cells: all combinations of the levels. A column by its name alone takes the levels of
        the schema. A record with another value lies in no cell.
    count : bool
        Estimate the weighted number of records, sum w.
    total, mean : column name or names
        Estimate sum w y, or sum w y / sum w over the records of the cell that have a value.
    share : mapping of column to levels, or column names
        Estimate the weighted share of each level among the records with one of the levels.
    quantile : mapping of column to levels between 0 and 1, optional
        For example {"income": [0.5, 0.9]}.
    weights : str, optional
        Column of survey weights; by default each record counts once.
    strata, clusters : str, optional
        Columns of the design: clusters were drawn with replacement within strata. Without
        `clusters` the schema's units are clusters where the datasets have their ids; else each
        record is one. Equal labels of clusters in two strata are two clusters. Figures of noisy
        counts have the variance between clusters that were counted, or strata without clusters.
    schema : Schema, optional
        Levels, codes of missing values and ranges of the columns.
    level : float
        Level of the intervals.
    kind : {"partial", "full"}
        As in `combine`.
    of : {"population", "table"}, optional
        As in `combine`.
    counted : NoisyCells, optional
        With `of` and a schema: the noisy counts that the datasets follow, which give unweighted
        counts and shares of their cells. A release has its own.
    noise_of_records : float
        As in `combine`, for counts and totals. A release says its own.
    size_ratio : float
        As in `combine`.
    draw_of_dataset : sequence of m labels, optional
        As in `combine`, for example `release.privacy["draw_of_dataset"]`.
    original : pandas, polars or Arrow table, optional
        The confidential table, for the same figures by the Laplace mechanism. Where every column
        is synthesized and the schema's survey weights were exponents, the datasets follow the
        population: then a record counts as its weight over `mean_survey_weight`.
    epsilon : float, optional
        What the figures by the Laplace mechanism may cost together. Required with `original`.
    ranges : mapping of column to (lowest, highest), optional
        Public ranges for the Laplace mechanism, also of the weights; they go before those of the
        schema. A value outside counts as the nearest end.

    Returns
    -------
    PublishedTable
        .figures, .frame and .columns.

    Raises
    ------
    InputError
        For fewer than 2 datasets, an unknown column, a cell without public levels, draws that
        `combine` refuses, and a stratum of one cluster. Also for a Laplace figure that lacks a
        public range, a public size of the schema's units, or a public mean of weights that were
        exponents. Also for one by what a schema has under review.
    MissingDependencyError
        With `original`, where OpenDP is not installed.

    Examples
    --------
    >>> import pandas as pd
    >>> first = pd.DataFrame({"area": ["a", "a", "b"], "pay": [1.0, 3.0, 8.0]})
    >>> second = pd.DataFrame({"area": ["a", "a", "b"], "pay": [2.0, 3.0, 6.0]})
    >>> found = tabulate([first, second], by={"area": ["a", "b", "c"]}, mean="pay")
    >>> [(one.cell, one.estimate, one.empty) for one in found.figures]
    [(('a',), 2.25, 0), (('b',), 7.0, 0), (('c',), nan, 2)]
    """
    several = SeveralDatasets.of(
        *(datasets, schema, counted, noise_of_records),
        kind=kind,
        of=of,
        size_ratio=size_ratio,
        draw_of_dataset=draw_of_dataset,
    )
    schema, rules = several.schema, several.rule
    asked = partial(
        table_plan,
        by,
        count=count,
        total=total,
        mean=mean,
        share=share,
        quantile=quantile,
        strata=strata,
        clusters=clusters,
        schema=schema,
    )
    plan = asked(weights=weights)
    weighed = Weighing(None) if original is None else weighing(schema, weights)
    open_unit_interval(level, "level")
    frames = OriginalAndDatasets.read(
        None, several.tables, argument="datasets", role="dataset"
    ).frames
    combine([0.0] * len(frames), [0.0] * len(frames), **rules)  # Refuse before the work.
    cells, unit = plan.cells, getattr(schema, "unit", None)
    if clusters is None and all(linked_by(frame, unit) for frame in frames.values()):
        plan = replace(plan, clusters=unit)
    beside = [(np.full((len(cells), len(x.points)), np.nan),) * 2 for x in plan.statistics]
    if original is not None:
        if epsilon is None:
            raise UsageError.by("laplace-without-epsilon")
        public = public_ranges(asked(weights=weighed.column), schema, ranges or {})
        most = most_records(schema)
        whole = replace(plan, weights=weighed.column, strata=None, clusters=unit)
        held = read_records(original, whole, "original")
        beside = laplace_figures(
            *(held, whole, public), epsilon=epsilon, most=most, mean_weight=weighed.mean
        )
    elif epsilon is not None or ranges is not None:
        raise UsageError.by("laplace-without-original")
    records = [read_records(frame, plan, role) for role, frame in frames.items()]
    direct_figures, clustered = None, list[ClusteredRows]()
    if several.counted and rules["of"] and not weights:
        design: Any = {"of": rules["of"], "level": level, "clusters": clusters, "strata": strata}
        direct_figures = CountedFigures.read(several.counted, schema, **design)
        tables, coded = [*map(open_frame, frames.values())], direct_figures.tables.columns
        if (squares := SquaredWeights.of(several.counted)) is not None:
            records = [squares.beside(*x, coded) for x in zip(records, tables, strict=True)]
        pairs = zip(records, tables, strict=True)
        clustered = [ClusteredRows.read(direct_figures, *own) for own in pairs if clusters]
    estimates = [estimates_by_cell(dataset, plan) for dataset in records]
    figures = []
    for place, statistic in enumerate(plan.statistics):
        grows = statistic.kind in ("count", "total")
        own_rules = rules | {"noise_of_records": several.noise if grows else 0.0}
        for row, cell in enumerate(cells):
            sizes = np.array([of_dataset[place][row][0] for of_dataset in estimates])
            labels = dict(zip(plan.by, cell, strict=True))
            direct = direct_figures and direct_figures.of_cell(labels, statistic)
            for column, point in enumerate(statistic.points):
                of_datasets = [of_dataset[place][row][1][column] for of_dataset in estimates]
                own = (rows.estimate(statistic, point, row, labels) for rows in clustered)
                if len(known := [*filter(None, own)]) == len(estimates):
                    of_datasets = known
                figures.append(
                    CellFigure(
                        *(cell, statistic.kind, statistic.column, str(point)),
                        **(direct[column] if direct else _joined(of_datasets, level, own_rules)),
                        records=float(sizes.mean()),
                        empty=int((sizes == 0).sum()),
                        laplace=float(beside[place][0][row, column]),
                        laplace_noise=float(beside[place][1][row, column]),
                        counted=None if rules["of"] is None else bool(direct),
                    )
                )
    by_model = [{*plan.by, one.column} for one in figures if not one.counted]
    lost = map(tuple, several.counted.lost if several.counted else ())
    return PublishedTable(
        by=tuple(plan.by),
        figures=tuple(figures),
        datasets=len(records),
        outside=float(np.mean([(dataset.cell < 0).mean() for dataset in records])),
        kind=kind,
        of=rules["of"],
        level=level,
        epsilon=None if original is None else float(epsilon or 0.0),
        unit=None if original is None else unit,
        lost=tuple(own for own in lost if any({*own} <= asked for asked in by_model)),
        weights_of_laplace=weighed.label,
        remark_on_laplace=weighed.remark,
        _backend=frames["dataset 1"].implementation,
    )


def own_figures(table: IntoFrame, *, level: float = 0.95, **asked: Any) -> Floats:
    """Estimates of a table itself with both ends of their intervals (K, 3), as `tabulate` orders.

    `asked` is what `tabulate` is asked, such as `by` and `mean`. The intervals are normal.
    """
    records = read_records(open_frame(table), plan := table_plan(**asked), "original")
    own = [
        Combined(one.estimate, one.variance, np.inf)
        for of_cells in estimates_by_cell(records, plan)
        for _, estimates in of_cells
        for one in estimates
    ]
    return np.array([(one.estimate, *one.interval(level)) for one in own])


def _joined(
    estimates: Sequence[SurveyEstimate], level: float, rules: Mapping[str, Any]
) -> dict[str, Any]:
    """The parts of a figure that the combining rules give; NaN as far as they give none."""
    names = ("estimate", "standard_error", "df", "lower", "upper")
    q, v, degrees = np.array([(own.estimate, own.variance, own.df) for own in estimates]).T
    if not np.isfinite(q).all():
        return dict.fromkeys(names, np.nan)
    sure = bool(np.isfinite(v).all())
    combined: Combined = combine(q, v if sure else np.zeros(len(q)), **rules)
    if not sure:
        return dict.fromkeys(names, np.nan) | {"estimate": combined.estimate}
    if combined.variance > 0.0:
        own = (float(v.mean()) / combined.variance) ** 2 / float(degrees.min())
        combined = replace(combined, df=1.0 / (1.0 / combined.df + own) if own else combined.df)
    parts = (combined.estimate, combined.variance**0.5, combined.df, *combined.interval(level))
    return dict(zip(names, parts, strict=True))
