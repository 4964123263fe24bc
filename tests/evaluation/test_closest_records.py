"""Distances to closest records: by hand, by loops, missing values, and a record left out."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.disclosure import closest_distances, share_nearer

ROWS = st.lists(
    st.tuples(st.integers(0, 2), st.integers(0, 8) | st.just(math.nan)), min_size=2, max_size=12
)


def columns(rows):
    codes, numbers = zip(*rows, strict=True)
    return {"g": np.array(codes), "x": np.array(numbers, dtype=float)}


def distance(one, other):
    if math.isnan(one[1]) or math.isnan(other[1]):
        number = float(math.isnan(one[1]) != math.isnan(other[1]))
    else:
        number = min(1.0, abs(one[1] - other[1]) / 4.0)
    return ((one[0] != other[0]) + number) / 2.0


@given(ROWS, ROWS)
@settings(max_examples=60, derandomize=True)
def test_distances_against_loops(rows, others):
    found = closest_distances(columns(rows), columns(others), {"x": 4.0})
    loops = [min(distance(row, other) for other in others) for row in rows]
    assert found.tolist() == loops
    own = closest_distances(columns(rows), columns(rows), {"x": 4.0}, itself=np.arange(len(rows)))
    assert own.tolist() == [
        min(distance(row, rows[j]) for j in range(len(rows)) if j != i)
        for i, row in enumerate(rows)
    ]
    pairs = [(a < b) + (a == b) / 2 for a in loops for b in own]
    assert math.isclose(share_nearer(found, own), sum(pairs) / len(pairs), abs_tol=1e-12)


def test_blocks_give_the_same_and_a_constant_differs_or_not():
    rng = np.random.default_rng(1)
    many = {"x": rng.normal(size=450)}
    others = {"x": rng.normal(size=30)}
    width = {"x": 3.0}
    whole = closest_distances(many, others, width)
    parts = [
        closest_distances({"x": many["x"][k : k + 7]}, others, width) for k in range(0, 450, 7)
    ]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert closest_distances({"x": np.array([2.0])}, {"x": np.array([3.0])}, {"x": 0.0})[0] == 1.0
