"""Cases of `pyvws.evaluation.pmse`: logistic propensity scores and their null distribution."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]


def _designs(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A constant and one to three columns; synthetic records moved a little, another number."""
    (records,) = shape
    draws = Draws(seed)
    width = 1 + seed % 3

    def design(n: int, centre: float) -> Any:
        return np.column_stack([np.ones(n), *(draws.bell(n, centre, 1.0) for _ in range(width))])

    return {"original": design(records, 0.0), "synthetic": design(records + 10 * seed, 0.4)}


def _case(part: str, **more: Any) -> Case:
    return Case(
        id=f"pmse/{part}",
        paper="snoke2018",
        cites="the propensity score mean squared error",
        script="pmse",
        r_function=f"pmse_{part}",
        python_function="pyvws.evaluation.pmse:logistic_pmse",
        part=part,
        arguments=_designs,
        shapes=((30,), (80,), (200,)),
        **more,
    )


CASES: Final = (
    _case(
        "value",
        tolerance=4096,
        why=(
            "Both sides solve the same equations by Fisher scoring and stop within 1e-14 of the "
            "fitted probabilities; their distances from the share are some 100 times smaller."
        ),
    ),
    _case("null_mean"),
    _case("null_sd"),
)
