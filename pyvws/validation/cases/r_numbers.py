"""Cases of `pyvws.r_numbers`: R's arithmetic and R's generators.

Each generator has parameters that reach all its branches. The longest streams of generators
without parameters take more than the 624 words of R's state.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from pyvws.r_numbers.r_random import RRandom
from pyvws.validation._case import cases_of
from pyvws.validation._draws import Draws, Floats

Arguments = Callable[[int, tuple[int, ...]], dict[str, Any]]

# R's sum, mean, var, quantile and ecdf

_LENGTHS: Final = ((1,), (2,), (7,), (100,), (1000,))


def _values(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"x": Draws(seed).amounts(*shape)}


def _log_lik(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """A row of log-likelihoods, whose sum the leave-one-out bound needs."""
    return {"x": Draws(seed).log_lik(1, *shape)[0]}


def _probabilities(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.amounts(*shape)
    if seed == 5 and len(x) > 2:
        x[1] = np.inf
    p = np.concatenate([[0.0, 0.15, 0.25, 0.5, 0.9, 0.95, 0.975, 1.0], draws.uniform(12)])
    return {"x": x, "p": p}


def _points(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    draws = Draws(seed)
    x = draws.counts(*shape)
    between = np.floor(draws.uniform(10, 0.0, 200.0)) + 0.5
    return {"x": x, "points": np.concatenate([x[:10], between, [-1.0, 1e6]])}


_rarith = cases_of("rarith", paper="vws2024", cites="Appendix 1, step 2", shapes=_LENGTHS)
_RARITH: Final = tuple(
    _rarith(
        name,
        f"arithmetic_{name.partition('-')[0]}",
        arguments,
        python_function=f"pyvws.r_numbers.rarith:{function}",
        **own,
    )
    for name, function, arguments, own in (
        ("sum", "sum_in_order", _values, {}),
        ("sum-log-lik", "sum_in_order", _log_lik, {}),
        ("mean", "mean", _values, {"cites": "section 3"}),
        (
            *("var", "var", _values),
            {"paper": "risk2024", "cites": "utility of point estimates", "shapes": _LENGTHS[1:]},
        ),
        ("quantile", "quantile", _probabilities, {"paper": "hyndman1996", "cites": "type 7"}),
        ("ecdf", "ecdf_at", _points, {"paper": "woo2009", "cites": "section 3"}),
    )
)

# R's generators

# The seeds include the smallest and the largest of R's integers.
_SEEDS: Final = (123, 0, -2147483647, 2147483647, 1234)
# 1, a power of 2 and the next number, a number above 16 bits, and a number of nearly 31 bits.
_BELOW: Final = (1000, 1, 65536, 65537, 2147483646)


def _drawn(method: str) -> Callable[..., Floats]:
    """The numbers of one method of `RRandom`, by a seed and the method's arguments in their order.

    Vectors of counts stand one after the other.
    """

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


def _recycled(**parameters: tuple[float, ...]) -> Arguments:
    """Vectors that R recycles along n; each seed begins at another place."""

    def arguments(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
        moved = {name: np.roll(values, 1 - seed) for name, values in parameters.items()}
        return {"seed": _SEEDS[seed - 1], "n": shape[0], **moved}

    return arguments


def _sample(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "n": _BELOW[seed - 1], "size": shape[0]}


def _distinct(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    """Sizes for sampling without replacement; the last two are large enough for R's look-up."""
    below = (1000, 401, 65537, 20_000_001, 2147483647)[seed - 1]
    return {"seed": _SEEDS[seed - 1], "n": below, "size": shape[0]}


def _weights(seed: int) -> Floats:
    """Weights that are equal, tied, partly 0, or all different; few weights, or more than 200."""
    some = Draws(seed).uniform(300)
    tied = 1.0 + np.floor(5.0 * some)
    return (np.ones(7), tied[:30], np.maximum(tied - 2.0, 0.0)[:50], some[:201], tied)[seed - 1]


def _weighted(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    return {"seed": _SEEDS[seed - 1], "size": shape[0], "prob": _weights(seed)}


def _rounded(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    below = (1000, 1, 65536, 65537, 20_000_001)[seed - 1]
    return {**_weighted(seed, shape), "n": below}


def _multinomial(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    prob = _weights(seed)[:9]
    return {"seed": _SEEDS[seed - 1], "n": shape[0], "size": 40 * seed - 39, "prob": prob}


def _records(seed: int, shape: tuple[int, ...]) -> dict[str, Any]:
    draws = Draws(seed)
    mu, theta = draws.uniform(shape[0], 0.1, 150.0), draws.uniform(shape[0], 0.1, 20.0)
    return {"seed": _SEEDS[seed - 1], "mu": mu, "theta": theta, "prob": np.array([0.7, 0.3])}


def _case(function: str, arguments: Arguments, longest: int, paper: str, cites: str) -> Any:
    return cases_of("r_random", paper=paper, cites=cites)(
        function,
        function,
        arguments,
        python_function=f"{__name__}:{function}",
        shapes=((1,), (20,), (longest,)),
    )


_FIRST_SHAPES: Final = (0.5, 3.0, 1.0, 1.0, 0.01, 1.5, 2.0, 50.0, 1.001)
_SECOND_SHAPES: Final = (3.0, 0.5, 1.0, 2.0, 0.02, 1.5, 5.0, 3.0, 400.0)
_TRIALS: Final = (1.0, 10.0, 10.0, 50.0, 0.0, 100.0, 70.0, 1000.0, 1e6, 2e9, 1e9)
_SUCCESS: Final = (0.5, 0.3, 0.9, 0.5, 0.5, 0.3, 0.45, 0.9, 0.4, 1e-8, 0.6)
_SIZES: Final = (0.4, 3.0, 5.0, 20.0, 1.0)
_MEANS: Final = (0.1, 3.3, 9.99, 10.0, 12.5, 30.0, 100.0, 1234.5, 1e6)

_GENERATORS: Final = (
    _case("uniforms", _recycled(), 640, "matsumoto1998", "the generator, under R's seeding"),
    _case(
        "uniforms_between",
        _recycled(low=(0.0, -3.0, 2.0), high=(1.0, 7.5, 2.0)),
        120,
        "matsumoto1998",
        "the generator, between ends",
    ),
    _case(
        "normals",
        _recycled(mean=(0.0, -3.3, 100.0), sd=(1.0, 0.7, 0.0, 15.0)),
        320,
        "wichura1988",
        "R's inversion",
    ),
    _case("exponentials", _recycled(rate=(1.0, 0.37, 55.0)), 60, "ahrens1972", "Algorithm SA"),
    _case(
        "gammas",
        _recycled(shape=(0.01, 0.5, 0.99, 1.0, 1.5, 3.686, 5.0, 13.1, 1e4), rate=(1.0, 0.7)),
        60,
        "gd1982",
        "Algorithm GD, and GS of 1974",
    ),
    _case(
        "betas",
        _recycled(shape1=_FIRST_SHAPES, shape2=_SECOND_SHAPES),
        60,
        "cheng1978",
        "Algorithms BB and BC",
    ),
    _case("poissons", _recycled(mu=(0.0, *_MEANS)), 60, "pd1982", "Algorithm PD"),
    _case(
        "binomials",
        _recycled(size=_TRIALS, prob=_SUCCESS),
        60,
        "btpe1988",
        "Algorithm BTPE, and inversion",
    ),
    _case(
        "negative_binomials",
        _recycled(size=_SIZES, prob=(0.3, 0.01, 1.0, 0.9), mu=(3.0, 100.0, 0.0)),
        120,
        "gd1982",
        "Poisson with a gamma mean",
    ),
    _case(
        "mass_negative_binomials",
        _recycled(mu=_MEANS, theta=_SIZES),
        120,
        "venables2002",
        "MASS's rnegbin",
    ),
    _case("multinomials", _multinomial, 40, "btpe1988", "a binomial number for each category"),
    _case("positions", _sample, 330, "risk2024", "section 2.3.1, R's sample"),
    _case("distinct", _distinct, 60, "risk2024", "R's sample without replacement"),
    _case("weighted", _weighted, 60, "ripley1987", "Walker's aliases, and inversion"),
    _case("rounded", _rounded, 60, "risk2024", "R's sample before 3.6"),
    _case("mixed", _sample, 315, "risk2024", "section 2.3.1, R's sample and runif"),
    _case("records", _records, 25, "risk2024", "section 2.4, one record at a time"),
)

CASES: Final = (*_RARITH, *_GENERATORS)
