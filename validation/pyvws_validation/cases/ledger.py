"""Cases of `pyvws.statement.releases`: what the releases of one table cost together."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats
from pyvws.statement.releases import costs_together
from pyvws_validation._draws import Draws

_GUARANTEES: Final = ("dp", "approximate-dp", "asymptotic-dp", "none")
_NEIGHBOURS: Final = ("leave-one-out", "replace-one")


def releases_together(**releases: Any) -> Floats:
    """The figures of `costs_together` in the order of ledger.R; delta in steps of 2^-50."""
    names = list(releases)
    rows = zip(*(np.atleast_1d(releases[name]).tolist() for name in names), strict=True)
    costs = costs_together([_statement(**dict(zip(names, row, strict=True))) for row in rows])
    strict, loose, numbers = costs["strict"], costs["asymptotic"], costs["releases"]
    return np.array(
        [
            *(strict["epsilon"], round(strict["delta"] * 2**50) / 2**50, strict["zcdp"]),
            *(loose["epsilon"], loose["of_window"]),
            *(numbers["strict"], numbers["asymptotic"], numbers["none"]),
            float(costs["neighbours"] == "replace-one"),
        ]
    )


def _statement(
    *, kind: float, epsilon: float, delta: float, rho: float, window: float, replaced: float
) -> dict[str, Any]:
    """The parts of a statement that say what a release costs."""
    counts, strict = kind == 2.0, kind <= 2.0
    figures = {
        neighbours: {"total": steps * epsilon, "total_of_window": steps * window}
        | ({"total_zcdp": steps**2 * rho} if kind == 1.0 else {})
        for steps, neighbours in enumerate(_NEIGHBOURS, start=1)
    }
    claimed = _NEIGHBOURS[int(replaced)]
    total = epsilon if counts else figures[claimed]["total"]
    return {
        "guarantee": _GUARANTEES[int(kind) - 1],
        "unit_of_privacy": "one record",
        "epsilon_by_neighbours": figures,
        "certified": {"neighbours": claimed, "epsilon_total": total} if strict else None,
        "delta": delta,
        "counts": {"rho": rho},
    }


# Arguments


def releases(seed: int, number: int) -> dict[str, Any]:
    """Releases of all kinds, whose costs are whole eighths, but for deltas below 1e-6."""
    draws = Draws(seed)
    return {
        "kind": 1.0 + draws.whole(number, 4),
        "epsilon": (1.0 + draws.whole(number, 40)) / 8.0,
        "delta": draws.uniform(number, 1e-9, 1e-6),
        "rho": (1.0 + draws.whole(number, 40)) / 8.0,
        "window": draws.whole(number, 40) / 8.0,
        "replaced": (draws.uniform(number) < 0.3).astype(np.float64),
    }
