"""The registry of cases: a module has the name of the package's folder or part that it checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol

from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws_validation._case import read_cases
from pyvws_validation._stan_case import StanCase
from pyvws_validation.cases import (
    audits,
    censored_density,
    density,
    drawn_datasets,
    guarantee,
    mixture_density,
    noise,
    noisy_counts,
    posterior,
    printed,
    samplers,
    searched,
    stated_facts,
    table_steps,
    values,
    words,
)
from pyvws_validation.report import Row

__all__ = ["CASES", "MeasuredCase", "measured_cases", "stan_cases"]

CASES: Final = read_cases()
"""Every quantity that R computes too."""


class MeasuredCase(Protocol):
    """A case whose rows pass by measured numbers within limits, not by equal bits."""

    @property
    def id(self) -> str: ...

    @property
    def kind(self) -> str: ...

    def rows(self) -> Iterable[Row]:
        """Compare now, and give the rows."""


def measured_cases() -> tuple[MeasuredCase, ...]:
    """All measured cases: comparisons with Stan, with printed tables, and with runs' claims."""
    return (
        *stan_cases(),
        *printed.CASES,
        *searched.CASES,
        *values.CASES,
        *guarantee.CASES,
        *noise.CASES,
        *noisy_counts.CASES,
        *audits.CASES,
        *words.CASES,
        *stated_facts.CASES,
        *drawn_datasets.CASES,
        *samplers.CASES,
        *table_steps.CASES,
    )


def stan_cases() -> tuple[StanCase, ...]:
    """Cases that compare models with Stan; cases with CmdStan only where CmdStan is installed."""
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
