"""What an engine is: a pseudo posterior and settings in, draws with diagnostics out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from pyvws._checks import open_unit_interval, whole_number
from pyvws.engines.diagnostics import Diagnostics
from pyvws.errors import InputError
from pyvws.models._model import Draws
from pyvws.pseudo_posterior import PseudoPosterior

__all__ = ["Engine", "Posterior", "Progress", "SamplerSettings"]

Progress = Callable[[int, int], None]
"""Called with (iterations done, iterations in all) while an engine runs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SamplerSettings:
    """Iterations of one fit: `warmup` and `draws` for each of `chains`; S = chains x draws.

    `target_accept` in (0, 1) trades speed for fewer divergences; larger = smaller steps.
    """

    draws: int = 1000
    warmup: int = 1000
    chains: int = 4
    target_accept: float = 0.8

    def __post_init__(self) -> None:
        for name in ("draws", "warmup", "chains"):
            object.__setattr__(self, name, whole_number(getattr(self, name), name, least=1))
        open_unit_interval(self.target_accept, "target_accept")
        if self.draws < 4:
            raise InputError(f"draws must be at least 4 for diagnostics. Got {self.draws}.")
        if self.warmup < 100:
            raise InputError(
                f"warmup must be at least 100, or the sampler cannot adapt. Got {self.warmup}."
            )


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
    ) -> Posterior:
        """Draw from the target."""
