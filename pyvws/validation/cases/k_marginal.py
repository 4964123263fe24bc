"""Cases of `pyvws.evaluation.k_marginal`: joint shares of pairs of columns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws

__all__ = ["CASES"]


def _codes(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two to four columns; the synthetic table is longer, and has categories of its own."""
    (records,) = shape
    draws = Draws(seed)

    def table(n: int, most: int) -> Any:
        return np.column_stack([draws.whole(n, most + column) for column in range(2 + seed % 3)])

    return {"original": table(records, 2 + seed), "synthetic": table(records + seed, 1 + 2 * seed)}


_k_marginal = cases_of(
    "k_marginal",
    paper="nist2023",
    cites="the k-marginal score with k = 2",
    python_function="pyvws.evaluation.k_marginal:pair_distances",
    shapes=((1,), (12,), (90,)),
)
CASES: Final = (
    _k_marginal("distances", "pair_distances", _codes, part="distances"),
    _k_marginal("score", "k_marginal_score", _codes, part="score"),
)
