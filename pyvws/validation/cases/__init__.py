"""The registry of cases, one module for each module of the package that R checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws.validation._case import Case
from pyvws.validation._stan_case import AgainstStan, StanCase
from pyvws.validation.cases import (
    accounting,
    bootstrap,
    censored_density,
    censoring,
    combining_rules,
    density,
    ecdf,
    guarantee,
    identification_risk,
    interval_overlap,
    least_squares,
    lipschitz,
    match_risk,
    mixture_density,
    pairwise,
    perturbed_histogram,
    pmse,
    posterior,
    printed,
    r_random,
    rarith,
    reweight,
    searched,
    simulated_data,
    topcoding,
    truncation,
    utility_table,
    weights,
    whack_a_mole,
)
from pyvws.validation.report import Row

__all__ = ["CASES", "MeasuredCase", "measured_cases", "stan_cases"]

CASES: Final[tuple[Case, ...]] = (
    *rarith.CASES,
    *lipschitz.CASES,
    *weights.CASES,
    *reweight.CASES,
    *truncation.CASES,
    *censoring.CASES,
    *identification_risk.CASES,
    *pairwise.CASES,
    *perturbed_histogram.CASES,
    *match_risk.CASES,
    *ecdf.CASES,
    *r_random.CASES,
    *simulated_data.CASES,
    *bootstrap.CASES,
    *combining_rules.CASES,
    *interval_overlap.CASES,
    *least_squares.CASES,
    *pmse.CASES,
    *topcoding.CASES,
    *utility_table.CASES,
    *whack_a_mole.CASES,
    *accounting.CASES,
)


class MeasuredCase(Protocol):
    """What is judged by a measured number and its limits, not by bits; some rows each."""

    @property
    def kind(self) -> str: ...

    def rows(self) -> Iterable[Row]:
        """Compare now."""


def measured_cases() -> tuple[MeasuredCase, ...]:
    """All measured cases: against Stan, against printed tables, and against what runs claim."""
    return (
        *(AgainstStan(case) for case in stan_cases()),
        *printed.CASES,
        *searched.CASES,
        *guarantee.CASES,
    )


def stan_cases() -> tuple[StanCase, ...]:
    """Models against Stan; CmdStan, which no registry has, only where there is one."""
    return (
        *density.CASES,
        *censored_density.CASES,
        *mixture_density.CASES,
        *(case for case in posterior.CASES if case.engine != "cmdstan" or _has_cmdstan()),
    )


def _has_cmdstan() -> bool:
    try:
        engine_version("cmdstan")
    except MissingDependencyError:
        return False
    return True
