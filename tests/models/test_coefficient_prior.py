"""The prior on coefficients against scipy's densities and numerical Jacobians, K = 1 to 8."""

import numpy as np
import pytest
from scipy import stats

from pyvws.models.priors import (
    coefficient_dimension,
    constrain_coefficients,
    log_level_prior,
    unconstrain_coefficients,
)

SIZES = [1, 2, 3, 8]


def log_prior(q, K):
    gradient = np.zeros(len(q))
    return log_level_prior(q, K, 1, gradient), gradient


def points(K, count, spread=0.5):
    return np.random.default_rng(K).normal(size=(count, coefficient_dimension(K))) * spread


def correlations(y, K):
    """Entries below the diagonal of L L' at unconstrained partial correlations y."""
    q = np.concatenate([np.zeros(2 * K), y])
    L = constrain_coefficients(q[None], K)["L_beta"][0]
    return (L @ L.T)[np.tril_indices(K, -1)]


def independent(q, K):
    """log N(beta | 0, S) + log t(s) + log s + log LKJ(Omega) + log |d Omega / d y|."""
    draws = constrain_coefficients(q[None], K)
    beta, s, L = (draws[name][0] for name in ("beta", "sigma_beta", "L_beta"))
    omega = L @ L.T
    total = stats.multivariate_normal.logpdf(beta, np.zeros(K), np.outer(s, s) * omega)
    total += (stats.t.logpdf(s, 3) + np.log(s)).sum()
    y = q[2 * K :]
    if len(y):
        total += (6.0 - 1.0) * np.linalg.slogdet(omega)[1]
        h = 1e-5
        jacobian = [
            (correlations(y + step, K) - correlations(y - step, K)) / (2 * h)
            for step in h * np.eye(len(y))
        ]
        total += np.linalg.slogdet(np.array(jacobian))[1]
    return total


@pytest.mark.runs
def test_one_coefficient_by_hand():
    beta, u = 0.7, -0.3
    s = np.exp(u)
    value, gradient = log_prior(np.array([beta, u]), 1)
    assert value == pytest.approx(-0.5 * (beta / s) ** 2 - 2 * np.log1p(s**2 / 3), rel=1e-14)
    assert gradient[0] == pytest.approx(-beta / s**2, rel=1e-14)
    assert gradient[1] == pytest.approx((beta / s) ** 2 - 4 * s**2 / (3 + s**2), rel=1e-14)


def test_two_coefficients_of_zero_by_hand():
    """LKJ(6) for K = 2 is (1 - z^2)^5; tanh adds 1 - z^2 and the normal takes half a power."""
    y = 0.4
    value, _ = log_prior(np.array([0.0, 0.0, 0.0, 0.0, y]), 2)
    assert value == pytest.approx(-4 * np.log1p(1 / 3) + 5.5 * np.log1p(-(np.tanh(y) ** 2)))


@pytest.mark.parametrize("K", SIZES)
def test_density_against_an_independent_formula(K):
    gaps = [log_prior(q, K)[0] - independent(q, K) for q in points(K, 6)]
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-7)  # one constant, up to differencing


@pytest.mark.parametrize("K", SIZES)
def test_gradient_against_central_differences(K):
    h = 1e-6
    for q in points(K, 4, spread=0.9):
        _, gradient = log_prior(q, K)
        numeric = [
            (log_prior(q + step, K)[0] - log_prior(q - step, K)[0]) / (2 * h)
            for step in h * np.eye(len(q))
        ]
        np.testing.assert_allclose(gradient, numeric, rtol=2e-7, atol=2e-6)


def test_the_gradient_is_added_and_the_rest_is_left():
    q = points(3, 1)[0]
    _, alone = log_prior(q, 3)
    gradient = np.ones(len(q) + 2)
    log_level_prior(np.append(q, [5.0, 6.0]), 3, 1, gradient)
    np.testing.assert_allclose(gradient[:-2], 1.0 + alone, rtol=1e-15)
    assert gradient[-2:].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("K", SIZES)
def test_factors_are_those_of_correlation_matrices(K):
    draws = constrain_coefficients(points(K, 20, spread=1.5), K)
    L = draws["L_beta"]
    assert L.shape == (20, K, K)
    assert (L[:, *np.triu_indices(K, 1)] == 0).all()
    assert (L[:, range(K), range(K)] > 0).all()
    omega = L @ L.transpose(0, 2, 1)
    np.testing.assert_allclose(omega[:, range(K), range(K)], 1.0, rtol=1e-14)
    assert (draws["sigma_beta"] > 0).all()


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("spread", [0.5, 4.0])
def test_transforms_invert_each_other(K, spread):
    q = points(K, 30, spread)
    back = unconstrain_coefficients(constrain_coefficients(q, K))
    np.testing.assert_allclose(back, q, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("K", SIZES)
def test_the_order_of_uncorrelated_coefficients_does_not_matter(K):
    q = np.zeros(coefficient_dimension(K))
    q[:K] = np.linspace(-1, 1, K) + 0.1
    turned = q.copy()
    turned[:K] = q[:K][::-1]
    assert log_prior(turned, K)[0] == pytest.approx(log_prior(q, K)[0], rel=1e-14)


@pytest.mark.parametrize("K", SIZES)
@pytest.mark.parametrize("far", [30.0, 400.0, 1e4])
def test_far_out_points_never_raise(K, far):
    D = coefficient_dimension(K)
    for q in (np.full(D, far), np.full(D, -far), far * (-1.0) ** np.arange(D)):
        value, gradient = log_prior(q, K)
        assert not value > 0
        assert gradient.shape == (D,)
    # A scale that vanishes before its coefficient leaves no density.
    q = np.zeros(D)
    q[:K], q[K : 2 * K] = 1.0, -far
    value, _ = log_prior(q, K)
    assert not value > -1e20
