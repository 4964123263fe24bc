"""LW, CW and SW weights: by hand, by loops, and what must not change them."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from refusals import refused

from pyvws import InputError, quantile
from pyvws.bounds.lipschitz import centre_and_spread, lipschitz_bounds
from pyvws.weights.weights import (
    lipschitz_weights,
    risk_weights,
    scalar_weights,
    scaled_bounds,
    weights_from_bounds,
)

few = settings(max_examples=60, derandomize=True)
bounds_lists = st.lists(st.integers(0, 4096).map(lambda v: v / 64), min_size=2, max_size=15).filter(
    lambda v: min(v) < max(v)
)
any_terms = st.sampled_from([-np.inf, np.inf, np.nan, 0.0, -1e300, -5e-324]) | st.integers(
    -640, 640
).map(lambda v: v / 64)
scales = st.tuples(st.floats(0, 3), st.floats(-1, 1))

THREE = [[-1.0, -2.0, -4.0], [-2.0, -3.0, -6.0]]  # bounds 2, 3, 6: risks 0, 1/4, 1


@given(bounds_lists, scales)
@few
def test_against_loops(bounds, scale):
    c, g = scale
    low, high = min(bounds), max(bounds)
    expected = []
    for bound in bounds:
        risk = (bound - low) / (high - low)
        expected.append(min(1.0, max(0.0, c * (1.0 - risk) + g)))
    assert weights_from_bounds(bounds, c=c, g=g).tolist() == expected
    risks = [(bound - low) / (high - low) for bound in bounds]
    assert risk_weights(risks, c=c, g=g).tolist() == expected


@given(bounds_lists, scales)
@few
def test_the_other_maps_against_loops(bounds, scale):
    """Both rise with the bound; softmax is 1/2 at the mean, logistic reads one bound alone."""
    c, g = scale
    middle, spread = np.mean(bounds), np.std(bounds, ddof=1)
    risks = {
        "softmax": [1 / (1 + math.exp(-1.69897 * (f - middle) / spread)) for f in bounds],
        "logistic": [math.tanh(f / 4) for f in bounds],
    }
    for map, expected in risks.items():
        found = scaled_bounds(bounds, map=map)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)
        assert (np.diff(found[np.argsort(bounds)]) >= 0).all()
        weights = weights_from_bounds(bounds, c=c, g=g, map=map)
        assert weights.tolist() == risk_weights(found, c=c, g=g).tolist()
        assert (
            lipschitz_weights(-np.array([bounds]), c=c, g=g, map=map).tolist() == weights.tolist()
        )
    first = scaled_bounds(bounds[:1], map="logistic")
    assert first.tolist() == scaled_bounds(bounds, map="logistic")[:1].tolist()
    assert centre_and_spread(np.array(bounds)) == pytest.approx((middle, spread), rel=1e-9)
    counts = np.arange(1.0, len(bounds) + 1)
    repeated = scaled_bounds(np.repeat(bounds, counts.astype(int)), map="softmax")
    once = scaled_bounds(bounds, map="softmax", counts=counts)
    assert np.repeat(once, counts.astype(int)).tolist() == repeated.tolist()


@given(
    st.tuples(st.integers(1, 6), st.integers(1, 6)).flatmap(
        lambda shape: npst.arrays(np.float64, shape, elements=any_terms)
    ),
    scales,
    st.sampled_from([1.0, 0.75, 0.5]),
)
@few
def test_any_matrix_against_loops(log_lik, scale, threshold):
    """Algorithm 1 from the matrix on: draws beyond the threshold out, infinite records at 0."""
    c, g = scale
    draws, records = log_lik.shape
    finite = [all(map(math.isfinite, log_lik[:, i])) for i in range(records)]
    sizes = [[abs(v) if math.isfinite(v) else math.inf for v in row] for row in log_lik]
    largest = [max(row) for row in sizes]
    level = max(largest) if threshold == 1 else quantile(largest, threshold)
    kept = [s for s in range(draws) if largest[s] <= level]
    bounds = [max(sizes[s][i] for s in kept) if finite[i] else math.inf for i in range(records)]
    scaled = [bounds[i] for i in range(records) if finite[i]]
    if not scaled or min(scaled) == max(scaled):
        with pytest.raises(InputError):
            lipschitz_weights(log_lik, c=c, g=g, threshold=threshold)
        with pytest.raises(InputError):
            scaled_bounds(bounds)
        return
    low, high = min(scaled), max(scaled)
    risks = [(bound - low) / (high - low) if math.isfinite(bound) else 1.0 for bound in bounds]
    expected = [
        min(1.0, max(0.0, c * (1.0 - risk) + g)) if math.isfinite(bound) else 0.0
        for risk, bound in zip(risks, bounds, strict=True)
    ]
    assert lipschitz_weights(log_lik, c=c, g=g, threshold=threshold).tolist() == expected
    assert scaled_bounds(bounds).tolist() == risks


@given(st.integers(1, 20), st.floats(1e-300, 1e300), st.floats(1e-300, 1e300))
@few
def test_one_weight_for_all_is_the_ratio_of_bounds(n, target, unweighted):
    found = scalar_weights(n, target=target, unweighted=unweighted)
    assert found.tolist() == [min(1.0, target / unweighted)] * n
    assert scalar_weights(float(n), target=target, unweighted=unweighted).tolist() == found.tolist()


@given(bounds_lists)
@few
def test_only_the_least_bound_and_risk_0_keep_weight_1(bounds):
    """The statement says so: downweighting does not become sparse."""
    kept = weights_from_bounds(bounds) == 1.0
    assert kept.tolist() == [bound == min(bounds) for bound in bounds]
    risks = np.array(bounds) / 64
    assert (risk_weights(risks) == 1.0).tolist() == (risks == 0).tolist()


def test_a_record_that_is_not_finite_weighs_nothing_and_leaves_the_scale():
    log_lik = np.column_stack([np.array(THREE), [-1.0, -np.inf], [np.nan, -2.0]])
    assert lipschitz_weights(log_lik, c=0.5, g=0.25).tolist() == [0.75, 0.625, 0.25, 0.0, 0.0]
    by_record = lipschitz_bounds(log_lik).by_record
    assert by_record.tolist() == [2.0, 3.0, 6.0, np.inf, np.inf]
    assert weights_from_bounds(by_record).tolist() == [1.0, 0.75, 0.0, 0.0, 0.0]
    for map in ("softmax", "logistic"):
        kept = weights_from_bounds(by_record[:3], map=map).tolist()
        assert weights_from_bounds(by_record, map=map).tolist() == [*kept, 0.0, 0.0]


@pytest.mark.runs
def test_bounds_far_apart_overflow_no_map():
    assert scaled_bounds([0.0, *[1.0] * 10**6], map="softmax")[0] == 0.0
    assert scaled_bounds([0.0, 1e300], map="logistic").tolist() == [0.0, 1.0]
    with refused("bounds-without-spread"):
        scaled_bounds([0.0, 1e300], map="softmax")
    with refused("bounds-all-equal"):
        scaled_bounds([2.0, 2.0], map="softmax")
    assert scaled_bounds([2.0, 2.0], map="logistic") == pytest.approx([math.tanh(0.5)] * 2)
