"""The ensemble engine against NUTS, on the clamped densities that it is for."""

from __future__ import annotations

import numpy as np
import pytest
from pyvws_validation._stan_case import seeded_target
from pyvws_validation.cases.posterior import largest_gap, quantities

from pyvws.engines.nuts import NativeEngine
from pyvws.engines.registry import find_engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import MissingDependencyError
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior

pytestmark = pytest.mark.draws

LONG = SamplerSettings(draws=3000, warmup=1000, chains=2)
SHORT = SamplerSettings(draws=120, warmup=100, chains=2)


@pytest.fixture
def ensemble():
    pytest.importorskip("emcee")
    return find_engine("ensemble")


def clamped(name, bound, K=1):
    target = seeded_target(name, 150, K, seed=4)
    return PseudoPosterior(target.model, target.cells, target.weights, Clamp(2.0 * bound))


@pytest.mark.parametrize(("name", "bound"), [("negative-binomial", 3.5), ("beta", 0.8)])
def test_both_samplers_draw_from_the_clamped_posterior(name, bound, ensemble):
    target = clamped(name, bound)
    terms = []
    for engine in (NativeEngine(), ensemble):
        posterior = engine.sample(target, LONG, seed=5)
        assert posterior.diagnostics.rhat_max < 1.02
        terms.append(quantities(target, posterior)[..., :-1])  # Delta at a draw is the clamp itself
    assert largest_gap(*terms) < 5.0  # In standard errors; one of seven seeds gave 4.05.
    sizes = np.abs(
        target.model.log_likelihood(posterior.draws, target.cells)[:, target.cells.cell_of_record]
        * target.weights
    )
    assert 0.05 < (sizes > bound).mean() < 0.95  # the clamp is at work


def test_names_shapes_seeds_and_progress(ensemble):
    target = clamped("negative-binomial", 3.5, K=2)
    seen = []
    first = ensemble.sample(target, SHORT, seed=1, progress=lambda *at: seen.append(at))
    again, other = (ensemble.sample(target, SHORT, seed=seed) for seed in (1, 2))
    native = NativeEngine().sample(target, SHORT, seed=1)
    assert {k: v.shape for k, v in first.draws.items()} == {
        k: v.shape for k, v in native.draws.items()
    }
    np.testing.assert_array_equal(first.draws["beta"], again.draws["beta"])
    assert (first.draws["beta"] != other.draws["beta"]).any()
    assert seen[-1] == (440, 440)
    assert (first.engine, first.chains, first.n_draws) == ("ensemble", 2, 240)


def test_without_emcee_it_says_what_to_install(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "emcee", None)
    with pytest.raises(MissingDependencyError, match="pip install emcee"):
        find_engine("ensemble")
