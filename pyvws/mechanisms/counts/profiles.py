"""What the classes' shares of a column have in common: the prior of the shares of each class.

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
from typing import Final

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import Floats
from pyvws.mechanisms.counts._sweep import drawn_of_common

_COMMON: Final = 0.5  # The parameter of each code of the common shares' prior.
_RATE: Final = 0.2  # Of the exponential prior of the concentration: 5 records on average.
_FIRST: Final = 5.0


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
