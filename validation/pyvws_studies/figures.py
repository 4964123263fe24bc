"""Figures that studies alone draw: bounds and other figures over replicates, and costs.

As the figures of `pyvws.plots`: a function takes arrays, checks them, and returns a matplotlib
Figure that belongs to no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import positive
from pyvws.errors import InputError
from pyvws.plots.drawing import LIMIT, colours, groups, legend_below, panels, some, violins

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def contraction(
    bounds: Mapping[str, Mapping[str, Any]], lines: Mapping[str, float] | None = None
) -> Figure:
    """Violins of database bounds over R simulated databases (Figures 14 and 16 of [vws2024]).

    A violin that shrinks onto its line as N grows shows that the local bound becomes a global
    bound. This is the asymptotic guarantee. `bounds` are in nats, by title of a panel and by label;
    higher = less private. `lines` are the global bounds of panels.

    >>> drawn = contraction({"Poisson": {"LW": [3.4, 3.5, 3.6]}}, {"Poisson": 3.5})
    >>> drawn.axes[0].get_ylabel()
    'database Lipschitz bound (nats)'
    """
    name = "database Lipschitz bound (nats)"
    return replicate_violins(bounds, lines, name=name, line="global bound")


def replicate_violins(
    values: Mapping[str, Mapping[str, Any]],
    lines: Mapping[str, float] | None = None,
    *,
    name: str,
    line: str = "target",
) -> Figure:
    """Violins of any figure over R replicates, a panel for each title (slides of [global2022]).

    `values` (R,) are by title and label, and `name` is theirs, with their unit. `lines` are the
    places of the panels' dashed lines, and `line` is their name. Violins over numbers of records
    take the colour of their panel. Raises InputError for an empty mapping, missing values, or a
    line for a title that is not there.

    >>> drawn = replicate_violins({"ε = 5": {"PH": [0.1, 0.2]}}, name="maximum ECDF distance")
    >>> drawn.axes[0].get_title()
    'ε = 5'
    """
    some(values, "values", "panel")
    unknown = sorted(set(lines or {}) - set(values))
    if unknown:
        raise InputError.by("lines-of-no-panel", names=", ".join(unknown))
    width = max(3.2, 0.95 * max(len(by_label) for by_label in values.values()))
    figure, axes = panels(len(values), size=(width, 4.0), sharey=True)
    of_title = colours(values)
    for axis, (title, by_label) in zip(axes, values.items(), strict=True):
        columns = groups(by_label, f"values[{title!r}]")
        sizes = all(label.isdecimal() for label in columns)
        violins(axis, columns, colour=dict.fromkeys(columns, of_title[title]) if sizes else None)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("records" if sizes else "")
        if lines is not None and title in lines:
            axis.axhline(lines[title], label=line, **LIMIT)
    axes[0].set_ylabel(name)
    if lines:
        legend_below(figure, axes)
    return figure


def epsilons(
    papers: Mapping[str, Mapping[str, float]],
    of_window: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """What a dataset costs by mechanism: 2 Delta of [vws2024], and the window's figure beside it.

    Where every term is a log probability, as of counts and of levels, a draw costs half of 2 Delta
    with one record left out and the weights held fixed. Log densities have 2 Delta alone. `papers`
    are by title of a panel and by label, and so is `of_window` in the panels that have it; larger =
    less private. Raises InputError for an epsilon not above 0, and windows of other panels.

    >>> drawn = epsilons({"counts": {"LW": 7.0}, "wages": {"LW": 8.0}}, {"counts": {"LW": 3.5}})
    >>> [len(axis.patches) for axis in drawn.axes]
    [2, 1]
    """
    some(papers, "papers", "panel")
    windows = dict(of_window or {})
    if any(title not in papers or set(windows[title]) != set(papers[title]) for title in windows):
        raise InputError.by("windows-of-other-panels")
    figure, axes = panels(len(papers), columns=2, size=(6.4, 3.2))
    for axis, (title, by_label) in zip(axes, papers.items(), strict=True):
        some(by_label, f"papers[{title!r}]", "label")
        bars = [("2Δ, the paper's", by_label)]
        if title in windows:
            bars.append(("of the window, one record left out", windows[title]))
        width = 0.8 / len(bars)
        for nth, (name, values) in enumerate(bars):
            heights = [positive(values[label], "epsilon") for label in by_label]
            middle = np.arange(len(by_label)) + width * (nth - 0.5 * (len(bars) - 1))
            axis.bar(middle, heights, width=width, label=name)
        axis.set_xticks(range(len(by_label)), list(by_label))
        axis.set_title(title, fontsize=10)
        axis.set_ylabel("ε of a dataset")
    legend_below(figure, axes)
    return figure
