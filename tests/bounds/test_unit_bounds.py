"""Bounds of units: by hand, against plain sums, where they collapse, and what a deletion moves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyvws.bounds import joint as unit_module
from pyvws.bounds.joint import ColumnTerms, blockwise_joint_bounds, unit_terms
from pyvws.bounds.lipschitz import blockwise_bounds
from pyvws.tables.design.units import unit_kinds

few = settings(max_examples=60, derandomize=True)
entry = st.integers(-640, 64).map(lambda v: v / 64)  # Sums of these have no rounding.
share = st.integers(0, 16).map(lambda v: v / 16)


@st.composite
def tables(draw):
    """Log-likelihoods by cell (S, C) of K columns, each record's cells, units and their weights."""
    S, C = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    N, K = draw(st.integers(1, 7)), draw(st.integers(1, 3))
    by_cell = [draw(arrays(np.float64, (S, C), elements=entry)) for _ in range(K)]
    least = draw(st.sampled_from([0, -1]))  # -1: a record without a term in the column.
    cells = draw(arrays(np.intp, (N, K), elements=st.integers(least, C - 1)))
    _, unit = np.unique(draw(arrays(np.intp, N, elements=st.integers(0, N))), return_inverse=True)
    H = int(unit.max()) + 1
    return by_cell, cells, unit, draw(arrays(np.float64, H, elements=share))


def terms_of(by_cell, cells):
    """The terms of one column, a draw and a cell a block."""
    S, C = by_cell.shape
    blocks = [
        (slice(s, s + 1), slice(c, c + 1), lambda s=s, c=c: by_cell[s : s + 1, c : c + 1])
        for s in range(S)
        for c in range(C)
    ]
    return ColumnTerms(lambda: blocks, lambda at: by_cell[:, at], cells, C)


def by_record(by_cell, cells):
    """Log-likelihoods (S, N), 0 without a cell."""
    return np.where(cells >= 0, by_cell[:, cells], 0.0)


def joint(by_cell, cells, unit, weights):
    S = len(by_cell[0])
    columns = [terms_of(one, own) for one, own in zip(by_cell, cells.T, strict=True)]
    if unit is not None:
        columns = [
            unit_terms(one, unit_kinds(unit, one.cell_of_record, one.n_cells), S) for one in columns
        ]
    return blockwise_joint_bounds(columns, draws=S, weights=weights)


def one_outcome(terms, weights, draws):
    largest = np.zeros(terms.n_cells)
    np.maximum.at(largest, terms.cell_of_record, weights)
    return blockwise_bounds(
        terms.blocks,
        draws=draws,
        weights=weights,
        largest_weights=largest,
        cell_of_record=terms.cell_of_record,
    )


def test_two_units_by_hand():
    """l_h is a sum at one draw: the unit of both records is bounded by 3, and not by 2 + 2."""
    by_cell = np.array([[-2.0, -1.0], [-1.0, -2.0], [-0.5, -0.5]])
    terms, unit = terms_of(by_cell, np.array([0, 1, 0])), np.array([0, 0, 1])
    kinds = unit_kinds(unit, terms.cell_of_record, 2)
    bounds, maxima = one_outcome(unit_terms(terms, kinds, 3), np.array([1.0, 0.5]), 3)
    assert bounds.by_record.tolist() == [3.0, 1.0]
    assert bounds.by_draw.tolist() == [3.0, 3.0, 1.0]
    assert maxima.tolist() == [3.0, 2.0]
    # Of two columns the draws pair freely: 3 of the first column and 4 of the second.
    other = np.array([[-1.0, -3.0], [-2.0, 0.0], [0.0, 0.0]])
    both, _ = joint([by_cell, other], np.array([[0, 0], [1, 1], [0, -1]]), unit, np.ones(2))
    assert both.by_record.tolist() == [7.0, 2.0]
    assert both.by_column.tolist() == [[3.0, 4.0], [2.0, 0.0]]


def test_units_of_equal_records_are_one_kind():
    kinds = unit_kinds(np.array([0, 1, 0, 1, 2, 3]), np.array([2, 0, 0, 2, 0, -1]), 3)
    assert kinds.of_unit.tolist() == [0, 0, 1, -1]
    assert kinds.counts.toarray().tolist() == [[1, 0, 1], [1, 0, 0]]


def test_exponents_weigh_the_records_of_a_unit():
    """l_h = sum_j e_hj l_hj; a record with the exponent 0 has no term, not even -inf."""
    by_cell = np.array([[-2.0, -np.inf, -1.0], [-1.0, -1.0, -4.0]])
    terms, unit = terms_of(by_cell, np.array([0, 2, 0, 1])), np.array([0, 0, 1, 1])
    kinds = unit_kinds(unit, terms.cell_of_record, 3, np.array([0.5, 2.0, 3.0, 0.0]))
    assert kinds.counts.toarray().tolist() == [[0.5, 0, 2], [3, 0, 0]]
    bounds, _ = one_outcome(unit_terms(terms, kinds, 2), np.array([1.0, 0.5]), 2)
    assert bounds.by_record.tolist() == [8.5, 3.0]


@given(tables())
@few
def test_bounds_of_units_are_those_of_sums(table):
    by_cell, cells, unit, weights = table
    sums = [
        np.stack([by_record(one, own)[:, unit == h].sum(axis=1) for h in range(len(weights))], 1)
        for one, own in zip(by_cell, cells.T, strict=True)
    ]
    high, low = (sum(getattr(one, end)(axis=0) for one in sums) for end in ("max", "min"))
    found, maxima = joint(by_cell, cells, unit, weights)
    np.testing.assert_array_equal(maxima, np.maximum(np.abs(high), np.abs(low)))
    np.testing.assert_array_equal(found.by_record, weights * maxima)
    if (cells >= 0).all():
        terms = terms_of(by_cell[0], cells[:, 0])
        S, kinds = len(by_cell[0]), unit_kinds(unit, terms.cell_of_record, terms.n_cells)
        one, _ = one_outcome(unit_terms(terms, kinds, S), weights, S)
        np.testing.assert_array_equal(one.by_record, weights * np.abs(sums[0]).max(axis=0))
        np.testing.assert_array_equal(one.by_draw, (weights * np.abs(sums[0])).max(axis=1))


@given(tables())
@few
def test_a_unit_of_one_record_each_is_record_wise_to_the_bit(table):
    by_cell, cells, _, _ = table
    thirds = [one / 3.0 for one in by_cell]
    N, S = len(cells), len(by_cell[0])
    weights = np.linspace(0.1, 1.0, N) / 3.0
    for whole, plain in zip(
        joint(thirds, cells, np.arange(N), weights),
        joint(thirds, cells, None, weights),
        strict=True,
    ):
        if hasattr(whole, "by_record"):
            assert whole.by_record.tolist() == plain.by_record.tolist()
            assert whole.by_draw.tolist() == plain.by_draw.tolist()
        else:
            assert whole.tolist() == plain.tolist()
    if (cells >= 0).all():
        terms = terms_of(thirds[0], cells[:, 0])
        kinds = unit_kinds(np.arange(N), terms.cell_of_record, terms.n_cells)
        of_units, _ = one_outcome(unit_terms(terms, kinds, S), weights, S)
        of_records, _ = one_outcome(terms, weights, S)
        assert of_units.by_record.tolist() == of_records.by_record.tolist()
        assert of_units.by_draw.tolist() == of_records.by_draw.tolist()


def largest_loss(by_cell, cells, unit, weights):
    """The largest log ratio of two posteriors on the grid of S points, one without a unit."""
    terms = by_record(by_cell, cells) * weights[unit]

    def posterior(kept):
        logs = terms[:, kept].sum(axis=1)
        return logs - np.logaddexp.reduce(logs)

    losses = [posterior(np.full(len(unit), True)) - posterior(unit != h) for h in set(unit)]
    return max(np.abs(loss).max() for loss in losses)


@given(tables())
@few
def test_epsilon_covers_the_deletion_of_a_whole_unit(table):
    by_cell, cells, unit, weights = table
    found, _ = joint(by_cell[:1], cells[:, :1], unit, weights)
    assert largest_loss(by_cell[0], cells[:, 0], unit, weights) <= found.epsilon + 1e-12


def test_record_wise_epsilon_does_not_cover_it():
    """Four like records of one unit that rule one of two points out: the adversary's own table."""
    by_cell = np.array([[-2.0], [0.0]])
    cells, unit = np.zeros((5, 1), dtype=np.intp), np.array([0, 0, 0, 0, 1])
    alone, _ = joint([by_cell], cells, None, np.ones(5))
    whole, _ = joint([by_cell], cells, unit, np.ones(2))
    loss = largest_loss(by_cell, cells[:, 0], unit, np.ones(2))
    assert alone.epsilon < loss <= whole.epsilon == 4 * alone.epsilon


@pytest.mark.parametrize("entries", [1, 4, 1 << 20])
def test_blocks_of_any_size_give_the_same_bounds(entries: int, monkeypatch) -> None:
    monkeypatch.setattr(unit_module, "ENTRIES", entries)
    rng = np.random.default_rng(4)
    by_cell, cells = -rng.integers(0, 640, (3, 9)) / 64, rng.integers(0, 9, (40, 1))
    unit = np.sort(rng.integers(0, 12, 40))
    _, unit = np.unique(unit, return_inverse=True)
    sums = by_record(by_cell, cells[:, 0]) @ (unit[:, None] == np.arange(unit.max() + 1))
    found, _ = joint([by_cell], cells, unit, np.ones(unit.max() + 1))
    np.testing.assert_array_equal(found.by_record, np.abs(sums).max(axis=0))
    inf = by_cell.copy()
    inf[1, cells[0, 0]] = np.nan
    found, _ = joint([inf], cells, unit, np.ones(unit.max() + 1))
    assert np.isinf(found.by_record[unit[0]])
