"""The figure of a table's ledger: what its releases cost together, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate
from typing import TYPE_CHECKING

from pyvws.errors import InputError
from pyvws.plots.drawing import guarantee_colours, panels
from pyvws.statement.releases import ReleaseCost

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ledger_figure(costs: Mapping[str, ReleaseCost], unit: str) -> Figure:
    """Bars of epsilon added up over releases by name: strict ones, and asymptotic ones beside them.

    Epsilon in nats, of their unit of privacy `unit`; larger = less private. Releases without a
    guarantee, and costs that are not finite, have no bar. Raises InputError where no release has
    one.
    """
    kinds = {
        "strict": {name: cost for name, cost in costs.items() if cost.strict},
        "asymptotic": {
            name: cost for name, cost in costs.items() if cost.guarantee == "asymptotic-dp"
        },
    }
    drawn = {
        kind: {name: cost.epsilon for name, cost in costs.items() if cost.epsilon < float("inf")}
        for kind, costs in kinds.items()
    }
    drawn = {kind: costs for kind, costs in drawn.items() if costs}
    if not drawn:
        raise InputError.by("ledger-without-costs")
    hues = guarantee_colours()
    figure, axes = panels(len(drawn), size=(4.6, 1.6 + 0.35 * max(map(len, drawn.values()))))
    for axis, (kind, epsilons) in zip(axes, drawn.items(), strict=True):
        ends = list(accumulate(epsilons.values()))
        starts = [end - own for end, own in zip(ends, epsilons.values(), strict=True)]
        hue = hues["dp" if kind == "strict" else "asymptotic-dp"]
        axis.barh(list(epsilons), list(epsilons.values()), left=starts, color=hue)
        axis.invert_yaxis()
        axis.set_title(f"{kind}: ε {ends[-1]:.4g} together")
        axis.set_xlabel(f"ε of {unit}, added up")
    return figure
