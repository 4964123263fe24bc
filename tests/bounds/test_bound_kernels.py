"""Largest sizes in one pass, against NumPy's several."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pyvws.bounds.lipschitz import largest_sizes


def plain(matrix):
    sizes = np.abs(matrix)
    sizes = np.where(np.isfinite(sizes), sizes, np.inf)
    return sizes.max(axis=1), sizes.max(axis=0)


def test_by_hand():
    rows, columns = largest_sizes(np.array([[-1.0, 2.0, -0.0], [3.0, np.nan, -np.inf]]))
    assert rows.tolist() == [2.0, np.inf]
    assert columns.tolist() == [3.0, np.inf, np.inf]


@given(
    hnp.arrays(
        np.float64,
        hnp.array_shapes(min_dims=2, max_dims=2, max_side=9),
        elements=st.floats(allow_nan=True, allow_infinity=True, allow_subnormal=True),
    )
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_the_same_bits_as_numpy_in_every_layout(matrix):
    expected = plain(matrix)
    for layout in (matrix, np.asfortranarray(matrix), np.repeat(matrix, 2, axis=1)[:, ::2]):
        before = layout.copy()
        for found, wanted in zip(largest_sizes(layout), expected, strict=True):
            np.testing.assert_array_equal(found, wanted)
        np.testing.assert_array_equal(layout, before)
