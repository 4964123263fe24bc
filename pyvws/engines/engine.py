"""The interface of an engine: it takes a pseudo posterior and settings, and returns draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

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
