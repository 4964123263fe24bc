"""The interface of an engine: it takes a pseudo posterior and settings, and returns draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

__all__ = ["Engine", "Progress"]

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
        """Draw from the target.

        `previous` is a fit of the same model and table under other weights: chains start from it.
        """
