"""The interface of an engine: it takes a pseudo posterior and settings, and returns draws.

Where a sampler fails, there is advice on the design matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import InputError
from pyvws.posterior.draws import Posterior
from pyvws.posterior.joint_target import JointTarget
from pyvws.posterior.pseudo_posterior import PseudoPosterior

Progress = Callable[[int, int], None]
"""Called with (iterations done, iterations in all) while an engine runs."""


class Engine(Protocol):
    """Samples a pseudo posterior; the same seed gives the same draws."""

    @property
    def name(self) -> str: ...

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        """Draw from the target; chains start from `previous`, a fit of it under other weights."""


@runtime_checkable
class TableEngine(Protocol):
    """An engine that samples all columns of a table as one target, which a table's clamp makes."""

    def sample_table(
        self,
        target: JointTarget,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> Posterior:
        """Draw from the target; the draws are named "column.parameter"."""


def table_engine(engine: object, name: str) -> TableEngine:
    """The engine, or the class of one, of that name; InputError if it samples column by column."""
    if isinstance(engine, TableEngine):
        return engine
    raise InputError.by("engine-one-column", name=name)


_MOST_COLUMNS = 50  # Each pair of coefficients has a correlation of its own in the prior.
_LARGE = 1e3  # Times 1, where the prior expects coefficients.


def design_remedy(design: Floats) -> str:
    """A sentence on a design (N, K) of too many columns or columns far from 1; else empty."""
    K = design.shape[1]
    if K == 1:  # An intercept, or the numbers of a conditional table's patterns.
        return ""
    if K > _MOST_COLUMNS:
        return (
            f"There are too many design columns ({K}). Join levels, or take predictors out of the "
            "formula."
        )
    sizes = np.abs(design).max(axis=0, initial=0.0)
    if ((sizes > _LARGE) | ((sizes > 0) & (sizes < 1 / _LARGE))).any():  # 0: an unseen level.
        return "Rescale the predictors: choose units in which their values are near 1."
    return ""


def failure_remedy(design: Floats | None) -> str:
    """The sentence of `design_remedy`, or else general advice; `design` may be None."""
    remedy = "" if design is None else design_remedy(np.atleast_2d(design))
    return remedy or "Check that the weights leave enough of the data, or choose another model."
