"""Figures against epsilon: the kinds of guarantee by colour, and the choices of one kind."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import Floats, choice, finite_vector, positive
from pyvws.errors import InputError
from pyvws.plots.drawing import LIMIT, colours, guarantee_colours, legend_below, panels, some
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_MARKS = "osD^vPX*"
_LINES = ("-", "--", ":", "-.")
_GUARANTEES: Final = ("dp", "approximate-dp", "asymptotic-dp", "none")
_LINE: Final = 0.22  # Height of a line of the legend, in inches.
_WIDE: Final = 4.0  # Factor between means from which an axis is logarithmic.
_TITLES: Final = {
    "dp": "strict", "approximate-dp": "(ε, δ)", "asymptotic-dp": "asymptotic",
    "none": "no guarantee",
}  # fmt: skip


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
        wide = max(every) > _WIDE * min(every)
        axis.set(xlabel=against, ylabel=name)
        axis.set_title(title, fontsize=10)
        _scales(axis, wide)
    _legend(figure, labels, guarantees)
    return figure


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

    Parameters
    ----------
    values : mapping of title to mapping of label to mapping of epsilon to array_like of shape (R,)
        Values by epsilon above 0; larger epsilon = less private.
    levels : mapping of title to float or to mapping of name to float, optional
        The place of a panel's dashed line, or of several lines with their names.
    names : mapping of title to str, optional
        Name of a panel's values; "maximum ECDF distance", smaller = more useful, if not given.
    against : mapping of title to str, optional
        Name of a panel's horizontal axis; "ε of a dataset" if not given.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping, missing values, an epsilon not above 0, or a level, name or axis of a
        title that is not there.

    Examples
    --------
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
            raise InputError(f"{name} has panels that are not drawn: {', '.join(unknown)}.")
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
                color=colour[label], label=label, marker=_MARKS[place % len(_MARKS)],
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
        _scales(axis, max(every) > _WIDE * min(every) > 0.0)
        axis.legend(frameon=False, fontsize=8)
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
        raise InputError("of_window must have the panels and labels of papers, or fewer panels.")
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


def _two_errors(values: Floats) -> float:
    """Two standard errors of the mean of R values; 0 for one value."""
    R = len(values)
    return 2.0 * math.sqrt(rarith.var(values) / R) if R > 1 else 0.0


def _labels(
    utility: Mapping[str, Mapping[str, Any]], guarantees: Mapping[str, str]
) -> dict[str, dict[str, Any]]:
    """The style of each label, labels of a stronger guarantee first."""
    names = dict.fromkeys(label for by_label in utility.values() for label in by_label)
    for label in names:
        if label not in guarantees:
            raise InputError(f"guarantees names no guarantee of {label!r}.")
        choice(guarantees[label], f"guarantees[{label!r}]", _GUARANTEES)
    colour = guarantee_colours()
    styles = {}
    for guarantee in _GUARANTEES:
        of_kind = [label for label in names if guarantees[label] == guarantee]
        for place, label in enumerate(of_kind):
            styles[label] = {
                "color": colour[guarantee],
                "linestyle": _LINES[place % len(_LINES)],
                "marker": _MARKS[place % len(_MARKS)],
                "label": label,
            }
    return styles


def _draw(axis: Any, means: Mapping[float, float], across: bool, style: Mapping[str, Any]) -> None:
    at, heights = np.array(list(means)), np.array(list(means.values()))
    axis.plot(at, heights, linewidth=1.6, markersize=6, markeredgecolor="white", **style)
    if across and len(at) == 1:
        axis.axhline(heights[0], color=style["color"], linestyle="--", linewidth=1.0, zorder=0)


def _scales(panel: Any, wide: bool) -> None:
    """Logarithmic axes that say so, with ticks at 1, 2 and 5 times the powers of ten."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    panel.set(xscale="log", yscale="log" if wide else "linear")
    for axis in (panel.xaxis, panel.yaxis) if wide else (panel.xaxis,):
        axis.set_label_text(f"{axis.get_label_text()} (log scale)".strip())
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


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
