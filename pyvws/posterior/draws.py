"""The result of every engine: the draws of one fit, with their diagnostics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from pyvws.models.model import Draws
from pyvws.posterior.diagnostics import Diagnostics

Y_REP: Final = "y_rep"
"""Name of the predictive draws (S, N) that a fit may bring along; they are no parameters."""


@dataclass(frozen=True, slots=True)
class Posterior:
    """Draws of one fit.

    - `draws` (dict of ndarray, each of shape (S, ...)): Parameters by name, chain after chain.
    - `chains`: Number of chains; S is a multiple of it.
    - `diagnostics`: R-hat, effective sample sizes, divergences.
    - `seconds`: Time that sampling took.
    - `engine`: Name of the engine that drew; of a table, the names of all that drew a column.
    - `engines`: The engine of each column of a table; empty where one fit drew all.
    """

    draws: Draws
    chains: int
    diagnostics: Diagnostics
    seconds: float
    engine: str
    engines: tuple[str, ...] = ()

    @property
    def approximated(self) -> bool:
        """Whether any of the draws come from an approximation of the target."""
        return self.diagnostics.khat is not None

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
