"""Bootstrap intervals: by hand, by loops over R's positions, and what theory allows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import RRandom, bootstrap_interval
from pyvws.r_numbers import rarith

whole = st.integers(-9, 9).map(float)


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
