"""A clamped target of two modes: native chains and a sum over a grid agree."""

import numpy as np
import pytest

from pyvws import Normal, SamplerSettings
from pyvws.engines.nuts import NativeEngine, moved_between_modes
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

pytestmark = pytest.mark.draws

BETWEEN = 1.5  # Half way from one cluster to the other.
SETTINGS = SamplerSettings(draws=1000, warmup=500, chains=2)


@pytest.fixture(scope="module")
def target():
    """Two clusters, one of them narrower: a window of 4 nats holds one cluster at a time."""
    rng = np.random.default_rng(3)
    y = np.concatenate([rng.normal(0.3, 0.6, 208), rng.normal(3.0, 0.4, 170)])
    cells = make_cells(y, np.ones((len(y), 1)))
    return PseudoPosterior(Normal(smallest_sd=0.1), cells, np.ones(len(y)), Clamp(4.0, "deviance"))


def upper_share(target):
    """The posterior share of the upper mode, by a sum over (beta, log sigma_beta, log sigma)."""
    density = target.density_and_gradient()

    def mass(centre):
        beta = np.linspace(-0.4, 0.4, 30) + centre
        u = np.linspace(-1.8, 0.2, 40)
        v = np.linspace(-6.0, 8.0, 36)
        # The prior knows no sigma, and the terms know no scale of the prior.
        prior = [[density(np.array([b, w, -0.5]))[0] for w in v] for b in beta]
        prior = np.array(prior) - [[density(np.array([b, 0.0, -0.5]))[0]] for b in beta]
        rest = np.array([[density(np.array([b, 0.0, w]))[0] for w in u] for b in beta])
        return np.exp(rest - height).sum(axis=1) @ np.exp(prior).sum(axis=1)

    height = density(target.start().centre)[0]
    low, high = sorted(start.centre[0] for start in target.starts())
    lower, upper = mass(low), mass(high)
    return upper / (lower + upper)


def share(posterior):
    return float((posterior.draws["beta"][:, 0] > BETWEEN).mean())


def test_native_chains_give_each_mode_its_share(target):
    exact = upper_share(target)
    assert 0.1 < exact < 0.9  # Else one chain would do.
    posterior = NativeEngine().sample(target, SETTINGS, seed=1)
    assert posterior.diagnostics.rhat_max < 1.01
    assert posterior.diagnostics.ess_bulk_min > 400
    error = np.sqrt(exact * (1.0 - exact) / posterior.diagnostics.ess_bulk_min)
    assert share(posterior) == pytest.approx(exact, abs=5.0 * error + 0.01)


def test_chains_that_stayed_apart_are_brought_together(target):
    """Whatever shapes the chains drew: the steps keep the target, not the chains' shares."""
    rng = np.random.default_rng(1)
    low, high = sorted(target.starts(), key=lambda start: start.centre[0])
    widths = np.array([[0.05, 0.5, 0.1], [0.1, 1.0, 0.2]])
    q = np.stack(
        [
            start.centre + width * rng.standard_normal((500, 3))
            for start, width in zip((low, high), widths, strict=True)
        ]
    )
    moved = moved_between_modes(target, q, seed=3)
    assert moved.shape == q.shape
    found = (moved[..., 0] > BETWEEN).mean()
    assert found == pytest.approx(upper_share(target), abs=0.1)
    np.testing.assert_array_equal(moved, moved_between_modes(target, q, seed=3))
