"""Lipschitz bounds: direct ones against reading the matrix once, the double loop against R's.

Seconds of this process, the least of several runs each, taken in turn. The R side is
`lipschitz_by_record` of r_reference/lipschitz.R, the papers' double loop; it needs R.

    python benchmarks/bounds.py
"""

from __future__ import annotations

from time import perf_counter

import numpy as np
from rich.console import Console
from rich.table import Table

from pyvws.errors import MissingDependencyError
from pyvws.lipschitz import lipschitz_bounds
from pyvws.r.bridge import call

RUNS = 5


def least(calls: dict[str, object]) -> dict[str, float]:
    """Least seconds of each call, all of them run in turn."""
    found = dict.fromkeys(calls, np.inf)
    for _ in range(RUNS):
        for name, act in calls.items():
            began = perf_counter()
            act()  # type: ignore[operator]
            found[name] = min(found[name], perf_counter() - began)
    return found


def loop_of(matrix: np.ndarray) -> dict[str, object]:
    """Arguments of the R function."""
    return {"log_lik": matrix, "method": "leave_one_out"}


def main() -> None:
    """Print both tables."""
    console = Console()
    rng = np.random.default_rng(1)
    direct = Table(title="direct bounds over one pass over the matrix")
    for name in ("draws x records", "read once", "bounds", "ratio"):
        direct.add_column(name, justify="right")
    for S, N in ((1000, 1000), (4000, 5000)):
        matrix = -rng.gamma(20.0, 0.2, (S, N))
        took = least({"read": matrix.sum, "bounds": lambda m=matrix: lipschitz_bounds(m)})
        ratio = took["bounds"] / took["read"]
        direct.add_row(
            f"{S} x {N}", f"{took['read']:.4f} s", f"{took['bounds']:.4f} s", f"{ratio:.1f}"
        )
    console.print(direct)
    loop = Table(title="leave-one-out bounds against the papers' loop in R")
    for name in ("draws x records", "R", "ours", "ratio"):
        loop.add_column(name, justify="right")
    for S, N in ((100, 300), (200, 600)):
        matrix = -rng.gamma(20.0, 0.2, (S, N))
        try:
            took = least(
                {
                    "R": lambda m=matrix: call(
                        "lipschitz",
                        "lipschitz_by_record",
                        {"log_lik": m, "method": "leave_one_out"},
                    ),
                    "ours": lambda m=matrix: lipschitz_bounds(m, method="leave_one_out"),
                }
            )
        except MissingDependencyError as missing:
            console.print(f"R is left out: {missing}", markup=False, highlight=False)
            return
        ratio = took["R"] / took["ours"]
        loop.add_row(f"{S} x {N}", f"{took['R']:.3f} s", f"{took['ours']:.3f} s", f"{ratio:.1f}")
    console.print(loop)


if __name__ == "__main__":
    main()
