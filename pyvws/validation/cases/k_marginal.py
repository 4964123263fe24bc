"""Cases of `pyvws.evaluation.k_marginal`: joint shares of pairs of columns."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.evaluation.k_marginal import worse_than_independent
from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws


def _codes(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Two to four columns; the synthetic table is longer, and has categories of its own."""
    (records,) = shape
    draws = Draws(seed)

    def table(n: int, most: int) -> Any:
        return np.column_stack([draws.whole(n, most + column) for column in range(2 + seed % 3)])

    return {"original": table(records, 2 + seed), "synthetic": table(records + seed, 1 + 2 * seed)}


def _scores(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Scores in few whole numbers, so that many lie exactly on a margin."""
    (scores,) = shape
    draws = Draws(seed)
    kinds = ("score", "independent", "bootstrap")
    return {**{kind: 988.0 + draws.whole(scores, 15) for kind in kinds}, "best": 1000.0}


def each_worse_than_independent(score: Any, independent: Any, bootstrap: Any, best: float) -> Any:
    """`worse_than_independent` of each place."""
    places = zip(score, independent, bootstrap, strict=True)
    return np.array([worse_than_independent(*scores, best=best) for scores in places], np.float64)


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
    _k_marginal(
        "worse-than-independent",
        "worse_than_independent",
        _scores,
        python_function="pyvws.validation.cases.k_marginal:each_worse_than_independent",
    ),
)
