"""Figures of identification risks, in the manner of [risk2024]: violins, scatters, examples.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
Risks lie in [0, 1]: higher = riskier.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import finite_vector, non_negative, positive, same_length
from pyvws.errors import InputError
from pyvws.report._drawing import HIGHLIGHT, colours, groups, legend_below, panels, some, violins

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["risk_examples", "risk_violins", "whack_a_mole_scatter"]


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
    some(risks, "risks", "panel")
    width = max(3.2, 1.05 * max(len(by_label) for by_label in risks.values()))
    figure, axes = panels(len(risks), size=(width, 4.0), sharey=True)
    for axis, (title, by_label) in zip(axes, risks.items(), strict=True):
        violins(axis, groups(by_label, f"risks[{title!r}]"), bar="mean")
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
    before, after = finite_vector(unweighted, "unweighted"), groups(weighted, "weighted")
    least = non_negative(rise, "rise")
    figure, axes = panels(len(after), size=(4.4, 4.2), sharex=True, sharey=True)
    top = max(float(before.max()), *(float(risk.max()) for risk in after.values()))
    said = f"rose by {least:g} or more" if least else "rose"
    for axis, (label, risk) in zip(axes, after.items(), strict=True):
        same_length(before, risk, ("unweighted", f"weighted[{label!r}]"))
        rose = (risk - before >= least) & (risk > before)
        axis.plot([0.0, top], [0.0, top], color=colours(["LW"])["LW"], linewidth=1.2)
        axis.scatter(before[~rose], risk[~rose], s=9, color=colours(["S"])["S"], alpha=0.6)
        axis.scatter(
            before[rose], risk[rose], s=28, color=HIGHLIGHT, edgecolor="black", linewidth=0.4
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
    some(cases, "cases", "case")
    figure, axes = panels(len(cases), size=(4.0, 4.0), sharex=True, sharey=True)
    colour = colours(["S", "LW"])
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
            *values[:1].T, color=HIGHLIGHT, edgecolor="black", marker="D", s=64,
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
    legend_below(figure, axes[:1], columns=3, larger=1)
    return figure
