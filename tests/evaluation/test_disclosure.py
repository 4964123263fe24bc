"""Replicated uniques and attribute disclosure: by hand, by loops, and their ends."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.evaluation.disclosure import attribute_disclosure, replicated_uniques

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
