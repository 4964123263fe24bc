"""One number beside its datasets: distances of distribution functions, quantiles and means."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.one_column import ecdf_utility, utility_table

few = settings(max_examples=60, derandomize=True)
values = st.lists(st.integers(-20, 20).map(lambda v: v / 4), min_size=1, max_size=20)


def pair(found):
    return found.maximum, found.average


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


eighths = st.lists(st.integers(-40, 40).map(lambda v: v / 8), min_size=1, max_size=15)


@given(eighths, st.lists(eighths, min_size=1, max_size=4))
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
