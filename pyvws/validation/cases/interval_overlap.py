"""Case of `pyvws.evaluation.interval_overlap`: apart, touching, nested and equal intervals."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]


def _intervals(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    (number,) = shape
    draws = Draws(seed)
    original = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    synthetic = draws.uniform(number, -5.0, 5.0), draws.uniform(number, 0.1, 4.0)
    first = np.column_stack([original[0], original[0] + original[1]])
    second = np.column_stack([synthetic[0], synthetic[0] + synthetic[1]])
    second[0] = first[0] if seed % 2 else (first[0, 1], first[0, 1] + 1.0)
    return {"original": first, "synthetic": second}


CASES: Final = (
    Case(
        id="interval_overlap/share",
        paper="karr2006",
        cites="the interval overlap",
        script="interval_overlap",
        r_function="interval_overlap",
        python_function="pyvws.evaluation.interval_overlap:interval_overlap",
        arguments=_intervals,
        shapes=((1,), (8,), (60,)),
    ),
)
