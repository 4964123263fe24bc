"""Cases of `pyvws.r_numbers`: R's arithmetic and R's generators.

Each generator has parameters that reach all its branches. The longest streams of generators
without parameters take more than the 624 words of R's state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pyvws._base.checks import Floats
from pyvws.r_numbers.r_random import RRandom
from pyvws_validation._draws import Draws

# R's sum, mean, var, quantile and ecdf


def _log_lik(seed: int, *shape: int) -> dict[str, Any]:
    """A row of log-likelihoods, whose sum the leave-one-out bound needs."""
    return {"x": Draws(seed).log_lik(1, *shape)[0]}


def _probabilities(seed: int, *shape: int) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.amounts(*shape)
    if seed == 5 and len(x) > 2:
        x[1] = np.inf
    p = np.concatenate([[0.0, 0.15, 0.25, 0.5, 0.9, 0.95, 0.975, 1.0], draws.uniform(12)])
    return {"x": x, "p": p}


def _points(seed: int, *shape: int) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.counts(*shape)
    between = np.floor(draws.uniform(10, 0.0, 200.0)) + 0.5
    return {"x": x, "points": np.concatenate([x[:10], between, [-1.0, 1e6]])}


# R's generators


def _drawn(method: str) -> Callable[..., Floats]:
    """The numbers of one method of `RRandom`, by a seed and the method's arguments."""

    def draw(seed: int, **arguments: Any) -> Floats:
        numbers = getattr(RRandom(seed), method)(*arguments.values())
        return np.asarray(numbers, dtype=np.float64).ravel(order="F")

    return draw


uniforms = uniforms_between = _drawn("runif")
normals, exponentials = _drawn("rnorm"), _drawn("rexp")
gammas, betas = _drawn("rgamma"), _drawn("rbeta")
poissons, binomials = _drawn("rpois"), _drawn("rbinom")
mass_negative_binomials, multinomials = _drawn("rnegbin"), _drawn("rmultinom")
positions = _drawn("sample")


def negative_binomials(seed: int, n: int, size: Floats, prob: Floats, mu: Floats) -> Floats:
    """n negative binomial counts by prob, then n by mu."""
    stream = RRandom(seed)
    parts = [stream.rnbinom(n, size, prob), stream.rnbinom(n, size, mu=mu)]
    return np.concatenate(parts).astype(np.float64)


def distinct(seed: int, n: int, size: int) -> Floats:
    """`size` positions without replacement, then a uniform number."""
    stream = RRandom(seed)
    return np.concatenate([stream.sample_int(n, size), stream.runif(1)])


def weighted(seed: int, size: int, prob: Floats) -> Floats:
    """Positions by weights, with replacement and then without."""
    stream, n = RRandom(seed), len(prob)
    few = min(size, int((prob > 0).sum()))
    parts = [
        stream.sample_int(n, size, replace=True, prob=prob),
        stream.sample_int(n, few, prob=prob),
    ]
    return np.concatenate(parts).astype(np.float64)


def rounded(seed: int, n: int, size: int, prob: Floats) -> Floats:
    """Positions as R drew them before 3.6."""
    stream = RRandom(seed, sample_kind="rounding")
    parts = [
        stream.sample_int(n, size, replace=True),
        stream.sample_int(n, min(n, size)),
        stream.sample_int(len(prob), size, replace=True, prob=prob),
    ]
    return np.concatenate(parts).astype(np.float64)


def mixed(seed: int, n: int, size: int) -> Floats:
    """Uniform numbers, positions, and both once more, from one stream."""
    stream = RRandom(seed)
    parts = [stream.runif(size), stream.sample(n, size), stream.runif(2), stream.sample(2, 3)]
    return np.concatenate(parts)


def records(seed: int, mu: Floats, theta: Floats, prob: Floats) -> Floats:
    """Numbers of every kind, one record at a time."""
    stream = RRandom(seed)
    rows: list[Any] = []
    for mean, size in zip(mu, theta, strict=True):
        component = int(stream.rmultinom(1, 1, prob).argmax())
        numbers: list[Any] = [
            *([component + 1], stream.rnegbin(1, mean, size), stream.rpois(1, mean)),
            *(stream.rnorm(1, mean), stream.rgamma(1, size), stream.rbeta(1, size, 3.0)),
            *(stream.rexp(1), stream.rbinom(1, 200, prob[component])),
            *(stream.rnbinom(1, size, mu=mean), stream.sample_int(5)),
        ]
        rows.append(np.concatenate(numbers))
    return np.concatenate(rows)


def _weights(seed: int, *_: int) -> dict[str, Any]:
    """Weights that are equal, tied, partly 0, or all different; few weights, or more than 200."""
    some = Draws(seed).uniform(300)
    tied = 1.0 + np.floor(5.0 * some)
    of_seeds = np.ones(7), tied[:30], np.maximum(tied - 2.0, 0.0)[:50], some[:201], tied
    return {"prob": of_seeds[seed - 1]}


def _multinomial(seed: int, n: int) -> dict[str, Any]:
    return {"n": n, "size": 40 * seed - 39, "prob": _weights(seed)["prob"][:9]}


def _records(seed: int, *shape: int) -> dict[str, Any]:
    draws = Draws(seed)
    mu, theta = draws.uniform(shape[0], 0.1, 150.0), draws.uniform(shape[0], 0.1, 20.0)
    return {"mu": mu, "theta": theta, "prob": np.array([0.7, 0.3])}
