"""Joint bounds: by hand, against all pairings of draws, and where they collapse."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

from pyvws import lipschitz_bounds
from pyvws.bounds.joint import ColumnTerms, blockwise_joint_bounds, joint_bounds, window_widths

few = settings(max_examples=60, derandomize=True)
entry = st.integers(-640, 64).map(lambda v: v / 64)  # Sums of these have no rounding.
share = st.integers(0, 16).map(lambda v: v / 16)


@st.composite
def tables(draw):
    """One to three matrices of the same records, and weights by record or by column."""
    records, columns = draw(st.integers(1, 4)), draw(st.integers(1, 3))
    shapes = [(draw(st.integers(1, 4)), records) for _ in range(columns)]
    matrices = [draw(arrays(np.float64, shape, elements=entry)) for shape in shapes]
    shape = draw(st.sampled_from([(records,), (records, columns)]))
    return matrices, draw(arrays(np.float64, shape, elements=share))


def over_all_pairings(matrices, alpha):
    """The largest |sum_k alpha_ik l_ik| of each record over all S_1 ... S_K pairings of draws."""
    alpha = np.broadcast_to(alpha.reshape(len(alpha), -1), (len(alpha), len(matrices)))
    found = np.zeros(len(alpha))
    for drawn in product(*(range(len(matrix)) for matrix in matrices)):
        sums = sum(alpha[:, k] * matrices[k][s] for k, s in enumerate(drawn))
        found = np.maximum(found, np.abs(sums))
    return found


def test_two_columns_by_hand():
    found = joint_bounds([[[-1.0, -2.0], [-3.0, -0.5]], [[0.5, -1.0]]], weights=[1.0, 0.5])
    assert found.by_record.tolist() == [2.5, 1.5]
    assert found.by_column.tolist() == [[3.0, 0.5], [1.0, 0.5]]
    assert (found.database, found.epsilon, found.epsilon_of_separate_runs) == (2.5, 5.0, 7.0)


@given(tables())
@few
def test_against_all_pairings_of_the_draws(table):
    matrices, alpha = table
    found = joint_bounds(matrices, weights=alpha)
    np.testing.assert_array_equal(found.by_record, over_all_pairings(matrices, alpha))
    assert found.database == found.by_record.max()
    assert found.epsilon <= found.epsilon_of_separate_runs


@given(tables())
@few
def test_blocks_of_cells_give_the_same_bits(table):
    matrices, alpha = table
    S = max(len(matrix) for matrix in matrices)  # A run's fits have as many draws.
    matrices = [np.resize(matrix / 3.0, (S, matrix.shape[1])) for matrix in matrices]
    columns = []
    for matrix in matrices:
        cells, first, place = np.unique(matrix, axis=1, return_index=True, return_inverse=True)
        blocks = [
            (slice(s, s + 1), slice(c, c + 1), lambda s=s, c=c, of=cells: of[s : s + 1, c : c + 1])
            for s in range(S)
            for c in range(len(first))
        ]
        columns.append(
            ColumnTerms(lambda of=blocks: of, lambda at, of=cells: of[:, at], place, len(first))
        )
    found, maxima = blockwise_joint_bounds(columns, draws=S, weights=alpha)
    whole, unweighted = joint_bounds(matrices, weights=alpha), joint_bounds(matrices)
    assert found.by_record.tolist() == whole.by_record.tolist()
    if len(columns) == 1:  # There is nothing beside the record's own bound.
        assert found.by_column is None
    else:
        assert found.by_column.tolist() == whole.by_column.tolist()
    assert (found.database, found.separate.sum()) == (
        whole.database,
        pytest.approx(whole.epsilon_of_separate_runs, rel=1e-15),
    )
    assert maxima.tolist() == unweighted.by_record.tolist()
    # Place s pairs the s-th smallest terms, so the ends are the record's own ends.
    assert found.by_draw.max() == pytest.approx(found.database, rel=1e-12, abs=1e-300)


@given(tables())
@few
def test_the_same_weight_in_each_column_is_one_weight_a_record_to_the_bit(table):
    matrices, alpha = [matrix / 3.0 for matrix in table[0]], table[1].reshape(len(table[1]), -1)
    one, each = (
        joint_bounds(matrices, weights=weights)
        for weights in (alpha[:, 0], np.repeat(alpha[:, :1], len(matrices), axis=1))
    )
    assert one.by_record.tolist() == each.by_record.tolist()
    assert one.by_column.tolist() == each.by_column.tolist()


@given(tables())
@few
def test_one_column_is_the_papers_bound_to_the_bit(table):
    matrix, alpha = table[0][0] / 3.0, table[1].reshape(len(table[1]), -1)[:, 0]
    found = joint_bounds([matrix], weights=alpha)
    papers = lipschitz_bounds(matrix * alpha)
    assert found.by_record.tolist() == papers.by_record.tolist()
    assert found.by_column[:, 0].tolist() == papers.by_record.tolist()
    assert (found.database, found.epsilon) == (papers.database, papers.epsilon)
    assert found.epsilon_of_separate_runs == papers.epsilon


def test_a_term_that_is_not_finite_makes_a_bound_infinite_unless_its_weight_is_0():
    matrices = [[[-1.0, -np.inf, -1.0], [2.0, -1.0, -1.0]], [[np.inf, 1.0, np.nan]]]
    assert np.isinf(joint_bounds(matrices).by_record).all()
    by_column = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.0]])
    found = joint_bounds(matrices, weights=by_column)
    assert found.by_record.tolist() == [2.0, 1.0, 0.5]


@st.composite
def partly_discrete_tables(draw):
    """As `tables`, and whether a column's terms are log probabilities, then at most 0."""
    matrices, alpha = draw(tables())
    discrete = draw(st.lists(st.booleans(), min_size=len(matrices), max_size=len(matrices)))
    matrices = [
        -np.abs(matrix) if said else matrix for matrix, said in zip(matrices, discrete, strict=True)
    ]
    return matrices, alpha, discrete


@given(partly_discrete_tables())
@few
def test_a_window_holds_every_term_and_no_smaller_one_is_known(table):
    """Against all pairings: [-Delta_i, min(Delta_i, B_i)], with 0 above for log probabilities."""
    matrices, alpha, discrete = table
    found = joint_bounds(matrices, weights=alpha, probabilities=discrete)
    by_column = np.broadcast_to(alpha.reshape(len(alpha), -1), (len(alpha), len(matrices)))
    densities = sum(
        (
            np.abs(by_column[:, k] * matrix).max(axis=0)
            for k, matrix in enumerate(matrices)
            if not discrete[k]
        ),
        np.zeros(len(alpha)),
    )
    above = np.minimum(found.by_record, densities)
    np.testing.assert_array_equal(found.windows, window_widths(found.by_record, densities))
    np.testing.assert_array_equal(found.windows, found.by_record + above)
    assert (found.windows <= 2.0 * found.by_record).all()
    for drawn in product(*(range(len(matrix)) for matrix in matrices)):
        sums = sum(by_column[:, k] * matrices[k][s] for k, s in enumerate(drawn))
        assert (-found.by_record <= sums).all()
        assert (sums <= above).all()
    if all(discrete):
        assert found.epsilon_of_window == found.database
    if not any(discrete):
        assert found.epsilon_of_window == found.epsilon


def test_a_term_above_0_is_no_log_probability():
    with refused("log-probability-above-0"):
        joint_bounds([[[-1.0]], [[0.5]]], probabilities=[True, True])
    with refused("probabilities-length", columns=2):
        joint_bounds([[[-1.0]], [[0.5]]], probabilities=[True])


@given(partly_discrete_tables())
@few
def test_the_window_in_blocks_and_what_a_search_aims_at(table):
    matrices, alpha, discrete = table
    if len(matrices) == 1:
        alpha = alpha.reshape(len(alpha))
    draws = min(map(len, matrices))
    matrices = [matrix[:draws] for matrix in matrices]
    records = np.arange(len(alpha))
    columns = [
        ColumnTerms(
            blocks=lambda m=matrix: [(slice(0, len(m)), slice(0, m.shape[1]), lambda: m)],
            at=lambda places, m=matrix: m[:, places],
            cell_of_record=records,
            n_cells=len(records),
            probability=said,
        )
        for matrix, said in zip(matrices, discrete, strict=True)
    ]
    if not any(discrete):  # No column has a window of its own.
        return
    bounds, maxima = blockwise_joint_bounds(
        columns, draws=draws, weights=alpha, accounting="window"
    )
    whole = joint_bounds(matrices, weights=alpha, probabilities=discrete)
    alone = joint_bounds(matrices, probabilities=discrete)
    assert bounds.epsilon_of_window == whole.epsilon_of_window
    np.testing.assert_array_equal(bounds.by_record, whole.by_record)
    np.testing.assert_array_equal(bounds.aimed.by_record, 0.5 * whole.windows)
    assert bounds.aimed.epsilon == whole.epsilon_of_window
    np.testing.assert_array_equal(maxima, 0.5 * alone.windows)
