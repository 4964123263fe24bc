"""Algorithm 3: by hand, by a loop, and what a refit-free bound must do."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import reweight

few = settings(max_examples=60, derandomize=True)
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1, width=16), min_size=n, max_size=n),
        st.lists(st.integers(0, 640).map(lambda v: v / 64), min_size=n, max_size=n),
    )
)
inside = st.floats(0.05, 0.95)


@given(tables, inside)
@few
def test_against_a_loop(table, k):
    weights, bounds = table
    expected = []
    for alpha, bound in zip(weights, bounds, strict=True):
        if alpha == 0:
            expected.append(0.0)
        elif bound == 0:
            expected.append(1.0)
        else:
            expected.append(min(1.0, k * alpha * (max(bounds) / bound)))
    assert reweight(weights, bounds, k=k).tolist() == expected


@given(inside, st.floats(1e-9, 1.0), st.sampled_from([5e-324, 1e-310, 1.0, 1e300]))
@few
def test_any_magnitude_of_bounds(k, weight, bound):
    ratio = Fraction(k) * Fraction(weight) * Fraction(1e300) / Fraction(bound)
    found = reweight([weight, 1.0], [bound, 1e300], k=k)
    assert found[0] == pytest.approx(float(min(Fraction(1), ratio)), rel=1e-15)
    assert (reweight([5e-324, 1.0], [bound, 1e300], k=k) <= 1).all()
    assert reweight([0.0, 1.0], [bound, 1e300], k=k)[0] == 0
