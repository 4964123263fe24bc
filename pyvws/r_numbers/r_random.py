"""R's random numbers, to the bit and without R: `RRandom`.

R's default generator is the Mersenne Twister, with inversion for normal numbers. Calls on one
`RRandom` use up the stream as the same calls do in R after ``set.seed``. Each distribution has a
module of its own, written from the published algorithm that R's help pages name.

Logarithms, exponentials and roots come from the C library, which R calls too. The project
compared every number with R 4.2 on Linux with x86-64. The last bits can differ under another C
library, or where R was compiled with fused operations.

R's stream serves to reproduce R's results. The stream is not secret and must protect nothing.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike

from pyvws._base.checks import whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._distributions import Distributions
from pyvws.r_numbers._parameters import probabilities
from pyvws.r_numbers._positions import (
    Positions,
    fill_by_alias,
    fill_by_search,
    fill_distinct,
    fill_distinct_by_search,
    fill_distinct_of_many,
    fill_positions,
)
from pyvws.r_numbers._stream import LARGEST

_MOST_SHUFFLED: Final = 10_000_000  # For more values R keeps a list of drawn ones.
_MOST_SEARCHED: Final = 200  # For more values that are probable enough R uses the alias method.
_PROBABLE: Final = 0.1  # Such a value has at least this share of the average probability.


class RRandom(Distributions):
    """A stream of R's default generator after ``set.seed(seed)``.

    `runif`, `rnorm`, `rexp`, `rgamma`, `rbeta`, `rpois`, `rbinom`, `rnbinom`, `rnegbin`,
    `rmultinom`, `sample` and `sample_int` give R's numbers from one stream. For the first ten, `n`
    is how many numbers (n,) are drawn. Parameters are numbers or vectors (k,), which repeat as in
    R. An InputError names one that is not finite or out of its range.

    Parameters
    ----------
    seed : int
        One of R's integers, from -(2^31 - 1) to 2^31 - 1.
    sample_kind : {"rejection", "rounding"}
        The rule for samples. "rejection" is R's rule since 3.6. "rounding" is R's earlier rule, for
        ``RNGkind(sample.kind = "Rounding")`` and older archives.

    Raises
    ------
    InputError
        If the seed is no whole number or outside that range, or the kind is unknown.

    Examples
    --------
    >>> RRandom(123).runif(2).tolist()
    [0.28757752012461424, 0.7883051354438066]
    >>> stream = RRandom(1)
    >>> stream.rpois(3, [1, 10, 100]).tolist(), stream.rnorm(1).round(4).tolist()
    ([0, 8, 113], [1.2724])
    """

    __slots__ = ()

    def sample(
        self, n: int, size: int, *, replace: bool = True, prob: ArrayLike | None = None
    ) -> Positions:
        """R's ``sample.int(n, size, replace, prob)``, here with replacement by default.

        `sample` differs from `sample_int` in this default alone, which serves the bootstrap.

        Parameters
        ----------
        n, size, replace, prob
            As in `sample_int`.

        Returns
        -------
        ndarray of int, shape (size,)

        Raises
        ------
        InputError
            As in `sample_int`.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).sample(10, 5).tolist()
        [3, 3, 10, 2, 6]
        """
        return self.sample_int(n, size, replace=replace, prob=prob)

    def sample_int(
        self,
        n: int,
        size: int | None = None,
        *,
        replace: bool = False,
        prob: ArrayLike | None = None,
    ) -> Positions:
        """R's ``sample.int(n, size, replace, prob)``: whole numbers 1, ..., n.

        For a vector of two or more values, R's ``sample(x, ...)`` takes the values at these
        positions: ``x[stream.sample_int(len(x), ...) - 1]``.

        Parameters
        ----------
        n : int
            The largest number, from 1 to 2^31 - 1.
        size : int, optional
            How many numbers to draw; by default n.
        replace : bool
            Whether the sample may hold a number more than once.
        prob : array_like, shape (n,), optional
            Weights of at least 0; the weights need not add up to 1. Without replacement the weights
            give the probabilities of the next draw among the numbers left.

        Returns
        -------
        ndarray of int, shape (size,)

        Raises
        ------
        InputError
            For a number out of range, for negative or missing weights, or for more draws without
            replacement than there are numbers that can be drawn.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).sample_int(10).tolist()
        [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]
        >>> RRandom(123).sample_int(3, 5, replace=True, prob=[0.2, 0.3, 0.5]).tolist()
        [3, 2, 3, 1, 1]
        """
        below = whole_number(n, "n", least=1)
        if below > LARGEST:
            raise InputError.by("too-many-numbers", largest=LARGEST, below=below)
        count = below if size is None else whole_number(size, "size", least=0)
        if not replace and count > below:
            raise InputError.by("sample-beyond-n", count=count, below=below)
        values = np.empty(count, dtype=np.int64)
        bits = -1 if self._rounding else (below - 1).bit_length()
        if prob is not None:
            self._weighted(below, bits, replace, probabilities(prob, "prob"), values)
        elif replace or count < 2:
            fill_positions(self._stream, below, bits, values)
        elif below > _MOST_SHUFFLED and count <= below / 2:
            fill_distinct_of_many(self._stream, below, bits, values)
        else:
            fill_distinct(self._stream, below, bits, values)
        return values

    def _weighted(
        self, n: int, bits: int, replace: bool, shares: np.ndarray[Any, Any], values: Positions
    ) -> None:
        if len(shares) != n:
            raise InputError.by("prob-length", n=n, shares=len(shares))
        possible = int((shares > 0.0).sum())
        if not replace and len(values) > possible:
            raise InputError.by("sample-beyond-prob", values=len(values), possible=possible)
        if not replace:
            fill_distinct_by_search(self._stream, shares, values)
        elif (n * shares > _PROBABLE).sum() > _MOST_SEARCHED:
            fill_by_alias(self._stream, shares, bits, values)
        else:
            fill_by_search(self._stream, shares, values)
