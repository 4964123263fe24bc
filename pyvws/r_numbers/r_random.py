"""R's random numbers, to the bit and without R: `RRandom`.

R's default generator is the Mersenne Twister, with inversion for normal numbers. Calls on one
`RRandom` use up the stream as the same calls do in R after ``set.seed``. Each distribution is
written from the published algorithm that R's help pages name.

Logarithms, exponentials and roots come from the C library, which R calls too. The project
compared every number with R 4.2 on Linux with x86-64. The last bits can differ under another C
library, or where R was compiled with fused operations.

R's stream serves to reproduce R's results. The stream is not secret and must protect nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, choice, positions, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._continuous import fill_beta, fill_exponential, fill_gamma, fill_normal
from pyvws.r_numbers._discrete import (
    conditional_shares,
    fill_binomial,
    fill_multinomial,
    fill_negative_binomial,
    fill_poisson,
)
from pyvws.r_numbers._stream import (
    LARGEST,
    Positions,
    Stream,
    fill_by_alias,
    fill_by_search,
    fill_distinct,
    fill_distinct_by_search,
    fill_distinct_of_many,
    fill_positions,
    fill_uniform,
    fresh_stream,
)

_MOST_TRIALS: Final = 2**31 - 2  # For more trials R draws in another way.
_MOST_SHUFFLED: Final = 10_000_000  # For more values R keeps a list of drawn ones.
_MOST_SEARCHED: Final = 200  # For more values that are probable enough R uses the alias method.
_PROBABLE: Final = 0.1  # Such a value has at least this share of the average probability.

Whole = NDArray[np.int64]


Rule = tuple[str, Callable[[Floats], NDArray[np.bool_]]]
"""The condition on every value of a parameter, in words and as a check."""

_ANY: Final[Rule] = ("finite", np.isfinite)
_ABOVE_0: Final[Rule] = ("finite and above 0", lambda x: x > 0.0)
_FROM_0: Final[Rule] = ("finite and at least 0", lambda x: x >= 0.0)
_SHARE: Final[Rule] = ("in [0, 1]", lambda x: (x >= 0.0) & (x <= 1.0))
_TRIALS: Final[Rule] = (
    f"a whole number from 0 to {_MOST_TRIALS}",
    lambda x: (x >= 0.0) & (x <= _MOST_TRIALS) & (x == np.floor(x)),
)


def _parameter(value: ArrayLike, name: str, n: int, rule: Rule) -> Floats:
    """A parameter as an array: (1,) for one number, or a vector repeated to n numbers as in R."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError.by("r-parameter-not-numbers", name=name) from None
    if array.ndim > 1 or array.size == 0:
        raise InputError.by("r-parameter-shape", name=name, shape=array.shape)
    array = array.reshape(-1)
    words, holds = rule
    bad = ~(np.isfinite(array) & holds(array))
    if bad.any():
        raise InputError.by("r-parameter", name=name, words=words, bad=positions(bad))
    return array if array.size == 1 else array[np.arange(n) % array.size]


def _probabilities(value: ArrayLike, name: str) -> Floats:
    """Weights of at least 0, divided by their sum, shape (K,)."""
    array = _parameter(value, name, np.size(value), _FROM_0)
    total = np.add.accumulate(array)[-1]  # R adds in this order.
    if not 0.0 < total < np.inf:
        raise InputError.by("probabilities-without-sum", name=name)
    return array / total


def _whole_numbers(counts: Floats) -> NDArray[np.int64]:
    """Counts as integers."""
    if not (counts < 2.0**63).all():
        raise InputError.by("drawn-count-too-large")
    return counts.astype(np.int64)


class RRandom:
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

    __slots__ = ("_rounding", "_stream")

    _stream: Stream
    _rounding: bool

    def __init__(self, seed: int, sample_kind: str = "rejection") -> None:
        value = whole_number(seed, "seed", least=-LARGEST)
        if value > LARGEST:
            raise InputError.by("seed-too-large", largest=LARGEST, value=value)
        choice(sample_kind, "sample_kind", ("rejection", "rounding"))
        self._rounding = sample_kind == "rounding"
        self._stream = fresh_stream(np.uint64(value % 2**32))

    def runif(self, n: int, min: ArrayLike = 0.0, max: ArrayLike = 1.0) -> Floats:
        """R's ``runif(n, min, max)``: uniform numbers, by default strictly between 0 and 1.

        As in R, equal ends return their common value and draw nothing.

        >>> from pyvws import RRandom
        >>> RRandom(123).runif(2, max=[1, 10]).round(4).tolist()
        [0.2876, 7.8831]
        """
        n, values = _room(n)
        low, high = _parameter(min, "min", n, _ANY), _parameter(max, "max", n, _ANY)
        if (low > high).any():
            raise InputError.by("max-below-min", it=positions(low > high))
        fill_uniform(self._stream, low, high, values)
        return values

    def rnorm(self, n: int, mean: ArrayLike = 0.0, sd: ArrayLike = 1.0) -> Floats:
        """R's ``rnorm(n, mean, sd)``: normal numbers by inversion [wichura1988]; sd of at least 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rnorm(3).round(4).tolist()
        [-0.5605, -0.2302, 1.5587]
        """
        n, values = _room(n)
        centre, spread = _parameter(mean, "mean", n, _ANY), _parameter(sd, "sd", n, _FROM_0)
        fill_normal(self._stream, centre, spread, values)
        return values

    def rexp(self, n: int, rate: ArrayLike = 1.0) -> Floats:
        """R's ``rexp(n, rate)``: exponential numbers of mean 1 / rate [ahrens1972]; rates above 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rexp(3).round(4).tolist()
        [0.8435, 0.5766, 1.3291]
        """
        n, values = _room(n)
        fill_exponential(self._stream, 1.0 / _parameter(rate, "rate", n, _ABOVE_0), values)
        return values

    def rgamma(
        self,
        n: int,
        shape: ArrayLike,
        rate: ArrayLike | None = None,
        *,
        scale: ArrayLike | None = None,
    ) -> Floats:
        """R's ``rgamma(n, shape, rate)``: gamma numbers of mean shape / rate [gd1982].

        A shape of 0 gives 0. `scale` of 1 / rate, at least 0, can stand for `rate`, which is above
        0, and 1 if neither is given.

        >>> from pyvws import RRandom
        >>> RRandom(123).rgamma(2, shape=2.0, rate=0.5).round(4).tolist()
        [1.7842, 6.6237]
        """
        n, values = _room(n)
        if rate is not None and scale is not None:
            raise InputError.by("rate-and-scale")
        if scale is None:
            factor = 1.0 / _parameter(1.0 if rate is None else rate, "rate", n, _ABOVE_0)
        else:
            factor = _parameter(scale, "scale", n, _FROM_0)
        fill_gamma(self._stream, _parameter(shape, "shape", n, _FROM_0), factor, values)
        return values

    def rbeta(self, n: int, shape1: ArrayLike, shape2: ArrayLike) -> Floats:
        """R's ``rbeta(n, shape1, shape2)``: beta numbers [cheng1978]; shapes above 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rbeta(2, 0.5, 3.0).round(4).tolist()
        [0.2582, 0.0007]
        """
        n, values = _room(n)
        first = _parameter(shape1, "shape1", n, _ABOVE_0)
        second = _parameter(shape2, "shape2", n, _ABOVE_0)
        fill_beta(self._stream, first, second, values)
        return values

    def rpois(self, n: int, mu: ArrayLike) -> Whole:
        """R's ``rpois(n, lambda)``: Poisson counts [pd1982]; means `mu` of at least 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rpois(5, 100).tolist()
        [94, 111, 83, 101, 117]
        """
        n, values = _room(n)
        fill_poisson(self._stream, _parameter(mu, "mu", n, _FROM_0), values)
        return _whole_numbers(values)

    def rbinom(self, n: int, size: ArrayLike, prob: ArrayLike) -> Whole:
        """R's ``rbinom(n, size, prob)``: binomial counts [btpe1988].

        Sizes are whole numbers from 0 to 2^31 - 2, and probabilities lie in [0, 1].

        >>> from pyvws import RRandom
        >>> RRandom(123).rbinom(5, 10, 0.5).tolist()
        [4, 6, 5, 7, 7]
        """
        n, values = _room(n)
        trials = _parameter(size, "size", n, _TRIALS)
        fill_binomial(self._stream, trials, _parameter(prob, "prob", n, _SHARE), values)
        return _whole_numbers(values)

    def rnbinom(
        self, n: int, size: ArrayLike, prob: ArrayLike | None = None, *, mu: ArrayLike | None = None
    ) -> Whole:
        """R's ``rnbinom``: negative binomial counts by prob, above 0 and at most 1, or by mu.

        The variance is mu + mu^2 / size, for sizes above 0 and mu = size (1 - prob) / prob; larger
        sizes = closer to Poisson.

        >>> from pyvws import RRandom
        >>> RRandom(123).rnbinom(5, 20, mu=100).tolist()
        [96, 64, 144, 56, 130]
        """
        n, values = _room(n)
        shape = _parameter(size, "size", n, _ABOVE_0)
        if mu is not None and prob is None:
            scale = _parameter(mu, "mu", n, _FROM_0) / shape
        elif prob is not None and mu is None:
            share = _parameter(prob, "prob", n, _SHARE)
            if (share == 0.0).any():
                raise InputError.by("prob-not-above-0", it=positions(share == 0.0))
            scale = (1.0 - share) / share
        else:
            raise InputError.by("prob-or-mu")
        fill_negative_binomial(self._stream, shape, scale, values)
        return _whole_numbers(values)

    def rnegbin(self, n: int, mu: ArrayLike, theta: ArrayLike) -> Whole:
        """MASS's ``rnegbin(n, mu, theta)``: negative binomial counts [venables2002].

        The variance is mu + mu^2 / theta, for theta above 0; larger = closer to Poisson. As in
        MASS, the stream first gives all gamma numbers, then all counts.

        >>> from pyvws import RRandom
        >>> RRandom(123).rnegbin(5, 100, 20).tolist()
        [89, 111, 49, 112, 143]
        """
        n, values = _room(n)
        mean = _parameter(mu, "mu", n, _FROM_0)
        shape = _parameter(theta, "theta", n, _ABOVE_0)
        fill_gamma(self._stream, shape, np.ones(1), values)
        fill_poisson(self._stream, mean * values / shape, values)
        return _whole_numbers(values)

    def rmultinom(self, n: int, size: int, prob: ArrayLike) -> Whole:
        """R's ``rmultinom(n, size, prob)``: n multinomial counts, one in each column of (K, n).

        A column adds up to `size`, from 0 to 2^31 - 2. `prob` (K,) are weights of at least 0, which
        need not add up to 1.

        >>> from pyvws import RRandom
        >>> RRandom(1234).rmultinom(3, 1, [0.7, 0.3]).tolist()
        [[1, 1, 1], [0, 0, 0]]
        """
        n, _ = _room(n)
        trials = _parameter(whole_number(size, "size", least=0), "size", 1, _TRIALS)
        shares = conditional_shares(_probabilities(prob, "prob"))
        values = np.empty((len(shares), n))
        fill_multinomial(self._stream, trials[0], shares, values)
        return _whole_numbers(values)

    def sample(
        self, n: int, size: int, *, replace: bool = True, prob: ArrayLike | None = None
    ) -> Positions:
        """R's ``sample.int(n, size, replace, prob)``, here with replacement by default.

        `sample` differs from `sample_int` in this default alone, which serves the bootstrap.

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
            self._weighted(below, bits, replace, _probabilities(prob, "prob"), values)
        elif replace or count < 2:
            fill_positions(self._stream, below, bits, values)
        elif below > _MOST_SHUFFLED and count <= below / 2:
            fill_distinct_of_many(self._stream, below, bits, values)
        else:
            fill_distinct(self._stream, below, bits, values)
        return values

    def _weighted(
        self, n: int, bits: int, replace: bool, shares: Floats, values: Positions
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


def _room(n: int) -> tuple[int, Floats]:
    """A checked number of draws, and room for them (n,)."""
    n = whole_number(n, "n", least=0)
    return n, np.empty(n)
