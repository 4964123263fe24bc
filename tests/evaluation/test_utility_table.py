"""Quantiles and means beside each other: by hand, by NumPy, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.one_column import utility_table

few = settings(max_examples=60, derandomize=True)
values = st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=1, max_size=15)
PARTS = ("original", "average", "lowest", "highest")


def test_three_records_by_hand():
    found = utility_table([1.0, 2.0, 6.0], [[0.0, 4.0, 5.0], [2.0, 2.0, 2.0]])
    assert found.names == ("10%", "15%", "25%", "50%", "75%", "90%", "mean")
    assert found.original == pytest.approx([1.2, 1.3, 1.5, 2.0, 4.0, 5.2, 3.0], rel=1e-15)
    # The first dataset has 0.8, 1.2, 2, 4, 4.5, 4.8, 3; the second has 2 throughout.
    assert found.average == pytest.approx([1.4, 1.6, 2.0, 3.0, 3.25, 3.4, 2.5], rel=1e-15)
    assert found.lowest == pytest.approx([0.8, 1.2, 2.0, 2.0, 2.0, 2.0, 2.0], rel=1e-15)
    assert found.highest == pytest.approx([2.0, 2.0, 2.0, 4.0, 4.5, 4.8, 3.0], rel=1e-15)


@given(values, st.lists(values, min_size=1, max_size=4))
@few
def test_against_numpy(original, datasets):
    levels = [0.0, 0.15, 0.5, 1.0]
    rows = [[*np.quantile(d, levels), np.mean(d)] for d in datasets]
    found = utility_table(original, datasets, probabilities=levels)
    near = {"rel": 1e-13, "abs": 1e-13}
    assert found.original == pytest.approx([*np.quantile(original, levels), np.mean(original)])
    assert found.average == pytest.approx(np.mean(rows, axis=0), **near)
    assert found.lowest == pytest.approx(np.min(rows, axis=0), **near)
    assert found.highest == pytest.approx(np.max(rows, axis=0), **near)


@given(values, st.lists(values, min_size=1, max_size=4), st.integers(0, 2**32 - 1))
@few
def test_order_and_units(original, datasets, seed):
    random = np.random.default_rng(seed)
    found = utility_table(original, datasets)
    assert (found.lowest <= found.highest).all()
    slack = 1e-14 * (1 + np.abs(found.average))
    assert (found.lowest <= found.average + slack).all()
    assert (found.average <= found.highest + slack).all()
    assert (np.diff(found.average[:-1]) >= 0).all()
    moved = utility_table(random.permutation(original), [random.permutation(d) for d in datasets])
    scaled = utility_table(np.multiply(original, 8.0), [np.multiply(d, 8.0) for d in datasets])
    for part in PARTS:
        assert getattr(moved, part) == pytest.approx(getattr(found, part), rel=1e-13, abs=1e-13)
        assert (getattr(scaled, part) == 8.0 * getattr(found, part)).all()


def test_special_cases_collapse():
    y = np.random.default_rng(2).normal(size=40)
    same = utility_table(y, [y, y, y])
    assert (same.lowest == same.original).all()
    assert (same.highest == same.original).all()
    assert same.average == pytest.approx(same.original, rel=1e-15)
    alone = utility_table(y, [y[:9]], probabilities=[0.125])
    assert alone.names == ("12.5%", "mean")
    assert (alone.average == alone.lowest).all()
    assert (alone.lowest == alone.highest).all()
