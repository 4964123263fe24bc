"""The distance of doubles in units in the last place."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyvws_validation.compare import largest_ulp

finite = st.floats(allow_nan=False, allow_infinity=False)


def distance(first: float, second: float) -> int | None:
    return largest_ulp(np.array([first]), np.array([second]))


@pytest.mark.parametrize(
    ("first", "second", "gap"),
    [
        (1.0, 1.0, 0),
        (1.0, math.nextafter(1.0, 2.0), 1),
        (-1.0, math.nextafter(-1.0, -2.0), 1),
        (1.0, math.nextafter(1.0, 0.0), 1),
        (0.0, -0.0, 0),
        (0.0, 5e-324, 1),
        (-5e-324, 5e-324, 2),
        (math.inf, math.inf, 0),
        (math.inf, 1.7976931348623157e308, 1),
        (-math.inf, math.inf, 2 * 0x7FF0000000000000),
        (math.nan, math.nan, 0),
        (math.nan, 1.0, None),
        (1.0, math.nan, None),
    ],
)
def test_by_hand(first: float, second: float, gap: int | None) -> None:
    assert distance(first, second) == gap


def test_payload_of_nan_does_not_count() -> None:
    na = np.array([0x7FF00000000007A2], dtype=np.int64).view(np.float64)
    assert largest_ulp(na, np.array([np.nan])) == 0


def test_the_largest_counts_and_shapes_must_agree() -> None:
    assert largest_ulp(np.array([1.0, 2.0]), np.array([1.0, 2.0 + 2**-50])) == 2
    assert largest_ulp(np.zeros(2), np.zeros((2, 1))) is None
    assert largest_ulp(np.zeros(0), np.zeros(0)) == 0


@given(finite, finite)
def test_a_distance(first: float, second: float) -> None:
    gap = distance(first, second)
    assert gap == distance(second, first)
    assert (gap == 0) == (first == second)


@given(finite)
def test_a_neighbour_is_one_away(value: float) -> None:
    assert distance(value, math.nextafter(value, math.inf)) == 1
