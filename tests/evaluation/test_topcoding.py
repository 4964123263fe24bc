"""Topcoding: by hand, by a loop, and its risk."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import identification_risk, topcode
from pyvws.r_numbers import rarith


@given(
    st.lists(st.floats(-1e300, 1e300) | st.just(0.0), min_size=1, max_size=12),
    st.floats(-1e300, 1e300),
    st.floats(0.01, 0.99),
)
@settings(max_examples=60, derandomize=True)
def test_any_values_against_a_loop(y, value, level):
    for found in (topcode(y, value=value), topcode(y, quantile=level)):
        threshold = found.threshold
        assert found.values.tolist() == [threshold if v > threshold else v for v in y]
        assert found.share == sum(v > threshold for v in y) / len(y)
    assert topcode(y, value=value).threshold == value
    assert topcode(y, quantile=level).threshold == rarith.quantile(y, level)


def test_nothing_above_changes_nothing():
    y = np.random.default_rng(3).normal(size=30)
    assert (topcode(y, value=1e9).values == y).all()
    assert topcode(y, value=1e9).share == 0.0


def test_topcoding_leaves_the_rest_at_risk():
    """Below the threshold the true values are released, at their own risk."""
    y = np.array([1.0, 50.0, 51.0, 52.0, 900.0, 2000.0])
    released = topcode(y, value=100.0).values
    risk = identification_risk(y, [released])
    assert risk[0] == identification_risk(y)[0]
    assert risk[4:].tolist() == [0.0, 0.0]
