"""What an engine is: a pseudo posterior and settings in, draws with diagnostics out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyvws.engines.diagnostics import Diagnostics
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.model import Draws
from pyvws.posterior.pseudo_posterior import PseudoPosterior

__all__ = ["Engine", "Posterior", "Progress"]

Progress = Callable[[int, int], None]
"""Called with (iterations done, iterations in all) while an engine runs."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Draws of one fit.

    Attributes
    ----------
    draws : dict of ndarray, each of shape (S, ...)
        Parameters by name, chain after chain.
    chains : int
        Number of chains; S is a multiple of it.
    diagnostics : Diagnostics
        R-hat, effective sample sizes, divergences.
    seconds : float
        Time that sampling took.
    engine : str
        Name of the engine.
    """

    draws: Draws
    chains: int
    diagnostics: Diagnostics
    seconds: float
    engine: str

    @property
    def n_draws(self) -> int:
        """S, the number of draws over all chains."""
        return len(next(iter(self.draws.values())))

    def draw(self, s: int) -> Draws:
        """The draw at place s, with a leading axis of 1."""
        return {name: values[s : s + 1] for name, values in self.draws.items()}

    def block(self, rows: slice) -> Draws:
        """The draws at the places `rows`."""
        return {name: values[rows] for name, values in self.draws.items()}


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

        `previous` is a fit of the same model and table under other weights, to start from.
        """
