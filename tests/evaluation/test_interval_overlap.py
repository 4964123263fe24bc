"""Overlap of intervals: by hand, bounds and symmetry."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.regression_utility import interval_overlap

few = settings(max_examples=60, derandomize=True)
intervals = st.tuples(st.integers(-20, 20), st.integers(1, 20)).map(
    lambda pair: (float(pair[0]), float(pair[0] + pair[1]))
)


@given(st.lists(st.tuples(intervals, intervals), min_size=1, max_size=6))
@few
def test_against_exact_fractions(pairs):
    """The common part as a count of whole steps: the ends are whole numbers."""
    shares = []
    for (low, high), (other_low, other_high) in pairs:
        steps = [k for k in range(-20, 40) if low <= k < high and other_low <= k < other_high]
        lengths = Fraction(high - low), Fraction(other_high - other_low)
        shares.append(float(sum(len(steps) / length for length in lengths) / 2))
    first, second = ([pair[side] for pair in pairs] for side in (0, 1))
    assert interval_overlap(first, second) == pytest.approx(shares, rel=1e-15)
    assert interval_overlap(first[0], second[0]) == pytest.approx(shares[0], rel=1e-15)
