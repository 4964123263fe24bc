"""Steps of NUTS and their adaptation, on densities of known moments."""

from __future__ import annotations

import numpy as np
import pytest

from pyvws._base.checks import Floats
from pyvws.engines._nuts_steps import Adaptation, PhasePoint, nuts_step

_SPREADS = np.array([0.01, 1.0, 30.0])
_CORRELATION = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.8], [0.0, 0.8, 1.0]])
_PRECISION = np.linalg.inv(_CORRELATION * np.outer(_SPREADS, _SPREADS))


def _normal(z: Floats) -> PhasePoint:
    slope = -_PRECISION @ z
    return PhasePoint(z, float(0.5 * z @ slope), slope)


def _kinked(z: Floats) -> PhasePoint:
    """A Laplace density: its slope jumps at 0."""
    return PhasePoint(z, -float(np.abs(z).sum()), -np.sign(z))


def _chain(density, start: Floats, *, warmup: int, draws: int, seed: int = 1) -> tuple:
    """Draws (draws, D) and their steps."""
    rng = np.random.default_rng(seed)
    near = [density(start + rng.uniform(-0.01, 0.01, len(start))) for _ in range(20)]
    adapted = Adaptation(near, warmup=warmup, target_accept=0.8)
    point, steps = near[0], []
    for at in range(warmup + draws):
        steps.append(
            nuts_step(density, point, variances=adapted.variances, size=adapted.size, rng=rng)
        )
        point = steps[-1].point
        if at < warmup:
            adapted.after(steps[-1])
    return np.array([step.point.z for step in steps[warmup:]]), steps[warmup:], adapted


@pytest.mark.draws
def test_a_normal_density_whose_parameters_differ_in_spread() -> None:
    z, steps, adapted = _chain(_normal, np.zeros(3), warmup=300, draws=4000)
    scaled = z / _SPREADS
    assert np.abs(scaled.mean(axis=0)).max() < 0.1
    np.testing.assert_allclose(np.cov(scaled.T), _CORRELATION, atol=0.12)
    # The diagonal of sqrt(covariance / precision): the ratio's limit for correlated parameters.
    limit = np.sqrt(_SPREADS**2 / np.diag(_PRECISION))
    np.testing.assert_allclose(adapted.variances, limit, rtol=0.5)
    accepted = np.mean([step.acceptance for step in steps])
    assert 0.7 < accepted < 0.95
    assert not any(step.diverged for step in steps)
    assert np.mean([step.leapfrogs for step in steps]) < 20


@pytest.mark.draws
def test_a_density_with_kinks() -> None:
    z, _, _ = _chain(_kinked, np.full(4, 0.5), warmup=300, draws=6000)
    assert np.abs(z.mean(axis=0)).max() < 0.15
    np.testing.assert_allclose(np.abs(z).mean(axis=0), 1.0, atol=0.12)
    np.testing.assert_allclose((z**2).mean(axis=0), 2.0, atol=0.5)


def test_a_point_of_no_density_ends_a_trajectory() -> None:
    def walled(z: Floats) -> PhasePoint:
        if z[0] > 0.5:
            return PhasePoint(z, -np.inf, np.zeros(1))
        return PhasePoint(z, -0.5 * float(z @ z), -z)

    rng = np.random.default_rng(1)
    start = walled(np.array([0.4]))
    steps = [nuts_step(walled, start, variances=np.ones(1), size=0.5, rng=rng) for _ in range(200)]
    assert all(step.point.z[0] <= 0.5 for step in steps)
    assert 0 < sum(step.diverged for step in steps) < 200
    assert all(0.0 <= step.acceptance <= 1.0 for step in steps)


def test_the_same_stream_gives_the_same_steps() -> None:
    one, _, _ = _chain(_normal, np.zeros(3), warmup=20, draws=20, seed=3)
    two, _, _ = _chain(_normal, np.zeros(3), warmup=20, draws=20, seed=3)
    other, _, _ = _chain(_normal, np.zeros(3), warmup=20, draws=20, seed=4)
    np.testing.assert_array_equal(one, two)
    assert not np.array_equal(one, other)


def test_a_parameter_that_the_density_ignores_keeps_a_variance() -> None:
    near = [PhasePoint(np.array([0.1 * i, 0.0]), 0.0, np.array([-0.1 * i, 0.0])) for i in range(5)]
    adapted = Adaptation(near, warmup=100, target_accept=0.8)
    np.testing.assert_allclose(adapted.variances, 1.0)
