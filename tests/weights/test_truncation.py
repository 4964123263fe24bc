"""Weighted-epsilon and downscaling: by hand, by loops, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws import downscale, lipschitz_bounds, weighted_epsilon_weights

few = settings(max_examples=60, derandomize=True)
bounds_of = st.sampled_from([0.0, 2.5, np.inf]) | st.integers(0, 640).map(lambda v: v / 64)
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(st.floats(0, 1, width=16), min_size=n, max_size=n).map(np.array),
        st.lists(bounds_of, min_size=n, max_size=n).map(np.array),
    )
)
epsilons = st.sampled_from([0.25, 3.0, 5.0, 12.0, np.inf])
rules = pytest.mark.parametrize("rule", [weighted_epsilon_weights, downscale])

FOUR = [1.0, 0.5, 0.5, 0.0], [2.5, 5.0, np.inf, 0.0]  # weights and bounds


def test_four_records_by_hand():
    # A bound of just epsilon / 2 = 2.5 is kept; a bound of 5 is twice as large.
    assert weighted_epsilon_weights(*FOUR, epsilon=5.0).tolist() == [1.0, 0.0, 0.0, 0.0]
    assert downscale(*FOUR, epsilon=5.0).tolist() == [1.0, 0.25, 0.0, 0.0]


@given(tables, epsilons)
@few
def test_against_loops(table, epsilon):
    truncated, scaled = [], []
    for alpha, bound in zip(*table, strict=True):
        truncated.append(0.0 if bound > epsilon / 2 else alpha)
        scaled.append(alpha * (epsilon / 2 / bound) if bound > epsilon / 2 else alpha)
    assert weighted_epsilon_weights(*table, epsilon=epsilon).tolist() == truncated
    assert downscale(*table, epsilon=epsilon).tolist() == scaled


@rules
@given(table=tables, epsilon=epsilons, seed=st.integers(0, 2**32 - 1))
@few
def test_order_duplicates_units_and_direction(rule, table, epsilon, seed):
    weights, bounds = table
    found = rule(weights, bounds, epsilon=epsilon)
    order = np.random.default_rng(seed).permutation(len(weights))
    assert (rule(weights[order], bounds[order], epsilon=epsilon) == found[order]).all()
    twice = rule(np.append(weights, weights[0]), np.append(bounds, bounds[0]), epsilon=epsilon)
    assert (twice[:-1] == found).all()
    assert (rule(weights, 8.0 * bounds, epsilon=8.0 * epsilon) == found).all()
    assert (rule(weights, bounds, epsilon=epsilon + 1.0) >= found).all()
    assert (found <= weights).all()
    assert (found >= 0).all()


@rules
@given(table=tables)
@few
def test_an_infinite_epsilon_changes_nothing(rule, table):
    assert (rule(*table, epsilon=np.inf) == table[0]).all()


@rules
def test_bounds_that_meet_epsilon_change_nothing(rule):
    weights, bounds = [0.25, 1.0, 0.0, 0.5], [2.5, 1.0, 0.0, 0.0]
    assert rule(weights, bounds, epsilon=5.0).tolist() == weights


def test_without_a_refit_every_record_meets_epsilon():
    rng = np.random.default_rng(4)
    log_lik = rng.normal(-4, 2, (50, 30))
    weights = rng.random(30)
    before = lipschitz_bounds(log_lik * weights)
    assert before.epsilon > 5.0
    above = before.by_record > 2.5
    lower = downscale(weights, before.by_record, epsilon=5.0)
    after = lipschitz_bounds(log_lik * lower).by_record
    np.testing.assert_allclose(after[above], 2.5, rtol=1e-13)
    assert (lower[~above] == weights[~above]).all()
    out = weighted_epsilon_weights(weights, before.by_record, epsilon=5.0)
    assert lipschitz_bounds(log_lik * out).epsilon <= 5.0
