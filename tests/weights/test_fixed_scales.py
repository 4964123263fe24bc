"""Weights on a scale of constants, against loops over single records."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from pyvws.weights.weights import column_weights, fixed_scale_risks, fixed_scale_weights

SHAPES = st.tuples(st.floats(0.0, 3.0), st.floats(-1.0, 1.0))
SIZES = st.lists(st.floats(0.0, 1e6) | st.sampled_from([np.inf, np.nan, 0.0]), min_size=1)
ENDS = st.tuples(st.floats(0.0, 9.0), st.floats(1e-3, 1e6))


def within_unit(value: float) -> float:
    return min(max(value, 0.0), 1.0)


@given(SIZES, ENDS, SHAPES)
def test_sizes_against_loops(
    sizes: list[float], ends: tuple[float, float], shape: tuple[float, float]
) -> None:
    (low, width), (c, g) = ends, shape
    high = low + width
    risks = fixed_scale_risks(sizes, low=low, high=high)
    weights = fixed_scale_weights(sizes, low=low, high=high, c=c, g=g)
    for f, risk, weight in zip(sizes, risks, weights, strict=True):
        if not math.isfinite(f):
            assert (risk, weight) == (1.0, 0.0)
            continue
        assert risk == within_unit((f - low) / (high - low))
        assert weight == within_unit(c * (1.0 - risk) + g)
        # No other record has a part in a record's weight.
        assert fixed_scale_weights([f], low=low, high=high, c=c, g=g).tolist() == [weight]


@given(st.lists(st.floats(0.0, 1.0), min_size=1), SHAPES)
def test_columns_against_loops(column: list[float], shape: tuple[float, float]) -> None:
    c, g = shape
    made = column_weights(column, c=c, g=g)
    assert made.tolist() == [within_unit(c * w + g) for w in column]
