"""Poisson and negative binomial against scipy, explicit Jacobians and central differences."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pyvws.io.cells import Cells, make_cells
from pyvws.models.registry import MODELS, find_model
from pyvws.pseudo_posterior import PseudoPosterior

SIZES = [1, 3, 8]
BOTH = sorted(MODELS)


def table(K, n=120, seed=0):
    """Counts, a design with repeated rows, and weights among which are exact zeros and ones."""
    rng = np.random.default_rng(100 * K + seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 3, (n, K - 1)) / 2.0])
    y = rng.negative_binomial(2, 2 / (2 + 8.0), n).astype(float)
    y[:3] = 0.0
    weights = rng.random(n)
    weights[: n // 4], weights[-(n // 4) :] = 0.0, 1.0
    return y, X, rng.permutation(weights)


def apart(y, X):
    """Cells that hold one record each, whatever is equal."""
    values, value_of_record = np.unique(y, return_inverse=True)
    here = np.arange(len(y))
    return Cells(np.ascontiguousarray(X), values, here, value_of_record, here)


def points(target, count, spread=0.3):
    return np.random.default_rng(9).normal(size=(count, target.dimension)) * spread


def record_log_density(model, draws, y, X):
    mu = np.exp(draws["beta"][:, :] @ X.T)
    if model.name == "poisson":
        return stats.poisson.logpmf(y, mu)
    phi = draws["phi"][:, None]
    return stats.nbinom.logpmf(y, phi, phi / (mu + phi))


def independent(model, q, y, X, weights):
    """Prior, Jacobians by Stan's stick lengths, and weighted scipy likelihoods."""
    K = X.shape[1]
    draws = model.constrain(q[None], K)
    beta, s, L = (draws[name][0] for name in ("beta", "sigma_beta", "L_beta"))
    total = stats.multivariate_normal.logpdf(beta, np.zeros(K), np.outer(s, s) * (L @ L.T))
    total += (stats.t.logpdf(s, 3) + np.log(s)).sum()
    at = 2 * K
    for i in range(1, K):
        total += (K - i - 1 + 2 * (6.0 - 1)) * np.log(L[i, i])  # LKJ(6) on the Cholesky factor
        used = 0.0
        for j in range(i):
            total += np.log1p(-(np.tanh(q[at]) ** 2)) + 0.5 * np.log1p(-used)
            used += L[i, j] ** 2
            at += 1
    if model.name == "negative-binomial":
        total += stats.halfcauchy.logpdf(draws["inv_phi"][0], scale=5) + q[-1]
    return total + weights @ record_log_density(model, draws, y, X)[0]


def test_three_records_by_hand():
    y, X = np.array([0.0, 2.0, 2.0]), np.ones((3, 1))
    target = PseudoPosterior(find_model("poisson"), make_cells(y, X), np.array([1.0, 0.5, 0.25]))
    value, gradient = target.density_and_gradient()(np.array([0.5, 0.0]))
    prior = -0.125 - 2 * np.log(4 / 3)
    assert value == pytest.approx(prior + 1.5 * 0.5 - 1.75 * np.exp(0.5), rel=1e-14)
    assert gradient[0] == pytest.approx(-0.5 + 1.5 - 1.75 * np.exp(0.5), rel=1e-14)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("K", SIZES)
def test_density_against_an_independent_formula(name, K):
    y, X, weights = table(K)
    model = find_model(name)
    target = PseudoPosterior(model, make_cells(y, X), weights)
    density = target.density_and_gradient()
    gaps = [density(q)[0] - independent(model, q, y, X, weights) for q in points(target, 6)]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-12)  # one constant


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("K", SIZES)
def test_gradient_against_central_differences(name, K):
    y, X, mixed = table(K)
    for weights in (mixed, np.zeros(len(y)), np.ones(len(y))):
        target = PseudoPosterior(find_model(name), make_cells(y, X), weights)
        density = target.density_and_gradient()
        for q in points(target, 2):
            numeric = [
                (density(q + step)[0] - density(q - step)[0]) / 2e-6
                for step in 1e-6 * np.eye(len(q))
            ]
            np.testing.assert_allclose(density(q)[1], numeric, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("K", SIZES)
def test_log_likelihood_against_scipy_and_cells_against_records(name, K):
    y, X, weights = table(K)
    model, cells, records = find_model(name), make_cells(y, X), apart(y, X)
    draws = model.constrain(points(PseudoPosterior(model, cells, weights), 25, spread=0.8), K)
    found = model.log_likelihood(draws, cells)[:, cells.cell_of_record]
    np.testing.assert_allclose(found, record_log_density(model, draws, y, X), rtol=1e-11)
    np.testing.assert_allclose(model.log_likelihood(draws, records), found, rtol=1e-13)
    in_cells = PseudoPosterior(model, cells, weights).density_and_gradient()
    one_by_one = PseudoPosterior(model, records, weights).density_and_gradient()
    for q in model.unconstrain(draws)[:5]:
        np.testing.assert_allclose(in_cells(q)[0], one_by_one(q)[0], rtol=1e-13)
        np.testing.assert_allclose(in_cells(q)[1], one_by_one(q)[1], rtol=1e-10, atol=1e-9)


def test_special_weights_collapse():
    y, X, _ = table(3)
    for model in MODELS.values():
        whole = PseudoPosterior(model, make_cells(y, X), np.r_[np.ones(60), np.zeros(60)])
        half = PseudoPosterior(model, make_cells(y[:60], X[:60]), np.ones(60))
        for q in points(whole, 3):
            one, other = whole.density_and_gradient()(q), half.density_and_gradient()(q)
            assert one[0] == pytest.approx(other[0], rel=1e-12)
            np.testing.assert_allclose(one[1], other[1], rtol=1e-9, atol=1e-9)


def test_negative_binomial_tends_to_poisson():
    y, X, _ = table(3)
    cells = make_cells(y, X)
    poisson, negative_binomial = find_model("poisson"), find_model("negative_binomial")
    q = points(PseudoPosterior(poisson, cells, np.ones(len(y))), 4)
    near = negative_binomial.constrain(np.column_stack([q, np.full(4, -np.log(1e12))]), 3)
    np.testing.assert_allclose(
        negative_binomial.log_likelihood(near, cells),
        poisson.log_likelihood(poisson.constrain(q, 3), cells),
        rtol=1e-9,
    )


@pytest.mark.parametrize("name", BOTH)
def test_transforms_invert_each_other(name):
    model = find_model(name)
    q = np.random.default_rng(3).normal(size=(20, model.dimension(3)))
    np.testing.assert_allclose(model.unconstrain(model.constrain(q, 3)), q, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("far", [60.0, 400.0, 1e4])
def test_far_out_points_are_not_finite_and_never_raise(name, far):
    y, X, weights = table(3)
    model, cells = find_model(name), make_cells(y, X)
    target = PseudoPosterior(model, cells, weights)
    density = target.density_and_gradient()
    for signs in (1.0, -1.0, (-1.0) ** np.arange(target.dimension)):
        q = far * signs * np.ones(target.dimension)
        value, gradient = density(q)
        assert not value > -1e3
        assert np.isfinite(value) or far >= 400
        assert gradient.shape == q.shape
        with np.errstate(over="ignore"):
            draws = model.constrain(q[None], 3)
        assert not (model.log_likelihood(draws, cells) > 0).any()
    assert not np.isfinite(density(np.full(target.dimension, 1e4))[0])


@pytest.mark.parametrize("name", BOTH)
@pytest.mark.parametrize("K", SIZES)
def test_cell_terms_are_the_log_likelihood_and_its_derivatives(name, K):
    y, X, weights = table(K)
    model, cells = find_model(name), make_cells(y, X)
    target = PseudoPosterior(model, cells, weights)
    first = 2 * K + K * (K - 1) // 2
    C, E = cells.n_cells, target.dimension - first

    def terms(q):
        found = np.empty(C), np.empty(C), np.empty((C, E))
        model.cell_terms(q, cells.rows, cells.row_of_cell, *model.term_data(cells), *found)
        return found

    prior = PseudoPosterior(model, cells, np.zeros(len(y))).density_and_gradient()
    for q in points(target, 3):
        log_lik, by_eta, by_extra = terms(q)
        expected = model.log_likelihood(model.constrain(q[None], K), cells)[0]
        np.testing.assert_allclose(log_lik, expected, rtol=1e-12, atol=1e-12)
        sums = cells.weight_sums(weights)
        gradient = prior(q)[1]
        gradient[:K] += (sums * by_eta) @ cells.rows[cells.row_of_cell]
        gradient[first:] += sums @ by_extra
        np.testing.assert_allclose(
            gradient, target.density_and_gradient()(q)[1], rtol=1e-10, atol=1e-9
        )
