"""The reader of an original and datasets: codes that tables share, edges, and messages by role."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws.evaluation.k_marginal import k_marginal
from pyvws.evaluation.original_and_datasets import OriginalAndDatasets, rising_edges, shared_codes

CELLS = st.lists(st.sampled_from(["a", "b", "c", None]), min_size=1, max_size=8)


@given(st.lists(CELLS, min_size=1, max_size=3))
@settings(max_examples=40)
def test_codes_are_equal_where_the_cells_are_equal(tables):
    labels = [list(dict.fromkeys(table)) for table in tables]
    places = [
        np.array([own.index(cell) for cell in table])
        for table, own in zip(tables, labels, strict=True)
    ]
    codes, code_of = shared_codes(zip(places, labels, strict=True))
    cells = list(dict.fromkeys(cell for table in tables for cell in table))
    assert code_of == {cell: place for place, cell in enumerate(cells)}
    assert [one.tolist() for one in codes] == [[cells.index(x) for x in table] for table in tables]


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=5))
@settings(max_examples=40)
def test_edges_rise_or_are_refused(values):
    if all(a < b for a, b in pairwise(values)):
        assert rising_edges(values, "x").tolist() == values
        return
    with refused("bins-not-rising", name="x"):
        rising_edges(values, "x")


def test_an_empty_cell_is_the_last_place():
    tables = OriginalAndDatasets.read(
        pl.DataFrame({"x": ["a", None, "b"]}), [pl.DataFrame({"x": ["b", "c", None]})]
    )
    codes, code_of = tables.codes("x")
    assert code_of == {"a": 0, "b": 1, None: 2, "c": 3}
    assert [one.tolist() for one in codes] == [[0, 2, 1], [1, 3, 2]]


@pytest.mark.parametrize("judge", [k_marginal, vws.table_utility])
def test_a_table_without_records_is_named(judge):
    table = pl.DataFrame({"x": ["a", "b"], "y": ["c", "d"]})
    with refused("table-too-small"):
        judge(table, [table, table.clear()])
    with refused("table-too-small"):
        judge(table.clear(), [table])
