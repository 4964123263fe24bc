"""Figures of the papers, one function each, in colours that survive colour blindness.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._checks import Floats
from pyvws.loop import WeightedFit

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["before_and_after", "bounds_and_weights", "utility"]

# Okabe and Ito's palette.
_COLOURS = {
    "unweighted": "#999999",
    "LW": "#0072B2",
    "LW_final": "#56B4E9",
    "CW": "#D55E00",
    "CW_final": "#E69F00",
    "SW": "#009E73",
}
_RED = "#CC0000"


def bounds_and_weights(bounds: dict[str, Floats], weights: dict[str, Floats]) -> Figure:
    """Violins of by-record bounds (nats) and of weights, by mechanism (Figure 3a, b of [vws2024]).

    The top of a violin of bounds is the database bound: higher = less private. A higher weight =
    less downweighting.
    """
    figure, (left, right) = _axes(1, 2, size=(11, 4.2))
    _violins(left, bounds)
    left.set_ylabel("by-record Lipschitz bound (nats)")
    _violins(right, weights)
    right.set_ylabel("weight")
    return figure


def before_and_after(pairs: dict[str, tuple[WeightedFit, WeightedFit]]) -> Figure:
    """Bounds against weights before and after re-weighting (Figure 5 of [vws2024]).

    The dashed line is the database bound before; the nearer the points come to it, the less
    utility is lost for the same bound.
    """
    figure, axes = _axes(1, len(pairs), size=(5.5 * len(pairs), 4.2))
    for axis, (label, fits) in zip(np.atleast_1d(axes), pairs.items(), strict=True):
        for name, fit in zip((label, f"{label}_final"), fits, strict=True):
            axis.scatter(
                fit.weights, fit.bounds.by_record, s=9, alpha=0.6, color=_COLOURS[name], label=name
            )
        axis.axhline(fits[0].bounds.database, color=_RED, linestyle="--", linewidth=1)
        axis.set_xlabel("weight")
        axis.set_ylabel("by-record Lipschitz bound (nats)")
        axis.legend(frameon=False)
    return figure


def utility(statistics: dict[str, Floats], data: Floats) -> Figure:
    """Violins of Q15, Q90, mean and median over the synthetic datasets (Figure 7 of [vws2024]).

    `statistics` has shape (datasets, 4) a mechanism; `data` (4,) draws the confidential values,
    and the nearer a violin is to its line, the more useful the datasets are.
    """
    figure, axes = _axes(2, 2, size=(11, 7))
    names = ("15th quantile", "90th quantile", "mean", "median")
    for place, (axis, name) in enumerate(zip(axes.flat, names, strict=True)):
        _violins(axis, {label: values[:, place] for label, values in statistics.items()})
        axis.axhline(data[place], color="black", linestyle="--", linewidth=1)
        axis.set_title(f"{name} (dashed: data)", fontsize=10)
    return figure


def _axes(rows: int, columns: int, *, size: tuple[float, float]) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns)


def _violins(axis: Any, groups: dict[str, Floats]) -> None:
    places = range(1, len(groups) + 1)
    for place, (label, values) in zip(places, groups.items(), strict=True):
        if np.ptp(values) == 0:
            axis.plot([place], [values[0]], marker="_", markersize=24, color=_COLOURS[label])
            continue
        drawn = axis.violinplot([values], positions=[place], widths=0.8, showmedians=True)
        for part in (*drawn["bodies"], *(drawn[key] for key in drawn if key != "bodies")):
            part.set_color(_COLOURS[label])
    axis.set_xticks(list(places), list(groups))
    axis.tick_params(axis="x", labelsize=9)
