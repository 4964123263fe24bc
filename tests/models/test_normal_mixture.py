"""The mixture of normal regressions against scipy, its collapses, label rules and statement."""

import itertools
import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from scipy import stats
from scipy.special import logsumexp

import pyvws as vws
from pyvws.engines.nuts import NativeEngine
from pyvws.models import _mixture_parts
from pyvws.models._mixture_parts import mixture_scale, rough_mixture
from pyvws.models.normal_mixture import NormalMixture
from pyvws.models.registry import find_model
from pyvws.posterior.draws import diagnose
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import Cells, make_cells

SIZES = [1, 3, 8]
C = 3
MIXTURE = NormalMixture(components=C, gamma_shape=2.0, gamma_rate=3.0, smallest_sd=0.1)


def table(K, n=80):
    """Outcomes with ties, a design with repeated rows, weights with exact zeros and ones."""
    rng = np.random.default_rng(K)
    X = np.column_stack([np.ones(n), rng.integers(0, 3, (n, K - 1)) / 2.0])
    y = np.where(rng.random(n) < 0.3, 0.0, rng.normal(3.0, 1.0, n).round(1))
    weights = rng.random(n)
    weights[: n // 4], weights[-(n // 4) :] = 0.0, 1.0
    return y, X, rng.permutation(weights)


def target_of(K, model=MIXTURE):
    y, X, weights = table(K)
    return PseudoPosterior(model, make_cells(y, X), weights), y, X, weights


def points(D, count, spread=0.5):
    return np.random.default_rng(9).normal(size=(count, D)) * spread


def record_log_density(draws, y, X):
    """(S, N) by scipy's normal density and sum over components."""
    eta = draws["beta"] @ X.T
    terms = stats.norm.logpdf(y, eta, draws["sigma"][..., None])
    return logsumexp(terms + np.log(draws["pi"])[..., None], axis=1)


def independent(q, y, X, weights, model=MIXTURE):
    """Priors of beta, not of its raw coefficients, with the Jacobian of one from the other; Gamma
    variables of the sizes; Stan's stick lengths of correlations.
    """
    K, C = X.shape[1], model.components
    draws = model.constrain(q[None], K)
    s, L, sigma, gamma = (
        draws[name][0] for name in ("sigma_beta", "L_beta", "sigma", "concentration")
    )
    cov = np.outer(s, s) * (L @ L.T)
    total = 0.0
    for beta in draws["beta"][0]:
        total += stats.multivariate_normal.logpdf(beta, np.zeros(K), cov)
        total += np.log(s).sum() + np.log(np.diag(L)).sum()
    total += (stats.t.logpdf(s, 3) + np.log(s)).sum()
    at = (C + 1) * K
    for i in range(1, K):
        total += (K - i - 1) * np.log(L[i, i])  # LKJ(1), uniform, on the Cholesky factor
        used = 0.0
        for j in range(i):
            total += np.log1p(-(np.tanh(q[at]) ** 2)) + 0.5 * np.log1p(-used)
            used += L[i, j] ** 2
            at += 1
    total += (stats.t.logpdf(sigma, 3) + q[at : at + C]).sum()
    size = np.exp(q[at + C : -1])
    total += (stats.gamma.logpdf(size, gamma / C) + np.log(size)).sum()
    total += stats.gamma.logpdf(gamma, model.gamma_shape, scale=1 / model.gamma_rate) + q[-1]
    return total + weights @ record_log_density(draws, y, X)[0]


@pytest.mark.parametrize("K", SIZES)
def test_density_against_an_independent_formula(K):
    target, y, X, weights = target_of(K)
    density = target.density_and_gradient()
    gaps = [density(q)[0] - independent(q, y, X, weights) for q in points(target.dimension, 6)]
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-11)  # one constant


@pytest.mark.parametrize("K", SIZES)
def test_gradient_against_central_differences(K):
    mixed, y, _, _ = target_of(K)
    for weights in (mixed.weights, np.zeros(len(y)), np.ones(len(y))):
        density = PseudoPosterior(MIXTURE, mixed.cells, weights).density_and_gradient()
        for q in points(mixed.dimension, 2):
            steps = 1e-6 * np.eye(len(q))
            numeric = [(density(q + step)[0] - density(q - step)[0]) / 2e-6 for step in steps]
            np.testing.assert_allclose(density(q)[1], numeric, rtol=2e-6, atol=2e-5)


@pytest.mark.parametrize("K", SIZES)
def test_log_likelihood_against_scipy_and_cells_against_records(K):
    target, y, X, weights = target_of(K)
    draws = MIXTURE.constrain(points(target.dimension, 20, spread=0.8), K)
    cells = target.cells
    found = MIXTURE.log_likelihood(draws, cells)[:, cells.cell_of_record]
    np.testing.assert_allclose(found, record_log_density(draws, y, X), rtol=1e-11)
    values, value_of_record = np.unique(y, return_inverse=True)
    here = np.arange(len(y))
    records = Cells(np.ascontiguousarray(X), values, here, value_of_record, here)
    one_by_one = PseudoPosterior(MIXTURE, records, weights).density_and_gradient()
    for q in MIXTURE.unconstrain(draws)[:5]:
        (value, gradient), other = target.density_and_gradient()(q), one_by_one(q)
        assert value == pytest.approx(other[0], rel=1e-12)
        np.testing.assert_allclose(gradient, other[1], rtol=1e-9, atol=1e-8)


@given(st.permutations(range(C)), st.integers(0, 2**32 - 1))
def test_the_density_does_not_know_labels(order, seed):
    K = 3
    target, _, _, _ = target_of(K)
    q = np.random.default_rng(seed).normal(size=target.dimension)
    first, order = (C + 1) * K + K * (K - 1) // 2, list(order)
    swapped = q.copy()
    swapped[: C * K] = q[: C * K].reshape(C, K)[order].ravel()
    for part in (slice(first, first + C), slice(first + C, first + 2 * C)):
        swapped[part] = q[part][order]
    density = target.density_and_gradient()
    assert density(swapped)[0] == pytest.approx(density(q)[0], rel=1e-12)
    compared = MIXTURE.diagnosed(np.array([q, swapped]), K)
    np.testing.assert_allclose(compared[0], compared[1], rtol=1e-12, atol=1e-12)


@pytest.mark.runs
@pytest.mark.parametrize("K", [1, 4])
def test_the_sampled_scale_is_a_change_of_variables(K):
    D = MIXTURE.dimension(K)
    rng = np.random.default_rng(K)
    A = rng.normal(size=(C, K, K))
    A[1] = 0.0  # An empty component.
    centre = 0.3 * rng.normal(size=D)
    H = 20.0 * A @ np.swapaxes(A, 1, 2)
    scale = mixture_scale(centre, H, rng.normal(size=(C, K)))
    restore, pull_back = scale.kernels
    q = np.empty(D)
    scale.restore(np.zeros(D), q)
    np.testing.assert_allclose(q, centre, atol=1e-13)
    slope = rng.normal(size=D)

    def pulled_back(z):
        q = np.empty(D)
        jacobian, state = restore(z, *scale.data, q)
        return np.sin(q) @ slope + jacobian, q, state

    z = rng.normal(size=D)
    steps = 1e-6 * np.eye(D)
    around = [(pulled_back(z + step), pulled_back(z - step)) for step in steps]
    _, here, state = pulled_back(z)
    matrix = np.array([(up[1] - down[1]) / 2e-6 for up, down in around]).T
    assert scale.restore(z, q) == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-7)
    gradient = np.cos(here) * slope
    pull_back(state, here, *scale.data, gradient)
    numeric = [(up[0] - down[0]) / 2e-6 for up, down in around]
    np.testing.assert_allclose(gradient, numeric, rtol=1e-6, atol=1e-6)


def test_it_starts_at_the_groups_there_are():
    rng = np.random.default_rng(1)
    y = np.r_[np.zeros(100), rng.normal(10.0, 1.0, 300)]
    rough = rough_mixture(make_cells(y, np.ones((400, 1))), np.ones(400), components=4, floor=0.05)
    at_zero = np.abs(rough.beta[:, 0]) < 0.1
    assert rough.weight[at_zero].sum() == pytest.approx(100.0, abs=1.0)
    assert rough.sigma[at_zero & (rough.weight > 0)].max() < 0.1
    start = NormalMixture(components=4).start(make_cells(y, np.ones((400, 1))), np.zeros(400))
    assert np.isfinite(start.centre).all()


def test_heavier_components_come_first_and_few_records_have_little_information() -> None:
    rng = np.random.default_rng(6)
    y = np.r_[rng.normal(10.0, 0.5, 300), np.zeros(80), -9.0 + rng.normal(0.0, 0.3, 4)]
    X = np.column_stack([np.ones(len(y)), rng.integers(0, 2, len(y))])
    rough = rough_mixture(make_cells(y, X), np.ones(len(y)), components=4, floor=0.05)
    assert (np.diff(rough.weight) <= 0).all()
    losses = np.abs(rough.beta @ np.array([1.0, 0.5]) + 9.0) < 1.0
    assert rough.weight[losses].sum() == pytest.approx(4.0, abs=0.1)
    assert (rough.information[losses, 0, 0] <= 4.1**2 / 2).all()
    many = (rough.weight > 50) & (rough.sigma > 0.2)
    alone = rough.weight[many] / rough.sigma[many] ** 2
    assert (rough.information[many, 0, 0] > 0.7 * alone).all()


@pytest.mark.runs
@pytest.mark.draws
def test_chains_agree_on_incomes_with_zeros_losses_and_two_humps() -> None:
    rng = np.random.default_rng(7)
    n, places = 1200, 60
    X = np.column_stack([np.ones(n), rng.integers(0, 2, (n, 3))])
    y = X @ [10.5, -0.6, 0.5, 0.9] + 0.65 * rng.normal(size=n)
    low, zero = rng.random(n) < 0.15, rng.random(n) < 0.08
    y[low] = 8.5 + 1.4 * rng.normal(size=low.sum())
    y[zero] = 0.0
    y[:4] = [-11.6, -10.9, -8.2, -8.0]
    model, settings = NormalMixture(), vws.SamplerSettings(draws=1000, warmup=500, chains=4)
    cells = make_cells(y, X)
    target = PseudoPosterior(model, cells, np.ones(n))
    posterior = NativeEngine().sample(target, settings, seed=1)
    assert posterior.diagnostics.rhat_max < 1.02
    assert posterior.diagnostics.ess_bulk_min > 300  # log gamma had 7 before sizes had a total.
    part = cells.part(np.linspace(0, cells.n_cells - 1, places).astype(np.intp))
    log_density = model.log_likelihood(posterior.draws, part)
    assert diagnose(log_density.reshape(4, 1000, places), 0).rhat_max < 1.02


@pytest.mark.runs
def test_some_of_very_many_cells_stand_for_all_in_the_rough_start(monkeypatch) -> None:
    rng = np.random.default_rng(3)
    y = np.where(rng.random(3000) < 0.3, -3.0, 2.0) + rng.normal(0.0, 0.3, 3000)
    weights = np.where(rng.random(3000) < 0.2, 0.0, rng.random(3000))
    cells = make_cells(y, np.ones((3000, 1)))
    whole = rough_mixture(cells, weights, components=2, floor=0.05)
    monkeypatch.setattr(_mixture_parts, "MOST_CELLS", 500)
    part = rough_mixture(cells, weights, components=2, floor=0.05)
    assert part.weight.sum() == pytest.approx(weights.sum())
    np.testing.assert_allclose(part.weight, whole.weight, rtol=0.1)
    np.testing.assert_allclose(part.beta, whole.beta, atol=0.1)
    np.testing.assert_allclose(part.sigma, whole.sigma, rtol=0.15)


def _apart(labels):
    model = NormalMixture(components=3, smallest_sd=0.0, labels=labels)
    draw = {
        "beta": np.array([[[-100.0, 0.0], [0.0, 1.0], [100.0, 0.0]]]),
        "sigma": np.array([[1.0, 0.5, 2.0]]),
        "pi": np.array([[0.2, 0.5, 0.3]]),
    }
    return model, draw


def test_full_conditional_labels_are_those_of_the_records():
    model, draw = _apart("full-conditional")
    centre = np.tile([-100.0, 0.0, 100.0], 500)
    X = np.column_stack([np.ones(1500), np.zeros(1500)])
    made = model.predict(draw, X, np.random.default_rng(1), outcome=centre + 0.1)
    assert (np.abs(made - centre) < 12.0).all()
    with refused("labels-need-outcome"):
        model.predict(draw, X, np.random.default_rng(1))


def test_full_conditional_probabilities_are_those_of_equation_7():
    model = NormalMixture(components=2, smallest_sd=0.0)
    draw = {
        "beta": np.array([[[-50.0], [50.0]]]),
        "sigma": np.array([[100.0, 200.0]]),
        "pi": np.array([[0.3, 0.7]]),
    }
    n = 200_000
    one = 0.3 * stats.norm.pdf(20.0, -50.0, 100.0)
    two = 0.7 * stats.norm.pdf(20.0, 50.0, 200.0)
    share = one / (one + two)
    made = model.predict(draw, np.ones((n, 1)), np.random.default_rng(2), outcome=np.full(n, 20.0))
    mean = share * -50.0 + (1 - share) * 50.0
    sd = math.sqrt(share * 100.0**2 + (1 - share) * 200.0**2 + share * (1 - share) * 100.0**2)
    assert abs(made.mean() - mean) < 4 * sd / math.sqrt(n)


def test_prior_labels_come_at_the_rate_pi():
    model, draw = _apart("prior")
    n = 20_000
    X = np.column_stack([np.ones(n), np.zeros(n)])
    made = model.predict(draw, X, np.random.default_rng(1))
    shares = np.array([np.mean(np.abs(made - at) < 20.0) for at in (-100.0, 0.0, 100.0)])
    pi = draw["pi"][0]
    assert (np.abs(shares - pi) < 4 * np.sqrt(pi * (1 - pi) / n)).all()
    middle = made[np.abs(made) < 20.0]
    assert abs(middle.std() - 0.5) < 4 * 0.5 / math.sqrt(2 * len(middle))


@pytest.mark.draws
def test_the_statement_follows_the_label_rule_end_to_end():
    rng = np.random.default_rng(3)
    income = np.where(rng.random(60) < 0.2, -50.0, np.rint(np.exp(rng.normal(9.0, 1.0, 60))))
    frames = {
        "pandas": pd.DataFrame({"income": income}),
        "polars": pl.DataFrame({"income": income}),
    }
    released = {}
    for labels, kind in itertools.product(("prior", "full-conditional"), frames):
        with pytest.warns(vws.ConvergenceWarning):
            made = vws.synthesize(
                frames[kind],
                outcome="income",
                model="normal-mixture",
                components=2,
                outcome_scale="signed-log",
                labels=labels,
                mechanism="marginal",
                datasets=20,
                draws=20,
                warmup=300,
                chains=4,
                seed=1,
                keep_order=True,
            )
        released[labels, kind] = [np.asarray(d["income"]) for d in made.datasets]
        said = " ".join(made.privacy["caveats"])
        if labels == "prior":
            assert made.privacy["guarantee"] == "asymptotic-dp"
            assert "In another unit the same records have another Lipschitz bound" in said
        else:
            assert made.privacy["guarantee"] == "none"
            assert "drawn given the record's own confidential outcome" in said
        assert "No component has a standard deviation under 0.05" in said
    for labels in ("prior", "full-conditional"):
        np.testing.assert_array_equal(released[labels, "pandas"], released[labels, "polars"])
    # Nearly every record's own sign survives its full conditional, 0.6 of them a label from pi.
    kept = {
        labels: np.mean(
            [np.mean(np.sign(m) == np.sign(income)) for m in released[labels, "pandas"]]
        )
        for labels in ("prior", "full-conditional")
    }
    assert kept["prior"] < 0.8 < kept["full-conditional"]


def test_bad_input_is_refused_in_words():
    with refused("log-values-too-low", column="pay", too_low=2):
        find_model("normal_mixture", outcome_scale="log").prepare(np.array([3.0, 0.0, -1.0]), "pay")
    with refused("column-missing-at-rows", column="pay"):
        vws.synthesize(
            pl.DataFrame({"pay": [1.0, None, 3.0]}),
            outcome="pay",
            model="normal-mixture",
            seed=1,
            mechanism="lw",
        )
    with refused("not-a-choice", name="labels"):
        NormalMixture(labels="posterior")
    with refused("not-a-whole-number", name="components"):
        NormalMixture(components=0)
    with refused("not-above-0", name="gamma_rate"):
        NormalMixture(gamma_rate=0.0)


def test_far_out_points_are_not_finite_and_never_raise():
    target, _, _, _ = target_of(3)
    density = target.density_and_gradient()
    for far, sign in itertools.product((60.0, 400.0, 1e4), (1.0, -1.0)):
        q = np.full(target.dimension, far * sign)
        value, gradient = density(q)
        assert not value > -1e3
        assert gradient.shape == q.shape
    assert not np.isfinite(density(np.full(target.dimension, 1e4))[0])


@pytest.mark.runs
def test_the_start_finds_a_small_group_far_from_the_others():
    rng = np.random.default_rng(3)
    near = np.concatenate([np.zeros(80), rng.normal(-10.0, 0.5, 8), rng.normal(10.0, 1.0, 912)])
    cells = make_cells(near, np.ones((len(near), 1)))
    rough = rough_mixture(cells, np.ones(len(near)), components=10, floor=0.0)
    at_zero = (np.abs(rough.beta[:, 0]) < 0.1) & (rough.sigma < 0.1) & (rough.weight > 0.0)
    assert rough.weight[at_zero].sum() == pytest.approx(80.0, abs=2.0)
