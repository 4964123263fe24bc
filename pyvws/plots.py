"""Every figure of the papers, one function each: `from pyvws import plots`.

Okabe and Ito's colours, the papers' labels. A function takes arrays, checks them, and returns a
matplotlib Figure that belongs to no window; save it with `savefig`. docs/figures.md lists which
function draws which figure.

Bounds are in nats: higher = less private. Weights lie in [0, 1]: lower = more protected. Risks lie
in [0, 1]: higher = riskier.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from pyvws._base.checks import Floats, finite_vector, non_negative, positive, same_length
from pyvws.errors import InputError
from pyvws.r_numbers import rarith

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = [
    "before_and_after",
    "bounds_against_weights",
    "bounds_and_weights",
    "contraction",
    "densities",
    "intervals",
    "parameter_densities",
    "posterior_density",
    "replicate_violins",
    "risk_examples",
    "risk_violins",
    "utility",
    "utility_against_epsilon",
    "weights_against_outcome",
    "weights_before_and_after",
    "whack_a_mole_scatter",
]

# Okabe and Ito's palette, but for its yellow, which is too pale for lines on white.
_GREY, _BLUE, _ORANGE_RED, _GREEN = "#7F7F7F", "#0072B2", "#D55E00", "#009E73"
_ORANGE, _SKY, _PURPLE, _BLACK = "#E69F00", "#56B4E9", "#CC79A7", "#000000"
_IN_TURN = (_BLUE, _ORANGE_RED, _GREEN, _ORANGE, _PURPLE, _SKY, _GREY)

_DATA_LINE: Final[dict[str, Any]] = {"color": _BLACK, "linewidth": 1.2}
_DASHED: Final[dict[str, Any]] = {**_DATA_LINE, "linestyle": "--"}
_LIMIT: Final[dict[str, Any]] = {"color": "#CC0000", "linestyle": "--", "linewidth": 1.2}
_HIGHLIGHT: Final = _ORANGE

# The papers' labels keep one colour each, whatever else is drawn beside them.
_NAMED: Final = {
    **dict.fromkeys(("Data", "D", "data"), _BLACK),
    **dict.fromkeys(("Unweighted", "unweighted", "Synthesizer", "S"), _GREY),
    **dict.fromkeys(("LW", "Weighted", "Topcoding", "T"), _BLUE),
    **dict.fromkeys(("LW_final", "Weighted-e", "Weighted-ε"), _SKY),
    **dict.fromkeys(("CW", "Marginal", "M", "PH"), _ORANGE_RED),
    **dict.fromkeys(("CW_final", "Censor_uw"), _ORANGE),
    **dict.fromkeys(("SW", "Pairwise", "P", "Censor_w"), _GREEN),
}


def _colours(labels: Iterable[str]) -> dict[str, str]:
    """A colour for each label: the papers' labels have their own, others what is left in turn."""
    names = list(labels)
    found = {name: _NAMED[name] for name in names if name in _NAMED}
    free = [colour for colour in _IN_TURN if colour not in found.values()] or list(_IN_TURN)
    others = [name for name in names if name not in found]
    return found | {name: free[place % len(free)] for place, name in enumerate(others)}


def _some(values: Mapping[Any, Any], name: str, entry: str) -> None:
    """Raise InputError for an empty mapping."""
    if not values:
        raise InputError(f"{name} must hold at least one {entry}.")


def _groups(values: Mapping[str, Any], name: str) -> dict[str, Floats]:
    """The vectors of a mapping by label, checked: at least one, no missing value."""
    if not isinstance(values, Mapping) or not values:
        raise InputError(f"{name} must be a mapping of labels to values, with at least one label.")
    return {
        str(label): finite_vector(column, f"{name}[{label!r}]") for label, column in values.items()
    }


def _thinned(values: Floats, most: int = 20_000) -> Floats:
    """Evenly spaced order statistics of many values: the same density, the same ends."""
    if len(values) <= most:
        return values
    return np.sort(values)[np.linspace(0, len(values) - 1, most).round().astype(np.intp)]


def _panels(
    count: int, *, columns: int = 4, size: tuple[float, float] = (4.6, 3.8), **shared: Any
) -> tuple[Figure, Sequence[Any]]:
    """A figure of `count` axes in rows of at most `columns`, each of `size` in inches."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    across = min(count, columns)
    down = -(-count // across)
    room = ConstrainedLayoutEngine(h_pad=0.09, w_pad=0.09)
    figure = Figure(figsize=(size[0] * across, size[1] * down), layout=room)
    axes = figure.subplots(down, across, squeeze=False, **shared).ravel()
    for spare in axes[count:]:
        spare.remove()
    for axis in axes[:count]:
        axis.spines[["top", "right"]].set_visible(False)
    return figure, axes[:count]


def _legend_below(
    figure: Figure, axes: Sequence[Any], *, columns: int = 6, larger: float = 2
) -> None:
    """One legend under all panels, so that it covers no point; each label once."""
    found: dict[str, Any] = {}
    for axis in axes:
        handles, labels = axis.get_legend_handles_labels()
        found |= dict(zip(labels, handles, strict=True))
    figure.legend(
        list(found.values()), list(found), loc="outside lower center", ncols=columns,
        frameon=False, markerscale=larger,
    )  # fmt: skip


def _violins(
    axis: Any,
    values: Mapping[str, Floats],
    *,
    bar: str = "median",
    colour: Mapping[str, str] | None = None,
) -> None:
    """A violin for each label with a bar at its median or mean; a bar alone where all agree."""
    colour = colour or _colours(values)
    for place, (label, column) in enumerate(values.items(), start=1):
        if np.ptp(column) == 0:
            axis.plot(
                [place - 0.25, place + 0.25], [column[0]] * 2, color=colour[label], linewidth=3
            )
            continue
        drawn = axis.violinplot(
            [_thinned(column)], positions=[place], widths=0.8, showextrema=False, points=200
        )
        (body,) = drawn["bodies"]
        body.set(facecolor=colour[label], edgecolor=colour[label], alpha=0.45, linewidth=1)
        middle = float(np.median(column) if bar == "median" else np.mean(column))
        axis.plot([place - 0.2, place + 0.2], [middle] * 2, color=colour[label], linewidth=2.2)
        axis.plot([place] * 2, [column.min(), column.max()], color=colour[label], linewidth=0.8)
    axis.set_xticks(range(1, len(values) + 1), list(values))
    axis.set_xlim(0.4, len(values) + 0.6)
    crowded = sum(map(len, values)) > 32
    axis.tick_params(axis="x", labelsize=9, labelrotation=25 if crowded else 0)


_BOUND = "by-record Lipschitz bound (nats)"
_DOT = {"s": 12, "alpha": 0.6, "linewidths": 0, "rasterized": True}


def bounds_and_weights(bounds: Mapping[str, Any], weights: Mapping[str, Any]) -> Figure:
    """Violins of by-record bounds and of weights (Figures 1, 3a-b, 6a, 6c-d, 10, 13 of [vws2024]).

    Parameters
    ----------
    bounds : mapping of label to array_like of shape (N,)
        By-record Lipschitz bounds in nats; the top of a violin is the database bound.
    weights : mapping of label to array_like of shape (N,)
        Weights in [0, 1]. Labels need not be those of `bounds`.

    Returns
    -------
    Figure
        Two panels, a violin for each label with a bar at its median.

    Raises
    ------
    InputError
        For an empty mapping or missing values.

    Examples
    --------
    >>> drawn = bounds_and_weights({"LW": [3.0, 2.5, 2.0]}, {"LW": [0.5, 0.8, 1.0]})
    >>> [axis.get_ylabel() for axis in drawn.axes]
    ['by-record Lipschitz bound (nats)', 'weight']
    """
    figure, (left, right) = _panels(2, size=(5.5, 4.2))
    _violins(left, _groups(bounds, "bounds"))
    left.set_ylabel(_BOUND)
    left.set_ylim(bottom=0.0)
    _violins(right, _groups(weights, "weights"))
    right.set_ylabel("weight")
    right.set_ylim(-0.03, 1.03)
    return figure


def bounds_against_weights(bounds: Mapping[str, Any], weights: Mapping[str, Any]) -> Figure:
    """By-record bounds against weights, a panel each (Figures 4 and 8 of [vws2024]).

    The dashed line is the database bound, the largest of the records'. The nearer the points come
    to it, the less utility is lost for the same bound.

    Parameters
    ----------
    bounds, weights : mapping of label to array_like of shape (N,)
        Bounds in nats and weights in [0, 1] of the same records, under the same labels.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For labels or lengths that differ, or missing values.

    Examples
    --------
    >>> drawn = bounds_against_weights({"LW": [3.0, 2.5, 2.0]}, {"LW": [0.5, 0.8, 1.0]})
    >>> drawn.axes[0].get_title()
    'LW'
    """
    high, across = _groups(bounds, "bounds"), _groups(weights, "weights")
    if high.keys() != across.keys():
        raise InputError("bounds and weights must have the same labels.")
    figure, axes = _panels(len(high), size=(5.0, 4.2), sharey=True)
    colour = _colours(high)
    for axis, label in zip(axes, high, strict=True):
        same_length(high[label], across[label], (f"bounds[{label!r}]", f"weights[{label!r}]"))
        axis.scatter(across[label], high[label], color=colour[label], **_DOT)
        axis.axhline(high[label].max(), label="database bound", **_LIMIT)
        axis.set(title=label, xlabel="weight", xlim=(-0.03, 1.03))
    axes[0].set_ylabel(_BOUND)
    _legend_below(figure, axes[:1])
    return figure


def before_and_after(fits: Mapping[str, tuple[tuple[Any, Any], tuple[Any, Any]]]) -> Figure:
    """Bounds against weights before and after re-weighting (Figures 5 and 9 of [vws2024]).

    Parameters
    ----------
    fits : mapping of label to ((weights, bounds), (weights, bounds))
        Before and after Algorithm 3, each array of shape (N,), weights in [0, 1], bounds in nats.

    Returns
    -------
    Figure
        A panel for each label; the dashed line is the database bound before.

    Raises
    ------
    InputError
        For lengths that differ or missing values.

    Examples
    --------
    >>> drawn = before_and_after({"LW": (([0.4, 0.9], [3.0, 2.0]), ([0.4, 1.0], [3.0, 2.2]))})
    >>> drawn.axes[0].get_legend_handles_labels()[1][:2]
    ['LW', 'LW_final']
    """
    _some(fits, "fits", "label")
    figure, axes = _panels(len(fits), size=(5.5, 4.2))
    for axis, (label, pair) in zip(axes, fits.items(), strict=True):
        names = (label, f"{label}_final")
        colour, marks = _colours(names), ("o", "^")
        top = 0.0
        for name, mark, (weights, bounds) in zip(names, marks, pair, strict=True):
            x, y = finite_vector(weights, f"weights of {name}"), finite_vector(bounds, "bounds")
            same_length(x, y, ("weights", "bounds"))
            axis.scatter(x, y, color=colour[name], label=name, marker=mark, **_DOT)
            top = top or float(y.max())
        axis.axhline(top, label="database bound before", **_LIMIT)
        axis.set(xlabel="weight", ylabel=_BOUND, xlim=(-0.03, 1.03), title=label)
    _legend_below(figure, axes)
    return figure


def weights_before_and_after(weights: Mapping[str, tuple[Any, Any]]) -> Figure:
    """Each record's weight before and after re-weighting (Figures 6b and 10b of [vws2024]).

    Points above the line: records that count for more, for the same database bound.

    Parameters
    ----------
    weights : mapping of label to (before, after)
        Weights in [0, 1], each array of shape (N,).

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For lengths that differ or missing values.

    Examples
    --------
    >>> drawn = weights_before_and_after({"LW": ([0.4, 0.9], [0.45, 1.0])})
    >>> drawn.axes[0].get_ylabel()
    'weight after'
    """
    _some(weights, "weights", "label")
    figure, axes = _panels(len(weights), size=(4.4, 4.2), sharey=True)
    colour = _colours(weights)
    for axis, (label, (before, after)) in zip(axes, weights.items(), strict=True):
        x, y = finite_vector(before, "weights before"), finite_vector(after, "weights after")
        same_length(x, y, ("weights before", "weights after"))
        axis.plot([0, 1], [0, 1], label="no change", color="black", linewidth=1)
        axis.scatter(x, y, color=colour[label], **_DOT)
        axis.set(title=label, xlabel="weight before", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        axis.legend(frameon=False, loc="lower right")
    axes[0].set_ylabel("weight after")
    return figure


def weights_against_outcome(
    outcome: Any, weights: Mapping[str, Any], *, name: str = "outcome"
) -> Figure:
    """Weights against the confidential outcome, a panel each (Figure 5 of [risk2024]'s supplement).

    Shows which records a mechanism singles out, and what c and g do to them.

    Parameters
    ----------
    outcome : array_like, shape (N,)
        Confidential values.
    weights : mapping of title to array_like of shape (N,)
        Weights in [0, 1] of the same records.
    name : str
        Of the outcome, on the axis.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For lengths that differ or missing values.

    Examples
    --------
    >>> drawn = weights_against_outcome([5.0, 9.0], {"c = 1, g = 0": [1.0, 0.2]}, name="income")
    >>> drawn.axes[0].get_xlabel()
    'income'
    """
    y, columns = finite_vector(outcome, "outcome"), _groups(weights, "weights")
    figure, axes = _panels(len(columns), columns=3, size=(4.4, 3.8), sharey=True)
    for axis, (title, column) in zip(axes, columns.items(), strict=True):
        same_length(y, column, ("outcome", f"weights[{title!r}]"))
        axis.scatter(y, column, color=_colours(["LW"])["LW"], **_DOT)
        axis.set(title=title, xlabel=name, ylim=(-0.03, 1.03))
        axis.ticklabel_format(axis="x", style="plain", useOffset=False)
        axis.tick_params(axis="x", labelrotation=25)
    axes[0].set_ylabel("weight")
    return figure


def densities(
    synthetic: Mapping[str, Any],
    data: Any = None,
    *,
    name: str = "outcome",
    as_violins: bool = False,
) -> Figure:
    """Densities of synthetic outcomes beside the data's (Figures 3f, 7d, 11d, 12 of [vws2024]).

    One label without `data` is Figure 4 of [risk2024]. A tail that is lighter than the data's is
    what downweighting costs.

    Parameters
    ----------
    synthetic : mapping of label to array_like of shape (N,)
        Outcomes of one dataset, or of several put together.
    data : array_like, shape (N,), optional
        The confidential outcome; the thick black line, or the violin "Data".
    name : str
        Of the outcome, on the axis.
    as_violins : bool
        Violins in place of lines.

    Returns
    -------
    Figure
        Lines run between the lowest 0.5 % quantile and the highest 99.5 % quantile.

    Raises
    ------
    InputError
        For no label or missing values.

    Examples
    --------
    >>> drawn = densities({"LW": [1.0, 2.0, 4.0]}, [1.0, 2.5, 3.0], name="income")
    >>> len(drawn.axes[0].get_lines()), drawn.axes[0].get_xlabel()
    (2, 'income')
    """
    columns = _groups(synthetic, "synthetic")
    if data is not None:
        columns = {"Data": finite_vector(data, "data"), **columns}
    figure, (axis,) = _panels(1, size=(7.5, 4.2))
    if as_violins:
        _violins(axis, columns)
        axis.set_ylabel(name)
        return figure
    _curves(axis, columns, name)
    axis.set_ylabel("density")
    return figure


def posterior_density(
    draws: Mapping[str, Any], value: float | None = None, *, name: str = "μ"
) -> Figure:
    """Posterior densities of a parameter by synthesizer (Figures 2b, 7c and 11c of [vws2024]).

    A wider curve = less information left about the parameter.

    Parameters
    ----------
    draws : mapping of label to array_like of shape (S,)
        Posterior draws of the parameter, in its unit.
    value : float, optional
        The data's own estimate, or the truth of a simulation: a dashed line.
    name : str
        Of the parameter, on the axis.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no label or missing values.

    Examples
    --------
    >>> drawn = posterior_density({"LW": [99.0, 100.0, 102.0]}, 100.0)
    >>> drawn.axes[0].get_ylabel()
    'posterior density'
    """
    figure, (axis,) = _panels(1, size=(7.5, 4.2))
    _curves(axis, _groups(draws, "draws"), name)
    if value is not None:
        axis.axvline(value, label="data", **_DASHED)
        axis.legend(frameon=False)
    axis.set_ylabel("posterior density")
    return figure


def parameter_densities(draws: Mapping[str, Any], chains: Any) -> Figure:
    """Posterior densities of several parameters, a line for each chain; chains that agree overlap.

    Parameters
    ----------
    draws : mapping of parameter to array_like of shape (S,)
        Draws of all chains.
    chains : array_like, shape (S,)
        The chain of each draw.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no parameter, missing values, or lengths that differ.

    Examples
    --------
    >>> drawn = parameter_densities({"mu": [1.0, 2.0, 1.5, 2.5]}, [1, 1, 2, 2])
    >>> len(drawn.axes[0].get_lines())
    2
    """
    columns, chain = _groups(draws, "draws"), finite_vector(chains, "chains")
    figure, axes = _panels(len(columns), columns=3, size=(4.0, 2.6))
    for axis, (name, values) in zip(axes, columns.items(), strict=True):
        if len(values) != len(chain):
            raise InputError(f"draws[{name!r}] and chains must have one entry for each draw.")
        own = {f"chain {number:g}": values[chain == number] for number in np.unique(chain)}
        _curves(axis, own, name)
        axis.set_yticks([])
        axis.locator_params(axis="x", nbins=5)
        axis.get_legend().remove()
    return figure


def _curves(axis: Any, columns: Mapping[str, Floats], name: str) -> None:
    """Kernel densities on one grid; a vertical line where all values agree."""
    from scipy.stats import gaussian_kde

    ends = [rarith.quantile(values, np.array([0.005, 0.995])) for values in columns.values()]
    grid = np.linspace(min(e[0] for e in ends), max(e[1] for e in ends), 400)
    colour = _colours(columns)
    for label, values in columns.items():
        if np.ptp(values) == 0:
            axis.axvline(values[0], color=colour[label], label=label, linestyle=":")
            continue
        with np.errstate(over="ignore"):  # Values near the largest float have no density.
            heights = gaussian_kde(_thinned(values), bw_method=_bandwidth)(grid)
        thick = 2.4 if label == "Data" else 1.5
        axis.plot(grid, heights, color=colour[label], label=label, linewidth=thick)
    axis.set_xlabel(name)
    axis.set_ylim(bottom=0.0)
    axis.legend(frameon=False)


def _bandwidth(kernels: Any) -> float:
    """R's rule (bw.nrd0) in standard deviations: one outlier does not flatten the whole curve."""
    values = kernels.dataset[0]
    lower, upper = rarith.quantile(values, np.array([0.25, 0.75]))
    with np.errstate(over="ignore", invalid="ignore"):
        spread, robust = float(np.std(values, ddof=1)), float(upper - lower) / 1.34
    narrower = 0 < robust < spread < np.inf
    share = robust / spread if narrower else 1.0
    return float(0.9 * share * len(values) ** -0.2)


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
    _some(statistics, "statistics", "label")
    tables = {
        str(label): _table(rows, str(label), len(names)) for label, rows in statistics.items()
    }
    lines = None if data is None else finite_vector(data, "data")
    if lines is not None and len(lines) != len(names):
        raise InputError(f"data must have {len(names)} entries, as names has. Got {len(lines)}.")
    figure, axes = _panels(len(names), columns=2, size=(5.5, 3.5))
    for place, (axis, name) in enumerate(zip(axes, names, strict=True)):
        _violins(axis, {label: rows[:, place] for label, rows in tables.items()})
        axis.set_title(name, fontsize=11)
        if lines is not None:
            axis.axhline(lines[place], label="data", **_DASHED)
    if lines is not None:
        _legend_below(figure, axes[:1])
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
    _some(estimates, "estimates", "statistic")
    figure, axes = _panels(len(estimates), columns=2, size=(5.0, 3.5))
    for axis, (title, by_label) in zip(axes, estimates.items(), strict=True):
        colour = _colours(by_label)
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
            axis.axhline(middle, label="data", **_DATA_LINE)
            for end in ends:
                axis.axhline(end, label="interval of the data", **_DASHED)
        axis.set_xticks(range(1, len(by_label) + 1), list(by_label))
        axis.set_xlim(0.4, len(by_label) + 0.6)
        axis.set_title(title, fontsize=11)
        crowded = sum(map(len, by_label)) > 40
        axis.tick_params(axis="x", labelsize=9, labelrotation=20 if crowded else 0)
    if data:
        _legend_below(figure, axes)
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


def risk_violins(risks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Violins of by-record risks with bars at their means, a panel for each title.

    Figures 2, 5a, 6 and 8 of [risk2024], 2 and 7 of its supplement; labels there are D for the
    data, S for the synthesizer without weights, M for Marginal, P for Pairwise.

    Parameters
    ----------
    risks : mapping of title to mapping of label to array_like of shape (N,)
        Risks in [0, 1] of the records, from `pyvws.identification_risk`.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping or missing values.

    Examples
    --------
    >>> drawn = risk_violins({"r = 20%": {"D": [0.9, 0.8, 0.95], "S": [0.1, 0.0, 0.4]}})
    >>> drawn.axes[0].get_title(), drawn.axes[0].get_ylabel()
    ('r = 20%', 'identification risk')
    """
    _some(risks, "risks", "panel")
    width = max(3.2, 1.05 * max(len(by_label) for by_label in risks.values()))
    figure, axes = _panels(len(risks), size=(width, 4.0), sharey=True)
    for axis, (title, by_label) in zip(axes, risks.items(), strict=True):
        _violins(axis, _groups(by_label, f"risks[{title!r}]"), bar="mean")
        axis.set_title(title, fontsize=11)
    axes[0].set_ylabel("identification risk")
    axes[0].set_ylim(-0.02, 1.02)
    return figure


def whack_a_mole_scatter(
    unweighted: Any, weighted: Mapping[str, Any], *, rise: float = 0.0
) -> Figure:
    """Risks under weighted synthesizers against the unweighted one, a panel each.

    Figures 3, 5b and 9 of [risk2024], 3 of its supplement. The line is y = x; records above it,
    drawn larger and in orange, became riskier.

    Parameters
    ----------
    unweighted : array_like, shape (N,)
        Risks in [0, 1] under the synthesizer without weights.
    weighted : mapping of label to array_like of shape (N,)
        Risks of the same records under weighted synthesizers.
    rise : float
        Smallest increase that is highlighted, 0.25 in the paper; 0 highlights every increase.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For an empty mapping, missing values, or lengths that differ.

    Examples
    --------
    >>> drawn = whack_a_mole_scatter([0.1, 0.9], {"Marginal": [0.5, 0.2]}, rise=0.25)
    >>> drawn.axes[0].get_title()
    'Marginal: 1 of 2 rose by 0.25 or more'
    """
    before, after = finite_vector(unweighted, "unweighted"), _groups(weighted, "weighted")
    least = non_negative(rise, "rise")
    figure, axes = _panels(len(after), size=(4.4, 4.2), sharex=True, sharey=True)
    top = max(float(before.max()), *(float(risk.max()) for risk in after.values()))
    said = f"rose by {least:g} or more" if least else "rose"
    for axis, (label, risk) in zip(axes, after.items(), strict=True):
        same_length(before, risk, ("unweighted", f"weighted[{label!r}]"))
        rose = (risk - before >= least) & (risk > before)
        axis.plot([0.0, top], [0.0, top], color=_colours(["LW"])["LW"], linewidth=1.2)
        axis.scatter(before[~rose], risk[~rose], s=9, color=_colours(["S"])["S"], alpha=0.6)
        axis.scatter(
            before[rose], risk[rose], s=28, color=_HIGHLIGHT, edgecolor="black", linewidth=0.4
        )
        axis.set_title(f"{label}: {int(rose.sum())} of {len(risk)} {said}", fontsize=10)
        axis.set_xlabel("risk, unweighted")
    axes[0].set_ylabel("risk, weighted")
    return figure


def risk_examples(cases: Mapping[str, tuple[Any, Any]], *, radius: float) -> Figure:
    """Balls around a true value among synthetic values (Figure 1 of [risk2024], its supplement).

    A panel's title says the risk: the share of the pattern's synthetic values outside the ball
    where the record's own lies inside (T = 1), and 0 where it does not (Equation 1).

    Parameters
    ----------
    cases : mapping of title to (true value, synthetic values)
        The true value (2,) of one record, and two synthetic outcomes (M, 2) of the M records of
        its pattern, its own in the first row.
    radius : float
        r above 0, in the outcomes' unit.

    Returns
    -------
    Figure

    Raises
    ------
    InputError
        For no case, another shape, or a radius not above 0.

    Examples
    --------
    >>> drawn = risk_examples({"a": ([0, 0], [[0, 0.5], [3, 0], [0, 2], [0.1, 0]])}, radius=1)
    >>> drawn.axes[0].get_title()
    'a: 2 of 4 outside, T = 1, risk 0.50'
    """
    from matplotlib.patches import Circle

    reach = positive(radius, "radius")
    _some(cases, "cases", "case")
    figure, axes = _panels(len(cases), size=(4.0, 4.0), sharex=True, sharey=True)
    colour = _colours(["S", "LW"])
    for axis, (title, (true, synthetic)) in zip(axes, cases.items(), strict=True):
        centre = np.asarray(true, dtype=np.float64)
        values = np.asarray(synthetic, dtype=np.float64)
        if centre.shape != (2,) or values.ndim != 2 or values.shape[1] != 2 or not len(values):
            raise InputError(
                f"cases[{title!r}] must be a true value of shape (2,) and synthetic values of "
                f"shape (M, 2). Got {centre.shape} and {values.shape}."
            )
        inside = np.hypot(*(values - centre).T) <= reach
        outside, own = int((~inside).sum()), int(inside[0])
        axis.add_patch(Circle(tuple(centre), reach, facecolor="#EAF3F9", edgecolor=colour["LW"]))
        axis.scatter(*values[1:].T, color=colour["S"], s=36, label="other synthetic values")
        axis.scatter(
            *values[:1].T, color=_HIGHLIGHT, edgecolor="black", marker="D", s=64,
            label="own synthetic value",
        )  # fmt: skip
        axis.scatter(*centre, color="black", marker="+", s=90, label="true value", zorder=3)
        axis.set_title(
            f"{title}: {outside} of {len(values)} outside, T = {own}, "
            f"risk {outside / len(values) * own:.2f}",
            fontsize=10,
        )
        axis.set(aspect="equal", xticks=[], yticks=[])
        axis.margins(0.12)
        axis.spines[["left", "bottom"]].set_visible(False)
    _legend_below(figure, axes[:1], columns=3, larger=1)
    return figure


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
    _some(values, "values", "panel")
    unknown = sorted(set(lines or {}) - set(values))
    if unknown:
        raise InputError(f"lines names panels that are not drawn: {', '.join(unknown)}.")
    width = max(3.2, 0.95 * max(len(by_label) for by_label in values.values()))
    figure, axes = _panels(len(values), size=(width, 4.0), sharey=True)
    of_title = _colours(values)
    for axis, (title, by_label) in zip(axes, values.items(), strict=True):
        columns = _groups(by_label, f"values[{title!r}]")
        sizes = all(label.isdecimal() for label in columns)
        _violins(axis, columns, colour=dict.fromkeys(columns, of_title[title]) if sizes else None)
        axis.set_title(title, fontsize=11)
        axis.set_xlabel("records" if sizes else "")
        if lines is not None and title in lines:
            axis.axhline(lines[title], label=line, **_LIMIT)
    axes[0].set_ylabel(name)
    if lines:
        _legend_below(figure, axes)
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
    figure, (axis,) = _panels(1, size=(7.0, 4.4))
    colour = _colours(utility)
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
