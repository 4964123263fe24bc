"""Any figure against epsilon for the choices of one kind of guarantee."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pyvws._base.checks import Floats, finite_vector, positive
from pyvws.errors import InputError
from pyvws.plots.drawing import LIMIT, MARKS, colours, log_scales, panels, some
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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
