"""Figures of identification risks, in the manner of [risk2024]: violins and whack-a-mole scatters.

Every function returns a matplotlib Figure that belongs to no window; save it with `savefig`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pyvws._checks import Floats

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["risk_violins", "whack_a_mole_scatter"]

# Okabe and Ito's palette, in turn.
_COLOURS = ("#999999", "#0072B2", "#D55E00", "#009E73", "#CC79A7")


def risk_violins(groups: Mapping[str, Mapping[str, Floats]]) -> Figure:
    """A panel for each title of by-record risks (N,) in [0, 1] under each label, means as bars.

    Higher = riskier (Figure 5a of [risk2024], Figure 2 of its supplement).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(3.2 * len(groups), 4.0), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(groups), sharey=True))
    for axis, (title, risks) in zip(axes, groups.items(), strict=True):
        for place, values in enumerate(risks.values()):
            drawn = axis.violinplot([values], positions=[place], widths=0.8, showmeans=True)
            for part in (*drawn["bodies"], *(drawn[key] for key in drawn if key != "bodies")):
                part.set_color(_COLOURS[place % len(_COLOURS)])
        axis.set_xticks(range(len(risks)), list(risks))
        axis.set_title(title, fontsize=10)
    axes[0].set_ylabel("identification risk")
    axes[0].set_ylim(0.0, 1.0)
    return figure


def whack_a_mole_scatter(unweighted: Floats, weighted: Mapping[str, Floats]) -> Figure:
    """Risks (N,) under weighted synthesizers against the unweighted one, a panel each.

    Records above the diagonal, drawn larger, became riskier (Figure 5b of [risk2024], Figure 3 of
    its supplement).
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(weighted), 4.0), layout="constrained")
    axes = np.atleast_1d(figure.subplots(1, len(weighted), sharex=True, sharey=True))
    top = max(float(unweighted.max()), *(float(risk.max()) for risk in weighted.values()))
    for axis, (label, risk) in zip(axes, weighted.items(), strict=True):
        rose = risk > unweighted
        axis.scatter(unweighted[~rose], risk[~rose], s=8, color=_COLOURS[0])
        axis.scatter(unweighted[rose], risk[rose], s=18, color="#E69F00")
        axis.plot([0.0, top], [0.0, top], color="black", linewidth=1)
        axis.set_title(f"{label}: {int(rose.sum())} of {len(risk)} rose", fontsize=10)
        axis.set_xlabel("risk, unweighted")
    axes[0].set_ylabel("risk, weighted")
    return figure
