"""Largest sizes in one pass, against NumPy's several."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyvws.bounds.lipschitz import add_largest, largest_sizes


def plain(matrix):
    sizes = np.where(np.isfinite(matrix), np.abs(matrix), np.inf)
    return sizes.max(axis=1), sizes.max(axis=0)


MATRICES = hnp.arrays(
    np.float64,
    hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
    elements=st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
)


@pytest.mark.runs
@given(MATRICES)
@settings(max_examples=200, derandomize=True)
def test_the_same_bits_as_numpy_in_every_layout(matrix):
    expected = plain(matrix)
    for layout in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        before = layout.copy()
        for found, wanted in zip(largest_sizes(layout), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(layout, before)


@pytest.mark.runs
@given(MATRICES, st.integers(0, 99))
@settings(max_examples=200, derandomize=True)
def test_largest_sizes_are_raised_by_those_of_a_block(block, seed):
    rng = np.random.default_rng(seed)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], block.shape[1])
    row, column = rng.exponential(size=len(block)), rng.exponential(size=len(weight))
    sizes = np.where(np.isfinite(block), np.abs(block), np.inf)
    with np.errstate(invalid="ignore", over="ignore"):
        weighted = np.where(weight > 0.0, sizes * weight, 0.0).max(axis=1)
    by_row, by_column = row.copy(), column.copy()
    add_largest(block, weight, by_row, by_column)
    np.testing.assert_array_equal(by_row, np.maximum(row, weighted))
    np.testing.assert_array_equal(by_column, np.maximum(column, sizes.max(axis=0)))
