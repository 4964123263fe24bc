"""The figure of utility against epsilon whose colours say the kind of guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import choice, finite_vector, positive
from pyvws.errors import InputError
from pyvws.plots._drawing import guarantee_colours, panels, some
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["utility_by_guarantee"]

_MARKS = "osD^vPX*"
_LINES = ("-", "--", ":", "-.")
_GUARANTEES: Final = ("dp", "asymptotic-dp", "none")
_LINE: Final = 0.22  # Height of a line of the legend, in inches.
_TITLES: Final = {"dp": "strict", "asymptotic-dp": "asymptotic", "none": "no guarantee"}


def utility_by_guarantee(
    utility: Mapping[str, Mapping[str, Mapping[float, Any]]],
    guarantees: Mapping[str, str],
    *,
    name: str = "maximum ECDF distance",
    against: str = "ε of a dataset",
) -> Figure:
    """Utility against epsilon, a panel for each table, coloured by the kind of guarantee.

    The slides of [global2022] draw mechanisms at a set epsilon alone. Here a mechanism with a set
    epsilon is a line through the means over R replicates, and a mechanism whose epsilon is measured
    stands at the epsilon that it reached. Dashes carry a mechanism without a guarantee across the
    panel where it has one epsilon. Both axes are logarithmic.

    Parameters
    ----------
    utility : mapping of title to mapping of label to mapping of epsilon to array_like of shape (R,)
        Distances above 0 by epsilon above 0; larger epsilon = less private, and a smaller distance
        = more useful.
    guarantees : mapping of label to {"dp", "asymptotic-dp", "none"}
        The kind of guarantee of each label.
    name : str
        Name of the distances, with their unit.
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
    figure, axes = panels(len(utility), columns=3, size=(4.2, 3.5))
    for axis, (title, by_label) in zip(axes, utility.items(), strict=True):
        for label in (label for label in labels if label in by_label):
            means = {
                positive(epsilon, "epsilon"): positive(
                    rarith.mean(finite_vector(values, f"utility[{title!r}][{label!r}]")),
                    f"the mean of utility[{title!r}][{label!r}]",
                )
                for epsilon, values in sorted(by_label[label].items())
            }
            _draw(axis, means, guarantees[label] == "none", labels[label])
        axis.set(xscale="log", yscale="log", title=title, xlabel=against)
        _plain_ticks(axis)
    axes[0].set_ylabel(name)
    _legend(figure, labels, guarantees)
    return figure


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
    found = {}
    for guarantee in _GUARANTEES:
        of_kind = [label for label in names if guarantees[label] == guarantee]
        for place, label in enumerate(of_kind):
            found[label] = {
                "color": colour[guarantee],
                "linestyle": _LINES[place % len(_LINES)],
                "marker": _MARKS[place % len(_MARKS)],
                "label": label,
            }
    return found


def _draw(axis: Any, means: Mapping[float, float], across: bool, style: Mapping[str, Any]) -> None:
    at, heights = np.array(list(means)), np.array(list(means.values()))
    axis.plot(at, heights, linewidth=1.6, markersize=6, markeredgecolor="white", **style)
    if across and len(at) == 1:
        axis.axhline(heights[0], color=style["color"], linestyle="--", linewidth=1.0, zorder=0)


def _plain_ticks(axis: Any) -> None:
    """Ticks at 1, 2 and 5 times the powers of ten, written out."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    for one in (axis.xaxis, axis.yaxis):
        one.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        one.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        one.set_minor_locator(NullLocator())


def _legend(
    figure: Any, labels: Mapping[str, Mapping[str, Any]], guarantees: Mapping[str, str]
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
    made = figure.legend(
        handles, [text for text, _ in entries], loc="outside lower center", ncols=len(columns),
        frameon=False, handlelength=3.2, columnspacing=3.0, borderpad=0.2,
    )  # fmt: skip
    colour = guarantee_colours()
    for text, kind in zip(made.get_texts()[::longest], kinds, strict=True):
        text.set(fontweight="bold", color=colour[kind])
