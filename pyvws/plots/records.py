"""Figures of records: their bounds, weights and identification risks.

Every function returns a matplotlib Figure that belongs to no window; `savefig` saves the figure.
Bounds are in nats: higher = less private. Weights lie in [0, 1]: lower = more protected. Risks lie
in [0, 1]: higher = riskier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from numpy.typing import ArrayLike

from pyvws._base.checks import finite_vector, non_negative, same_length
from pyvws.errors import InputError
from pyvws.plots.drawing import (
    HIGHLIGHT,
    LIMIT,
    colours,
    groups,
    legend_below,
    panels,
    some,
    violins,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BOUND: Final = "by-record Lipschitz bound (nats)"
# The letters of the papers' figures on risks.
_LETTERS: Final = {
    "D": "data", "S": "synthesizer without weights", "M": "Marginal", "P": "Pairwise",
    "T": "Topcoding",
}  # fmt: skip
_DOT = {"s": 12, "alpha": 0.6, "linewidths": 0, "rasterized": True}


def bounds_and_weights(
    bounds: Mapping[str, Any], weights: Mapping[str, Any], *, name: str = _BOUND
) -> Figure:
    """Violins of by-record bounds and of weights (Figures 1, 3a-b, 6a, 6c-d, 10, 13 of [vws2024]).

    - `bounds` (mapping of label to array_like of shape (N,)): By-record Lipschitz bounds in nats;
      the top of a violin is the database bound.
    - `weights` (mapping of label to array_like of shape (N,)): Weights in [0, 1]. The labels may
      differ from the labels of `bounds`.
    - `name`: Name of the bounds on the axis.

    Two panels, a violin for each label with a bar at its median. Raises InputError for an empty
    mapping or missing values.

    >>> drawn = bounds_and_weights({"LW": [3.0, 2.5, 2.0]}, {"LW": [0.5, 0.8, 1.0]})
    >>> [axis.get_ylabel() for axis in drawn.axes]
    ['by-record Lipschitz bound (nats)', 'weight']
    """
    figure, (left, right) = panels(2, size=(5.5, 4.2))
    violins(left, groups(bounds, "bounds"))
    left.set_ylabel(name)
    left.set_ylim(bottom=0.0)
    violins(right, groups(weights, "weights"))
    right.set_ylabel("weight")
    right.set_ylim(-0.03, 1.03)
    return figure


def bounds_against_weights(
    bounds: Mapping[str, Any], weights: Mapping[str, Any], *, name: str = _BOUND
) -> Figure:
    """By-record bounds against weights, a panel for each label (Figures 4 and 8 of [vws2024]).

    The dashed line is the database bound, the largest by-record bound. The nearer the points come
    to the line, the less utility is lost for the same bound.

    - `bounds`, `weights` (mapping of label to array_like of shape (N,)): Bounds in nats and weights
      in [0, 1] of the same records, under the same labels.
    - `name`: Name of the bounds on the axis.

    Raises InputError for labels or lengths that differ, or missing values.

    >>> drawn = bounds_against_weights({"LW": [3.0, 2.5, 2.0]}, {"LW": [0.5, 0.8, 1.0]})
    >>> drawn.axes[0].get_title()
    'LW'
    """
    high, across = groups(bounds, "bounds"), groups(weights, "weights")
    if high.keys() != across.keys():
        raise InputError.by("bounds-and-weights-labels")
    figure, axes = panels(len(high), size=(5.0, 4.2), sharey=True)
    colour = colours(high)
    for axis, label in zip(axes, high, strict=True):
        same_length(high[label], across[label], (f"bounds[{label!r}]", f"weights[{label!r}]"))
        axis.scatter(across[label], high[label], color=colour[label], **_DOT)
        axis.axhline(high[label].max(), label="database bound", **LIMIT)
        axis.set(title=label, xlabel="weight", xlim=(-0.03, 1.03))
    axes[0].set_ylabel(name)
    legend_below(figure, axes[:1])
    return figure


def before_and_after(
    fits: Mapping[str, tuple[tuple[Any, Any], tuple[Any, Any]]], *, name: str = _BOUND
) -> Figure:
    """Bounds against weights before and after re-weighting (Figures 5 and 9 of [vws2024]).

    - `fits` (mapping of label to ((weights, bounds), (weights, bounds))): Weights in [0, 1] and
      bounds in nats, before and after Algorithm 3; each array has shape (N,).
    - `name`: Name of the bounds on the axis.

    A panel for each label; the dashed line is the database bound before re-weighting. Raises
    InputError for lengths that differ or missing values.

    >>> drawn = before_and_after({"LW": (([0.4, 0.9], [3.0, 2.0]), ([0.4, 1.0], [3.0, 2.2]))})
    >>> drawn.axes[0].get_legend_handles_labels()[1][:2]
    ['LW', 'LW_final']
    """
    some(fits, "fits", "label")
    figure, axes = panels(len(fits), size=(5.5, 4.2))
    for axis, (label, pair) in zip(axes, fits.items(), strict=True):
        names = (label, f"{label}_final")
        colour, marks = colours(names), ("o", "^")
        top = 0.0
        for fit, mark, (weights, bounds) in zip(names, marks, pair, strict=True):
            x, y = finite_vector(weights, f"weights of {fit}"), finite_vector(bounds, "bounds")
            same_length(x, y, ("weights", "bounds"))
            axis.scatter(x, y, color=colour[fit], label=fit, marker=mark, **_DOT)
            top = top or float(y.max())
        axis.axhline(top, label="database bound before", **LIMIT)
        axis.set(xlabel="weight", ylabel=name, xlim=(-0.03, 1.03), title=label)
    legend_below(figure, axes)
    return figure


def weights_before_and_after(weights: Mapping[str, tuple[Any, Any]]) -> Figure:
    """Each record's weight before and after re-weighting (Figures 6b and 10b of [vws2024]).

    A point above the line is a record that counts for more after re-weighting, under the same
    database bound.

    - `weights` (mapping of label to (before, after)): Weights in [0, 1], each array of shape (N,).

    Raises InputError for lengths that differ or missing values.

    >>> drawn = weights_before_and_after({"LW": ([0.4, 0.9], [0.45, 1.0])})
    >>> drawn.axes[0].get_ylabel()
    'weight after'
    """
    some(weights, "weights", "label")
    figure, axes = panels(len(weights), size=(4.4, 4.2), sharey=True)
    colour = colours(weights)
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
    outcome: ArrayLike, weights: Mapping[str, Any], *, name: str = "outcome"
) -> Figure:
    """Weights against the confidential outcome, by panel (Figure 5 of [risk2024]'s supplement).

    The figure shows which records a mechanism singles out, and how c and g change their weights.

    - `outcome` (array_like, shape (N,)): Confidential values.
    - `weights` (mapping of title to array_like of shape (N,)): Weights in [0, 1] of the same
      records.
    - `name`: Name of the outcome on the axis.

    Raises InputError for lengths that differ or missing values.

    >>> drawn = weights_against_outcome([5.0, 9.0], {"c = 1, g = 0": [1.0, 0.2]}, name="income")
    >>> drawn.axes[0].get_xlabel()
    'income'
    """
    y, columns = finite_vector(outcome, "outcome"), groups(weights, "weights")
    figure, axes = panels(len(columns), columns=3, size=(4.4, 3.8), sharey=True)
    for axis, (title, column) in zip(axes, columns.items(), strict=True):
        same_length(y, column, ("outcome", f"weights[{title!r}]"))
        axis.scatter(y, column, color=colours(["LW"])["LW"], **_DOT)
        axis.set(title=title, xlabel=name, ylim=(-0.03, 1.03))
        axis.ticklabel_format(axis="x", style="plain", useOffset=False)
        axis.tick_params(axis="x", labelrotation=25)
    axes[0].set_ylabel("weight")
    return figure


def risk_violins(risks: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Violins of by-record risks with bars at their means, a panel for each title.

    These are Figures 2, 5a, 6 and 8 of [risk2024], and 2 and 7 of its supplement. The paper's
    labels are D for the data, S for the synthesizer without weights, M for Marginal and P for
    Pairwise. A legend says so where a label is one of these letters.

    - `risks` (mapping of title to mapping of label to array_like of shape (N,)): Risks in [0, 1] of
      the records, from `pyvws.identification_risk`.

    Raises InputError for an empty mapping or missing values.

    >>> drawn = risk_violins({"r = 20%": {"D": [0.9, 0.8, 0.95], "S": [0.1, 0.0, 0.4]}})
    >>> drawn.axes[0].get_title(), drawn.axes[0].get_ylabel()
    ('r = 20%', 'identification risk')
    """
    from matplotlib.patches import Patch

    some(risks, "risks", "panel")
    width = max(3.2, 1.05 * max(len(by_label) for by_label in risks.values()))
    figure, axes = panels(len(risks), size=(width, 4.0), sharey=True)
    for axis, (title, by_label) in zip(axes, risks.items(), strict=True):
        violins(axis, groups(by_label, f"risks[{title!r}]"), bar="mean")
        axis.set_title(title, fontsize=11)
    axes[0].set_ylabel("identification risk")
    axes[0].set_ylim(-0.02, 1.02)
    letters = [
        letter for letter in _LETTERS if any(letter in by_label for by_label in risks.values())
    ]
    if letters:
        figure.legend(
            [Patch(facecolor=colours([letter])[letter], alpha=0.45) for letter in letters],
            [f"{letter}: {_LETTERS[letter]}" for letter in letters],
            loc="outside lower center", ncols=2, frameon=False, fontsize=9,
        )  # fmt: skip
    return figure


def whack_a_mole_scatter(
    unweighted: ArrayLike, weighted: Mapping[str, Any], *, rise: float = 0.0
) -> Figure:
    """Risks under weighted synthesizers against risks under the unweighted one, a panel each.

    These are Figures 3, 5b and 9 of [risk2024], and 3 of its supplement. The line is y = x. Records
    above the line became riskier, and are drawn larger and in orange.

    - `unweighted` (array_like, shape (N,)): Risks in [0, 1] under the synthesizer without weights.
    - `weighted` (mapping of label to array_like of shape (N,)): Risks of the same records under
      weighted synthesizers.
    - `rise`: Smallest increase that the figure highlights, 0.25 in the paper; 0 highlights every
      increase.

    Raises InputError for an empty mapping, missing values, or lengths that differ.

    >>> drawn = whack_a_mole_scatter([0.1, 0.9], {"Marginal": [0.5, 0.2]}, rise=0.25)
    >>> drawn.axes[0].get_title()
    'Marginal: 1 of 2 rose by 0.25 or more'
    """
    before, after = finite_vector(unweighted, "unweighted"), groups(weighted, "weighted")
    least = non_negative(rise, "rise")
    figure, axes = panels(len(after), size=(4.4, 4.2), sharex=True, sharey=True)
    top = max(float(before.max()), *(float(risk.max()) for risk in after.values()))
    rise_in_words = f"rose by {least:g} or more" if least else "rose"
    for axis, (label, risk) in zip(axes, after.items(), strict=True):
        same_length(before, risk, ("unweighted", f"weighted[{label!r}]"))
        rose = (risk - before >= least) & (risk > before)
        axis.plot([0.0, top], [0.0, top], color=colours(["LW"])["LW"], linewidth=1.2)
        axis.scatter(before[~rose], risk[~rose], s=9, color=colours(["S"])["S"], alpha=0.6)
        axis.scatter(
            before[rose], risk[rose], s=28, color=HIGHLIGHT, edgecolor="black", linewidth=0.4
        )
        axis.set_title(f"{label}: {int(rose.sum())} of {len(risk)} {rise_in_words}", fontsize=10)
        axis.set_xlabel("risk, unweighted")
    axes[0].set_ylabel("risk, weighted")
    return figure
