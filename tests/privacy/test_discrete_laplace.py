"""The noise of a release: its distribution, and what it costs.

It has no seed, so these tests can fail by chance: each with a probability of about 1e-6.
"""

import sys
from itertools import product

import numpy as np
import pytest
from opendp.mod import OpenDPException, assert_features, disable_features, enable_features
from refusals import refused
from scipy import stats

from pyvws import MissingDependencyError, perturbed_histogram
from pyvws.privacy import discrete_noise
from pyvws.privacy.budget import noise_scale
from pyvws.privacy.discrete_noise import add_discrete_laplace

LEVEL = 1e-6
DRAWS = 200_000
MEASUREMENT = discrete_noise.laplace


@pytest.fixture
def halved(monkeypatch):
    """Noise of half the scale that is said."""
    monkeypatch.setattr(discrete_noise, "laplace", lambda scale: MEASUREMENT(scale / 2.0))


def noisy_counts(outcome, bins, **options):
    edges = np.arange(bins + 1.0)
    return perturbed_histogram(outcome, edges=edges, **options).counts


def chi_square_p(noise, scale):
    """p of the noise under the exact discrete Laplace, tails of fewer than 20 expected pooled."""
    law = stats.dlaplace(1.0 / scale)
    last = 0
    while len(noise) * law.sf(last) >= 20:
        last += 1
    values = np.arange(-last + 1, last)
    observed = [(noise <= -last).sum(), *(noise == values[:, None]).sum(axis=1)]
    probability = [law.cdf(-last), *law.pmf(values)]
    observed.append(len(noise) - sum(observed))
    probability.append(1.0 - sum(probability))
    return stats.chisquare(observed, len(noise) * np.array(probability)).pvalue


def breaks(first, second, epsilon):
    """Is some event's probability surely more than exp(epsilon) times as large in `first`?

    The rows of both are noisy counts of neighbours. The events say which counts are large and which
    small, exact binomial limits keep all of them together at LEVEL.
    """
    cuts = range(-2, 4)
    if first.shape[1] == 1:
        pairs = [(side(first, a), side(second, a)) for side in (above, below) for a in cuts]
    else:
        pairs = [
            (above(first, a) & below(first, b), above(second, a) & below(second, b))
            for a, b in product(cuts, cuts)
        ]
    level = LEVEL / (2 * len(pairs))
    for one, other in pairs:
        hits, misses = one.sum(), (~other).sum()
        lowest = stats.beta.ppf(level, hits, len(one) - hits + 1) if hits else 0.0
        highest = 1.0 - stats.beta.ppf(level, misses, len(other) - misses + 1) if misses else 1.0
        if lowest > np.exp(epsilon) * highest:
            return True
    return False


def above(rows, value):
    return rows[:, 0] >= value


def below(rows, value):
    return rows[:, -1] <= value


def neighbours_of(kind, epsilon, pairs=20_000):
    """Noisy counts (pairs, bins) of two neighbours, many times: each bin or pair of bins is one."""
    options = {"epsilon": epsilon, "neighbours": kind}
    places = np.arange(pairs)
    if kind == "replace":
        first, second = 2.0 * places + 0.5, 2.0 * places + 1.5
        return [noisy_counts(y, 2 * pairs, **options).reshape(-1, 2) for y in (first, second)]
    # The last bin keeps one record in either.
    first, second = np.arange(pairs + 1) + 0.5, np.array([pairs + 0.5])
    return [noisy_counts(y, pairs + 1, **options)[:-1, None] for y in (first, second)]


@pytest.mark.runs
def test_noise_is_discrete_laplace():
    scale = noise_scale(1.0, "replace")
    noise = noisy_counts([0.5], DRAWS, epsilon=1.0) - (np.arange(DRAWS) == 0)
    assert noise.dtype == np.int64
    assert chi_square_p(noise, scale) > LEVEL


@pytest.mark.usefixtures("halved")
def test_noise_of_half_the_scale_is_told_apart():
    scale = noise_scale(1.0, "replace")
    noise = noisy_counts([0.5], DRAWS // 10, epsilon=1.0) - (np.arange(DRAWS // 10) == 0)
    assert chi_square_p(noise, scale) < LEVEL
    assert chi_square_p(noise, scale / 2.0) > LEVEL


@pytest.mark.runs
@pytest.mark.parametrize("kind", ["replace", "loo"])
def test_neighbours_cannot_be_told_apart_beyond_epsilon(kind):
    first, second = neighbours_of(kind, 1.0)
    assert not breaks(first, second, 1.0)
    assert not breaks(second, first, 1.0)
    # The bound is met, and so a smaller epsilon would be broken.
    assert breaks(first, second, 0.6)


@pytest.mark.runs
@pytest.mark.usefixtures("halved")
@pytest.mark.parametrize("kind", ["replace", "loo"])
def test_half_the_scale_breaks_epsilon(kind):
    first, second = neighbours_of(kind, 1.0)
    assert breaks(first, second, 1.0)


@pytest.mark.parametrize("epsilon", [5.0, 4.0, 3.0, 0.7, 0.1, 1e-3, 37.7])
@pytest.mark.parametrize(("kind", "changed"), [("replace", 2), ("loo", 1)])
def test_opendp_counts_the_same_cost(epsilon, kind, changed):
    spent = discrete_noise.laplace(noise_scale(epsilon, kind)).map(changed)
    assert spent == pytest.approx(epsilon, rel=1e-15)


def test_the_variance_of_the_2010_paper_is_no_scale():
    """Section 4 of Wasserman and Zhou states a variance of 8 / epsilon^2."""
    epsilon = 5.0
    scale, variance = noise_scale(epsilon), 8.0 / epsilon**2
    assert 2.0 * scale**2 == pytest.approx(variance, rel=1e-15)
    # One record moves from the first bin to the second: the largest log-likelihood ratio.
    d = np.arange(-5, 6)
    for used, cost in ((scale, 5.0), (variance, 6.25)):
        law = stats.dlaplace(1.0 / used)
        first = law.logpmf(d - 1)[:, None] + law.logpmf(d)[None, :]
        second = law.logpmf(d)[:, None] + law.logpmf(d - 1)[None, :]
        assert (first - second).max() == pytest.approx(cost, rel=1e-9)
        assert discrete_noise.laplace(used).map(2) == pytest.approx(cost, rel=1e-15)


def test_no_two_calls_agree_and_large_counts_stay_whole():
    counts = np.full(200, 2**53 + 1)
    first, second = (add_discrete_laplace(counts, scale=5.0) for _ in range(2))
    assert (first != second).any()
    assert np.abs(first - counts).max() < 1000


def test_opendp_keeps_the_features_of_the_program():
    disable_features("contrib")
    add_discrete_laplace([1], scale=1.0)
    with pytest.raises(OpenDPException):
        assert_features("contrib")
    enable_features("contrib")
    add_discrete_laplace([1], scale=1.0)
    assert_features("contrib")
    disable_features("contrib")


def test_without_opendp(monkeypatch):
    monkeypatch.setitem(sys.modules, "opendp.measurements", None)
    with pytest.raises(MissingDependencyError) as caught:
        perturbed_histogram([0.5], epsilon=1.0, range=(0.0, 1.0))
    assert str(caught.value) == "Secret noise needs OpenDP. Run: pip install opendp"


@pytest.mark.parametrize(
    ("counts", "scale", "key"),
    [
        ([1.5], 1.0, "noise-of-no-counts"),
        ([[1]], 1.0, "noise-of-no-counts"),
        ([], 1.0, "noise-of-no-counts"),
        ([1], 0.0, "not-above-0"),
    ],
)
def test_bad_input(counts, scale, key):
    with refused(key):
        add_discrete_laplace(counts, scale=scale)
