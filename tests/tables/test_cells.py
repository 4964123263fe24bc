"""Cells: by hand, against dictionaries, and back to the records they came from."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.tables.design.cells import distinct_rows, make_cells

few = settings(max_examples=60, derandomize=True)
tables = st.tuples(st.integers(1, 25), st.integers(1, 4)).flatmap(
    lambda shape: st.lists(
        st.tuples(st.integers(0, 3), *[st.integers(-1, 1)] * shape[1]),
        min_size=shape[0],
        max_size=shape[0],
    ).map(lambda rows: np.array(rows, dtype=np.float64))
)


@given(tables)
@few
def test_against_a_dictionary(table):
    y, X = table[:, 0], table[:, 1:]
    weights = np.arange(1.0, len(y) + 1) / 64
    cells = make_cells(y, X)
    groups: dict[tuple[float, ...], list[int]] = {}
    for i, record in enumerate(map(tuple, table)):
        groups.setdefault(record, []).append(i)
    assert cells.n_cells == len(groups)
    assert len(cells.rows) == len({record[1:] for record in groups})
    sums = cells.weight_sums(weights)
    for members in groups.values():
        (cell,) = set(cells.cell_of_record[members])
        assert sums[cell] == sum(weights[i] for i in members)


@given(tables)
@few
def test_other_ends_are_another_row(table):
    """Cells with ends are those of a design with two more columns, also in part."""
    y, X = table[:, 0], table[:, 1:]
    ends = np.column_stack([np.arange(len(y)) % 2 - 3.0, y + len(y) % 3])
    cells, wide = make_cells(y, X, ends=ends), make_cells(y, np.column_stack([X, ends]))
    for own, other in ((cells, wide), (cells.part(slice(0, 5)), wide.part(slice(0, 5)))):
        assert np.column_stack([own.rows, own.ends]).tolist() == other.rows.tolist()
        assert own.outcome.tolist() == other.outcome.tolist()
        assert own.row_of_cell.tolist() == other.row_of_cell.tolist()
        assert own.cell_of_record.tolist() == other.cell_of_record.tolist()
    kinds, row = distinct_rows(X.T, len(X))
    short = make_cells(y, X[kinds], rows=row, ends=ends)
    assert short.rows.tolist() == cells.rows.tolist()
    assert short.ends.tolist() == cells.ends.tolist()


@given(tables)
@few
def test_distinct_rows_in_order(table):
    first, row = distinct_rows(table.T, len(table))
    expected, own = np.unique(table, axis=0, return_inverse=True)
    assert table[first].tolist() == expected.tolist()
    assert row.tolist() == own.ravel().tolist()
    assert [a.tolist() for a in distinct_rows([], 3)] == [[0], [0, 0, 0]]


@given(tables, st.integers(0, 2**32 - 1))
@few
def test_cells_of_a_shorter_design_are_those_of_the_whole(table, seed):
    rng = np.random.default_rng(seed)
    rows = rng.integers(len(table), size=30)
    y = rng.integers(3, size=30).astype(np.float64)
    whole, short = make_cells(y, table[rows]), make_cells(y, table, rows=rows)
    for name in ("rows", "values", "row_of_cell", "value_of_cell", "cell_of_record"):
        assert (getattr(whole, name) == getattr(short, name)).all()


@given(tables, st.integers(0, 2**32 - 1))
@few
def test_records_come_back_in_any_order(table, seed):
    y, X = table[:, 0], table[:, 1:]
    cells = make_cells(y, X)
    assert (cells.rows[cells.row_of_cell][cells.cell_of_record] == X).all()
    assert (cells.outcome[cells.cell_of_record] == y).all()
    assert (np.diff(cells.values) > 0).all()
    order = np.random.default_rng(seed).permutation(len(y))
    moved = make_cells(y[order], X[order])
    for name in ("rows", "values", "row_of_cell", "value_of_cell"):
        assert (getattr(moved, name) == getattr(cells, name)).all()
    assert (moved.cell_of_record == cells.cell_of_record[order]).all()
    twice = make_cells(np.tile(y, 2), np.tile(X, (2, 1)))
    assert (twice.cell_of_record == np.tile(cells.cell_of_record, 2)).all()


def test_a_tally_is_the_table_it_was_made_of():
    y, times = np.array([3.0, 5.0, 3.0]), np.array([2.0, 1.0, 4.0])
    design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
    weights = np.array([0.5, 0.25, 0.125])
    tally = make_cells(y, design, times)
    each = tally.one_by_one()
    whole = make_cells(y[each], design[each])
    assert (tally.n_records, tally.total_records, whole.total_records) == (3, 7, 7)
    assert tally.weight_sums(weights).tolist() == whole.weight_sums(weights[each]).tolist()
    assert tally.mean(weights) == pytest.approx(whole.mean(weights[each]))
    assert whole.one_by_one().tolist() == list(range(7))


def test_smallest_positive_weights():
    cells = make_cells(np.array([3.0, 3.0, 5.0]), np.ones((3, 1)))
    assert cells.smallest_positive_weights(np.array([0.0, 0.5, 0.0])).tolist() == [0.5, np.inf]
