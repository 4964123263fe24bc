"""Every regression family against scipy, explicit Jacobians and central differences."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from pyvws.models.registry import MODELS, find_model
from pyvws.models.regression import Regression
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells, make_cells

SIZES = [1, 3, 8]
NAMES = sorted(name for name, model in MODELS.items() if isinstance(model, Regression))

# Outcomes that a family can have, some of them equal.
OUTCOMES = {
    "poisson": lambda rng, n: rng.negative_binomial(2, 0.2, n),
    "negative-binomial": lambda rng, n: rng.negative_binomial(2, 0.2, n),
    "normal": lambda rng, n: rng.normal(1.0, 2.0, n).round(1),
    "truncated-normal": lambda rng, n: rng.beta(0.8, 1.5, n).round(2),
    "gamma": lambda rng, n: rng.gamma(1.5, 2.0, n).round(1) + 0.05,
    "logistic": lambda rng, n: rng.integers(0, 2, n),
    "ordinal": lambda rng, n: rng.choice([-1, 0, 2, 3, 9], n),
    "beta": lambda rng, n: rng.beta(0.5, 3.0, n).round(2).clip(0.005, 1.0),
}


def _cut_probability(draws, y, X):
    """P(y) for y in 1..J by differences of logistic distribution functions."""
    gaps = draws.get("gaps", np.zeros((len(draws["beta"]), 0)))
    steps = np.cumsum(np.column_stack([np.zeros(len(gaps)), gaps]), axis=1)
    edge = np.full((len(steps), 1), np.inf)
    cuts = np.column_stack([-edge, steps, edge])
    eta = draws["beta"] @ X.T
    upper, lower = cuts[:, y.astype(int)] - eta, cuts[:, y.astype(int) - 1] - eta
    # The difference of the two tails that are small, so that nothing cancels.
    flip = lower > 0
    with np.errstate(divide="ignore"):
        return np.log(np.where(flip, expit(-lower) - expit(-upper), expit(upper) - expit(lower)))


def _mean(draws, X):
    return np.exp(draws["beta"] @ X.T)


def _each(draws, name):
    return draws[name][:, None]


def _area(start, reach):
    """The integral of exp((start^2 - x^2) / 2) from start over the reach, by Gauss's rule."""
    place, share = np.polynomial.legendre.leggauss(200)
    reach = np.minimum(reach, 45.0 / (1.0 + start))
    x = reach[..., None] * 0.5 * (place + 1.0)
    return reach * (np.exp(-0.5 * x * (x + 2.0 * start[..., None])) @ (0.5 * share))


def _truncated(draws, y, X):
    """Between 0 and 1, from the point of the range where the normal density is highest."""
    eta, sigma = draws["beta"] @ X.T, _each(draws, "sigma")
    a, b, gap = -eta / sigma, (1.0 - eta) / sigma, y / sigma
    flip = a + b < 0.0
    a, b, gap = np.where(flip, -b, a), np.where(flip, -a, b), np.where(flip, 1.0 / sigma - gap, gap)
    top = np.maximum(a, 0.0)
    gap = gap + np.minimum(a, 0.0)
    above = _area(top, np.where(a > 0.0, 1.0 / sigma, b))
    below = _area(np.zeros_like(a), np.maximum(-a, 0.0))
    return -np.log(sigma) - 0.5 * gap * (gap + 2.0 * top) - np.log(above + below)


RECORDS = {
    "poisson": lambda d, y, X: stats.poisson.logpmf(y, _mean(d, X)),
    "negative-binomial": lambda d, y, X: stats.nbinom.logpmf(
        y, _each(d, "phi"), _each(d, "phi") / (_mean(d, X) + _each(d, "phi"))
    ),
    "normal": lambda d, y, X: stats.norm.logpdf(y, d["beta"] @ X.T, _each(d, "sigma")),
    "truncated-normal": _truncated,
    "gamma": lambda d, y, X: stats.gamma.logpdf(
        y, _each(d, "shape"), scale=_mean(d, X) / _each(d, "shape")
    ),
    "logistic": lambda d, y, X: stats.logistic.logcdf(np.where(y == 1, 1, -1) * (d["beta"] @ X.T)),
    "ordinal": _cut_probability,
    "beta": lambda d, y, X: stats.beta.logpdf(
        y, _each(d, "kappa") * expit(d["beta"] @ X.T), _each(d, "kappa") * expit(-d["beta"] @ X.T)
    ),
}

# log prior of what follows the coefficients, with the Jacobian of its logarithms q.
EXTRA = {
    "negative-binomial": lambda d, q: stats.halfcauchy.logpdf(d["inv_phi"][0], scale=5) + q[0],
    "normal": lambda d, q: stats.t.logpdf(d["sigma"][0], 3) + q[0],
    "truncated-normal": lambda d, q: stats.t.logpdf(d["sigma"][0], 3) + q[0],
    "gamma": lambda d, q: stats.halfcauchy.logpdf(d["inv_shape"][0], scale=5) + q[0],
    "ordinal": lambda d, q: (stats.t.logpdf(d["gaps"][0], 3, scale=2.5) + q).sum(),
    "beta": lambda d, q: stats.halfcauchy.logpdf(d["inv_kappa"][0], scale=5) + q[0],
}


def table(name, K, n=120, seed=0):
    """A prepared family, encoded outcomes, a design with repeated rows, and weights among which
    are exact zeros and ones.
    """
    rng = np.random.default_rng(100 * K + seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 3, (n, K - 1)) / 2.0])
    y = OUTCOMES[name](rng, n).astype(float)
    weights = rng.random(n)
    weights[: n // 4], weights[-(n // 4) :] = 0.0, 1.0
    model = find_model(name).prepare(y, "y")
    return model, model.encode(y), X, rng.permutation(weights)


def apart(y, X):
    """Cells that hold one record each, whatever is equal."""
    values, value_of_record = np.unique(y, return_inverse=True)
    here = np.arange(len(y))
    return Cells(np.ascontiguousarray(X), values, here, value_of_record, here)


def points(target, count, spread=0.3):
    return np.random.default_rng(9).normal(size=(count, target.dimension)) * spread


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
    if model.name in EXTRA:
        total += EXTRA[model.name](draws, q[at:])
    return total + weights @ RECORDS[model.name](draws, y, X)[0]


@pytest.mark.runs
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", SIZES)
def test_density_against_an_independent_formula(name, K):
    model, y, X, weights = table(name, K)
    target = PseudoPosterior(model, make_cells(y, X), weights)
    density = target.density_and_gradient()
    gaps = [density(q)[0] - independent(model, q, y, X, weights) for q in points(target, 6)]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-12, atol=1e-11)  # one constant


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", SIZES)
def test_gradient_against_central_differences(name, K):
    model, y, X, mixed = table(name, K)
    for weights in (mixed, np.zeros(len(y)), np.ones(len(y))):
        target = PseudoPosterior(model, make_cells(y, X), weights)
        density = target.density_and_gradient()
        for q in points(target, 2):
            numeric = [
                (density(q + step)[0] - density(q - step)[0]) / 2e-6
                for step in 1e-6 * np.eye(len(q))
            ]
            np.testing.assert_allclose(density(q)[1], numeric, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", SIZES)
def test_log_likelihood_against_scipy_and_cells_against_records(name, K):
    model, y, X, weights = table(name, K)
    cells, records = make_cells(y, X), apart(y, X)
    draws = model.constrain(points(PseudoPosterior(model, cells, weights), 25, spread=0.8), K)
    found = model.log_likelihood(draws, cells)[:, cells.cell_of_record]
    expected = RECORDS[name](draws, y, X)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(model.log_likelihood(draws, records), found, rtol=1e-13, atol=1e-13)
    in_cells = PseudoPosterior(model, cells, weights).density_and_gradient()
    one_by_one = PseudoPosterior(model, records, weights).density_and_gradient()
    constant = (
        in_cells(np.zeros(model.dimension(K)))[0] - one_by_one(np.zeros(model.dimension(K)))[0]
    )
    for q in model.unconstrain(draws)[:5]:
        np.testing.assert_allclose(in_cells(q)[0], one_by_one(q)[0] + constant, rtol=1e-13)
        np.testing.assert_allclose(in_cells(q)[1], one_by_one(q)[1], rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_transforms_invert_each_other(name):
    model = table(name, 3)[0]
    q = np.random.default_rng(3).normal(size=(20, model.dimension(3)))
    np.testing.assert_allclose(model.unconstrain(model.constrain(q, 3)), q, rtol=1e-12, atol=1e-12)


@pytest.mark.runs
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("far", [60.0, 400.0, 1e4])
def test_far_out_points_are_not_finite_and_never_raise(name, far):
    model, y, X, weights = table(name, 3)
    cells = make_cells(y, X)
    target = PseudoPosterior(model, cells, weights)
    density = target.density_and_gradient()
    for signs in (1.0, -1.0, (-1.0) ** np.arange(target.dimension)):
        q = far * signs * np.ones(target.dimension)
        value, gradient = density(q)
        assert not value > -1e3
        assert np.isfinite(value) or far >= 400
        assert gradient.shape == q.shape
        with np.errstate(all="ignore"):
            draws = model.constrain(q[None], 3)
            expected = RECORDS[name](draws, y, X)
        found = model.log_likelihood(draws, cells)[:, cells.cell_of_record]
        high = np.isfinite(found) & (found > 0)  # only where a density is as high as that
        np.testing.assert_allclose(found[high], expected[high], rtol=1e-9, atol=1e-12)
    assert not np.isfinite(density(np.full(target.dimension, 1e4))[0])


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("K", SIZES)
def test_cell_terms_are_the_log_likelihood_and_its_derivatives(name, K):
    model, y, X, weights = table(name, K)
    cells = make_cells(y, X)
    target = PseudoPosterior(model, cells, weights)
    C, E = cells.n_cells, model.slope_width(K)

    def terms(q):
        found = np.empty(C), np.empty(C), np.empty((C, E))
        model.cell_terms(q, cells.rows, cells.row_of_cell, model.term_data(cells), found)
        return found

    prior = PseudoPosterior(model, cells, np.zeros(len(y))).density_and_gradient()
    for q in points(target, 3):
        log_lik, by_eta, by_extra = terms(q)
        expected = model.log_likelihood(model.constrain(q[None], K), cells)[0]
        np.testing.assert_allclose(log_lik, expected, rtol=1e-12, atol=1e-12)
        sums = cells.weight_sums(weights)
        gradient = prior(q)[1]
        rest = cells.rows, cells.row_of_cell, model.term_data(cells)
        model.cell_slopes(q, *rest, (log_lik, by_eta, by_extra), sums, gradient)
        np.testing.assert_allclose(
            gradient, target.density_and_gradient()(q)[1], rtol=1e-10, atol=1e-9
        )
