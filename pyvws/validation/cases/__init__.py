"""The registry of cases, one module for each module of the package that R checks."""

from __future__ import annotations

from typing import Final

from pyvws.validation._case import Case
from pyvws.validation._stan_case import StanCase
from pyvws.validation.cases import (
    density,
    ecdf,
    identification_risk,
    lipschitz,
    rarith,
    reweight,
    weights,
)

__all__ = ["CASES", "stan_cases"]

CASES: Final[tuple[Case, ...]] = (
    *rarith.CASES,
    *lipschitz.CASES,
    *weights.CASES,
    *reweight.CASES,
    *identification_risk.CASES,
    *ecdf.CASES,
)


def stan_cases() -> tuple[StanCase, ...]:
    """Models against Stan."""
    return density.CASES
