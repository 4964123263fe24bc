"""The sampler's change of variables: its Jacobian, its gradient, and what it collapses to."""

import numpy as np
import pytest

from pyvws._base.checks import Floats
from pyvws.models.priors import cholesky_factor, coefficient_dimension
from pyvws.models.sampled_scale import pull_back_conditional, restore_conditional

# Central differences with a step of 1e-6 are good to about 1e-8 of the largest term.
_DIFFERENCE = 1e-6


def _problem(K: int, seed: int) -> tuple[Floats, Floats, Floats]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(K, K))
    H = 50.0 * root @ root.T
    point = 0.5 * rng.normal(size=coefficient_dimension(K) + 1)
    return H, H @ rng.normal(size=K), point


@pytest.mark.parametrize("K", [1, 2, 4])
def test_jacobian_and_gradient_equal_central_differences(K: int) -> None:
    H, pull, point = _problem(K, seed=K)
    D = len(point)
    curvature = np.diag(np.arange(1.0, D + 1))

    def evaluate(p: Floats) -> tuple[float, Floats, Floats, float]:
        q = np.empty(D)
        data = np.zeros(D), H, pull
        jacobian, state = restore_conditional(p, *data, q)
        gradient = -curvature @ q
        pull_back_conditional(state, q, *data, gradient)
        return -0.5 * q @ curvature @ q + jacobian, gradient, q, jacobian

    _, gradient, _, jacobian = evaluate(point)
    numeric, matrix = np.empty(D), np.empty((D, D))
    for d in range(D):
        step = np.zeros(D)
        step[d] = 1e-6
        above, below = evaluate(point + step), evaluate(point - step)
        numeric[d] = (above[0] - below[0]) / 2e-6
        matrix[:, d] = (above[2] - below[2]) / 2e-6
    scale = 1.0 + np.abs(gradient).max()
    assert np.abs(gradient - numeric).max() < _DIFFERENCE * scale
    assert abs(np.linalg.slogdet(matrix)[1] - jacobian) < _DIFFERENCE * scale


@pytest.mark.parametrize("K", [1, 3])
def test_without_information_it_is_the_prior_s_own_non_centred_form(K: int) -> None:
    _, _, point = _problem(K, seed=9)
    q = np.empty(len(point))
    restore_conditional(point, np.zeros(len(point)), np.zeros((K, K)), np.zeros(K), q)
    L = cholesky_factor(point, 2 * K, K)
    np.testing.assert_allclose(q[:K], np.exp(point[K : 2 * K]) * (L @ point[:K]), rtol=1e-13)
    np.testing.assert_array_equal(q[K:], point[K:])


def test_with_much_information_x_counts_standard_errors_around_the_rough_fit() -> None:
    H, b = np.array([[1e8]]), np.array([2.0])
    q = np.empty(2)
    restore_conditional(np.array([0.0, 0.0]), np.zeros(2), H, H @ b, q)
    assert q[0] == pytest.approx(2.0, rel=1e-7)
    restore_conditional(np.array([3.0, 0.0]), np.zeros(2), H, H @ b, q)
    assert q[0] == pytest.approx(2.0 + 3e-4, rel=1e-7)


def test_far_out_it_gives_non_finite_values_and_never_raises() -> None:
    H, pull, point = _problem(3, seed=1)
    for extreme in (1e3, -1e3):
        q = np.empty(len(point))
        moved = point.copy()
        moved[3:] = extreme
        data = np.zeros(len(point)), H, pull
        jacobian, state = restore_conditional(moved, *data, q)
        gradient = np.ones(len(point))
        pull_back_conditional(state, q, *data, gradient)
        assert not np.isfinite(jacobian) or np.isfinite(q[:3]).all()
