"""The clamped target: against a plain sum, its gradient, and where it must collapse."""

from __future__ import annotations

import numpy as np
import pytest

from pyvws.errors import InputError
from pyvws.models.registry import MODELS, find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.cells import make_cells

CENSORABLE = [name for name, model in MODELS.items() if model.cell_terms is not None]


def seeded(name, n=80, K=2, seed=3):
    from pyvws.validation._stan_case import seeded_target

    return seeded_target(name, n, K, seed=seed)


def with_bound(target, bound):
    return PseudoPosterior(target.model, target.cells, target.weights, bound)


def points(target, count=4):
    return np.random.default_rng(5).uniform(-0.6, 0.6, (count, target.dimension))


def middle(target, point):
    """A bound that clamps about half of the records at the point."""
    draws = target.model.constrain(point[None], target.cells.n_coefficients)
    terms = target.model.log_likelihood(draws, target.cells)[0][target.cells.cell_of_record]
    return float(np.median(np.abs(terms * target.weights))) + 1e-9


@pytest.mark.parametrize("name", CENSORABLE)
def test_each_term_is_replaced_by_its_clamp(name):
    target = seeded(name)
    prior = PseudoPosterior(target.model, target.cells, np.zeros(80)).density_and_gradient()
    for point in points(target):
        bound = middle(target, point)
        draws = target.model.constrain(point[None], 2)
        terms = target.model.log_likelihood(draws, target.cells)[0][target.cells.cell_of_record]
        clamped = np.clip(terms * target.weights, -bound, bound)
        assert 0.2 < (np.abs(clamped) == bound).mean() < 0.8
        value, gradient = with_bound(target, bound).density_and_gradient()(point)
        assert value == pytest.approx(prior(point)[0] + clamped.sum(), rel=1e-12)
        numeric = [
            (
                with_bound(target, bound).density_and_gradient()(point + step)[0]
                - with_bound(target, bound).density_and_gradient()(point - step)[0]
            )
            / 2e-7
            for step in 1e-7 * np.eye(target.dimension)
        ]
        np.testing.assert_allclose(gradient, numeric, rtol=1e-4, atol=1e-3)


@pytest.mark.parametrize("name", CENSORABLE)
def test_a_large_bound_is_no_bound_and_a_tiny_one_leaves_the_prior(name):
    target = seeded(name)
    prior = PseudoPosterior(target.model, target.cells, np.zeros(80)).density_and_gradient()
    free, tiny = with_bound(target, 1e6), with_bound(target, 1e-9)
    gaps = []
    for point in points(target):
        value, gradient = target.density_and_gradient()(point)
        same, same_gradient = free.density_and_gradient()(point)
        gaps.append(value - same)
        np.testing.assert_allclose(same_gradient, gradient, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(tiny.density_and_gradient()(point)[1], prior(point)[1])
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-9 * (1 + abs(gaps[0])))  # one constant


def test_a_weight_of_zero_adds_nothing_and_equal_records_are_one_term():
    y = np.array([3.0, 3.0, 3.0, 900.0])
    weights = np.array([1.0, 1.0, 0.5, 0.0])
    model = find_model("poisson")
    many = PseudoPosterior(model, make_cells(y, np.ones((4, 1))), weights, 2.0)
    few = PseudoPosterior(model, make_cells(y[:3], np.ones((3, 1))), weights[:3], 2.0)
    for q in np.random.default_rng(1).normal(size=(5, 2)):
        for one, other in zip(
            many.density_and_gradient()(q), few.density_and_gradient()(q), strict=True
        ):
            np.testing.assert_allclose(one, other, rtol=1e-14)


def test_far_out_every_term_is_the_lower_bound():
    target = with_bound(seeded("negative-binomial"), 3.0)
    q = np.full(target.dimension, 400.0)
    value, gradient = target.density_and_gradient()(q)
    assert not value > 0
    assert gradient.shape == q.shape


@pytest.mark.parametrize("bound", [0.0, -1.0, np.inf, np.nan])
def test_bounds_that_are_none(bound):
    with pytest.raises(InputError, match="bound"):
        with_bound(seeded("poisson"), bound)


@pytest.mark.parametrize("model", ["normal", "gamma"])
def test_a_clamped_fit_starts_whatever_one_record_holds(model):
    family = find_model(model)
    y = np.array([1.0, 2.0, 3.0, 4.0, 1e300])
    cells = make_cells(family.encode(y), np.ones((5, 1)))
    target = PseudoPosterior(family, cells, np.ones(5), 4.0)
    value, gradient = target.density_and_gradient()(target.start().centre)
    assert np.isfinite(value)
    assert np.isfinite(gradient).all()
