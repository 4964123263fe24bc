"""The clamped target: against a plain sum, its gradient, and where it must collapse."""

from dataclasses import replace

import numpy as np
import pytest
from pyvws_validation._stan_case import CLAMPED, seeded_target
from refusals import refused

from pyvws.errors import InputError
from pyvws.models.registry import find_model
from pyvws.posterior.clamp import CLAMPS, Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

EACH = pytest.mark.parametrize(("name", "kind"), CLAMPED)
KINDS = pytest.mark.parametrize("kind", CLAMPS)


def seeded(name, n=80, K=2, seed=3):
    return seeded_target(name, n, K, seed=seed)


def with_clamp(target, epsilon, kind="half"):
    return replace(target, clamp=Clamp(epsilon, kind))


def points(target, count=4):
    return np.random.default_rng(5).uniform(-0.6, 0.6, (count, target.dimension))


def weighted_terms(target, point, kind):
    """The terms that a clamp sees, record by record."""
    draws = target.model.constrain(point[None], target.cells.n_coefficients)
    terms = target.model.log_likelihood(draws, target.cells)[0]
    if kind == "deviance":
        terms = terms - target.model.saturated(target.cells)
    terms = terms[target.cells.cell_of_record]
    return np.multiply(target.weights, terms, out=np.zeros(80), where=target.weights > 0)


def middle(target, point, kind):
    """An epsilon that clamps about half of the records at the point, between two terms."""
    sizes = np.unique(np.abs(weighted_terms(target, point, kind)))
    middle = len(sizes) // 2
    return float(sizes[middle - 1] + sizes[middle]) * (1.0 if kind == "half" else 0.5)


@pytest.mark.runs
@EACH
def test_each_term_is_replaced_by_its_clamp(name, kind):
    target = seeded(name)
    prior = replace(target, weights=np.zeros(80)).density_and_gradient()
    for point in points(target):
        epsilon = middle(target, point, kind)
        low, high = Clamp(epsilon, kind).window
        terms = weighted_terms(target, point, kind)
        clamped = np.clip(terms, low, high)
        assert 0.2 < (clamped != terms).mean() < 0.8
        density = with_clamp(target, epsilon, kind).density_and_gradient()
        value, gradient = density(point)
        assert value == pytest.approx(prior(point)[0] + clamped.sum(), rel=1e-12)
        numeric = [
            (density(point + step)[0] - density(point - step)[0]) / 2e-7
            for step in 1e-7 * np.eye(target.dimension)
        ]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-3)


@KINDS
def test_where_every_term_is_below_the_window_only_the_prior_is_left(kind):
    """At means so far above the counts that each record with a weight has the least term."""
    whole = seeded("negative-binomial")
    target, q = with_clamp(whole, 6.0, kind), np.zeros(whole.dimension)
    q[0], q[-1] = 12.0, -12.0
    low, _ = Clamp(6.0, kind).window
    assert (weighted_terms(whole, q, kind)[whole.weights > 0] < low).all()
    prior = replace(whole, weights=np.zeros(80)).density_and_gradient()
    (value, gradient), (expected, slopes) = target.density_and_gradient()(q), prior(q)
    assert value == pytest.approx(expected + low * (whole.weights > 0).sum(), rel=1e-12)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-12)


def test_beyond_all_floats_the_density_does_not_raise():
    target = with_clamp(seeded("negative-binomial"), 6.0)
    value, gradient = target.density_and_gradient()(np.full(target.dimension, 400.0))
    assert not value > -np.inf
    assert len(gradient) == target.dimension


@pytest.mark.parametrize("epsilon", [0.0, -1.0, np.inf, np.nan])
def test_windows_that_are_none(epsilon):
    with pytest.raises(InputError, match="epsilon"):
        Clamp(epsilon)


def test_another_kind_is_refused():
    with refused("not-a-choice", name="clamp"):
        Clamp(3.0, "whole")


@pytest.mark.parametrize("model", ["normal", "gamma"])
def test_a_clamped_fit_starts_whatever_one_record_holds(model):
    family = find_model(model)
    y = np.array([1.0, 2.0, 3.0, 4.0, 1e300])
    cells = make_cells(family.encode(y), np.ones((5, 1)))
    target = PseudoPosterior(family, cells, np.ones(5), Clamp(8.0))
    value, gradient = target.density_and_gradient()(target.start().centre)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
