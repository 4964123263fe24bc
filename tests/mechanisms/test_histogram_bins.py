"""Bins: by hand, by loops, and what must not change them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.errors import InputError
from pyvws.mechanisms.histogram.bins import (
    bin_counts,
    bin_places,
    bin_probabilities,
    cube_root_bins,
    equal_edges,
    public_edges,
)

few = settings(max_examples=60, derandomize=True)
quarters = st.integers(0, 32).map(lambda v: v / 4)
cuts = st.sets(st.integers(0, 32), min_size=2, max_size=9).map(lambda v: [c / 4 for c in sorted(v)])


@given(st.lists(quarters, min_size=1, max_size=20), cuts)
@few
def test_counts_against_loops(values, edges):
    values = [v for v in values if edges[0] <= v <= edges[-1]] or [edges[0]]
    expected = [0] * (len(edges) - 1)
    for value in values:
        for j in range(len(edges) - 1):
            last = j == len(edges) - 2
            if edges[j] <= value and (value < edges[j + 1] or (last and value == edges[j + 1])):
                expected[j] += 1
    assert bin_counts(values, edges).tolist() == expected
    assert np.bincount(bin_places(values, edges), minlength=len(expected)).tolist() == expected


@given(st.lists(st.integers(-9, 40), min_size=1, max_size=12))
@few
def test_probabilities_against_loops(counts):
    kept = [max(count, 0) for count in counts]
    total = sum(kept)
    expected = [k / total for k in kept] if total else [1 / len(kept)] * len(kept)
    assert bin_probabilities(counts).tolist() == expected


@given(st.integers(1, 10**15))
@few
def test_bins_by_the_rule(n):
    bins = cube_root_bins(n)
    assert (bins - 1) ** 3 < n <= bins**3
    assert cube_root_bins(bins**3) == bins
    assert cube_root_bins(bins**3 + 1) == bins + 1


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6), st.integers(1, 200))
@few
def test_equal_edges_ascend_from_end_to_end(low, width, bins):
    edges = equal_edges(low, low + width, bins=bins)
    assert edges.shape == (bins + 1,)
    assert (edges[0], edges[-1]) == (low, low + width)
    assert (np.diff(edges) > 0).all()
    np.testing.assert_allclose(np.diff(edges), width / bins, rtol=1e-4)


@pytest.mark.parametrize(
    ("call", "refusal"),
    [
        (lambda: bin_counts([1.0, 9.0, -4.0], [0.0, 8.0]), refused("records-outside-range")),
        (lambda: bin_counts([1.0], [0.0, 2.0, 2.0]), refused("edges-not-ascending")),
        (lambda: bin_counts([1.0], [0.0]), refused("edges-not-ascending")),
        (lambda: bin_counts([1.0], [-1e308, 1e308]), refused("edges-not-ascending")),
        (lambda: public_edges([0.0, 2.0], None, None, 5, 5), refused("edges-and-bins")),
        (lambda: public_edges(None, [0.0, 1.0, 2.0], 3, None, 5), refused("range-length")),
        (lambda: equal_edges(2.0, 2.0, bins=3), refused("range-ends-order")),
        (lambda: equal_edges(-1e308, 1e308, bins=3), refused("range-ends-order")),
        (lambda: equal_edges(1.0, np.nextafter(1.0, 2.0), bins=3), refused("range-too-narrow")),
        (lambda: equal_edges(0.0, 1.0, bins=0), refused("not-a-whole-number", name="bins")),
        (lambda: cube_root_bins(0), refused("not-a-whole-number", name="n")),
    ],
)
def test_bad_input(call, refusal):
    with refusal:
        call()


def test_columns_of_any_kind():
    values = [1.0, 2.0, 8.0]
    for column in (lambda v: pd.Series(v, index=[5, 5, 1]), pl.Series, tuple):
        assert bin_counts(column(values), [0.0, 2.0, 8.0]).tolist() == [1, 2]


@given(
    st.floats(-1e300, 1e300),
    st.floats(1e-3, 1e3),
    st.none() | st.integers(1, 40),
    st.none() | st.integers(1, 500),
    st.none() | st.integers(1, 500),
)
@few
def test_edges_by_range_or_as_they_are_given(low, width, bins, public_n, n):
    """A number of bins, else the rule on a public n, else on n where that is no secret."""
    high = low + abs(low) * 1e-3 + width
    known = n if public_n is None else public_n
    if (bins is not None and public_n is not None) or (bins is None and known is None):
        with pytest.raises(InputError):
            public_edges(None, (low, high), bins, public_n, n)
        return
    number = bins
    if number is None:
        number = next(b for b in range(1, 500) if b**3 >= known)
    found = public_edges(None, (low, high), bins, public_n, n)
    assert found.tolist() == [low + (high - low) * (b / number) for b in range(number)] + [high]
    assert public_edges(found, None, None, None, n).tolist() == found.tolist()
