"""Figures of the original beside those of synthetic tables, each with an interval [karr2006].

A figure is a coefficient of a regression, or a share or mean in a cell of a table. The synthetic
estimates and intervals follow the combining rule of the datasets; the overlap of the intervals says
whether a user of the synthetic tables would conclude the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

import numpy as np
from narwhals.typing import IntoFrame
from numpy.typing import ArrayLike
from scipy.special import ndtri, stdtrit

from pyvws._base.checks import Floats, dataset_list, open_unit_interval
from pyvws.errors import InputError
from pyvws.evaluation.combining_rules import Datasets, SeveralDatasets, combine_formula, rule_named
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets
from pyvws.evaluation.published_table import own_figures, tabulate
from pyvws.evaluation.regressions import fit_formula
from pyvws.sheet import InSheets, Sheet
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema


def interval_overlap(original: ArrayLike, synthetic: ArrayLike) -> Any:
    """The share of an interval that lies in the other interval, averaged over the two intervals.

    The overlap is (I / length of the original interval + I / length of the synthetic interval) / 2.
    I is the length of the intersection, or 0 where there is none.

    Parameters
    ----------
    original, synthetic : array_like, shape (2,) or (K, 2)
        Lower and upper end of one interval, or of K, in the unit of the estimate.

    Returns
    -------
    float or ndarray, shape (K,)
        In [0, 1]; larger = more useful; 1 = the same interval.

    Raises
    ------
    InputError
        For another shape, a missing end, or an upper end that is not above the lower end.

    Examples
    --------
    >>> interval_overlap((0.0, 4.0), (3.0, 5.0))
    0.375
    """
    first, second = _intervals(original, "original"), _intervals(synthetic, "synthetic")
    if first.shape != second.shape:
        raise InputError.by(
            "intervals-differ-in-number", size=first.size // 2, size2=second.size // 2
        )
    low = np.maximum(first[..., 0], second[..., 0])
    high = np.minimum(first[..., 1], second[..., 1])
    common = np.maximum(high - low, 0.0)
    shares = (
        common / (first[..., 1] - first[..., 0]) + common / (second[..., 1] - second[..., 0])
    ) / 2.0
    return float(shares) if first.ndim == 1 else shares


def _intervals(values: ArrayLike, name: str) -> Floats:
    try:
        ends = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError.by("interval-not-numbers", name=name) from None
    if ends.ndim not in (1, 2) or ends.shape[-1] != 2:
        raise InputError.by("interval-shape", name=name, shape=ends.shape)
    if not (np.isfinite(ends).all() and (ends[..., 0] < ends[..., 1]).all()):
        raise InputError.by("interval-ends", name=name)
    with np.errstate(over="ignore"):
        if not np.isfinite(ends[..., 1] - ends[..., 0]).all():
            raise InputError.by("interval-length", name=name)
    return ends


_OF_CELLS: Final = ("levels", "missing", "range", "decimals", "days_since")
_BESIDE: Final = ("data", "data_interval", "synthetic", "synthetic_interval", "overlap")


@dataclass(frozen=True, slots=True, eq=False)
class FiguresBeside(InSheets):
    """K figures in the original and in m synthetic datasets.

    `names` (K,); `original` and `synthetic` (K,) are estimates, of a regression on the link's
    scale, and `original_interval` and `synthetic_interval` (K, 2) their intervals. `overlap` (K,)
    is in [0, 1]: 1 = the same interval, 0 = apart, NaN without one; larger = more useful. `dropped`
    and `dropped_synthetic` (m,) count the records of the original and of each dataset that lack a
    value in a column of a formula, and are left out; None where none are. `title` says what the
    figures are of, `level` is that of the intervals, and `rule` says how datasets were combined.
    """

    names: tuple[str, ...]
    original: Floats
    original_interval: Floats
    synthetic: Floats
    synthetic_interval: Floats
    overlap: Floats
    title: str
    level: float
    rule: str
    dropped: int | None = None
    dropped_synthetic: tuple[int, ...] = ()

    @property
    def sheet(self) -> Sheet:
        """One sheet with both estimates and intervals of each figure."""
        gone = {"data_left_out": self.dropped, "synthetic_left_out": self.dropped_synthetic}
        rows = list(
            zip(
                *(self.original, self.original_interval.tolist()),
                *(self.synthetic, self.synthetic_interval.tolist(), self.overlap),
                strict=True,
            )
        )
        ends = f"{self.level:.0%} interval"
        return Sheet(
            f"{self.title} (confidential), rule for {self.rule}",
            ("figure", "data", ends, "synthetic", ends, "overlap"),
            [
                (name, *("{:.4g} to {:.4g}".format(*x) if isinstance(x, list) else x for x in row))
                for name, row in zip(self.names, rows, strict=True)
            ],
            notes=[
                *left_out(self.dropped_synthetic, self.dropped or 0),
                "overlap: 1 (best) = the same interval, 0 (worst) = apart. It sees these "
                "figures and no others.",
            ],
            facts={
                name: dict(zip(_BESIDE, row, strict=True)) | ({} if self.dropped is None else gone)
                for name, row in zip(self.names, rows, strict=True)
            },
            digits=5,
        )


def together(found: Sequence[FiguresBeside]) -> list[Sheet]:
    """The sheets of several regressions or tables; of several each has its facts by its title."""
    if len(found) < 2:
        return [one.sheet for one in found]
    return [replace(one.sheet, facts={one.title: one.sheet.facts}) for one in found]


def left_out(datasets: Sequence[int], original: int = 0) -> list[str]:
    """A line on the records that lack a value, of the original and of each dataset; none if none.

    It is for a regression, which leaves them out.
    """
    if not (original or any(datasets)):
        return []
    ends = " to ".join(f"{count:,}" for count in sorted({min(datasets), max(datasets)}))
    of_data = f"{original:,} of the data, " if original else ""
    return [f"Records left out for a missing value: {of_data}{ends} of a dataset."]


def cells_beside(
    original: IntoFrame,
    datasets: Sequence[Any],
    columns: Sequence[str],
    *,
    schema: Schema | None = None,
    **rule: Any,
) -> FiguresBeside:
    """Shares of the levels of the last column, or its means, in cells of the columns before it.

    `rule` has arguments of `combine`. Without a schema the original says what the columns hold.
    """
    *by, last = columns
    kinds = OriginalAndDatasets.read(original, datasets, schema=schema).kinds(columns)
    of_cells = {
        name: Column(role="public", **{entry: getattr(kind, entry) for entry in _OF_CELLS})
        for name, kind in kinds.items()
    }
    statistic = "share" if last in kinds and kinds[last].categorical else "mean"
    what: Any = {"by": by, "schema": Schema(of_cells), statistic: last}
    before = own_figures(original, **what)
    after = tabulate(datasets, **rule, **what)
    ends = np.array([before[:, 1:], [(own.lower, own.upper) for own in after.figures]])
    both = (np.isfinite(ends).all(axis=2) & (ends[..., 0] < ends[..., 1])).all(axis=0)
    overlap = np.full(len(both), np.nan)
    overlap[both] = interval_overlap(*ends[:, both])
    return FiguresBeside(
        names=tuple(figure.name(by) for figure in after.figures),
        original=before[:, 0],
        original_interval=ends[0],
        synthetic=np.array([figure.estimate for figure in after.figures]),
        synthetic_interval=ends[1],
        overlap=overlap,
        title=", ".join(columns),
        level=after.level,
        rule=after.rule.words,
    )


def regression_utility(
    original: IntoFrame,
    synthetic: Datasets,
    formula: str,
    *,
    family: Literal["gaussian", "logistic", "poisson"] = "gaussian",
    kind: Literal["partial", "full"] = "partial",
    of: Literal["population", "table"] | None = None,
    draw_of_dataset: Sequence[Any] | None = None,
    schema: Schema | None = None,
    level: float = 0.95,
) -> FiguresBeside:
    """Coefficients of a regression with intervals, before and after, and how far they overlap.

    The score sees this regression and no other. A wide synthetic interval that holds the original's
    has an overlap above 1/2, so look at the lengths too.

    Parameters
    ----------
    original : pandas, polars or Arrow table
        Confidential records.
    synthetic : sequence of tables, or Release
        Two or more synthetic datasets with the same columns. A release says its own rule.
    formula : str
        Such as "income ~ region + urban"; "income ~ ." has all other columns.
    family : {"gaussian", "logistic", "poisson"}
        Least squares, or the regression of an outcome of 0 and 1, or of counts, as R's ``glm``.
    kind : {"partial", "full"}
        The combining rule, as in `pyvws.combine`.
    of : {"population", "table"}, optional
        As in `pyvws.combine`, for imputed records.
    draw_of_dataset : sequence of m labels, optional
        As in `pyvws.combine`.
    schema : Schema, optional
        As in `pyvws.combine_formula`: it says which codes are missing values.
    level : float
        Level of the intervals, in (0, 1). The original's are those of the t distribution for least
        squares, else of the normal one.

    Returns
    -------
    FiguresBeside
        .names, .original, .synthetic, their intervals and .overlap.

    Raises
    ------
    InputError
        For a formula that cannot be read, an outcome that the family cannot have, and tables whose
        designs have different columns.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"y": [1.0, 3.0, 2.0, 5.0], "x": [1.0, 2.0, 3.0, 4.0]})
    >>> bool(regression_utility(table, [table, table], "y ~ x").overlap.min() > 0.5)
    True
    """
    upper = 1.0 - (1.0 - open_unit_interval(level, "level")) / 2.0
    given: Any = {"kind": kind, "of": of, "draw_of_dataset": draw_of_dataset}
    several = SeveralDatasets.of(synthetic, schema, **given)
    own = fit_formula(original, formula, "original", family, several.schema)
    combined = combine_formula(
        *(dataset_list(several.tables, "synthetic"), formula),
        family=family,
        schema=several.schema,
        **several.rule,
    )
    if tuple(combined) != own.names:
        raise InputError.by("designs-differ-from-original")
    degrees = own.records - len(own.names)
    factor = float(stdtrit(degrees, upper) if family == "gaussian" else ndtri(upper))
    half = factor * np.sqrt(own.variances)
    before = np.column_stack([own.coefficients - half, own.coefficients + half])
    after = np.array([coefficient.interval(level) for coefficient in combined.values()])
    return FiguresBeside(
        names=own.names,
        original=own.coefficients,
        original_interval=before,
        synthetic=np.array([coefficient.estimate for coefficient in combined.values()]),
        synthetic_interval=after,
        overlap=np.asarray(interval_overlap(before, after)),
        title=f"{formula} ({family})",
        level=level,
        rule=rule_named(kind, several.rule["of"]).words,
        dropped=own.dropped,
        dropped_synthetic=combined.dropped,
    )
