"""Lipschitz bounds: by hand, by loops, in blocks of cells, and with records that are not finite."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyvws.bounds.lipschitz import blockwise_bounds, lipschitz_bounds

few = settings(max_examples=60, derandomize=True)
entry = st.floats(-50, 5, width=32)
matrices = st.tuples(st.integers(1, 12), st.integers(1, 8)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=entry)
)

any_size = st.integers(-640, 640).map(lambda v: v / 64) | st.sampled_from([0.0, 1e300, -5e-324])

THREE = [[-1.0, -4.0, 0.5], [-3.0, -2.0, -0.25]]


def in_blocks(log_lik, cell_of_record, weights, threshold, step):
    """Bounds of records whose log-likelihood by cell is `log_lik` (S, C)."""
    largest = np.zeros(log_lik.shape[1])
    np.maximum.at(largest, cell_of_record, weights)
    rows, columns = (
        [slice(first, first + step) for first in range(0, size, step)] for size in log_lik.shape
    )
    return blockwise_bounds(
        lambda: [
            (draws, cells, lambda draws=draws, cells=cells: log_lik[draws, cells])
            for cells in columns
            for draws in rows
        ],
        draws=len(log_lik),
        weights=weights,
        largest_weights=largest,
        cell_of_record=cell_of_record,
        threshold=threshold,
    )


def same_bits(one, other):
    assert one.by_record.tobytes() == other.by_record.tobytes()
    assert one.by_draw.tobytes() == other.by_draw.tobytes()
    assert one.database == other.database
    assert (one.kept_draws == other.kept_draws).all()


def test_against_loops():
    log_lik = np.random.default_rng(3).normal(-4, 2, (30, 11))
    S, N = log_lik.shape
    found = lipschitz_bounds(log_lik)
    assert found.by_record.tolist() == [max(abs(log_lik[s, i]) for s in range(S)) for i in range(N)]
    assert found.by_draw.tolist() == [max(abs(log_lik[s, i]) for i in range(N)) for s in range(S)]
    ratios = np.empty((S, N))
    for s in range(S):
        for i in range(N):
            full, without = np.longdouble(0), np.longdouble(0)
            for j in range(N):
                full += np.longdouble(log_lik[s, j])
                if j != i:
                    without += np.longdouble(log_lik[s, j])
            ratios[s, i] = abs(float(full) - float(without))
    left_out = lipschitz_bounds(log_lik, method="leave_one_out")
    same_bits(left_out, lipschitz_bounds(ratios))
    np.testing.assert_allclose(left_out.by_record, found.by_record, rtol=1e-13)


@given(
    st.tuples(st.integers(1, 8), st.integers(1, 6)).flatmap(
        lambda shape: arrays(
            np.float64, shape, elements=st.sampled_from([-np.inf, np.inf, np.nan]) | any_size
        )
    ),
    st.sampled_from([1.0, 0.75, 0.5, 0.125]),
)
@few
def test_any_matrix_against_loops(log_lik, threshold):
    """What is not finite is infinite; beyond the type 7 quantile of draws' maxima a draw is out."""
    S, N = log_lik.shape
    sizes = [[abs(v) if np.isfinite(v) else np.inf for v in row] for row in log_lik.tolist()]
    by_draw = [max(row) for row in sizes]
    database = max(by_draw)
    if threshold < 1:
        ordered, h = sorted(by_draw), (S - 1) * threshold
        low, share = int(h), h - int(h)
        database = ordered[low]
        if share > 0:
            database = (1 - share) * ordered[low] + share * ordered[low + 1]
    kept = [s for s in range(S) if by_draw[s] <= database]
    finite = [all(np.isfinite(log_lik[s, i]) for s in range(S)) for i in range(N)]
    found = lipschitz_bounds(log_lik, threshold=threshold)
    assert found.by_draw.tolist() == by_draw
    assert found.database == database
    assert np.flatnonzero(found.kept_draws).tolist() == kept
    assert found.by_record.tolist() == [
        max(sizes[s][i] for s in kept) if finite[i] else np.inf for i in range(N)
    ]
    assert found.epsilon == 2 * database


@given(matrices, st.sampled_from([0.5, 4.0, 60.0]))
@few
def test_clamped_bounds_are_those_of_clamped_terms(log_lik, bound):
    clamped = lipschitz_bounds(np.clip(log_lik, -bound, bound))
    same_bits(lipschitz_bounds(log_lik).clamped(bound), clamped)


@given(matrices, st.integers(0, 2**32 - 1), st.sampled_from([1.0, 0.8, 0.3]))
@few
def test_blocks_of_cells_give_the_same_bits(log_lik, seed, threshold):
    rng = np.random.default_rng(seed)
    C = log_lik.shape[1]
    cell_of_record = np.concatenate([np.arange(C), rng.integers(0, C, 5)])
    weights = rng.random(len(cell_of_record)) * rng.integers(0, 2, len(cell_of_record))
    bounds, maxima = in_blocks(log_lik, cell_of_record, weights, threshold, step=3)
    by_record = log_lik[:, cell_of_record]
    same_bits(bounds, lipschitz_bounds(by_record * weights, threshold=threshold))
    assert (maxima == np.abs(by_record).max(axis=0)).all()


@pytest.mark.parametrize("threshold", [1.0, 0.6])
def test_a_record_that_is_not_finite_somewhere_has_no_bound(threshold):
    log_lik = np.array(
        [[-1.0, -2, -3], [-1, -2, -np.inf], [-2, -2, -2], [-1, -1, -1], [-3, -3, -3]]
    )
    found = lipschitz_bounds(log_lik, threshold=threshold)
    assert found.by_record.tolist() == [3.0, 3.0, np.inf]
    assert found.database == (np.inf if threshold == 1.0 else 3.0)
    weights = np.array([1.0, 0.5, 0.25])
    blocks, maxima = in_blocks(log_lik, np.arange(3), weights, threshold, step=2)
    same_bits(blocks, lipschitz_bounds(log_lik * weights, threshold=threshold))
    assert maxima.tolist() == [3.0, 3.0, np.inf]
    for value in (np.nan, np.inf):
        log_lik[1, 2] = value
        same_bits(lipschitz_bounds(log_lik, threshold=threshold), found)


def test_a_weight_of_zero_takes_a_record_out():
    log_lik = np.array([[-1.0, -np.inf], [-2.0, -9.0]])
    bounds, maxima = in_blocks(log_lik, np.arange(2), np.array([0.5, 0.0]), 1.0, step=1)
    assert bounds.by_record.tolist() == [1.0, 0.0]
    assert bounds.database == 1.0
    assert maxima.tolist() == [2.0, np.inf]
    nothing, _ = in_blocks(log_lik, np.arange(2), np.zeros(2), 1.0, step=1)
    assert (nothing.database, nothing.epsilon) == (0.0, 0.0)
