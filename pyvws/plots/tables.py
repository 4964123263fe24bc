"""Figures of tables with several columns: associations, and each column's part in bounds.

Every function returns a matplotlib Figure that belongs to no window; `savefig` saves the figure.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pyvws._base.checks import positive
from pyvws.errors import InputError
from pyvws.plots.drawing import colours, groups, legend_below, panels, some

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NO_PAIR = "#BBBBBB"


def association_matrices(
    matrices: Mapping[str, Any], names: Sequence[str], *, limit: float = 1.0
) -> Figure:
    """Associations of each pair of columns as colours, a panel for each title.

    - `matrices` (mapping of title to array_like of shape (K, K)): Associations as
      `pyvws.associations` gives them, or their differences: red above 0, blue below 0, white at 0,
      and grey for a pair without an association.
    - `names` (sequence of K str): Names of the columns.
    - `limit`: The size at which colours are darkest.

    Raises InputError for no title, another shape, or a limit not above 0.

    >>> drawn = association_matrices({"Data": [[1.0, 0.3], [0.3, 1.0]]}, ["age", "income"])
    >>> drawn.axes[0].get_title()
    'Data'
    """
    from matplotlib import colormaps

    some(matrices, "matrices", "title")
    most, K = positive(limit, "limit"), len(names)
    shades = colormaps["RdBu_r"].with_extremes(bad=_NO_PAIR)
    side = max(3.0, 1.4 + 0.3 * K)
    figure, axes = panels(len(matrices), columns=3, size=(side, side))
    for axis, (title, given) in zip(axes, matrices.items(), strict=True):
        matrix = np.asarray(given, dtype=np.float64)
        if matrix.shape != (K, K):
            raise InputError.by("figure-matrix-shape", title=title, it=(K, K), shape=matrix.shape)
        drawn = axis.imshow(np.ma.masked_invalid(matrix), cmap=shades, vmin=-most, vmax=most)
        axis.set_xticks(range(K), names, rotation=90, fontsize=8)
        axis.set_yticks(range(K), names, fontsize=8)
        axis.set_title(title, fontsize=11)
    figure.colorbar(drawn, ax=list(axes), shrink=0.7, label="association")
    return figure


def bound_shares(parts: Mapping[str, Any], records: Sequence[str]) -> Figure:
    """Each column's share of the bounds of R records, a bar for each record.

    - `parts` (mapping of column to array_like of shape (R,)): The bounds of a column alone, in
      nats; a larger share = the column makes the record riskier.
    - `records` (sequence of R str): Names of the records, from the top down.

    Raises InputError for no column, missing values, or columns of another length than `records`.

    >>> drawn = bound_shares({"age": [1.0, 3.0], "income": [3.0, 1.0]}, ["row 7", "row 2"])
    >>> [float(bar.get_width()) for bar in drawn.axes[0].patches]
    [0.25, 0.75, 0.75, 0.25]
    """
    columns = groups(parts, "parts")
    table = np.array(list(columns.values()))
    if table.shape[1] != len(records):
        raise InputError.by("figure-parts-length", records=len(records), shape=table.shape[1])
    whole = table.sum(axis=0)
    table = table / np.where(whole == 0.0, 1.0, whole)
    across = max(1, min(4, 97 // (9 + max(map(len, columns)))))  # In a line of the legend.
    legend = 0.2 * -(-len(columns) // across)
    figure, (axis,) = panels(1, size=(7.5, max(2.0, 0.8 + 0.3 * len(records)) + legend))
    colour, at = colours(columns), np.arange(len(records))
    start = np.zeros(len(records))
    for place, (name, share) in enumerate(zip(columns, table, strict=True)):
        hatch = "" if place < len(set(colour.values())) else "//"
        axis.barh(at, share, left=start, color=colour[name], label=name, hatch=hatch, alpha=0.8)
        start += share
    axis.set_yticks(at, list(records), fontsize=9)
    axis.invert_yaxis()
    axis.set_xlim(0.0, 1.0)
    axis.set_xlabel("share of the columns' own bounds")
    legend_below(figure, [axis], columns=across)
    return figure
