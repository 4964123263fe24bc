"""Figures that studies alone draw: bounds, utility and costs over replicates and guarantees.

As the figures of `pyvws.plots`: a function takes arrays, checks them, and returns a matplotlib
Figure that belongs to no window.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import choice, finite_vector, positive
from pyvws.errors import InputError
from pyvws.plots.drawing import (
    LIMIT,
    MARKS,
    colours,
    groups,
    guarantee_colours,
    legend_below,
    log_scales,
    panels,
    some,
    violins,
)
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LINES = ("-", "--", ":", "-.")
_GUARANTEES: Final = ("dp", "approximate-dp", "asymptotic-dp", "none")
_LINE: Final = 0.22  # Height of a line of the legend, in inches.
_TITLES: Final = {
    "dp": "strict", "approximate-dp": "(ε, δ)", "asymptotic-dp": "asymptotic",
    "none": "no guarantee",
}  # fmt: skip


def contraction(
    bounds: Mapping[str, Mapping[str, Any]], lines: Mapping[str, float] | None = None
) -> Figure:
    """Violins of database bounds over R simulated databases (Figures 14 and 16 of [vws2024]).

    A violin that shrinks onto its line as N grows shows that the local bound becomes a global
    bound. This is the asymptotic guarantee. The slides of [global2022] draw a panel for each
    synthesizer over N, and a panel for each epsilon with a line at epsilon / 2.

    Parameters
    ----------
    bounds : mapping of title to mapping of label to array_like of shape (R,)
        Database bounds in nats, higher = less private: a panel for each title.
    lines : mapping of title to float, optional
        The global bound of a panel, in nats, drawn as a dashed line.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping or missing values.

    Examples
    --------
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

    The slides draw ECDF distances by epsilon (lower = more useful), medians with a line at the true
    median, and bounds with and without downscaling.

    Parameters
    ----------
    values : mapping of title to mapping of label to array_like of shape (R,)
        One value for each replicate.
    lines : mapping of title to float, optional
        The place of the dashed line in a panel.
    name : str
        Name of the values, with their unit.
    line : str
        Name of the dashed lines.

    Returns
    -------
    Figure
        Violins over numbers of records take the colour of their panel's title.

    Raises
    ------
    InputError
        For an empty mapping, missing values, or a line for a title that is not there.

    Examples
    --------
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


def utility_by_guarantee(
    utility: Mapping[str, Mapping[str, Mapping[float, Any]]],
    guarantees: Mapping[str, str],
    *,
    levels: Mapping[str, float] | None = None,
    name: str = "maximum ECDF distance",
    against: str = "ε of a dataset",
) -> Figure:
    """Utility against epsilon, a panel for each table, coloured by the kind of guarantee.

    The slides of [global2022] draw mechanisms at a set epsilon alone. Here a mechanism with a set
    epsilon is a line through the means over R replicates. A mechanism whose epsilon is measured
    stands at the epsilon that it reached. Dashes carry a mechanism without a guarantee across the
    panel where it has one epsilon. The axis of epsilon is logarithmic, and so is the other one
    where the means differ by more than a factor of 4.

    Parameters
    ----------
    utility : mapping of title to mapping of label to mapping of epsilon to array_like of shape (R,)
        Values above 0 by epsilon above 0; larger epsilon = less private. `name` says what they are;
        of a distance a smaller one = more useful.
    guarantees : mapping of label to {"dp", "approximate-dp", "asymptotic-dp", "none"}
        The kind of guarantee of each label.
    levels : mapping of str to float, optional
        Values without an epsilon, as named lines across each panel.
    name : str
        Name of the values, with their unit.
    against : str
        Name of the horizontal axis.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping, missing values, a label without a guarantee, another guarantee, or an
        epsilon or mean that is not above 0.

    Examples
    --------
    >>> lines = {"Clamp": {1.0: [0.2, 0.3], 5.0: [0.1, 0.1]}, "Unweighted": {20.0: [0.1, 0.1]}}
    >>> kinds = {"Clamp": "dp", "Unweighted": "none"}
    >>> drawn = utility_by_guarantee({"counts": lines}, kinds)
    >>> drawn.axes[0].get_title()
    'counts'
    """
    some(utility, "utility", "panel")
    labels = _labels(utility, guarantees)
    size = (4.2, 3.5) if len(utility) > 1 else (10.2, 4.2)
    figure, axes = panels(len(utility), columns=2, size=size)
    for axis, (title, by_label) in zip(axes, utility.items(), strict=True):
        every = [*(levels or {}).values()]
        for label in (label for label in labels if label in by_label):
            means = {
                positive(epsilon, "epsilon"): positive(
                    rarith.mean(finite_vector(values, f"utility[{title!r}][{label!r}]")),
                    f"the mean of utility[{title!r}][{label!r}]",
                )
                for epsilon, values in sorted(by_label[label].items())
            }
            _draw(axis, means, guarantees[label] == "none", labels[label])
            every += means.values()
        for level_name, level in (levels or {}).items():
            axis.axhline(level, color="black", linewidth=0.8, linestyle=":", zorder=0)
            axis.annotate(level_name, (1.0, level), xycoords=("axes fraction", "data"), fontsize=8)
        axis.set(xlabel=against, ylabel=name)
        axis.set_title(title, fontsize=10)
        log_scales(axis, every)
    _legend(figure, labels, guarantees)
    return figure


def epsilons(
    papers: Mapping[str, Mapping[str, float]],
    of_window: Mapping[str, Mapping[str, float]] | None = None,
) -> Figure:
    """What a dataset costs by mechanism: 2 Delta of [vws2024], and the window's figure beside it.

    Where every term is a log probability, as of counts and of levels, a draw costs half of 2 Delta
    with one record left out and the weights held fixed. Log densities have 2 Delta alone.

    Parameters
    ----------
    papers : mapping of title to mapping of label to float
        2 Delta above 0 of each mechanism, a panel for each title; larger = less private.
    of_window : mapping of title to mapping of label to float, optional
        `epsilon_of_window` above 0 of the same mechanisms, in the panels that have log
        probabilities.

    Returns
    -------
    Figure
        Two bars for each label, or one in a panel without windows.

    Raises
    ------
    InputError
        For an empty mapping, an epsilon not above 0, or windows of other panels or labels.

    Examples
    --------
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


def _labels(
    utility: Mapping[str, Mapping[str, Any]], guarantees: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """The style of each label, labels of a stronger guarantee first."""
    names = dict.fromkeys(label for by_label in utility.values() for label in by_label)
    for label in names:
        if label not in guarantees:
            raise InputError.by("label-without-guarantee", label=label)
        choice(guarantees[label], f"guarantees[{label!r}]", _GUARANTEES)
    colour = guarantee_colours()
    styles = {}
    for guarantee in _GUARANTEES:
        of_kind = [label for label in names if guarantees[label] == guarantee]
        for place, label in enumerate(of_kind):
            styles[label] = {
                "color": colour[guarantee],
                "linestyle": _LINES[place % len(_LINES)],
                "marker": MARKS[place % len(MARKS)],
                "label": label,
            }
    return styles


def _draw(axis: Axes, means: Mapping[float, float], across: bool, style: Mapping[str, Any]) -> None:
    at, heights = np.array(list(means)), np.array(list(means.values()))
    axis.plot(at, heights, linewidth=1.6, markersize=6, markeredgecolor="white", **style)
    if across and len(at) == 1:
        axis.axhline(heights[0], color=style["color"], linestyle="--", linewidth=1.0, zorder=0)


def _legend(
    figure: Figure, labels: Mapping[str, Mapping[str, Any]], guarantees: Mapping[str, str]
) -> None:
    """One legend under all panels: a column for each kind of guarantee, with the kind on top."""
    from matplotlib.lines import Line2D

    kinds = [kind for kind in _GUARANTEES if kind in {guarantees[label] for label in labels}]
    columns = [
        [(_TITLES[kind], None), *((label, labels[label]) for label in of_kind)]
        for kind in kinds
        for of_kind in [[label for label in labels if guarantees[label] == kind]]
    ]
    longest = max(map(len, columns))
    width, height = figure.get_size_inches()
    figure.set_size_inches(width, height + _LINE * longest)
    entries = [
        entry for column in columns for entry in [*column, *[("", None)] * (longest - len(column))]
    ]
    handles = [
        Line2D([], [], linestyle="none") if style is None else Line2D([], [], **style)
        for _, style in entries
    ]
    legend = figure.legend(
        handles, [text for text, _ in entries], loc="outside lower center", ncols=len(columns),
        frameon=False, handlelength=3.2, columnspacing=3.0, borderpad=0.2,
    )  # fmt: skip
    colour = guarantee_colours()
    for text, kind in zip(legend.get_texts()[::longest], kinds, strict=True):
        text.set(fontweight="bold", color=colour[kind])
