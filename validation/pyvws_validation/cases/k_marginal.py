"""Cases of `pyvws.evaluation.k_marginal`: joint shares of pairs of columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.evaluation.k_marginal import worse_than_independent
from pyvws_validation._draws import Draws


def _codes(seed: int, records: int) -> dict[str, Any]:
    """Two to four columns; the synthetic table is longer, and has categories of its own."""
    draws = Draws(seed)

    def table(n: int, most: int) -> Any:
        return np.column_stack([draws.whole(n, most + column) for column in range(2 + seed % 3)])

    return {"original": table(records, 2 + seed), "synthetic": table(records + seed, 1 + 2 * seed)}


def _scores(seed: int, scores: int) -> dict[str, Any]:
    """Scores in few whole numbers, so that many lie exactly on a margin."""
    draws = Draws(seed)
    kinds = ("score", "independent", "bootstrap")
    return {**{kind: 988.0 + draws.whole(scores, 15) for kind in kinds}, "best": 1000.0}


def each_worse_than_independent(
    score: Floats, independent: Floats, bootstrap: Floats, best: float
) -> Floats:
    """`worse_than_independent` of each place."""
    places = zip(score, independent, bootstrap, strict=True)
    return np.array([worse_than_independent(*scores, best=best) for scores in places], np.float64)
