"""R's runif, rnorm, rexp, rgamma and rbeta."""

from __future__ import annotations

from typing import Any

import numpy as np

from pyvws._base.checks import Floats, positions, whole_number
from pyvws.errors import InputError
from pyvws.r_numbers._beta import fill_beta
from pyvws.r_numbers._exponential import fill_exponential
from pyvws.r_numbers._gamma import fill_gamma
from pyvws.r_numbers._normal import fill_normal
from pyvws.r_numbers._parameters import ABOVE_ZERO, ANY, NOT_NEGATIVE, parameter
from pyvws.r_numbers._stream import Seeded, fill_uniform


class Continuous(Seeded):
    """Draws from continuous distributions."""

    __slots__ = ()

    def runif(self, n: int, min: Any = 0.0, max: Any = 1.0) -> Floats:
        """R's ``runif(n, min, max)``: uniform numbers, by default strictly between 0 and 1.

        Parameters
        ----------
        n : int
            How many.
        min, max : float or array_like, shape (k,)
            Ends. As in R, equal ends return their common value and draw nothing.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            For ends that are not finite or in the wrong order.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).runif(2, max=[1, 10]).round(4).tolist()
        [0.2876, 7.8831]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        low, high = parameter(min, "min", n, ANY), parameter(max, "max", n, ANY)
        if (low > high).any():
            raise InputError(f"max must be at least min. Not so: {positions(low > high)}.")
        fill_uniform(self._stream, low, high, values)
        return values

    def rnorm(self, n: int, mean: Any = 0.0, sd: Any = 1.0) -> Floats:
        """R's ``rnorm(n, mean, sd)``: normal numbers by inversion [wichura1988].

        Parameters
        ----------
        n : int
            How many.
        mean, sd : float or array_like, shape (k,)
            Means and standard deviations (at least 0).

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            For parameters that are not finite or out of range.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rnorm(3).round(4).tolist()
        [-0.5605, -0.2302, 1.5587]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        centre, spread = parameter(mean, "mean", n, ANY), parameter(sd, "sd", n, NOT_NEGATIVE)
        fill_normal(self._stream, centre, spread, values)
        return values

    def rexp(self, n: int, rate: Any = 1.0) -> Floats:
        """R's ``rexp(n, rate)``: exponential numbers of mean 1 / rate [ahrens1972].

        Parameters
        ----------
        n : int
            How many.
        rate : float or array_like, shape (k,)
            Rates above 0.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            For rates that are not finite or not above 0.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rexp(3).round(4).tolist()
        [0.8435, 0.5766, 1.3291]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        fill_exponential(self._stream, 1.0 / parameter(rate, "rate", n, ABOVE_ZERO), values)
        return values

    def rgamma(self, n: int, shape: Any, rate: Any = None, *, scale: Any = None) -> Floats:
        """R's ``rgamma(n, shape, rate)``: gamma numbers of mean shape / rate [gd1982].

        Parameters
        ----------
        n : int
            How many.
        shape : float or array_like, shape (k,)
            Shapes of at least 0; a shape of 0 gives 0.
        rate : float or array_like, shape (k,), optional
            Rates above 0; by default 1.
        scale : float or array_like, shape (k,), optional
            1 / rate, at least 0, instead of `rate`.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            For parameters that are not finite or out of range, or for both rate and scale.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rgamma(2, shape=2.0, rate=0.5).round(4).tolist()
        [1.7842, 6.6237]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        if rate is not None and scale is not None:
            raise InputError("rate and scale say the same. Give one.")
        if scale is None:
            factor = 1.0 / parameter(1.0 if rate is None else rate, "rate", n, ABOVE_ZERO)
        else:
            factor = parameter(scale, "scale", n, NOT_NEGATIVE)
        fill_gamma(self._stream, parameter(shape, "shape", n, NOT_NEGATIVE), factor, values)
        return values

    def rbeta(self, n: int, shape1: Any, shape2: Any) -> Floats:
        """R's ``rbeta(n, shape1, shape2)``: beta numbers [cheng1978].

        Parameters
        ----------
        n : int
            How many.
        shape1, shape2 : float or array_like, shape (k,)
            Shapes above 0.

        Returns
        -------
        ndarray, shape (n,)

        Raises
        ------
        InputError
            For shapes that are not finite or not above 0.

        Examples
        --------
        >>> from pyvws import RRandom
        >>> RRandom(123).rbeta(2, 0.5, 3.0).round(4).tolist()
        [0.2582, 0.0007]
        """
        n = whole_number(n, "n", least=0)
        values = np.empty(n)
        first = parameter(shape1, "shape1", n, ABOVE_ZERO)
        second = parameter(shape2, "shape2", n, ABOVE_ZERO)
        fill_beta(self._stream, first, second, values)
        return values
