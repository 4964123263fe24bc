"""Bootstrap intervals: by hand, by loops over R's positions, and what theory allows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import RRandom, bootstrap_interval
from pyvws.r_numbers import rarith

whole = st.integers(-9, 9).map(float)


def test_by_hand():
    # Under seed 1 R draws positions 1, 2, 1 and 1, 2, 1 from the first dataset, all from one
    # stream; the second goes on with 1, 1, 2 and 2, 1, 1.
    assert RRandom(1).sample(2, 12).tolist() == [1, 2, 1, 1, 2, 1, 1, 1, 2, 2, 1, 1]
    found = bootstrap_interval(
        [[0.0, 3.0], [0.0, 30.0]], rarith.mean, n=3, replicates=2, seed=1, level=0.5
    )
    # Statistics 1, 1, 10, 10.
    assert (found.estimate, found.lower, found.upper) == (5.5, 1.0, 10.0)
    assert found.length == 9.0


def test_against_loops():
    datasets = [np.arange(7.0), np.arange(20.0) ** 2]
    stream, pooled = RRandom(42), []
    for values in datasets:
        for _ in range(50):
            positions = stream.sample(len(values), 9)
            pooled.append(np.median([values[p - 1] for p in positions]))
    found = bootstrap_interval(
        datasets, lambda x: float(np.median(x)), n=9, replicates=50, seed=42, level=0.9
    )
    assert found.estimate == pytest.approx(np.mean(pooled), rel=1e-14)
    assert found.lower == pytest.approx(np.quantile(pooled, 0.05), rel=1e-14)
    assert found.upper == pytest.approx(np.quantile(pooled, 0.95), rel=1e-14)


@given(
    st.lists(st.lists(whole, min_size=1, max_size=6), min_size=1, max_size=3),
    st.integers(1, 5),
    st.integers(1, 6),
    st.integers(0, 2**31 - 1),
    st.sampled_from([0.5, 0.9, 0.95]),
)
@settings(max_examples=40, derandomize=True)
def test_any_datasets_against_loops(datasets, n, replicates, seed, level):
    stream, pooled = RRandom(seed), []
    for values in datasets:
        for _ in range(replicates):
            pooled.append(max(values[p - 1] for p in stream.sample(len(values), n)))
    found = bootstrap_interval(
        datasets, lambda x: float(x.max()), n=n, replicates=replicates, seed=seed, level=level
    )
    assert found.estimate == pytest.approx(sum(pooled) / len(pooled), rel=1e-15, abs=1e-15)
    tail = (1 - level) / 2
    wanted = np.quantile(pooled, [tail, 1 - tail])
    np.testing.assert_allclose([found.lower, found.upper], wanted, rtol=1e-12, atol=1e-12)


def test_tails_are_the_decimals_that_are_meant():
    values = np.arange(1000.0)
    stream = RRandom(3)
    pooled = [rarith.mean(values[stream.sample(1000, 1) - 1]) for _ in range(1000)]
    found = bootstrap_interval([values], rarith.mean, n=1, seed=3)
    assert [found.lower, found.upper] == list(rarith.quantile(pooled, [0.025, 0.975]))


def test_width_is_that_of_the_mean():
    """Half the width of 95 % is 1.96 sd / root n, within five Monte Carlo standard errors."""
    values = np.random.default_rng(1).normal(10, 2, 400)
    found = bootstrap_interval([values], rarith.mean, n=400, replicates=4000, seed=9)
    error = np.std(values) / 20
    # A quantile at 2.5 % of 4000 normal numbers has a standard error of 0.042 sd.
    assert found.upper - found.estimate == pytest.approx(1.96 * error, abs=5 * 0.042 * error)
    assert found.estimate == pytest.approx(values.mean(), abs=5 * error / np.sqrt(4000))


def test_special_cases_collapse():
    same = bootstrap_interval([[4.0], [4.0]], rarith.mean, n=5, replicates=3, seed=1)
    assert (same.estimate, same.lower, same.upper) == (4.0, 4.0, 4.0)
    narrow = bootstrap_interval([np.arange(9.0)], rarith.mean, n=9, seed=1, level=0.5)
    wide = bootstrap_interval([np.arange(9.0)], rarith.mean, n=9, seed=1, level=0.99)
    assert wide.estimate == narrow.estimate
    assert wide.length > narrow.length
