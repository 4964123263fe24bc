"""Replicated uniques, attribute disclosure and closest records: by loops, and their ends."""

import math

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.evaluation.disclosure import (
    attribute_disclosure,
    closest_distances,
    replicated_uniques,
    share_nearer,
)

ROWS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 2)), min_size=1, max_size=15)


@given(ROWS, ROWS, st.randoms())
@settings(max_examples=80, derandomize=True)
def test_shares_against_loops_over_the_records(rows, others, random):
    keys, targets = zip(*rows, strict=True)
    other_keys, other_targets = zip(*others, strict=True)
    found = replicated_uniques(keys, other_keys)
    alone = [k for k in keys if keys.count(k) == 1]
    assert found.original == len(alone) / len(rows)
    assert found.present == sum(k in other_keys for k in alone) / len(rows)
    assert found.replicated == sum(other_keys.count(k) == 1 for k in alone) / len(rows)
    told = attribute_disclosure(keys, targets, other_keys, other_targets)
    said = [{t for k, t in others if k == key} for key in keys]
    true = [{t for k, t in rows if k == key} for key in keys]
    right = [s == {t} for s, t in zip(said, targets, strict=True)]
    assert told.original == sum(len(t) == 1 for t in true) / len(rows)
    assert told.present == sum(bool(s) for s in said) / len(rows)
    assert told.synthetic == sum(len(s) == 1 for s in said) / len(rows)
    assert told.correct == sum(right) / len(rows)
    assert told.both == sum(len(t) == 1 and r for t, r in zip(true, right, strict=True)) / len(rows)
    mixed = random.sample(others, len(others))
    again = attribute_disclosure(keys, targets, *zip(*mixed, strict=True))
    assert again == told
    copy = attribute_disclosure(keys, targets, keys, targets)
    assert copy.correct == copy.original == told.original
    assert replicated_uniques(keys, keys).replicated == found.original


def test_codes_and_lengths_are_checked():
    with refused("not-counts-vector", name="original"):
        replicated_uniques([0.5, 1.0], [1])
    with refused("not-counts-vector", name="synthetic"):
        replicated_uniques([0], [-1])
    with refused("unequal-lengths", names="original", names2="original_target"):
        attribute_disclosure([0, 1], [0], np.array([1]), [1])


RECORDS = st.lists(
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


@given(RECORDS, RECORDS)
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
