"""Figures of utility: statistics and intervals of synthetic data beside the data's own.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import Floats, finite_vector
from pyvws.errors import InputError
from pyvws.report._drawing import DASHED, DATA_LINE, colours, legend_below, panels, some, violins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["intervals", "utility"]

_STATISTICS = ("15th quantile", "90th quantile", "mean", "median")


def utility(
    statistics: Mapping[str, Any],
    data: Any = None,
    *,
    names: Sequence[str] = _STATISTICS,
) -> Figure:
    """Violins of statistics over synthetic datasets, Q15, Q90, mean and median for the papers.

    Figures 2a, 3c-e, 7a-b, 11a-b, 12 and 13 of [vws2024]; 15 and 17 over Monte Carlo iterations,
    where the data too have a violin, labelled "Data". The nearer a violin is to the line, the more
    useful the datasets.

    Parameters
    ----------
    statistics : mapping of label to array_like of shape (datasets, K)
        A statistic a column, in the outcome's unit.
    data : array_like, shape (K,), optional
        The confidential data's own, drawn as dashed lines.
    names : sequence of K str
        Of the statistics, a panel each.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no label, missing values, or another number of columns than `names`.

    Examples
    --------
    >>> drawn = utility({"LW": [[1.0, 9.0], [2.0, 8.0]]}, [1.5, 8.5], names=("median", "Q90"))
    >>> [axis.get_title() for axis in drawn.axes]
    ['median', 'Q90']
    """
    some(statistics, "statistics", "label")
    tables = {
        str(label): _table(rows, str(label), len(names)) for label, rows in statistics.items()
    }
    lines = None if data is None else finite_vector(data, "data")
    if lines is not None and len(lines) != len(names):
        raise InputError(f"data must have {len(names)} entries, as names has. Got {len(lines)}.")
    figure, axes = panels(len(names), columns=2, size=(5.5, 3.5))
    for place, (axis, name) in enumerate(zip(axes, names, strict=True)):
        violins(axis, {label: rows[:, place] for label, rows in tables.items()})
        axis.set_title(name, fontsize=11)
        if lines is not None:
            axis.axhline(lines[place], label="data", **DASHED)
    if lines is not None:
        legend_below(figure, axes[:1])
    return figure


def intervals(
    estimates: Mapping[str, Mapping[str, Sequence[float]]],
    data: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Point estimates and intervals by synthesizer, with the data's lines.

    Figures 7 and 10 of [risk2024], 4 and 6 of its supplement. A crossed box is the estimate; the
    solid line is the data's estimate, the dashed ones their interval. The more an interval agrees
    with the data's, the more useful the datasets.

    Parameters
    ----------
    estimates : mapping of statistic to mapping of label to (estimate, lower, upper)
        A panel for each statistic, in its unit.
    data : mapping of statistic to (estimate, lower, upper), optional
        The confidential data's own.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no statistic, or an entry that is not three finite numbers in order.

    Examples
    --------
    >>> drawn = intervals({"mean": {"S": (5.0, 4.0, 6.0)}}, {"mean": (5.2, 4.4, 6.0)})
    >>> drawn.axes[0].get_title()
    'mean'
    """
    some(estimates, "estimates", "statistic")
    figure, axes = panels(len(estimates), columns=2, size=(5.0, 3.5))
    for axis, (title, by_label) in zip(axes, estimates.items(), strict=True):
        colour = colours(by_label)
        for place, (label, entry) in enumerate(by_label.items(), start=1):
            middle, low, high = _interval(entry, f"estimates[{title!r}][{label!r}]")
            axis.errorbar(
                [place], [middle], [[middle - low], [high - middle]],
                color=colour[label], capsize=7, linewidth=2, capthick=2,
            )  # fmt: skip
            axis.plot([place], [middle], "s", color=colour[label], markersize=9, mfc="white")
            axis.plot([place], [middle], "x", color=colour[label], markersize=6)
        if data is not None and title in data:
            middle, *ends = _interval(data[title], f"data[{title!r}]")
            axis.axhline(middle, label="data", **DATA_LINE)
            for end in ends:
                axis.axhline(end, label="interval of the data", **DASHED)
        axis.set_xticks(range(1, len(by_label) + 1), list(by_label))
        axis.set_xlim(0.4, len(by_label) + 0.6)
        axis.set_title(title, fontsize=11)
        crowded = sum(map(len, by_label)) > 40
        axis.tick_params(axis="x", labelsize=9, labelrotation=20 if crowded else 0)
    if data:
        legend_below(figure, axes)
    return figure


def _table(rows: Any, label: str, columns: int) -> Floats:
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != columns or not len(table):
        raise InputError(
            f"statistics[{label!r}] must have shape (datasets, {columns}). Got {table.shape}."
        )
    if not np.isfinite(table).all():
        raise InputError(f"statistics[{label!r}] has missing or infinite values.")
    return table


def _interval(entry: Sequence[float], name: str) -> tuple[float, float, float]:
    values = finite_vector(entry, name)
    if len(values) != 3 or not values[1] <= values[0] <= values[2]:
        raise InputError(f"{name} must be (estimate, lower, upper), the estimate between the ends.")
    return float(values[0]), float(values[1]), float(values[2])
