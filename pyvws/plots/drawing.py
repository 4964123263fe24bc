"""Helpers of all figures: colours that survive colour blindness, axes, violins, checks."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import Floats, finite_vector
from pyvws.errors import InputError
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from scipy.stats import gaussian_kde

# Okabe and Ito's palette without its yellow, which is too pale for lines on white.
_GREY, _BLUE, _ORANGE_RED, _GREEN = "#7F7F7F", "#0072B2", "#D55E00", "#009E73"
_ORANGE, _SKY, _PURPLE, _BLACK = "#E69F00", "#56B4E9", "#CC79A7", "#000000"
_IN_TURN = (_BLUE, _ORANGE_RED, _GREEN, _ORANGE, _PURPLE, _SKY, _GREY)

DATA_LINE: Final[dict[str, Any]] = {"color": _BLACK, "linewidth": 1.2}
DASHED: Final[dict[str, Any]] = {**DATA_LINE, "linestyle": "--"}
LIMIT: Final[dict[str, Any]] = {"color": "#CC0000", "linestyle": "--", "linewidth": 1.2}
HIGHLIGHT: Final = _ORANGE

# Each of the papers' labels has the same colour in every figure.
_NAMED: Final = {
    **dict.fromkeys(("Data", "D", "data"), _BLACK),
    **dict.fromkeys(("Unweighted", "unweighted", "Synthesizer", "S"), _GREY),
    **dict.fromkeys(("LW", "Weighted", "Topcoding", "T"), _BLUE),
    **dict.fromkeys(("LW_final", "Weighted-e", "Weighted-ε"), _SKY),
    **dict.fromkeys(("CW", "Marginal", "M", "PH"), _ORANGE_RED),
    **dict.fromkeys(("CW_final", "Censor_uw"), _ORANGE),
    **dict.fromkeys(("SW", "Pairwise", "P", "Censor_w"), _GREEN),
}

MARKS: Final = "osD^vPX*"
_DRAWN: Final = 20_000  # Order statistics of a density.
_VIOLIN: Final = 8  # A violin needs so many values.
_WIDE: Final = 4.0  # Factor between values from which an axis is logarithmic.


def colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label: the papers' labels have fixed colours, others the colours left."""
    names = list(labels)
    named = {name: _NAMED[name] for name in names if name in _NAMED}
    free = [colour for colour in _IN_TURN if colour not in named.values()] or list(_IN_TURN)
    others = [name for name in names if name not in named]
    return named | {name: free[place % len(free)] for place, name in enumerate(others)}


def guarantee_colours() -> dict[str, str]:
    """A colour for each kind of guarantee."""
    return {"dp": _BLUE, "approximate-dp": _GREEN, "asymptotic-dp": _ORANGE_RED, "none": _GREY}


def some(values: Mapping[Any, Any], name: str, entry: str) -> None:
    """Raise InputError for an empty mapping."""
    if not values:
        raise InputError.by("figure-empty", name=name, entry=entry)


def groups(values: Mapping[str, Any], name: str) -> dict[str, Floats]:
    """The vectors of a mapping by label; InputError for no vector or a missing value."""
    if not isinstance(values, Mapping) or not values:
        raise InputError.by("figure-mapping", name=name)
    return {
        str(label): finite_vector(column, f"{name}[{label!r}]") for label, column in values.items()
    }


def dataset_rows(rows: ArrayLike, name: str, columns: int) -> Floats:
    """A table (datasets, columns) without missing values; InputError for another shape."""
    table = np.asarray(rows, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != columns or not table.size:
        raise InputError.by("figure-datasets-shape", name=name, columns=columns, shape=table.shape)
    if not np.isfinite(table).all():
        raise InputError.by("figure-values-missing", name=name)
    return table


def thinned(values: Floats) -> Floats:
    """At most 20,000 evenly spaced order statistics, with the density and ends of the values."""
    if len(values) <= _DRAWN:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, _DRAWN).round().astype(np.intp)]


def panels(
    count: int, *, columns: int = 4, size: tuple[float, float] = (4.6, 3.8), **shared: Any
) -> tuple[Figure, Sequence[Any]]:
    """A figure of `count` axes in rows of at most `columns`, each of `size` in inches."""
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    from pyvws.plots._picture import Picture

    across = min(count, columns)
    down = -(-count // across)
    room = ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.09)
    figure = Picture(figsize=(size[0] * across, size[1] * down), layout=room)
    axes = figure.subplots(down, across, squeeze=False, **shared).ravel()
    for spare in axes[count:]:
        spare.remove()
    for axis in axes[:count]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def legend_below(figure: Figure, axes: Sequence[Any], *, columns: int = 6) -> None:
    """Draw one legend under all panels, with each label once; the legend covers no point."""
    handles_of: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        handles_of |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(handles_of.values()), list(handles_of), loc="outside lower center", ncols=columns,
        frameon=False, markerscale=2,
    )  # fmt: skip


def log_scales(panel: Axes, values: Sequence[float]) -> None:
    """A logarithmic axis of epsilon, and one of `values` that differ by more than a factor of 4.

    Each says so in its name, and has ticks at 1, 2 and 5 times the powers of ten.
    """
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    wide = max(values) > _WIDE * min(values) > 0.0
    panel.set(xscale="log", yscale="log" if wide else "linear")
    for axis in (panel.xaxis, panel.yaxis) if wide else (panel.xaxis,):
        axis.set_label_text(f"{axis.get_label_text()} (log scale)".strip())
        axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.set_minor_locator(NullLocator())


def violins(
    axis: Axes,
    values: Mapping[str, Floats],
    *,
    bar: str = "median",
    colour: Mapping[str, str] | None = None,
) -> None:
    """Draw a violin for each label, with a bar at its median or mean.

    Equal values get a bar alone, and few values a point each.
    """
    colour = colour or colours(values)
    for place, (label, column) in enumerate(values.items(), start=1):
        if np.ptp(column) == 0:
            axis.plot(
                [place - 0.25, place + 0.25], [column[0]] * 2, color=colour[label], linewidth=3
            )
            continue
        if len(column) < _VIOLIN:
            axis.plot([place] * len(column), column, "o", color=colour[label], alpha=0.6)
        else:
            drawn = axis.violinplot(
                [thinned(column)], positions=[place], widths=0.8, showextrema=False, points=200
            )
            bodies: Any = drawn["bodies"]
            bodies[0].set(facecolor=colour[label], edgecolor=colour[label], alpha=0.45, linewidth=1)
        middle = float(np.median(column) if bar == "median" else np.mean(column))
        axis.plot([place - 0.2, place + 0.2], [middle] * 2, color=colour[label], linewidth=2.2)
        axis.plot([place] * 2, [column.min(), column.max()], color=colour[label], linewidth=0.8)
    axis.set_xticks(range(1, len(values) + 1), list(values))
    axis.set_xlim(0.4, len(values) + 0.6)
    crowded = sum(map(len, values)) > 32
    axis.tick_params(axis="x", labelsize=9, labelrotation=25 if crowded else 0)


def curves(axis: Axes, columns: Mapping[str, Floats], name: str) -> None:
    """Draw kernel densities on one grid, and a vertical line where all values are equal."""
    from scipy.stats import gaussian_kde

    ends = [rarith.quantile(values, np.array([0.005, 0.995])) for values in columns.values()]
    grid = np.linspace(min(e[0] for e in ends), max(e[1] for e in ends), 400)
    colour = colours(columns)
    for label, values in columns.items():
        if np.ptp(values) == 0:
            axis.axvline(values[0], color=colour[label], label=label, linestyle=":")
            continue
        with np.errstate(over="ignore"):  # Values near the largest float have no density.
            heights = gaussian_kde(thinned(values), bw_method=_bandwidth)(grid)
        thick = 2.4 if label == "Data" else 1.5
        axis.plot(grid, heights, color=colour[label], label=label, linewidth=thick)
    axis.set(xlabel=name, ylabel="density")
    axis.set_ylim(bottom=0.0)
    axis.legend(frameon=False)


def _bandwidth(kernels: gaussian_kde) -> float:
    """R's bandwidth (bw.nrd0) in standard deviations; one outlier does not flatten the curve."""
    values = kernels.dataset[0]
    lower, upper = rarith.quantile(values, np.array([0.25, 0.75]))
    with np.errstate(over="ignore", invalid="ignore"):
        spread, robust = float(np.std(values, ddof=1)), float(upper - lower) / 1.34
    narrower = 0 < robust < spread < np.inf
    share = robust / spread if narrower else 1.0
    return float(0.9 * share * len(values) ** -0.2)
