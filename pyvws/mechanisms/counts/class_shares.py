"""The prior of the classes' shares, a truncated Dirichlet process, and its moves.

Class h takes the share V_h ~ Beta(1, a) of what the classes before it leave, and the last class
takes the rest. The concentration a has the prior Gamma(1/4, 1/4). Given the records of each class
the sticks V are Beta again, and given the sticks the concentration is a gamma variable. A small
concentration makes 1 - V smaller than any double, so both are drawn and kept as logarithms.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from pyvws._base.checks import Floats

_SHAPE: Final = 0.25  # Of the gamma prior of the concentration, as is its rate.


class ClassShares:
    """The shares of H classes. The concentration is kept from move to move, and begins at 1."""

    def __init__(self) -> None:
        self._concentration: Any = np.ones(())

    def moved(self, number: Any, rng: np.random.Generator) -> Floats:
        """Shares (..., H), drawn given the number of records in each class (..., H)."""
        own, until = number[..., :-1], np.cumsum(number, axis=-1)
        beyond = until[..., -1:] - until[..., :-1]
        log_odds = _log_gamma(1.0 + own, rng)
        log_odds -= _log_gamma(self._concentration[..., None] + beyond, rng)
        log_stick, log_rest = -np.logaddexp(0.0, -log_odds), -np.logaddexp(0.0, log_odds)
        drawn = rng.standard_gamma(_SHAPE + own.shape[-1], own.shape[:-1])
        self._concentration = np.asarray(drawn / (_SHAPE - log_rest.sum(axis=-1)))
        none = np.zeros((*own.shape[:-1], 1))
        log_left = np.concatenate([none, np.cumsum(log_rest, axis=-1)], axis=-1)
        return np.asarray(np.exp(np.concatenate([log_stick, none], axis=-1) + log_left))


def _log_gamma(shape: Any, rng: np.random.Generator) -> Any:
    """Logarithms of gamma variables; gamma(a) = gamma(a + 1) U^(1/a) may be below any double."""
    return np.log(rng.standard_gamma(shape + 1.0)) - rng.standard_exponential(shape.shape) / shape
