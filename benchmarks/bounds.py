"""Lipschitz bounds: direct ones against reading the matrix once, the double loop against R's.

Seconds are the least of several runs, taken in turn. The R side of the loop is
`lipschitz_by_record` of r_reference/lipschitz.R, the papers' double loop. One read of the matrix is
NumPy's sum of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks._found import Entry, Found, Plan, Table, seconds_in_turn
from benchmarks._worker import Worker
from pyvws import lipschitz_bounds
from pyvws.r.bridge import call, r_available

__all__ = ["run"]

_RUNS = 7


def matrix(S: int, N: int) -> np.ndarray:
    """A log-likelihood matrix (S, N) of plausible size."""
    return -np.random.default_rng(1).gamma(20.0, 0.2, (S, N))


def direct(S: int, N: int) -> tuple[float, float]:
    """Seconds of one read, and of the direct bounds."""
    log_lik = matrix(S, N)
    calls: dict[str, Callable[[], Any]] = {
        "read": log_lik.sum,
        "bounds": lambda: lipschitz_bounds(log_lik),
    }
    lipschitz_bounds(log_lik[:2])  # compiles
    taken = seconds_in_turn(calls, _RUNS)
    return min(taken["read"]), min(taken["bounds"])


def leave_one_out(S: int, N: int) -> tuple[float, float]:
    """Seconds of R's loop, and of ours. Both must give the same bounds."""
    log_lik = matrix(S, N)
    given = {"log_lik": log_lik, "method": "leave_one_out"}
    calls: dict[str, Callable[[], Any]] = {
        "R": lambda: call("lipschitz", "lipschitz_by_record", given),
        "ours": lambda: lipschitz_bounds(log_lik, method="leave_one_out").by_record,
    }
    np.testing.assert_allclose(calls["ours"](), calls["R"](), rtol=0, atol=1e-9)
    taken = seconds_in_turn(calls, _RUNS)
    return min(taken["R"]), min(taken["ours"])


def run(plan: Plan) -> Found:
    """Both tables."""
    figures: dict[str, float] = {}
    rows: list[tuple[Entry, ...]] = []
    with Worker() as worker:
        for S, N in ((1000, 1000), (4000, 5000)):
            read, ours = worker.ask(direct, S, N)
            figures["bounds: direct over one read of the matrix"] = ours / read
            rows.append((S, N, read, ours, ours / read))
    columns = ("draws", "records", "one read, s", "bounds, s", "over one read")
    tables = [Table("Direct bounds", columns, rows, "The last row counts.")]
    available, reason = r_available()
    if not available:
        return Found(tables, figures, [f"leave-one-out bounds: {reason}"])
    loops: list[tuple[Entry, ...]] = []
    with Worker() as worker:
        for S, N in ((100, 300), (200, 600)):
            theirs, ours = worker.ask(leave_one_out, S, N)
            figures["bounds: leave-one-out over R's loop"] = theirs / ours
            loops.append((S, N, theirs, ours, theirs / ours))
    columns = ("draws", "records", "R, s", "pyvws, s", "R over pyvws")
    tables.append(Table("Leave-one-out bounds", columns, loops, "The last row counts."))
    return Found(tables, figures)
