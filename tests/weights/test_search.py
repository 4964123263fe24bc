"""The scale that meets a bound without a refit."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import risk_weights
from pyvws.weights.search import Try, foreseen, leveled, scale_to_meet

few = settings(max_examples=60, derandomize=True)


def test_three_records_by_hand():
    base, maxima = np.array([1.0, 0.5, 0.25]), np.array([1.0, 4.0, 8.0])
    # Bounds at scale s: s, 2 s, 2 s while no weight reaches 1.
    found = scale_to_meet(lambda s: foreseen(np.minimum(1.0, s * base), maxima), 1.0, largest=10.0)
    assert found == pytest.approx(0.5, rel=1e-12)
    # Later the second record is held at 4 and the third goes on: 2 s = 5.
    found = scale_to_meet(lambda s: foreseen(np.minimum(1.0, s * base), maxima), 5.0, largest=10.0)
    assert found == pytest.approx(2.5, rel=1e-12)


def test_none_where_even_the_largest_scale_stays_below():
    bound = lambda s: 4.0 * min(1.0, s)  # noqa: E731
    assert scale_to_meet(bound, 4.5, largest=10.0) is None
    assert scale_to_meet(bound, 2.0, largest=0.25) is None
    assert scale_to_meet(bound, 1.0, largest=0.25) == pytest.approx(0.25)


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 50) | st.just(np.inf)), max_size=10))
@few
def test_what_a_fit_foresees_against_a_loop(records):
    weights, maxima = (
        (np.array(column) for column in zip(*records, strict=True))
        if records
        else (np.zeros(0), np.zeros(0))
    )
    expected = max((weight * size for weight, size in records if weight > 0), default=0.0)
    assert foreseen(weights, maxima) == expected


@given(
    st.lists(st.tuples(st.floats(0, 0.99), st.floats(0.1, 50)), min_size=1, max_size=10),
    st.floats(0.01, 0.9),
)
@few
def test_meets_the_bound_from_below(records, share):
    risk, maxima = map(np.array, zip(*records, strict=True))

    def bound(c):
        return (risk_weights(risk, c=c) * maxima).max()

    target = share * maxima.max()
    found = scale_to_meet(bound, target, largest=1e6)
    assert bound(found) <= target
    assert bound(found * (1 + 1e-12)) >= target * (1 - 1e-11)


@given(
    st.lists(
        st.tuples(
            st.just(0.0) | st.floats(1e-9, 1),
            st.sampled_from([0.0, 5e-324, 1e300]) | st.floats(1e-9, 50),
        ),
        min_size=1,
        max_size=10,
    ),
    st.floats(1e-9, 1e300),
)
@few
def test_leveled_against_a_loop(records, bound):
    weights, by_record = map(np.array, zip(*records, strict=True))
    found = leveled(weights, by_record, bound)
    expected = []
    for weight, own in records:
        moved = float(min(Fraction(1), Fraction(weight) * Fraction(bound) / Fraction(own or 1)))
        expected.append(moved if weight > 0 and own > 0 else float(weight > 0))
    np.testing.assert_allclose(found, expected, rtol=1e-15, atol=1e-300)


def test_a_try_says_how_near_it_came():
    made = Try("CW", "c", 1.5, 3.3, 3.0)
    assert str(made) == "CW c = 1.5000: bound 3.3000 for 3.0000 (+10.0%)"
    assert str(Try("CW", "c", 1.5, 3.3, 0.0)) == "CW c = 1.5000: bound 3.3000 for 0.0000"
