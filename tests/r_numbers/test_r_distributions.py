"""R's distributions: one at a time, from any table, and what they refuse; the bits are R's.

The comparison with R is in tests/r/test_random_numbers.py and in the cases of r_random.
"""

from statistics import NormalDist

import numpy as np
import pandas as pd
import polars as pl
import pytest
from pyvws_studies.simulated_data import risk_efficient_counts
from refusals import refused

from pyvws.r_numbers._continuous import normal_quantile
from pyvws.r_numbers.r_random import RRandom

# Each generator with two parameters of n values, in ranges that cross its branches.
GENERATORS = {
    "runif": lambda r, n, a, b: r.runif(n, -a, b),
    "rnorm": lambda r, n, a, b: r.rnorm(n, a, b),
    "rexp": lambda r, n, a, b: r.rexp(n, a),
    "rgamma": lambda r, n, a, b: r.rgamma(n, a, b),
    "rbeta": lambda r, n, a, b: r.rbeta(n, a, b),
    "rpois": lambda r, n, a, b: r.rpois(n, 3 * a),
    "rbinom": lambda r, n, a, b: r.rbinom(n, np.ceil(20 * a), b / 21),
    "rnbinom": lambda r, n, a, b: r.rnbinom(n, a, mu=b),
}
every_generator = pytest.mark.parametrize("draw", GENERATORS.values(), ids=GENERATORS)


def parameters(n):
    raw = np.random.PCG64(5).random_raw(2 * n).reshape(2, n) * 2.0**-64
    return 0.05 + 20.0 * raw**3


def test_normal_quantiles_in_the_tails():
    """Python's own AS 241, also where no stream of uniform numbers comes."""
    for p in [10.0**k for k in range(-300, 0, 7)] + [0.074, 0.076, 0.5, 0.924, 0.926, 1 - 2**-40]:
        assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), rel=1e-14)


@every_generator
def test_one_at_a_time_gives_the_same(draw):
    n = 400
    a, b = parameters(n)
    one, many = RRandom(8), RRandom(8)
    singly = [draw(one, 1, a[i], b[i])[0] for i in range(n)]
    assert singly == draw(many, n, a, b).tolist()
    assert one.runif(1)[0] == many.runif(1)[0]


@every_generator
def test_parameters_repeat(draw):
    a, b = parameters(3)
    recycled = draw(RRandom(2), 10, a, b[:2])
    assert (recycled == draw(RRandom(2), 10, a[np.arange(10) % 3], b[np.arange(10) % 2])).all()
    assert len(draw(RRandom(2), 0, a, b)) == 0


@pytest.mark.parametrize("frame", [pd.Series, pl.Series, list, tuple])
def test_columns_of_any_table(frame):
    mu = [0.5, 20.0, 3.0]
    assert (RRandom(1).rpois(3, frame(mu)) == RRandom(1).rpois(3, np.array(mu))).all()


def test_what_is_certain_is_not_drawn():
    stream = RRandom(5)
    certain = [
        *(stream.runif(2, 3.0, 3.0), stream.rnorm(2, 3.0, 0.0), stream.rgamma(2, 0.0) + 3),
        *(stream.rpois(2, 0.0) + 3, stream.rbinom(2, 3, 1.0), stream.rbinom(2, 3, 0.0) + 3),
        *(stream.rnbinom(2, 3.0, 1.0) + 3, stream.rnbinom(2, 3.0, mu=0.0) + 3),
        stream.rmultinom(2, 3, [0.0, 1.0])[1],
    ]
    assert np.unique(np.concatenate(certain)).tolist() == [3.0]
    assert stream.runif(1)[0] == RRandom(5).runif(1)[0]


def test_scale_and_rate_say_the_same():
    assert (RRandom(1).rgamma(9, 2.5, 4.0) == RRandom(1).rgamma(9, 2.5, scale=0.25)).all()
    assert (RRandom(1).rexp(9, 4.0) == RRandom(1).rexp(9) / 4).all()


def test_the_mixture_s_data_are_those_of_the_paper():
    """Table 6 of [risk2024], row D: mean 100.70 and median 97.93 by the bootstrap."""
    y = risk_efficient_counts(123)
    assert abs(y.mean() - 100.70) < 0.1
    assert abs(np.median(y) - 97.93) < 0.1


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda r: r.rnorm(3, 0.0, [1.0, -2.0]), refused("r-parameter", name="sd")),
        (lambda r: r.rpois(3, [np.nan, 1.0, np.inf]), refused("r-parameter", name="mu")),
        (lambda r: r.rexp(3, 0), refused("r-parameter", name="rate")),
        (lambda r: r.runif(3, 1, [2, 0]), refused("max-below-min")),
        (lambda r: r.rbinom(3, 2.5, 0.5), refused("r-parameter", name="size")),
        (lambda r: r.rbinom(3, 2, 1.5), refused("r-parameter", name="prob")),
        (lambda r: r.rnbinom(1, 2.0, 0.0), refused("prob-not-above-0")),
        (lambda r: r.rnbinom(3, 2.0), refused("prob-or-mu")),
        (lambda r: r.rgamma(3, 2.0, 1.0, scale=1.0), refused("rate-and-scale")),
        (lambda r: r.rgamma(3, [[1.0]]), refused("r-parameter-shape")),
        (lambda r: r.rbeta(3, "a", 1.0), refused("r-parameter-not-numbers")),
        (lambda r: r.rmultinom(1, 2, [0.0, 0.0]), refused("probabilities-without-sum")),
        (lambda r: r.sample_int(3, 4), refused("sample-beyond-n")),
        (lambda r: r.sample_int(3, 3, prob=[1.0, 0.0, 1.0]), refused("sample-beyond-prob")),
        (lambda r: r.sample_int(3, prob=[1.0, 1.0]), refused("prob-length")),
        (lambda r: RRandom(1, sample_kind="old"), refused("not-a-choice")),
        (lambda r: r.rpois(1, 1e300), refused("drawn-count-too-large")),
    ],
)
def test_bad_input(call, refusal):
    with refusal:
        call(RRandom(1))
