"""The priors of classes and their moves: of the classes' shares, and of what they have in common.

Class h takes the share V_h ~ Beta(1, a) of what the classes before it leave, and the last class
takes the rest. The concentration a has the prior Gamma(1/4, 1/4). Given the records of each class
the sticks V are Beta again, and given the sticks the concentration is a gamma variable. A small
concentration makes 1 - V smaller than any double, so both are drawn and kept as logarithms.

Column k has the shares phi_hk ~ Dirichlet(c_k m_k) in class h. Its common shares have the prior
m_k ~ Dirichlet(1/2, ..., 1/2), and its concentration c_k an exponential one of mean 5. Where the
counts show no dependence, c_k is large, and all classes have nearly the common shares. A flat prior
of each class alone would tie columns by chance where the noise is large.

Given the classes of the records both have known draws [teh2006]. Of the n_hc records of a code,
t_hc are draws of the common shares: the i-th record after the first one is with probability
c m_c / (c m_c + i). Then m follows from the sums of t over the classes, and c from their total.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts._sweep import drawn_of_common

_SHAPE: Final = 0.25  # Of the gamma prior of the concentration, as is its rate.
_COMMON: Final = 0.5  # The parameter of each code of the common shares' prior.
_RATE: Final = 0.2  # Of the exponential prior of the concentration: 5 records on average.
_FIRST: Final = 5.0


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


class ProfilePrior:
    """The prior of a column's shares in each class, which the records of all classes move.

    Codes that are `barred` of L have no share.
    """

    def __init__(self, L: int, barred: Sequence[int]) -> None:
        self._prior = np.full(L, _COMMON)
        self._prior[list(barred)] = 0.0
        self._common = self._prior / self._prior.sum()
        self._concentration = _FIRST

    def moved(self, counts: NDArray[np.int64], rng: np.random.Generator) -> Floats:
        """The parameters c m (L,), drawn given records by class and code (H, L)."""
        c = self._concentration
        drawn = drawn_of_common(counts, c * self._common, rng)
        gamma = rng.standard_gamma(drawn.sum(axis=0) + self._prior)
        self._common = gamma / gamma.sum()
        n = counts.sum(axis=1)
        n = n[n > 0]
        again = np.count_nonzero(rng.random(len(n)) * (n + c) < n)
        rate = _RATE - np.log(rng.beta(c + 1.0, n)).sum()
        self._concentration = rng.gamma(1.0 + drawn.sum() - again) / rate
        return np.asarray(self._concentration * self._common)
