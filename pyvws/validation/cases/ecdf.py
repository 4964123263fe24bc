"""Cases of `pyvws.evaluation.ecdf`: U_m and U_a."""

from __future__ import annotations

from typing import Any, Final

from pyvws.validation._case import Case
from pyvws.validation._draws import Draws

__all__ = ["CASES"]

_SHAPES: Final = ((1,), (11,), (70,))


def _datasets(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """One to five datasets of other sizes than the original; counts tie, amounts do not."""
    (records,) = shape
    draws = Draws(seed)
    values = draws.counts if seed % 2 else draws.amounts
    synthetic = [values(records + number) for number in range(seed)]
    original = values(records)
    if seed == 3:
        synthetic[1] = original.copy()
    return {"original": original, "synthetic": synthetic}


def _case(name: str, r_function: str, part: str) -> Case:
    return Case(
        id=f"ecdf/{name}",
        paper="risk2024",
        cites="utility measures U_m and U_a",
        script="ecdf",
        r_function=r_function,
        python_function="pyvws.evaluation.ecdf:ecdf_utility",
        part=part,
        arguments=_datasets,
        shapes=_SHAPES,
    )


CASES: Final = (
    _case("maximum", "ecdf_maximum", "maximum"),
    _case("average", "ecdf_average", "average"),
)
