"""Wrong versions of R's generators, each a mistake that is easy to make.

Most have the right distribution and use up the stream in another way.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import stats

from pyvws.r_numbers.r_random import RRandom

__all__ = ["RANDOM_MISTAKES"]

Wrong = Callable[[Any], Any]


def one_uniform_a_normal(_: Any) -> Any:
    class Stream(RRandom):
        def rnorm(self, n: int, mean: Any = 0.0, sd: Any = 1.0) -> Any:
            u = self.runif(n)
            return np.resize(mean, n) + np.resize(sd, n) * stats.norm.ppf(u)

    return Stream


def minus_log_of_a_uniform(_: Any) -> Any:
    class Stream(RRandom):
        def rexp(self, n: int, rate: Any = 1.0) -> Any:
            return -np.log(self.runif(n)) / np.resize(rate, n)

    return Stream


def divided_by_the_rate(_: Any) -> Any:
    """x / rate, where R takes x (1 / rate): the last bit."""

    class Stream(RRandom):
        def rexp(self, n: int, rate: Any = 1.0) -> Any:
            return super().rexp(n) / np.resize(rate, n)

        def rgamma(self, n: int, shape: Any, rate: Any = None, *, scale: Any = None) -> Any:
            return super().rgamma(n, shape) / np.resize(rate, n)

    return Stream


def rate_for_scale(_: Any) -> Any:
    class Stream(RRandom):
        def rgamma(self, n: int, shape: Any, rate: Any = None, *, scale: Any = None) -> Any:
            return super().rgamma(n, shape, scale=rate)

    return Stream


def by_two_gammas(_: Any) -> Any:
    class Stream(RRandom):
        def rbeta(self, n: int, shape1: Any, shape2: Any) -> Any:
            first, second = self.rgamma(n, shape1), self.rgamma(n, shape2)
            return first / (first + second)

    return Stream


def by_inversion(_: Any) -> Any:
    """Every count the quantile of one uniform number."""

    class Stream(RRandom):
        def rpois(self, n: int, mu: Any) -> Any:
            return stats.poisson.ppf(self.runif(n), np.resize(mu, n))

        def rbinom(self, n: int, size: Any, prob: Any) -> Any:
            return stats.binom.ppf(self.runif(n), np.resize(size, n), np.resize(prob, n))

    return Stream


def successes_for_failures(_: Any) -> Any:
    class Stream(RRandom):
        def rbinom(self, n: int, size: Any, prob: Any) -> Any:
            return np.resize(size, n) - super().rbinom(n, size, prob)

    return Stream


def all_gammas_first(_: Any) -> Any:
    """R's rnbinom as MASS's rnegbin."""

    class Stream(RRandom):
        def rnbinom(self, n: int, size: Any, prob: Any = None, *, mu: Any = None) -> Any:
            if mu is None:
                mu = np.resize(size, n) * (1.0 - np.resize(prob, n)) / np.resize(prob, n)
            return self.rnegbin(n, mu, size)

    return Stream


def a_gamma_for_each_count(_: Any) -> Any:
    """MASS's rnegbin as R's rnbinom."""

    class Stream(RRandom):
        def rnegbin(self, n: int, mu: Any, theta: Any) -> Any:
            return self.rnbinom(n, theta, mu=mu)

    return Stream


def always_of_the_total(_: Any) -> Any:
    class Stream(RRandom):
        def rmultinom(self, n: int, size: int, prob: Any) -> Any:
            shares = np.asarray(prob) / np.sum(prob)
            return self.rbinom(n * len(shares), size, shares).reshape(n, -1).T

    return Stream


def redrawn_if_drawn_before(_: Any) -> Any:
    """R's rule for many of more than 10 million, for all."""

    class Stream(RRandom):
        def sample_int(self, n: int, size: Any = None, **_: Any) -> Any:
            drawn: list[int] = []
            while len(drawn) < size:
                number = int(super().sample_int(n, 1)[0])
                drawn += [] if number in drawn else [number]
            return np.array(drawn)

    return Stream


def in_the_given_order(_: Any) -> Any:
    """Cumulated weights without sorting them first."""

    class Stream(RRandom):
        def sample_int(
            self, n: int, size: Any = None, *, replace: bool = False, prob: Any = None
        ) -> Any:
            if prob is None or not replace:
                return super().sample_int(n, size, replace=replace, prob=prob)
            total = np.cumsum(np.asarray(prob) / np.sum(prob))
            return 1 + np.minimum(np.searchsorted(total, self.runif(size)), n - 1)

    return Stream


def today_s_rule(_: Any) -> Any:
    class Stream(RRandom):
        def __init__(self, seed: int, sample_kind: str = "rejection") -> None:
            super().__init__(seed)

    return Stream


def next_seed(function: Any) -> Any:
    return lambda seed, *args: function(seed - 1 if seed > 0 else seed + 1, *args)


def heavier_tail_first(mixture: Any) -> Any:
    """The mixture with its shares exchanged."""
    return lambda *given, shares, **named: mixture(*given, shares=shares[::-1], **named)


GIVEN = "pyvws_validation.cases.r_numbers:"
STREAM = GIVEN + "RRandom"
DATA = "pyvws_studies.simulated_data:"

# The compared function, what is replaced in it, and the wrong version.
RANDOM_MISTAKES: tuple[tuple[str, str, Wrong], ...] = (
    (GIVEN + "uniforms_between", STREAM, next_seed),
    (GIVEN + "normals", STREAM, one_uniform_a_normal),
    (GIVEN + "exponentials", STREAM, minus_log_of_a_uniform),
    (GIVEN + "exponentials", STREAM, divided_by_the_rate),
    (GIVEN + "gammas", STREAM, divided_by_the_rate),
    (GIVEN + "gammas", STREAM, rate_for_scale),
    (GIVEN + "betas", STREAM, by_two_gammas),
    (GIVEN + "poissons", STREAM, by_inversion),
    (GIVEN + "binomials", STREAM, by_inversion),
    (GIVEN + "binomials", STREAM, successes_for_failures),
    (GIVEN + "negative_binomials", STREAM, all_gammas_first),
    (GIVEN + "mass_negative_binomials", STREAM, a_gamma_for_each_count),
    (GIVEN + "multinomials", STREAM, always_of_the_total),
    (GIVEN + "distinct", STREAM, redrawn_if_drawn_before),
    (GIVEN + "weighted", STREAM, in_the_given_order),
    (GIVEN + "rounded", STREAM, today_s_rule),
    (GIVEN + "records", STREAM, one_uniform_a_normal),
    (GIVEN + "records", STREAM, next_seed),
    (DATA + "poisson_data", DATA + "RRandom", next_seed),
    (DATA + "poisson_data", DATA + "RRandom", by_inversion),
    (DATA + "risk_efficient_counts", DATA + "mixture_counts", heavier_tail_first),
    (DATA + "risk_efficient_counts", DATA + "RRandom", next_seed),
    (DATA + "beta_proportions", DATA + "RRandom", by_two_gammas),
)
