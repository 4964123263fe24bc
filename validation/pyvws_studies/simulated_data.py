"""The simulated data of the papers: the same numbers as R draws under the same seed.

The functions give the counts of section 3.1 of [vws2024], the mixture of section 2.4 of
[risk2024], and skewed proportions. The data are simulated: nothing here is confidential.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from pyvws._base.checks import Floats, whole_number
from pyvws.r_numbers.r_random import RRandom


def poisson_data(seed: int = 123, n: int = 1000, mu: float = 100.0) -> Floats:
    """Counts (n,) of ``set.seed(seed); rpois(n, mu)``, as in section 3.1 of [vws2024].

    >>> poisson_data(n=5).tolist()
    [94.0, 111.0, 83.0, 101.0, 117.0]
    """
    return RRandom(seed).rpois(n, mu).astype(np.float64)


def risk_efficient_counts(seed: int = 1234, n: int = 1000) -> Floats:
    """Counts (n,) of the mixture of section 2.4 of [risk2024]: 0.7 NB(100, 20) + 0.3 NB(100, 5).

    One record at a time, as the authors do after ``set.seed(seed)``: first the component by
    ``rmultinom(1, 1, c(0.7, 0.3))``, then the count by MASS's ``rnegbin(1, mu = 100, theta)``.

    >>> risk_efficient_counts(n=5).tolist()
    [107.0, 52.0, 94.0, 74.0, 132.0]
    """
    return mixture_counts(seed, n, shares=(0.7, 0.3), dispersions=(20.0, 5.0))


def mixture_counts(
    seed: int, n: int, *, shares: Sequence[float], dispersions: Sequence[float], mean: float = 100.0
) -> Floats:
    """Counts (n,) of a mixture of negative binomials of one mean, drawn one record at a time."""
    values = np.empty(whole_number(n, "n", least=0))
    stream = RRandom(seed)
    for record in range(n):
        component = int(stream.rmultinom(1, 1, shares).argmax())
        values[record] = stream.rnegbin(1, mean, dispersions[component])[0]
    return values


def beta_proportions(seed: int, n: int = 2000, shape1: float = 0.5, shape2: float = 3.0) -> Floats:
    """Proportions (n,) of ``set.seed(seed); rbeta(n, shape1, shape2)``, many of them near 0.

    >>> beta_proportions(123, n=2).round(4).tolist()
    [0.2582, 0.0007]
    """
    return RRandom(seed).rbeta(n, shape1, shape2)
