"""Multinomial logit: by hand, against plain NumPy, where it collapses, and its sampled scale."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy.special import log_softmax, softmax
from scipy.stats import multivariate_normal

import pyvws as vws
from pyvws import InputError, Logistic, Nominal
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

few = settings(max_examples=40, derandomize=True)


def table(seed: int, n: int = 40, K: int = 3, L: int = 4, sd: float | None = None):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.integers(0, 2, (n, K - 1)) * rng.normal(size=(n, K - 1))])
    y = rng.integers(1, L + 1, n).astype(float)
    model = Nominal(levels=tuple(map(str, range(L))), coefficient_sd=sd)
    return rng, X, y, model, make_cells(y, X)


def assert_gradient(density, q):
    gradient = density(q)[1]
    for d in range(len(q)):
        step = 1e-6 * (np.arange(len(q)) == d)
        slope = (density(q + step)[0] - density(q - step)[0]) / 2e-6
        assert gradient[d] == pytest.approx(slope, rel=1e-5, abs=1e-5)


@pytest.mark.runs
@few
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 5), st.sampled_from([None, 0.7]))
def test_log_likelihood_terms_and_slopes_against_numpy(seed, K, L, sd):
    rng, X, y, model, cells = table(seed, K=K, L=L, sd=sd)
    q = rng.normal(size=model.dimension(K))
    draws = model.constrain(q[None, :], K)
    eta = np.column_stack([np.zeros(len(X)), X @ draws["beta"][0].T])
    expected = log_softmax(eta, axis=1)[np.arange(len(y)), y.astype(int) - 1]
    found = model.log_likelihood(draws, cells)[0]
    assert np.allclose(found[cells.cell_of_record], expected, rtol=1e-12)
    assert np.allclose(model.unconstrain(draws)[0], q, atol=1e-9)
    parts = np.empty(cells.n_cells), np.empty(cells.n_cells), np.empty((cells.n_cells, L - 1))
    data = cells.rows, cells.row_of_cell, model.term_data(cells)
    model.cell_terms(q, *data, parts)
    assert np.allclose(parts[0], found, rtol=1e-12)
    weight = rng.random(cells.n_cells) * (rng.random(cells.n_cells) < 0.7)
    gradient = np.zeros(len(q))
    model.cell_slopes(q, *data, parts, weight, gradient)
    for d in range(K * (L - 1)):
        moved = [q + sign * 1e-6 * (np.arange(len(q)) == d) for sign in (1, -1)]
        sums = [
            weight @ model.log_likelihood(model.constrain(m[None, :], K), cells)[0] for m in moved
        ]
        assert gradient[d] == pytest.approx((sums[0] - sums[1]) / 2e-6, abs=1e-6)
    assert not gradient[K * (L - 1) :].any()


@few
@given(st.integers(0, 10**6), st.floats(0.0, 3000.0))
def test_density_where_the_halves_of_a_row_are_for_different_levels(seed, far):
    rng, X, y, model, cells = table(seed, K=4, L=4, sd=1.0)
    q = far * rng.normal(size=12)
    eta = np.column_stack([np.zeros(len(X)), X @ q.reshape(4, 3)])
    weights = rng.random(len(y))
    shares = np.eye(4)[y.astype(int) - 1] - softmax(eta, axis=1)
    value, gradient = PseudoPosterior(model, cells, weights).density_and_gradient()(q)
    expected = weights @ log_softmax(eta, axis=1)[np.arange(len(y)), y.astype(int) - 1]
    assert value + 0.5 * q @ q == pytest.approx(expected, rel=1e-11, abs=1e-9 * (1.0 + q @ q))
    slopes = X.T @ (weights[:, None] * shares[:, 1:])
    assert np.allclose(gradient + q, slopes.ravel(), atol=1e-9 * (1.0 + far))


def test_no_other_record_changes_a_bit_of_a_record_s_term():
    rng, _, _, model, cells = table(3, n=60, K=5)
    draws = model.constrain(2.0 * rng.normal(size=(7, model.dimension(5))), 5)
    whole = model.log_likelihood(draws, cells)
    for place in range(cells.n_cells):
        own = model.log_likelihood(draws, cells.part(np.array([place])))
        assert own[:, 0].tolist() == whole[:, place].tolist()


@few
@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(2, 4))
def test_density_is_prior_and_weighted_likelihood_and_its_gradient_is_exact(seed, K, L):
    rng, _, y, model, cells = table(seed, K=K, L=L)
    weights = rng.random(len(y))
    density = PseudoPosterior(model, cells, weights).density_and_gradient()

    def expected(q):
        draws = model.constrain(q[None, :], K)
        S = draws["sigma_beta"][0][:, None] * draws["L_beta"][0]
        made = sum(multivariate_normal.logpdf(b, np.zeros(K), S @ S.T) for b in draws["beta"][0])
        prior = Logistic().log_density  # The same prior of scales: at beta = 0 for one level.
        rows, zero = np.zeros((1, K)), np.zeros(1)
        scales = np.concatenate([np.zeros(K), q[K * (L - 1) :]])
        made += prior(scales, rows, zero, zero, np.empty(len(scales)))
        made -= multivariate_normal.logpdf(np.zeros(K), np.zeros(K), S @ S.T)
        found = model.log_likelihood(draws, cells)[0, cells.cell_of_record]
        return made + weights @ found

    points = 0.5 * rng.normal(size=(3, model.dimension(K)))
    values = [density(q)[0] - expected(q) for q in points]
    assert np.allclose(values, values[0], atol=1e-8)
    assert_gradient(density, points[0])


@few
@given(st.integers(0, 10**6), st.integers(1, 9), st.sampled_from([1.0, 400.0]))
def test_rows_of_categories_share_sums_and_records_of_weight_0_leave(seed, L, far):
    """Levels far below the highest one too, whose exponentials are the smallest that there are."""
    rng = np.random.default_rng(seed)
    levels = rng.integers(0, 3, (300, 3))
    X = np.column_stack([np.ones(300), *(levels[:, [k]] == [1, 2] for k in range(3))])
    y = rng.integers(1, L + 2, 300).astype(float)
    model, cells = Nominal(tuple(map(str, range(L + 1))), 2.0), make_cells(y, X)
    weights = rng.random(300) * (levels[:, 0] > 0) * (rng.random(300) < 0.5)
    density = PseudoPosterior(model, cells, weights).density_and_gradient()
    q = far * rng.normal(size=model.dimension(7))
    found, gradient = density(q)
    beta = q.reshape(7, L)
    eta = np.column_stack([np.zeros(300), X @ beta])
    rest = (y[:, None] == np.arange(1, L + 2)) - softmax(eta, axis=1)
    log_lik = log_softmax(eta, axis=1)[np.arange(300), y.astype(int) - 1]
    assert found == pytest.approx(weights @ log_lik - (q @ q) / 8.0, rel=1e-12)
    slopes = (X.T @ (weights[:, None] * rest[:, 1:]) - beta / 4.0).ravel()
    assert np.allclose(gradient, slopes, rtol=1e-9, atol=1e-9 * far)


@pytest.mark.runs
@pytest.mark.parametrize("sd", [None, 1.5])
@pytest.mark.parametrize(("K", "L"), [(1, 2), (3, 4), (4, 3)])
def test_the_sampled_scale_has_an_inverse_and_exact_gradients(K, L, sd):
    rng, _, y, model, cells = table(5, n=80, K=K, L=L, sd=sd)
    target = PseudoPosterior(model, cells, np.ones(len(y)))
    start = model.start(cells, np.ones(len(y)))
    density, scale = target.density_and_gradient(), start.scale
    restore, pull_back = scale.kernels

    def on_scale(z):
        q = np.empty(len(z))
        jacobian, state = restore(z, *scale.data, q)
        value, gradient = density(q)
        pull_back(state, q, *scale.data, gradient)
        return value + jacobian, gradient, q

    z = rng.normal(size=target.dimension)
    assert np.allclose(scale.inverse(on_scale(z)[2]), z, atol=1e-8)
    assert_gradient(on_scale, z)
    q = np.empty(len(z))
    scale.restore(np.zeros(len(z)), q)
    assert np.allclose(q, start.centre, atol=1e-9)
    if sd:  # The start is the mode.
        assert np.abs(on_scale(np.zeros(len(z)))[1]).max() < 0.1


def test_synthetic_levels_have_the_models_shares():
    model, rng = Nominal(levels=("a", "b", "c")), np.random.default_rng(1)
    draw = {"beta": np.array([[[0.5, 1.0], [-1.0, 2.0]]])}
    design = np.repeat([[1.0, 0.0], [1.0, 1.0]], 40_000, axis=0)
    found = model.predict(draw, design, rng)
    for row, part in zip(design[[0, -1]], np.split(found, 2), strict=True):
        shares = softmax([0.0, *(draw["beta"][0] @ row)])
        assert np.allclose(np.bincount(part.astype(int))[1:] / 40_000, shares, atol=0.01)


LABELS = ["own", "rent", "other"]


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize("levels", [(), ("own", "rent", "other", "never")])
def test_labels_come_back_as_they_went_in(levels):
    values = np.random.default_rng(2).choice(LABELS, 90, p=[0.5, 0.3, 0.2])
    frame = pl.DataFrame({"tenure": values, "town": (["a", "b"] * 45)})
    settings = {
        "draws": 30,
        "warmup": 100,
        "chains": 2,
        "datasets": 2,
        "seed": 1 << 60,
        "mechanism": "lw",
    }
    release = vws.synthesize(
        frame, outcome="tenure", model=Nominal(levels=levels), formula="~ town", **settings
    )
    assert set(release.datasets[0]["tenure"]) <= {*LABELS, *levels}
    said = [caveat["key"] for caveat in release.privacy["caveat_keys"]]
    assert ("levels-from-data" in said) == (not levels)


@pytest.mark.parametrize("levels", [("a",), ("a", "a"), ("1", 1)])
def test_levels_that_are_no_levels_are_refused(levels):
    with refused("labels-not-distinct"):
        Nominal(levels=levels)


@pytest.mark.parametrize("sd", [-1.0, np.inf, np.nan, "x"])
def test_an_sd_that_is_no_scale_is_refused(sd):
    with pytest.raises(InputError, match="coefficient_sd must be"):
        Nominal(levels=("a", "b"), coefficient_sd=sd)


@given(seed=st.integers(0, 2**32 - 1), K=st.integers(1, 4), L=st.integers(2, 4))
@settings(max_examples=20)
def test_chains_are_compared_by_all_coefficients_and_the_correlations_determinant(seed, K, L):
    family = Nominal(levels=tuple(map(str, range(L))))
    q = np.random.default_rng(seed).normal(size=(5, family.dimension(K)))
    compared = family.diagnosed(q, K)
    assert compared.shape == (5, K * L + (K > 1))
    np.testing.assert_array_equal(compared[:, : K * L], q[:, : K * L])
    if K > 1:
        L_beta = family.constrain(q, K)["L_beta"]
        np.testing.assert_allclose(compared[:, -1], np.linalg.slogdet(L_beta)[1], atol=1e-12)
        q[:, -1] = 1000.0  # A correlation of 1: the logarithm stays finite.
        assert np.isfinite(family.diagnosed(q, K)).all()


def test_an_sd_of_0_is_the_hierarchical_prior() -> None:
    none, zero = (Nominal(levels=("a", "b"), coefficient_sd=sd) for sd in (None, 0))
    assert none.dimension(3) == zero.dimension(3)
    cells = make_cells(np.ones(1), np.ones((1, 1)))
    assert none.stan_settings(cells) == zero.stan_settings(cells)
