"""Weighted-epsilon and downscaling: by hand, by loops, and what must not change them."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import downscale, weighted_epsilon_weights

few = settings(max_examples=60, derandomize=True)
bounds_of = st.sampled_from([0.0, 2.5, np.inf]) | st.integers(0, 640).map(lambda v: v / 64)
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1, width=16), min_size=n, max_size=n).map(np.array),
        st.lists(bounds_of, min_size=n, max_size=n).map(np.array),
    )
)
epsilons = st.sampled_from([0.25, 3.0, 5.0, 12.0, np.inf])


@given(tables, epsilons)
@few
def test_against_loops(table, epsilon):
    truncated, scaled = [], []
    for alpha, bound in zip(*table, strict=True):
        truncated.append(0.0 if bound > epsilon / 2 else alpha)
        scaled.append(alpha * (epsilon / 2 / bound) if bound > epsilon / 2 else alpha)
    assert weighted_epsilon_weights(*table, epsilon=epsilon).tolist() == truncated
    assert downscale(*table, epsilon=epsilon).tolist() == scaled
