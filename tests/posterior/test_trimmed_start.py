"""Where a clamped fit starts: at the modes of its target, whatever lies outside the window."""

import numpy as np
import pytest
from pyvws_validation._stan_case import CLAMPED, seeded_target

from pyvws import NegativeBinomial, Normal
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells


def clamped(model, y, epsilon):
    cells = make_cells(np.asarray(y, float), np.ones((len(y), 1)))
    return PseudoPosterior(model, cells, np.ones(len(y)), Clamp(epsilon, "deviance"))


def height(target, start):
    return target.density_and_gradient()(start.centre)[0]


def two_clusters(first, second):
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(0.0, 0.5, first), rng.normal(3.0, 0.5, second)])
    return clamped(Normal(smallest_sd=0.1), y, 4.0)


def test_one_start_in_the_larger_of_two_clusters_and_two_in_equal_ones():
    # The rough fit of all records lies between the clusters, near no record.
    larger = two_clusters(250, 150).starts()
    assert len(larger) == 1
    assert larger[0].centre[0] == pytest.approx(0.0, abs=0.2)
    equal = two_clusters(200, 200)
    places = sorted(start.centre[0] for start in equal.starts())
    assert places == pytest.approx([0.0, 3.0], abs=0.2)
    first, second = (height(equal, start) for start in equal.starts())
    assert first >= second > first - 10.0


def test_far_records_do_not_move_the_start():
    y = np.random.default_rng(1).normal(5.0, 1.0, 300)
    model = Normal(smallest_sd=0.1)
    plain = clamped(model, y, 6.0).start().centre
    with_far = clamped(model, np.append(y, 1e300), 6.0).start().centre
    np.testing.assert_allclose(with_far, plain, atol=0.15)


def test_the_start_is_near_the_highest_point_that_many_others_reach():
    """The rough fit of all records lies more than 100 nats lower."""
    rng = np.random.default_rng(1)
    phi = np.where(rng.random(1000) < 0.2, 5.0, 20.0)
    y = rng.poisson(100.0 * rng.gamma(phi, 1.0 / phi))
    target = clamped(NegativeBinomial(), y, 2.0)
    found = height(target, target.start())
    rough = target.model.start(target.cells, target.weights)
    assert found > height(target, rough) + 100.0
    density = target.density_and_gradient()
    grid = [
        density(np.array([beta, 0.0, u]))[0]
        for beta in np.linspace(4.4, 4.8, 41)
        for u in np.linspace(-8.0, 0.0, 81)
    ]
    assert found > max(grid) - 3.0


@pytest.mark.runs
@pytest.mark.parametrize("name", [name for name, kind in CLAMPED if kind == "deviance"])
def test_every_family_starts_no_lower_than_its_rough_fit(name):
    free = seeded_target(name, 150, 2, seed=4)
    target = PseudoPosterior(free.model, free.cells, free.weights, Clamp(1.0, "deviance"))
    starts = target.starts()
    heights = [height(target, start) for start in starts]
    assert 1 <= len(starts) <= 4
    assert heights == sorted(heights, reverse=True)
    assert heights[0] >= height(target, free.model.start(free.cells, free.weights))
    again = target.starts()
    np.testing.assert_array_equal(again[0].centre, starts[0].centre)


def test_few_records_or_weights_of_zero_still_start():
    target = clamped(Normal(), [1.0, 2.0], 3.0)
    assert np.isfinite(height(target, target.start()))
    nothing = PseudoPosterior(target.model, target.cells, np.zeros(2), Clamp(3.0, "deviance"))
    assert np.isfinite(nothing.start().centre).all()
