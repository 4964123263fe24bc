"""Sums of a mixture, taken in blocks, against the same sums in longer numbers."""

import numpy as np
import pytest

from pyvws.models._mixture_parts import log_terms

C, K = 5, 2
FURTHER = np.longdouble


def terms(beta, sigma, pi, rows, y, weight, row):
    """The value and the slopes in beta (C, K), log sigma (C,) and log pi (C,), by definition."""
    beta, sigma, pi = (part.astype(FURTHER) for part in (beta, sigma, pi))
    z = (y[:, None] - (rows.astype(FURTHER) @ beta.T)[row]) / sigma
    log_height = np.log(pi / sigma) - z * z / 2
    top = log_height.max(axis=1, keepdims=True)
    share = np.exp(log_height - top)
    height = share.sum(axis=1, keepdims=True)
    value = weight @ (np.log(height) + top)[:, 0]
    part = weight[:, None] * share / height
    by_eta = part * z / sigma
    by_beta = np.stack([(by_eta * rows[row, k][:, None]).sum(axis=0) for k in range(K)], axis=1)
    return value, (by_beta, (part * (z * z - 1)).sum(axis=0), part.sum(axis=0))


def found(beta, sigma, pi, rows, y, weight, row):
    slopes = np.zeros((C, K)), np.zeros(C), np.zeros(C)
    parts = beta, 1.0 / sigma, np.log(pi) - np.log(sigma)
    return log_terms(parts, rows, y, weight, row, slopes), slopes


@pytest.mark.runs
@pytest.mark.parametrize("spread", [0.1, 3.0, 1000.0])
@pytest.mark.parametrize("ordered", [False, True])
def test_blocks_against_the_definition(spread, ordered):
    rng = np.random.default_rng(int(10 * spread))
    rows = np.column_stack([np.ones(3), [0.0, 1.0, 3.0]])
    # More cells than a block has, exactly one cell, and a part of a block.
    row = np.repeat([0, 1, 2], [150, 1, 40])
    y = rng.normal(size=len(row)) * spread
    if ordered:
        y = y[np.lexsort((y, row))]
    weight = np.where(rng.random(len(row)) < 0.2, 0.0, rng.random(len(row)))
    beta = rng.normal(size=(C, K)) * spread
    sigma, pi = np.exp(rng.normal(size=C)), rng.dirichlet(np.ones(C))
    pi = np.append(pi[:-1], 1e-200)  # An empty component.
    arguments = beta, sigma, pi, rows, y, weight, row
    value, slopes = terms(*arguments)
    computed, computed_slopes = found(*arguments)
    assert computed == pytest.approx(float(value), rel=1e-13)
    for one, other in zip(computed_slopes, slopes, strict=True):
        near = 1e-12 * float(np.abs(other).max())
        np.testing.assert_allclose(one, other.astype(float), rtol=1e-10, atol=near)


def test_components_without_end_are_left_out_and_nothing_is_finite_without_any():
    rows, y, weight, row = np.ones((1, K)), np.array([1.0, 2.0]), np.ones(2), np.zeros(2, np.intp)
    far = np.full((C, K), 1e200)
    near = far.copy()
    near[0] = 0.5
    sigma, pi = np.ones(C), np.full(C, 1.0 / C)
    value, slopes = found(near, sigma, pi, rows, y, weight, row)
    assert value == pytest.approx(2 * np.log(1.0 / C) - 0.5, rel=1e-14)
    assert all(np.isfinite(slope).all() for slope in slopes)
    assert slopes[2].tolist() == [2.0, 0.0, 0.0, 0.0, 0.0]
    assert not np.isfinite(found(far, sigma, pi, rows, y, weight, row)[0])
