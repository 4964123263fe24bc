"""Quantiles and means beside each other: by hand, by NumPy, and what must not change them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.one_column import utility_table

few = settings(max_examples=60, derandomize=True)
values = st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=1, max_size=15)


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
