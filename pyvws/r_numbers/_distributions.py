"""R's runif, rnorm, rexp, rgamma, rbeta, rpois, rbinom, rnbinom, rmultinom, MASS's rnegbin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pyvws._base.checks import Floats, positions, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._beta import fill_beta
from pyvws.r_numbers._binomial import conditional_shares, fill_binomial, fill_multinomial
from pyvws.r_numbers._exponential import fill_exponential
from pyvws.r_numbers._gamma import fill_gamma
from pyvws.r_numbers._normal import fill_normal
from pyvws.r_numbers._parameters import (
    ABOVE_ZERO,
    ANY,
    NOT_NEGATIVE,
    PROBABILITY,
    TRIALS,
    parameter,
    probabilities,
    whole_numbers,
)
from pyvws.r_numbers._poisson import fill_negative_binomial, fill_poisson
from pyvws.r_numbers._stream import Seeded, fill_uniform

Whole = NDArray[np.int64]


class Distributions(Seeded):
    """Draws from distributions.

    Each method takes n, how many numbers it draws, and parameters that are numbers or vectors (k,),
    which repeat as in R. It returns the numbers (n,), and raises InputError for a parameter that is
    not finite or out of its range.
    """

    __slots__ = ()

    def runif(self, n: int, min: ArrayLike = 0.0, max: ArrayLike = 1.0) -> Floats:
        """R's ``runif(n, min, max)``: uniform numbers, by default strictly between 0 and 1.

        As in R, equal ends return their common value and draw nothing.

        >>> from pyvws import RRandom
        >>> RRandom(123).runif(2, max=[1, 10]).round(4).tolist()
        [0.2876, 7.8831]
        """
        n, values = _room(n)
        low, high = parameter(min, "min", n, ANY), parameter(max, "max", n, ANY)
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
        centre, spread = parameter(mean, "mean", n, ANY), parameter(sd, "sd", n, NOT_NEGATIVE)
        fill_normal(self._stream, centre, spread, values)
        return values

    def rexp(self, n: int, rate: ArrayLike = 1.0) -> Floats:
        """R's ``rexp(n, rate)``: exponential numbers of mean 1 / rate [ahrens1972]; rates above 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rexp(3).round(4).tolist()
        [0.8435, 0.5766, 1.3291]
        """
        n, values = _room(n)
        fill_exponential(self._stream, 1.0 / parameter(rate, "rate", n, ABOVE_ZERO), values)
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
            factor = 1.0 / parameter(1.0 if rate is None else rate, "rate", n, ABOVE_ZERO)
        else:
            factor = parameter(scale, "scale", n, NOT_NEGATIVE)
        fill_gamma(self._stream, parameter(shape, "shape", n, NOT_NEGATIVE), factor, values)
        return values

    def rbeta(self, n: int, shape1: ArrayLike, shape2: ArrayLike) -> Floats:
        """R's ``rbeta(n, shape1, shape2)``: beta numbers [cheng1978]; shapes above 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rbeta(2, 0.5, 3.0).round(4).tolist()
        [0.2582, 0.0007]
        """
        n, values = _room(n)
        first = parameter(shape1, "shape1", n, ABOVE_ZERO)
        second = parameter(shape2, "shape2", n, ABOVE_ZERO)
        fill_beta(self._stream, first, second, values)
        return values

    def rpois(self, n: int, mu: ArrayLike) -> Whole:
        """R's ``rpois(n, lambda)``: Poisson counts [pd1982]; means `mu` of at least 0.

        >>> from pyvws import RRandom
        >>> RRandom(123).rpois(5, 100).tolist()
        [94, 111, 83, 101, 117]
        """
        n, values = _room(n)
        fill_poisson(self._stream, parameter(mu, "mu", n, NOT_NEGATIVE), values)
        return whole_numbers(values)

    def rbinom(self, n: int, size: ArrayLike, prob: ArrayLike) -> Whole:
        """R's ``rbinom(n, size, prob)``: binomial counts [btpe1988].

        Sizes are whole numbers from 0 to 2^31 - 2, and probabilities lie in [0, 1].

        >>> from pyvws import RRandom
        >>> RRandom(123).rbinom(5, 10, 0.5).tolist()
        [4, 6, 5, 7, 7]
        """
        n, values = _room(n)
        trials = parameter(size, "size", n, TRIALS)
        fill_binomial(self._stream, trials, parameter(prob, "prob", n, PROBABILITY), values)
        return whole_numbers(values)

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
        shape = parameter(size, "size", n, ABOVE_ZERO)
        if mu is not None and prob is None:
            scale = parameter(mu, "mu", n, NOT_NEGATIVE) / shape
        elif prob is not None and mu is None:
            share = parameter(prob, "prob", n, PROBABILITY)
            if (share == 0.0).any():
                raise InputError.by("prob-not-above-0", it=positions(share == 0.0))
            scale = (1.0 - share) / share
        else:
            raise InputError.by("prob-or-mu")
        fill_negative_binomial(self._stream, shape, scale, values)
        return whole_numbers(values)

    def rnegbin(self, n: int, mu: ArrayLike, theta: ArrayLike) -> Whole:
        """MASS's ``rnegbin(n, mu, theta)``: negative binomial counts [venables2002].

        The variance is mu + mu^2 / theta, for theta above 0; larger = closer to Poisson. As in
        MASS, the stream first gives all gamma numbers, then all counts.

        >>> from pyvws import RRandom
        >>> RRandom(123).rnegbin(5, 100, 20).tolist()
        [89, 111, 49, 112, 143]
        """
        n, values = _room(n)
        mean = parameter(mu, "mu", n, NOT_NEGATIVE)
        shape = parameter(theta, "theta", n, ABOVE_ZERO)
        fill_gamma(self._stream, shape, np.ones(1), values)
        fill_poisson(self._stream, mean * values / shape, values)
        return whole_numbers(values)

    def rmultinom(self, n: int, size: int, prob: ArrayLike) -> Whole:
        """R's ``rmultinom(n, size, prob)``: n multinomial counts, one in each column of (K, n).

        A column adds up to `size`, from 0 to 2^31 - 2. `prob` (K,) are weights of at least 0, which
        need not add up to 1.

        >>> from pyvws import RRandom
        >>> RRandom(1234).rmultinom(3, 1, [0.7, 0.3]).tolist()
        [[1, 1, 1], [0, 0, 0]]
        """
        n, _ = _room(n)
        trials = parameter(whole_number(size, "size", least=0), "size", 1, TRIALS)
        shares = conditional_shares(probabilities(prob, "prob"))
        values = np.empty((len(shares), n))
        fill_multinomial(self._stream, trials[0], shares, values)
        return whole_numbers(values)


def _room(n: int) -> tuple[int, Floats]:
    """A checked number of draws, and room for them (n,)."""
    n = whole_number(n, "n", least=0)
    return n, np.empty(n)
