"""The perturbed histogram: by hand, its bins, what it says of itself, and records drawn from it."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from pyvws import InputError, RRandom
from pyvws.mechanisms.histogram.perturbed_histogram import (
    NoisyHistogram,
    perturbed_histogram,
    seeded_laplace,
    synthesize_from_histogram,
)
from pyvws.privacy import seller
from pyvws.privacy.budget import noise_scale

THREE = [1.0, 1.5, 7.0]
few = settings(max_examples=60, derandomize=True)


@pytest.fixture
def with_noise(monkeypatch):
    """Set the secret noise."""

    def fix(*noise):
        monkeypatch.setattr(seller, "add_discrete_laplace", lambda counts, scale: counts + noise)

    return fix


def of_counts(counts, edges):
    kept = np.maximum(counts, 0.0)
    return NoisyHistogram(
        *(np.asarray(edges, dtype=float), np.asarray(counts), kept / kept.sum()),
        *(1.0, "replace", 2.0, "dp-if-bounded", True),
    )


def test_three_records_by_hand(with_noise):
    with_noise(1, -2, 2)
    noisy = perturbed_histogram(THREE, epsilon=4.0, edges=[0.0, 2.0, 4.0, 8.0])
    assert noisy.counts.tolist() == [3, -2, 3]
    assert noisy.probabilities.tolist() == [0.5, 0.0, 0.5]
    assert (noisy.scale, noisy.epsilon, noisy.neighbours) == (0.5, 4.0, "replace")
    assert noisy.noisy_total == 4

    class Fixed:
        """Bins from 0.25 and 0.5, places in them from 0.5 and 0.75."""

        def __init__(self):
            self.numbers = iter([np.array([0.25, 0.5]), np.array([0.5, 0.75])])

        def random(self, size):
            return next(self.numbers)

    assert synthesize_from_histogram(noisy, 2, Fixed()).tolist() == [1.0, 7.0]


def test_a_large_epsilon_gives_the_counts_themselves():
    # A count differs with probability 2 exp(-10^6 / 2).
    noisy = perturbed_histogram(THREE, epsilon=1e6, range=(0.0, 8.0), bins=4)
    assert noisy.counts.tolist() == [2, 0, 0, 1]
    assert noisy.probabilities.tolist() == [2 / 3, 0.0, 0.0, 1 / 3]


@given(st.floats(1e-6, 1e4), st.sampled_from([("replace", 2), ("loo", 1)]))
@few
def test_the_scale_never_spends_more_than_epsilon(epsilon, kind):
    neighbours, changed = kind
    scale = noise_scale(epsilon, neighbours)
    assert Fraction(scale) * Fraction(epsilon) >= changed
    assert scale <= math.nextafter(changed / epsilon, math.inf)


def test_the_number_of_bins():
    y = np.full(1001, 0.5)
    options = {"epsilon": 1.0, "range": (0.0, 1.0)}
    by_rule = perturbed_histogram(y, **options)
    assert len(by_rule.counts) == len(by_rule.probabilities) == len(by_rule.edges) - 1 == 11
    assert len(perturbed_histogram(y, bins="cube-root", public_n=27, **options).counts) == 3
    loo = {**options, "neighbours": "loo"}
    assert len(perturbed_histogram(y, bins=7, **loo).counts) == 7
    assert len(perturbed_histogram(y, public_n=1000, **loo).counts) == 10


def test_values_outside_are_counted_at_the_ends_when_asked(with_noise):
    with_noise(0, 0, 0, 0)
    y = [-3.0, 1.0, 3.0, 9.0, 11.0]
    noisy = perturbed_histogram(y, epsilon=1.0, range=(0, 8), bins=4, allow_outside=True)
    assert noisy.counts.tolist() == [2, 1, 0, 2]
    assert y == [-3.0, 1.0, 3.0, 9.0, 11.0]


def test_what_it_says_of_itself():
    options = {"epsilon": 5.0, "bins": 2}
    public = perturbed_histogram(THREE, range=(0.0, 8.0), **options)
    assert (public.guarantee, public.publishable, public.scale) == ("dp-if-bounded", True, 0.4)
    data = perturbed_histogram(THREE, edges_from_data=True, neighbours="loo", **options)
    assert (data.guarantee, data.publishable, data.scale) == ("none", True, 0.2)
    assert data.edges.tolist() == [1.0, 4.0, 7.0]
    seeded = perturbed_histogram(THREE, range=(0.0, 8.0), noise="seeded-float", seed=3, **options)
    assert (seeded.guarantee, seeded.publishable) == ("none", False)
    again = perturbed_histogram(THREE, range=(0.0, 8.0), noise="seeded-float", seed=3, **options)
    assert (again.counts == seeded.counts).all()


def test_records_follow_the_bins_and_are_uniform_inside():
    edges = [0.0, 1.0, 4.0, 4.5, 9.0]
    noisy = of_counts([30, 60, -4, 10], edges)
    drawn = synthesize_from_histogram(noisy, 20_000, np.random.default_rng(5))
    found = np.histogram(drawn, edges)[0]
    assert found[2] == 0
    assert stats.chisquare(found[[0, 1, 3]], [6000, 12000, 2000]).pvalue > 0.01
    for low, high in ((0.0, 1.0), (1.0, 4.0), (4.5, 9.0)):
        inside = drawn[(drawn >= low) & (drawn < high)]
        assert stats.kstest(inside, stats.uniform(low, high - low).cdf).pvalue > 0.01


@given(
    st.lists(st.integers(-5, 20), min_size=2, max_size=9).filter(lambda v: max(v) > 0),
    st.sampled_from([0.0, 0.5, math.nextafter(1.0, 0.0)]),
)
@few
def test_records_stay_in_bins_that_have_a_count(counts, number):
    class Constant:
        def random(self, size):
            return np.full(size, number)

    edges = np.arange(len(counts) + 1.0)
    (drawn,) = synthesize_from_histogram(of_counts(counts, edges), 1, Constant())
    low = math.floor(drawn) if number < 0.9 else math.ceil(drawn) - 1
    assert counts[low] > 0


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({}, "edges-or-range"),
        ({"range": (0, 8), "edges_from_data": True}, "edges-or-range"),
        ({"edges": [0, 8], "bins": 3}, "edges-and-bins"),
        ({"range": (0, 8), "bins": 3, "public_n": 30}, "public-n-without-rule"),
        ({"range": (0, 8), "bins": "sturges"}, "bins-words"),
        ({"range": (0, 4, 8)}, "range-length"),
        ({"range": (0, 8), "seed": 1}, "secret-noise-with-seed"),
        ({"range": (0, 8), "noise": "seeded-float"}, "seeded-noise-without-seed"),
        ({"range": (0, 8), "noise": "gaussian"}, "not-a-choice"),
        ({"range": (0, 8), "neighbours": "add"}, "not-a-choice"),
        ({"range": (0, 8), "epsilon": 0.0}, "not-above-0"),
        ({"range": (0, 8), "epsilon": 1e-308}, "epsilon-too-small-for-noise"),
        ({"range": (2, 8)}, "records-outside-range"),
    ],
)
def test_bad_input(arguments, key):
    with refused(key):
        perturbed_histogram(THREE, **{"epsilon": 1.0, **arguments})


def test_a_number_of_bins_that_follows_from_the_records_is_refused_where_it_is_protected():
    with pytest.raises(InputError, match="the number of records is protected, so no rule may"):
        perturbed_histogram(THREE, epsilon=1.0, range=(0, 8), neighbours="loo")


def test_a_size_is_a_number_of_records():
    noisy = of_counts([1, 2], [0.0, 1.0, 2.0])
    with refused("not-a-whole-number", name="size"):
        synthesize_from_histogram(noisy, 0, np.random.default_rng(1))


@given(
    st.lists(st.integers(0, 32).map(lambda v: v / 4), min_size=1, max_size=20),
    st.integers(1, 6),
    st.floats(1e-3, 1e3),
    st.sampled_from(["replace", "loo"]),
    st.integers(0, 2**31 - 1),
)
@settings(max_examples=60, derandomize=True)
def test_seeded_noise_against_loops(y, bins, epsilon, kind, seed):
    """Counts of equal bins of [0, 8], a Laplace quantile at each R uniform, shares above 0."""
    scale = noise_scale(epsilon, kind)
    uniforms = RRandom(seed).runif(bins)
    noise = [
        scale * (math.log(2 * u) if u < 0.5 else -math.log(2 * (1 - u))) for u in uniforms.tolist()
    ]
    np.testing.assert_allclose(
        seeded_laplace(bins, scale=scale, seed=seed), noise, rtol=1e-9, atol=1e-12 * scale
    )
    edges = [8 * b / bins for b in range(bins + 1)]
    counts = [0] * bins
    for value in y:
        counts[max(b for b in range(bins) if edges[b] <= value)] += 1
    found = perturbed_histogram(
        y,
        epsilon=epsilon,
        range=(0.0, 8.0),
        bins=bins,
        neighbours=kind,
        noise="seeded-float",
        seed=seed,
    )
    noisy = [count + off for count, off in zip(counts, noise, strict=True)]
    np.testing.assert_allclose(found.counts, noisy, rtol=1e-9, atol=1e-9 * scale)
    kept = [max(0.0, value) for value in found.counts.tolist()]
    shares = [v / sum(kept) for v in kept] if sum(kept) > 0 else [1 / bins] * bins
    np.testing.assert_allclose(found.probabilities, shares, rtol=1e-12)
