"""Distances between distribution functions: by hand, by a double loop, and their symmetries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.one_column import ecdf_utility

few = settings(max_examples=60, derandomize=True)
values = st.lists(st.integers(-20, 20).map(lambda v: v / 4), min_size=1, max_size=20)


def pair(found):
    return found.maximum, found.average


def test_three_records_by_hand():
    # Merged 1, 2, 4, 1, 4, 4: differences 0, 1/3, 0, 0, 0, 0.
    found = ecdf_utility([1.0, 2.0, 4.0], [[1.0, 4.0, 4.0]])
    assert found.maximum == pytest.approx(1 / 3, rel=1e-15)
    assert found.average == pytest.approx(1 / 54, rel=1e-15)
    two = ecdf_utility([1.0, 2.0, 4.0], [[1.0, 4.0, 4.0], [1.0, 2.0, 4.0]])
    assert pair(two) == pytest.approx((1 / 6, 1 / 108), rel=1e-15)


@given(values, st.lists(values, min_size=1, max_size=3))
@few
def test_against_a_double_loop(original, datasets):
    largest, squared = [], []
    for dataset in datasets:
        differences = []
        for point in original + dataset:
            here = sum(v <= point for v in original) / len(original)
            there = sum(v <= point for v in dataset) / len(dataset)
            differences.append(abs(here - there))
        largest.append(max(differences))
        squared.append(sum(d * d for d in differences) / len(differences))
    found = ecdf_utility(original, datasets)
    assert found.maximum == pytest.approx(np.mean(largest), rel=1e-14)
    assert found.average == pytest.approx(np.mean(squared), rel=1e-13, abs=1e-300)


@given(values, values, st.integers(0, 2**32 - 1))
@few
def test_order_units_and_sides(original, synthetic, seed):
    rng = np.random.default_rng(seed)
    found = ecdf_utility(original, [synthetic])
    assert ecdf_utility(rng.permutation(original), [synthetic]).maximum == found.maximum
    moved = ecdf_utility(original, [rng.permutation(synthetic)])
    assert moved.average == pytest.approx(found.average, rel=1e-14, abs=1e-300)
    assert pair(
        ecdf_utility(np.multiply(original, 8.0) + 3, [np.multiply(synthetic, 8.0) + 3])
    ) == (pair(found))
    swapped = ecdf_utility(synthetic, [original])
    assert pair(swapped) == pytest.approx(pair(found), rel=1e-14, abs=1e-300)
    twice = ecdf_utility(original * 2, [synthetic * 2])
    assert pair(twice) == pytest.approx(pair(found), rel=1e-14, abs=1e-300)
    assert 0 <= found.average <= found.maximum <= 1


def test_special_cases_collapse():
    y = np.random.default_rng(6).normal(size=50)
    assert pair(ecdf_utility(y, [y[::-1], y])) == (0.0, 0.0)
    assert ecdf_utility(y, [y + 100]).maximum == 1.0
