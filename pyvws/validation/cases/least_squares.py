"""Cases of `pyvws.evaluation.least_squares`."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]


def _design(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A constant, and one to five columns of several scales."""
    (records,) = shape
    draws = Draws(seed)
    columns = [np.ones(records)]
    columns += [draws.bell(records, 2.0 * k, 2.0**k) for k in range(min(seed, records - 2))]
    design = np.column_stack(columns)
    return {"design": design, "y": design.sum(axis=1) + draws.bell(records, 0.0, 5.0)}


def _case(part: str) -> Case:
    return Case(
        id=f"least_squares/{part}",
        paper="reiter2003",
        cites="estimates and variances to combine",
        script="least_squares",
        r_function=f"{part}_of",
        python_function="pyvws.evaluation.least_squares:least_squares",
        part=part,
        arguments=_design,
        shapes=((3,), (12,), (80,)),
        tolerance=8192,
        why=(
            "R's lm and LAPACK order the operations of a QR decomposition differently: the error "
            "of each is a few ulp times the condition of the design, here up to 100, or its square "
            "where a residual is nearly 0."
        ),
    )


CASES: Final = (_case("coefficients"), _case("variances"))
