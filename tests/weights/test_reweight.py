"""Algorithm 3: by hand, by a loop, and what a refit-free bound must do."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import lipschitz_bounds, reweight

few = settings(max_examples=60, derandomize=True)
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1, width=16), min_size=n, max_size=n),
        st.lists(st.integers(0, 640).map(lambda v: v / 64), min_size=n, max_size=n),
    )
)
inside = st.floats(0.05, 0.95)


def test_three_records_by_hand():
    # The largest bound is 4: 0.5 * (1 * 4/2, 0.5 * 4/4, 0.25 * 4/1).
    assert reweight([1.0, 0.5, 0.25], [2.0, 4.0, 1.0], k=0.5).tolist() == [1.0, 0.25, 0.5]


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


@given(tables, inside, st.integers(0, 2**32 - 1))
@few
def test_order_duplicates_units_and_direction(table, k, seed):
    weights, bounds = map(np.array, table)
    found = reweight(weights, bounds, k=k)
    order = np.random.default_rng(seed).permutation(len(weights))
    assert (reweight(weights[order], bounds[order], k=k) == found[order]).all()
    twice = reweight(np.append(weights, weights[0]), np.append(bounds, bounds[0]), k=k)
    assert (twice[:-1] == found).all()
    assert (reweight(weights, 8.0 * bounds, k=k) == found).all()
    assert (reweight(weights, bounds, k=k + 0.04) >= found).all()
    assert ((found >= 0) & (found <= 1)).all()
    assert ((found == 0) == (weights == 0)).all()


def test_without_a_refit_every_record_meets_k_times_the_bound_or_weighs_one():
    rng = np.random.default_rng(4)
    log_lik = rng.normal(-4, 2, (50, 30))
    weights = rng.random(30)
    before = lipschitz_bounds(log_lik * weights)
    raised = reweight(weights, before.by_record, k=0.9)
    after = lipschitz_bounds(log_lik * raised)
    free = raised < 1
    assert free.any()
    assert (~free).any()
    np.testing.assert_allclose(after.by_record[free], 0.9 * before.database, rtol=1e-13)
    assert after.database <= 0.9 * before.database * (1 + 1e-13)


def test_equal_bounds_collapse_to_one_factor():
    assert reweight([0.5, 1.0, 0.0], [3.0, 3.0, 3.0], k=0.5).tolist() == [0.25, 0.5, 0.0]
    assert reweight([0.5, 1.0], [0.0, 0.0], k=0.5).tolist() == [1.0, 1.0]
