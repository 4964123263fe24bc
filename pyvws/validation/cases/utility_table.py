"""Cases of `pyvws.evaluation.utility_table`: quantiles and means, averaged and their range."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SHAPES: Final = ((1,), (13,), (80,))
_LEVELS: Final = (
    (0.1, 0.15, 0.25, 0.5, 0.75, 0.9),
    (0.0, 1.0),
    (0.5,),
    (0.15, 0.9),
    (0.025, 0.1, 1 / 3, 0.7, 0.975),
)


def _datasets(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    (records,) = shape
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    return {
        "original": values(records),
        "synthetic": [values(records + number) for number in range(seed)],
        "probabilities": np.array(_LEVELS[seed - 1]),
    }


def _case(part: str) -> Case:
    return Case(
        id=f"utility_table/{part}",
        paper="risk2024",
        cites="utility of quantiles and means",
        script="utility_table",
        r_function=f"utility_{part}",
        python_function="pyvws.evaluation.utility_table:utility_table",
        part=part,
        arguments=_datasets,
        shapes=_SHAPES,
    )


CASES: Final = tuple(_case(part) for part in ("original", "average", "lowest", "highest"))
