"""R's rpois, rbinom, rnbinom and rmultinom, and MASS's rnegbin."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from pyvws._base.checks import positions, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._binomial import conditional_shares, fill_binomial, fill_multinomial
from pyvws.r_numbers._gamma import fill_gamma
from pyvws.r_numbers._parameters import (
    ABOVE_ZERO,
    NOT_NEGATIVE,
    PROBABILITY,
    TRIALS,
    parameter,
    probabilities,
    whole_numbers,
)
from pyvws.r_numbers._poisson import fill_negative_binomial, fill_poisson
from pyvws.r_numbers._stream import Seeded

Whole = NDArray[np.int64]


class Counts(Seeded):
    """Draws from distributions of counts."""

    __slots__ = ()

    def rpois(self, n: int, mu: Any) -> Whole:
        """R's ``rpois(n, lambda)``: Poisson counts [pd1982].

        Parameters
        ----------
        n : int
            How many.
        mu : float or array_like, shape (k,)
            Means of at least 0.

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        InputError
            For means that are not finite or below 0.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rpois(5, 100).tolist()
        [94, 111, 83, 101, 117]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        fill_poisson(self._stream, parameter(mu, "mu", n, NOT_NEGATIVE), values)
        return whole_numbers(values)

    def rbinom(self, n: int, size: Any, prob: Any) -> Whole:
        """R's ``rbinom(n, size, prob)``: binomial counts [btpe1988].

        Parameters
        ----------
        n : int
            How many.
        size : int or array_like, shape (k,)
            Trials, whole numbers from 0 to 2^31 - 2.
        prob : float or array_like, shape (k,)
            Probabilities of success in [0, 1].

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        InputError
            For parameters out of range.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rbinom(5, 10, 0.5).tolist()
        [4, 6, 5, 7, 7]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        trials = parameter(size, "size", n, TRIALS)
        fill_binomial(self._stream, trials, parameter(prob, "prob", n, PROBABILITY), values)
        return whole_numbers(values)

    def rnbinom(self, n: int, size: Any, prob: Any = None, *, mu: Any = None) -> Whole:
        """R's ``rnbinom``: negative binomial counts by prob or by mu.

        Parameters
        ----------
        n : int
            How many.
        size : float or array_like, shape (k,)
            Sizes above 0: the variance is mu + mu^2 / size; larger = closer to Poisson.
        prob : float or array_like, shape (k,), optional
            Probabilities of success above 0 and at most 1; mu is size (1 - prob) / prob.
        mu : float or array_like, shape (k,), optional
            Means of at least 0, instead of `prob`.

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        InputError
            For parameters out of range, or unless one of prob and mu is given.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rnbinom(5, 20, mu=100).tolist()
        [96, 64, 144, 56, 130]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        shape = parameter(size, "size", n, ABOVE_ZERO)
        if (prob is None) == (mu is None):
            raise InputError("rnbinom takes prob or mu. Give one of them.")
        if mu is None:
            share = parameter(prob, "prob", n, PROBABILITY)
            if (share == 0.0).any():
                raise InputError(f"prob must be above 0. Not so: {positions(share == 0.0)}.")
            scale = (1.0 - share) / share
        else:
            scale = parameter(mu, "mu", n, NOT_NEGATIVE) / shape
        fill_negative_binomial(self._stream, shape, scale, values)
        return whole_numbers(values)

    def rnegbin(self, n: int, mu: Any, theta: Any) -> Whole:
        """MASS's ``rnegbin(n, mu, theta)``: negative binomial counts [venables2002].

        As in MASS, the stream first gives all gamma numbers, then all counts.

        Parameters
        ----------
        n : int
            How many.
        mu : float or array_like, shape (k,)
            Means of at least 0.
        theta : float or array_like, shape (k,)
            Sizes above 0: the variance is mu + mu^2 / theta; larger = closer to Poisson.

        Returns
        -------
        ndarray of int, shape (n,)

        Raises
        ------
        InputError
            For parameters that are not finite or out of range.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rnegbin(5, 100, 20).tolist()
        [89, 111, 49, 112, 143]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        mean = parameter(mu, "mu", n, NOT_NEGATIVE)
        shape = parameter(theta, "theta", n, ABOVE_ZERO)
        fill_gamma(self._stream, shape, np.ones(1), values)
        fill_poisson(self._stream, mean * values / shape, values)
        return whole_numbers(values)

    def rmultinom(self, n: int, size: int, prob: Any) -> Whole:
        """R's ``rmultinom(n, size, prob)``: multinomial counts, with a vector in each column.

        Parameters
        ----------
        n : int
            How many vectors.
        size : int
            Number of trials, from 0 to 2^31 - 2; the counts of a vector add up to this number.
        prob : array_like, shape (K,)
            Weights of the categories, each at least 0; the weights need not add up to 1.

        Returns
        -------
        ndarray of int, shape (K, n)

        Raises
        ------
        InputError
            For a size out of range, negative or missing weights, or weights that are all 0.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(1234).rmultinom(3, 1, [0.7, 0.3]).tolist()
        [[1, 1, 1], [0, 0, 0]]
        """
        n = whole_number(n, "n", least=0)
        trials = parameter(whole_number(size, "size", least=0), "size", 1, TRIALS)
        shares = conditional_shares(probabilities(prob, "prob"))
        values = np.empty((len(shares), n))
        fill_multinomial(self._stream, trials[0], shares, values)
        return whole_numbers(values)
