"""Figures of datasets and of posterior draws: densities, statistics, intervals, choices.

Every function returns a matplotlib Figure that belongs to no window; `savefig` saves the figure.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, finite_vector, positive
from pyvws.errors import InputError
from pyvws.plots.drawing import (
    DASHED,
    DATA_LINE,
    LIMIT,
    MARKS,
    colours,
    curves,
    dataset_rows,
    groups,
    legend_below,
    log_scales,
    panels,
    some,
    violins,
)
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def densities(
    synthetic: Mapping[str, Any],
    data: ArrayLike | None = None,
    *,
    name: str = "outcome",
    as_violins: bool = False,
) -> Figure:
    """Densities of synthetic outcomes beside the data's (Figures 3f, 7d, 11d, 12 of [vws2024]).

    One label without `data` gives Figure 4 of [risk2024]. A tail that is lighter than the data's
    tail shows the cost of downweighting.

    - `synthetic` (mapping of label to array_like of shape (N,)): Outcomes of one dataset, or of
      several put together.
    - `data` (array_like, shape (N,), optional): The confidential outcome, drawn as the thick black
      line or as the violin "Data".
    - `name`: Name of the outcome on the axis.
    - `as_violins`: Whether to draw violins in place of lines.

    Lines run between the lowest 0.5 % quantile and the highest 99.5 % quantile. Raises InputError
    for no label or missing values.

    >>> drawn = densities({"LW": [1.0, 2.0, 4.0]}, [1.0, 2.5, 3.0], name="income")
    >>> len(drawn.axes[0].get_lines()), drawn.axes[0].get_xlabel()
    (2, 'income')
    """
    columns = groups(synthetic, "synthetic")
    if data is not None:
        columns = {"Data": finite_vector(data, "data"), **columns}
    figure, (axis,) = panels(1, size=(7.5, 4.2))
    if as_violins:
        violins(axis, columns)
        axis.set_ylabel(name)
        return figure
    curves(axis, columns, name)
    return figure


def parameter_densities(draws: Mapping[str, Any], chains: ArrayLike) -> Figure:
    """Posterior densities of parameters, with a line for each chain; lines of good chains overlap.

    - `draws` (mapping of parameter to array_like of shape (S,)): Draws of all chains.
    - `chains` (array_like, shape (S,)): The chain of each draw.

    Raises InputError for no parameter, missing values, or lengths that differ.

    >>> drawn = parameter_densities({"mu": [1.0, 2.0, 1.5, 2.5]}, [1, 1, 2, 2])
    >>> len(drawn.axes[0].get_lines())
    2
    """
    columns, chain = groups(draws, "draws"), finite_vector(chains, "chains")
    figure, axes = panels(len(columns), columns=3, size=(4.0, 2.6))
    for axis, (name, values) in zip(axes, columns.items(), strict=True):
        if len(values) != len(chain):
            raise InputError.by("figure-draws-and-chains", name=name)
        own = {f"chain {number:g}": values[chain == number] for number in np.unique(chain)}
        curves(axis, own, name)
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=5)
        axis.get_legend().remove()
    return figure


_STATISTICS = ("15th quantile", "90th quantile", "mean", "median")


def utility(
    statistics: Mapping[str, Any],
    data: ArrayLike | None = None,
    *,
    names: Sequence[str] = _STATISTICS,
) -> Figure:
    """Violins of statistics over synthetic datasets; the papers draw Q15, Q90, mean and median.

    These are Figures 2a, 3c-e, 7a-b, 11a-b, 12 and 13 of [vws2024]. Figures 15 and 17 run over
    Monte Carlo iterations, and the data have a violin too, with the label "Data". The nearer a
    violin is to the line, the more useful the datasets.

    - `statistics` (mapping of label to array_like of shape (datasets, K)): A column for each
      statistic, in the outcome's unit.
    - `data` (array_like, shape (K,), optional): Statistics of the confidential data, drawn as
      dashed lines.
    - `names` (sequence of K str): Names of the statistics; each statistic has a panel.

    Raises InputError for no label, missing values, or another number of columns than `names`.

    >>> drawn = utility({"LW": [[1.0, 9.0], [2.0, 8.0]]}, [1.5, 8.5], names=("median", "Q90"))
    >>> [axis.get_title() for axis in drawn.axes]
    ['median', 'Q90']
    """
    some(statistics, "statistics", "label")
    tables = {
        str(label): dataset_rows(rows, f"statistics[{str(label)!r}]", len(names))
        for label, rows in statistics.items()
    }
    lines = None if data is None else finite_vector(data, "data")
    if lines is not None and len(lines) != len(names):
        raise InputError.by("figure-entries", names=len(names), lines=len(lines))
    figure, axes = panels(len(names), columns=2, size=(5.5, 3.5))
    for place, (axis, name) in enumerate(zip(axes, names, strict=True)):
        violins(axis, {label: rows[:, place] for label, rows in tables.items()})
        axis.set_title(name, fontsize=11)
        axis.set_ylabel("unit of the outcome")
        if lines is not None:
            axis.axhline(lines[place], label="data", **DASHED)
    if lines is not None:
        legend_below(figure, axes[:1])
    return figure


def intervals(
    estimates: Mapping[str, Mapping[str, Sequence[float]]],
    data: Mapping[str, Sequence[float]] | None = None,
) -> Figure:
    """Point estimates and intervals by synthesizer, with lines for the confidential data.

    These are Figures 7 and 10 of [risk2024], and 4 and 6 of its supplement. A crossed box is the
    estimate. The solid line is the data's estimate, and the dashed lines are the data's interval.
    The more an interval agrees with the data's interval, the more useful the datasets.

    - `estimates` (mapping of statistic to mapping of label to (estimate, lower, upper)): A panel
      for each statistic, in its unit.
    - `data` (mapping of statistic to (estimate, lower, upper), optional): Estimates and intervals
      of the confidential data.

    Raises InputError for no statistic, or an entry that is not three finite numbers with ends in
    order. An estimate may lie beyond its interval, as a bootstrap of counts can have it.

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
            within = min(max(middle, low), high)
            axis.errorbar(
                [place], [within], [[within - low], [high - within]],
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
        axis.set_ylabel("estimate")
        crowded = sum(map(len, by_label)) > 40
        axis.tick_params(axis="x", labelsize=9, labelrotation=20 if crowded else 0)
    if data:
        legend_below(figure, axes)
    return figure


def _interval(entry: Sequence[float], name: str) -> Floats:
    """An estimate, then the lower and the upper end."""
    values = finite_vector(entry, name)
    if len(values) != 3 or not values[1] <= values[2]:
        raise InputError.by("figure-interval", name=name)
    return values


def choices_against_epsilon(
    values: Mapping[str, Mapping[str, Mapping[float, Any]]],
    levels: Mapping[str, float | Mapping[str, float]] | None = None,
    *,
    names: Mapping[str, str] | None = None,
    against: Mapping[str, str] | None = None,
) -> Figure:
    """Any figure against epsilon, a panel for each title and a line for each choice.

    The slides of [global2022] compare mechanisms at a set epsilon. Here the choices of one kind of
    guarantee stand beside each other. Lines join means over R replicates; bars reach two standard
    errors of the mean up and down. The axis of epsilon is logarithmic, and so is the other one
    where the means differ by more than a factor of 4.

    - `values` (mapping of title to mapping of label to mapping of epsilon to array_like of shape
      (R,)): Values by epsilon above 0; larger epsilon = less private.
    - `levels` (mapping of title to float or to mapping of name to float, optional): The place of a
      panel's dashed line, or of several lines with their names.
    - `names` (mapping of title to str, optional): Name of a panel's values; "maximum ECDF
      distance", smaller = more useful, if not given.
    - `against` (mapping of title to str, optional): Name of a panel's horizontal axis; "ε of a
      dataset" if not given.

    Raises InputError for an empty mapping, missing values, an epsilon not above 0, or a level, name
    or axis of a title that is not there.

    >>> shares = {"1 draw": {1.0: [0.8, 0.9]}, "20 draws": {20.0: [0.9, 1.0]}}
    >>> drawn = choices_against_epsilon({"coverage": shares}, {"coverage": 0.95})
    >>> drawn.axes[0].get_yscale()
    'linear'
    """
    some(values, "values", "panel")
    levels, names, against = levels or {}, names or {}, against or {}
    for name, given in (("levels", levels), ("names", names), ("against", against)):
        unknown = sorted(set(given) - set(values))
        if unknown:
            raise InputError.by("figure-unknown-panels", name=name, unknown=", ".join(unknown))
    figure, axes = panels(len(values), columns=2, size=(4.2, 3.5))
    for axis, (title, by_label) in zip(axes, values.items(), strict=True):
        some(by_label, f"values[{title!r}]", "label")
        colour, every = colours(by_label), []
        for place, (label, by_epsilon) in enumerate(by_label.items()):
            name_of_line = f"values[{title!r}][{label!r}]"
            some(by_epsilon, name_of_line, "epsilon")
            columns = {
                positive(epsilon, "epsilon"): finite_vector(column, name_of_line)
                for epsilon, column in sorted(by_epsilon.items())
            }
            middle = [rarith.mean(column) for column in columns.values()]
            every += middle
            axis.errorbar(
                list(columns), middle, [_two_errors(column) for column in columns.values()],
                color=colour[label], label=label, marker=MARKS[place % len(MARKS)],
                markersize=5, markeredgecolor="white", capsize=2, linewidth=1.4,
            )  # fmt: skip
        level = levels.get(title, {})
        lines = level if isinstance(level, Mapping) else {"_": level}  # "_": not in the legend.
        for nth, (name_of_level, height) in enumerate(lines.items()):
            axis.axhline(
                height, **{**LIMIT, "linestyle": ("--", ":", "-.")[nth % 3]}, label=name_of_level
            )
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(against.get(title, "ε of a dataset"))
        axis.set_ylabel(names.get(title, "maximum ECDF distance"))
        log_scales(axis, every)
        axis.legend(frameon=False, fontsize=8)
    return figure


def _two_errors(values: Floats) -> float:
    """Two standard errors of the mean of R values; 0 for one value."""
    R = len(values)
    return 2.0 * math.sqrt(rarith.var(values) / R) if R > 1 else 0.0
