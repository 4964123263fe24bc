"""A figure that explains identification risk: a record, its ball, and the values around it.

The function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import positive
from pyvws.errors import InputError
from pyvws.report._drawing import HIGHLIGHT, colours, panels

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["risk_examples"]


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
    if not cases:
        raise InputError("cases must hold at least one case.")
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
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure
