"""R's distributions: by hand from the uniform stream, one at a time, and what they must keep.

The comparison with R is in tests/r/test_random_numbers.py and in the cases of r_random.
"""

import math
from statistics import NormalDist

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_studies.simulated_data import risk_efficient_counts
from refusals import refused
from scipy import stats

from pyvws.r_numbers._continuous import normal_quantile
from pyvws.r_numbers.r_random import RRandom

few = settings(max_examples=40, derandomize=True)
seeds = st.integers(-(2**31) + 1, 2**31 - 1)

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


# By hand


def test_three_normal_numbers_by_hand():
    """27 bits of one uniform number over those of the next, then the normal quantile."""
    u = RRandom(42).runif(6)
    p = [(math.floor(2**27 * first) + second) / 2**27 for first, second in u.reshape(3, 2)]
    wanted = [2.0 + 3.0 * NormalDist().inv_cdf(value) for value in p]
    assert RRandom(42).rnorm(3, 2.0, 3.0) == pytest.approx(wanted, rel=1e-14)


def test_normal_quantiles_in_the_tails():
    """Python's own AS 241, also where no stream of uniform numbers comes."""
    for p in [10.0**k for k in range(-300, 0, 7)] + [0.074, 0.076, 0.5, 0.924, 0.926, 1 - 2**-40]:
        assert normal_quantile(p) == pytest.approx(NormalDist().inv_cdf(p), rel=1e-14)


def test_exponential_numbers_by_hand():
    """Leading zeros of the first uniform number by ln 2; its rest, if small, is added."""
    for seed in range(50):
        first, *others = RRandom(seed).runif(20)
        zeros = 0
        while first < 0.5:
            first, zeros = 2 * first, zeros + 1
        rest = 2 * first - 1
        if rest > math.log(2):
            taken = 2
            while rest > sum(math.log(2) ** i / math.factorial(i) for i in range(1, taken + 1)):
                taken += 1
            rest = min(others[:taken]) * math.log(2)
        wanted = zeros * math.log(2) + rest
        assert RRandom(seed).rexp(1)[0] == pytest.approx(wanted, rel=1e-14)


@given(seeds, st.floats(0.01, 9.99))
@few
def test_small_poisson_counts_are_quantiles(seed, mu):
    stream = RRandom(seed)
    assert (stream.rpois(50, mu) == stats.poisson.ppf(RRandom(seed).runif(50), mu)).all()


@given(seeds, st.integers(1, 59), st.floats(0.01, 0.49))
@few
def test_small_binomial_counts_are_quantiles(seed, size, prob):
    wanted = stats.binom.ppf(RRandom(seed).runif(50), size, prob)
    assert (RRandom(seed).rbinom(50, size, prob) == wanted).all()
    assert (RRandom(seed).rbinom(50, size, 1 - prob) == size - wanted).mean() > 0.9


def test_samples_before_r_3_6_round_down():
    u = RRandom(9).runif(20)
    stream = RRandom(9, sample_kind="rounding")
    assert (stream.sample_int(1000, 20, replace=True) == np.floor(1000 * u) + 1).all()
    left, drawn = list(range(1, 6)), []
    for k, value in enumerate(u[:5]):
        place = math.floor((5 - k) * value)
        drawn.append(left[place])
        left[place] = left[4 - k]
    assert RRandom(9, sample_kind="rounding").sample_int(5).tolist() == drawn


def test_what_r_prints_under_seed_123():
    assert RRandom(123).rnorm(3).round(4).tolist() == [-0.5605, -0.2302, 1.5587]
    assert RRandom(123).rexp(3).round(4).tolist() == [0.8435, 0.5766, 1.3291]
    assert RRandom(123).sample_int(10).tolist() == [3, 10, 2, 8, 6, 9, 1, 7, 5, 4]


# One at a time


@every_generator
def test_one_at_a_time_gives_the_same(draw):
    n = 400
    a, b = parameters(n)
    one, many = RRandom(8), RRandom(8)
    singly = [draw(one, 1, a[i], b[i])[0] for i in range(n)]
    assert singly == draw(many, n, a, b).tolist()
    assert one.runif(1)[0] == many.runif(1)[0]


def test_mass_draws_all_gamma_numbers_first():
    mu, theta = parameters(300)
    stream = RRandom(3)
    mean = mu * stream.rgamma(300, theta) / theta
    assert (RRandom(3).rnegbin(300, mu, theta) == stream.rpois(300, mean)).all()


def test_multinomial_is_a_chain_of_binomials():
    prob = np.array([0.5, 0.25, 0.125, 0.125])  # exact, so that no share rounds
    stream, wanted = RRandom(6), np.zeros((4, 50))
    for i in range(50):
        left = 30
        for k, share in enumerate((0.5, 0.5, 0.5)):
            wanted[k, i] = stream.rbinom(1, left, share)[0] if left else 0
            left -= int(wanted[k, i])
        wanted[3, i] = left
    assert (RRandom(6).rmultinom(50, 30, prob) == wanted).all()


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


# What draws must keep


@given(seeds, st.integers(1, 60), st.lists(st.floats(0.01, 10.0), min_size=1, max_size=60))
@few
def test_samples_without_replacement_differ(seed, n, weights):
    assert sorted(RRandom(seed).sample_int(n)) == list(range(1, n + 1))
    k = len(weights)
    assert sorted(RRandom(seed).sample_int(k, prob=weights)) == list(range(1, k + 1))
    drawn = RRandom(seed).sample_int(k + 1, 30, replace=True, prob=[0.0, *weights])
    assert set(drawn) <= set(range(2, k + 2))


def test_many_from_more_than_ten_million_differ():
    drawn = RRandom(1).sample_int(20_000_000, 200_000)
    assert len(np.unique(drawn)) == 200_000
    assert 1 <= drawn.min() <= drawn.max() <= 20_000_000


@given(seeds, st.integers(0, 10**6), st.lists(st.floats(0.0, 5.0), min_size=1, max_size=9))
@few
def test_multinomial_counts_add_up(seed, size, weights):
    if sum(weights) < 0.01:
        weights[0] = 1.0
    counts = RRandom(seed).rmultinom(4, size, weights)
    assert (counts.sum(axis=0) == size).all()
    assert (counts >= 0).all()
    assert (counts[np.array(weights) == 0.0] == 0).all()


@pytest.mark.parametrize(
    ("drawn", "law"),
    [
        (lambda r, n: r.rnorm(n, 1.0, 2.0), stats.norm(1.0, 2.0)),
        (lambda r, n: r.rexp(n, 0.5), stats.expon(scale=2.0)),
        *(
            (lambda r, n, a=a: r.rgamma(n, a, scale=2.0), stats.gamma(a, scale=2.0))
            for a in (0.3, 1.5, 8.0, 50.0)
        ),
        *(
            (lambda r, n, a=a, b=b: r.rbeta(n, a, b), stats.beta(a, b))
            for a, b in ((0.5, 3.0), (3.0, 0.5), (2.0, 5.0), (1.0, 1.0))
        ),
    ],
)
def test_the_law_of_continuous_numbers(drawn, law):
    """Kolmogorov and Smirnov: below 1e-4 once in 10,000 seeds, and the seed is fixed."""
    assert stats.kstest(drawn(RRandom(2024), 50_000), law.cdf).pvalue > 1e-4


@pytest.mark.parametrize(
    ("drawn", "law"),
    [
        *((lambda r, n, m=m: r.rpois(n, m), stats.poisson(m)) for m in (3.0, 12.0, 150.0)),
        *(
            (lambda r, n, s=s, p=p: r.rbinom(n, s, p), stats.binom(s, p))
            for s, p in ((20, 0.3), (500, 0.1), (90, 0.8))
        ),
        (lambda r, n: r.rnbinom(n, 4.0, 0.1), stats.nbinom(4.0, 0.1)),
        (lambda r, n: r.rnegbin(n, 36.0, 4.0), stats.nbinom(4.0, 0.1)),
        (lambda r, n: r.rnbinom(n, 4.0, mu=36.0), stats.nbinom(4.0, 0.1)),
        (lambda r, n: r.rmultinom(n, 90, [2, 1, 7])[2], stats.binom(90, 0.7)),
        (
            lambda r, n: r.sample_int(3, n, replace=True, prob=[2, 1, 7]),
            stats.rv_discrete(values=([1, 2, 3], [0.2, 0.1, 0.7])),
        ),
        (
            lambda r, n: r.sample_int(250, n, replace=True, prob=np.arange(1, 251)),
            stats.rv_discrete(values=(np.arange(1, 251), np.arange(1, 251) / 31375)),
        ),
    ],
)
def test_the_law_of_counts(drawn, law):
    """Chi-square over classes of about a twentieth each; the seed is fixed."""
    n = 50_000
    edges = np.unique(law.ppf(np.linspace(0, 1, 21)[1:-1]))
    cut = np.r_[0.0, law.cdf(edges), 1.0]
    share = np.diff(cut)
    found = np.bincount(np.searchsorted(edges, drawn(RRandom(7), n)), minlength=len(share))
    kept = share > 1e-9
    assert found[~kept].sum() == 0
    assert stats.chisquare(found[kept], n * share[kept] / share[kept].sum()).pvalue > 1e-4


# Special cases


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


def test_sample_is_sample_int_with_replacement():
    assert (RRandom(1).sample(7, 9) == RRandom(1).sample_int(7, 9, replace=True)).all()
    assert (RRandom(1).sample(7, 5, replace=False) == RRandom(1).sample_int(7, 5)).all()


def test_the_mixture_s_data_are_those_of_the_paper():
    """Table 6 of [risk2024], row D: mean 100.70 and median 97.93 by the bootstrap."""
    y = risk_efficient_counts(123)
    assert abs(y.mean() - 100.70) < 0.1
    assert abs(np.median(y) - 97.93) < 0.1


# Bad input


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
