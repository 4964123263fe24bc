"""Cases of `pyvws.models.conditional_table`: the weighted counts of a Dirichlet posterior."""

from __future__ import annotations

from typing import Any, Final

from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws

__all__ = ["CASES"]


def _records(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Few or many patterns; some have no record, and some records have weight 0 or 1."""
    (N,) = shape
    draws, P, L = Draws(seed), 1 + 3 * seed, 2 + seed
    weights = draws.uniform(N)
    weights[::4] = 0.0
    weights[1::5] = 1.0
    return {
        "pattern": draws.whole(N, P),
        "level": draws.whole(N, L),
        "weights": weights,
        "P": P,
        "L": L,
    }


_conditional_table = cases_of(
    "conditional_table",
    paper="vws2024",
    cites="Equation 3, for shares with a Dirichlet prior",
    python_function="pyvws.models.conditional_table:weighted_counts",
    shapes=((1,), (12,), (300,)),
)
CASES: Final = (_conditional_table("counts", "weighted_counts", _records),)
