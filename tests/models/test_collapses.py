"""Families that become another, or a law known by heart, at special parameters."""

import numpy as np
import pytest

from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

_RNG = np.random.default_rng(8)
_X = np.column_stack([np.ones(60), _RNG.integers(0, 3, (60, 2)) / 2.0])
_BETA = _RNG.normal(size=(5, 3))


def _log_likelihood(model, y, **draws):
    cells = make_cells(y, _X)
    return model.log_likelihood({"beta": _BETA, **draws}, cells)[:, cells.cell_of_record]


def test_two_ordered_levels_are_logistic():
    y = _RNG.integers(0, 2, 60).astype(float)
    two = find_model("ordinal").prepare(4.0 + 3.0 * y, "y")
    np.testing.assert_allclose(
        _log_likelihood(two, two.encode(4.0 + 3.0 * y)),
        _log_likelihood(find_model("logistic"), y),
        rtol=1e-14,
    )
    assert two.dimension(3) == find_model("logistic").dimension(3)
    draw = {"beta": np.array([[40.0, -80.0]])}
    made = two.predict(draw, np.array([[1.0, 0.0], [1.0, 1.0]]), np.random.default_rng(1))
    assert made.tolist() == [7.0, 4.0]


def test_levels_that_no_record_has_have_the_priors_gaps():
    """Ten levels of which two occur: gaps beside the others are drawn to their prior alone."""
    y = np.repeat([1.0, 2.0], 30)
    model = find_model("ordinal", levels=range(1, 11))
    target = PseudoPosterior(model, make_cells(model.encode(y), np.ones((60, 1))), np.ones(60))
    prior = PseudoPosterior(model, target.cells, np.zeros(60))
    q = np.random.default_rng(2).normal(size=target.dimension)
    with_data, without = (t.density_and_gradient()(q)[1] for t in (target, prior))
    np.testing.assert_array_equal(with_data[3:], without[3:])
    assert with_data[2] != without[2]


@pytest.mark.parametrize(
    ("name", "outcome", "estimates"),
    [
        # MASS::polr(factor(y) ~ x): -zeta_1, the slope, zeta_2 - zeta_1
        ("ordinal", lambda y, _x: y, [-1.419492283946, 1.851944277584, 2.765836409224]),
        # glm(y > 0 ~ x, binomial)
        ("logistic", lambda y, _x: (y > 0) * 1.0, [-4.416884340789, 5.071973655206]),
        # glm(y + x ~ x, Gamma("log")), and 1 / MASS::gamma.shape
        ("gamma", lambda y, x: y + x, [-0.490909218963, 0.806203616064, 0.198441110965]),
    ],
)
def test_the_likelihood_is_flat_at_rs_estimates(name, outcome, estimates):
    """y = c(0, 0, 1, 0, 2, 1, 1, 2, 1, 2, 2, 1), x = (1:12) / 4."""
    y, x = np.array([0.0, 0, 1, 0, 2, 1, 1, 2, 1, 2, 2, 1]), np.arange(1, 13) / 4
    made = outcome(y, x)
    model = find_model(name).prepare(made, "y")
    cells = make_cells(model.encode(made), np.column_stack([np.ones(12), x]))
    q = np.zeros(model.dimension(2))
    q[:2], q[5:] = estimates[:2], np.log(estimates[2:])
    slopes = [
        PseudoPosterior(model, cells, np.full(12, weight)).density_and_gradient()(q)[1]
        for weight in (1.0, 0.0)
    ]
    np.testing.assert_allclose(slopes[0], slopes[1], atol=1e-5)
