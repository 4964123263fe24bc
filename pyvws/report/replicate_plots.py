"""Figures over repeated databases: how bounds contract, and what utility costs in epsilon.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import finite_vector, positive
from pyvws.errors import InputError
from pyvws.r_numbers import rarith
from pyvws.report._drawing import LIMIT, colours, groups, legend_below, panels, some, violins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["contraction", "replicate_violins", "utility_against_epsilon"]

_MARKS = "osD^vPX"


def contraction(
    bounds: Mapping[str, Mapping[str, Any]], lines: Mapping[str, float] | None = None
) -> Figure:
    """Violins of database bounds over R simulated databases (Figures 14 and 16 of [vws2024]).

    A violin that shrinks onto its line as N grows says that the local bound becomes a global one:
    the asymptotic guarantee. The slides of [global2022] draw a panel for each synthesizer over N,
    and a panel for each epsilon with a line at epsilon / 2.

    Parameters
    ----------
    bounds : mapping of title to mapping of label to array_like of shape (R,)
        Database bounds in nats, higher = less private: a panel for each title.
    lines : mapping of title to float, optional
        The global bound of a panel, in nats: a dashed line.

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

    ECDF distances by epsilon (lower = more useful), medians with the true one as a line, bounds
    with and without downscaling.

    Parameters
    ----------
    values : mapping of title to mapping of label to array_like of shape (R,)
        A replicate each.
    lines : mapping of title to float, optional
        A dashed line in a panel.
    name : str
        What the values are, with their unit.
    line : str
        What the dashed lines are.

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
        raise InputError(f"lines names panels that are not drawn: {', '.join(unknown)}.")
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


def utility_against_epsilon(
    utility: Mapping[str, Mapping[float, Any]], *, name: str = "maximum ECDF distance"
) -> Figure:
    """A utility figure against epsilon, a line for each mechanism (slides of [global2022]).

    The line joins the means over R replicates; the bar runs from their 5 % to their 95 % quantile.

    Parameters
    ----------
    utility : mapping of label to mapping of epsilon to array_like of shape (R,)
        Epsilon above 0, larger = less private; for ECDF distances smaller = more useful.
    name : str
        What the values are, with their unit.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping, missing values, or an epsilon not above 0.

    Examples
    --------
    >>> drawn = utility_against_epsilon({"LW": {3.0: [0.2, 0.3], 5.0: [0.1, 0.1]}})
    >>> len(drawn.axes[0].containers)
    1
    """
    if not utility or not all(utility.values()):
        raise InputError("utility must hold at least one label, and each label one epsilon.")
    figure, (axis,) = panels(1, size=(7.0, 4.4))
    colour = colours(utility)
    every = sorted({positive(epsilon, "epsilon") for line in utility.values() for epsilon in line})
    step = min(np.diff(every), default=every[0]) * 0.03
    for place, (label, line) in enumerate(utility.items()):
        at = sorted(line)
        columns = [finite_vector(line[epsilon], f"utility[{label!r}]") for epsilon in at]
        middle = np.array([rarith.mean(column) for column in columns])
        ends = np.array([rarith.quantile(column, np.array([0.05, 0.95])) for column in columns])
        # Side by side, so that bars at one epsilon can be told apart.
        beside = (place - (len(utility) - 1) / 2) * step
        axis.errorbar(
            np.array(at) + beside, middle, np.abs(ends.T - middle), color=colour[label],
            label=label, marker=_MARKS[place % len(_MARKS)], capsize=3, linewidth=1.4,
        )  # fmt: skip
    axis.set_xticks(every, [f"{epsilon:g}" for epsilon in every])
    axis.set(xlabel="ε of a dataset", ylabel=name, ylim=(0.0, None))
    axis.legend(frameon=False)
    return figure
