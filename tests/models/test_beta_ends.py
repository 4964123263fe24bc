"""Beta outcomes at the ends of their range under a clamp: terms, every engine's, and the claim."""

import numpy as np
import pytest
from refusals import refused
from scipy.special import expit, logsumexp

from pyvws import Beta, Censored, Synthesizer
from pyvws.engines.compiled_target import CompiledTarget
from pyvws.engines.stan_run import clamp_data, paper_program, shipped_program, stan_data
from pyvws.models.registry import find_model
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.tables.design.cells import make_cells

ENDS = np.array([0.0, 0.0, 1.0, 1.0, 0.25])
WEIGHTS = np.array([1.0, 0.0, 0.5, 1.0, 1.0])


def clamped(y, epsilon, weights=None):
    """The target of outcomes y (N,) on (0, 1), as a censored run makes it."""
    model = find_model("beta").prepare(np.asarray(y), "y")
    cells = make_cells(model.encode(np.asarray(y)), np.ones((len(y), 1)))
    return PseudoPosterior(
        model, cells, np.ones(len(y)) if weights is None else weights, Clamp(epsilon)
    )


def signs(a, b):
    """What the clamp makes of each of ENDS at shapes a and b: -1, 0 or 1 half-epsilons."""
    return np.sign([1.0 - a, 0.0, 1.0 - b, 1.0 - b])


@pytest.mark.runs
@pytest.mark.parametrize(
    ("eta", "kappa"), [(0.0, 1.0), (0.0, 8.0), (1.5, 2.0), (-1.5, 2.0), (40.0, 3.0), (-700.0, 0.5)]
)
def test_an_infinite_term_is_clamped_by_its_sign(eta, kappa):
    target = clamped(ENDS, 2.0, WEIGHTS)
    q = np.array([eta, 0.0, -np.log(kappa)])
    a, b = kappa * expit(eta), kappa * expit(-eta)
    draws = target.model.constrain(q[None], 1)
    terms = target.model.log_likelihood(draws, target.cells)[0][target.cells.cell_of_record]
    assert (np.sign(terms[[0, 2, 3]]) == signs(a, b)[[0, 2, 3]]).all()
    assert np.isinf(terms[:4]).all()
    prior = PseudoPosterior(target.model, target.cells, np.zeros(5)).density_and_gradient()
    inner = np.clip(terms[4], -1.0, 1.0)
    value, gradient = target.density_and_gradient()(q)
    assert value == pytest.approx(prior(q)[0] + signs(a, b).sum() + inner, rel=1e-12)
    assert np.isfinite(gradient).all()
    alone = clamped(ENDS[4:], 2.0).density_and_gradient()(q)[1]
    np.testing.assert_allclose(gradient, alone, rtol=1e-12)


def test_at_a_shape_of_one_the_density_at_its_end_is_finite():
    target = clamped([0.0, 1.0], 20.0)
    q = np.array([0.0, 0.0, -np.log(2.0)])  # a = b = 1: uniform, so its logarithm is 0.
    draws = target.model.constrain(q[None], 1)
    terms = target.model.log_likelihood(draws, target.cells)
    np.testing.assert_allclose(terms, 0.0, atol=1e-14)


@pytest.mark.runs
def test_the_compiled_target_is_the_same_density():
    target = clamped(ENDS, 2.0, WEIGHTS)
    scale = sampled_scale(target.start())
    compiled = CompiledTarget(target, scale)
    evaluate = target.density_and_gradient()
    call, words = compiled.density.ctypes, compiled.arguments.words
    for z in np.random.default_rng(1).uniform(-1, 1, (20, 3)):
        q, gradient, value = np.empty(3), np.empty(3), np.empty(1)
        jacobian = scale.restore(z, q)
        doubles = (a.ctypes.data_as(call.argtypes[1]) for a in (z, gradient, value))
        assert call(3, *doubles, words.ctypes.data) == 0
        assert value[0] == pytest.approx(evaluate(q)[0] + jacobian, rel=1e-12)


@pytest.mark.evidence  # The stored cases of censored densities have outcomes at an end too.
@pytest.mark.parametrize("engine", ["pystan", "rstan"])
def test_stan_clamps_them_alike(engine, need):
    need(engine)
    from importlib import import_module

    target = clamped(ENDS, 2.0, WEIGHTS)
    data = {**stan_data(target), **clamp_data(target)}
    program = paper_program(target.model, censored=True)
    if engine == "pystan":
        data["write_log_lik"] = 1
        program = shipped_program(target.model)
    else:
        del data["censored"]
    points = np.random.default_rng(2).uniform(-2, 2, (8, 3))
    theirs, slopes, _ = import_module(f"pyvws.engines.{engine}").densities(program, data, points)
    ours = [target.density_and_gradient()(point) for point in points]
    gap = np.array([value for value, _ in ours]) - theirs
    np.testing.assert_allclose(gap, gap[0], atol=1e-11)
    np.testing.assert_allclose([slope for _, slope in ours], slopes, rtol=1e-9, atol=1e-11)


@pytest.mark.runs
def test_the_engine_samples_outcomes_of_which_many_lie_at_an_end():
    from pyvws.engines.nuts import NativeEngine
    from pyvws.engines.sampler_settings import SamplerSettings

    y = np.concatenate([np.zeros(12), np.linspace(0.05, 0.6, 30), np.ones(2)])
    target = clamped(y, 4.0)
    source = ModelSource(target.model, target.cells, NativeEngine())
    settings = SamplerSettings(draws=200, warmup=300, chains=2)
    posterior, bounds, maxima = source.sample(
        np.ones(len(y)), settings, seed=1, progress=None, clamp=Clamp(4.0)
    )
    assert np.isfinite(posterior.draws["kappa"]).all()
    assert bounds.database <= 2.0
    assert np.isinf(maxima[[0, -1]]).all()


def test_a_squeeze_has_no_place_under_a_clamp():
    plain = {"outcome": "y", "model": Beta(squeeze=0.01)}
    for weights in ("none", "cw"):
        with refused("squeeze-clamp"):
            Synthesizer(**plain, mechanism=Censored(epsilon=1, weights=weights))
    Synthesizer(**plain, mechanism=Censored(epsilon=1, weights="lw"))  # It fits without a clamp.
    Synthesizer(**plain, mechanism=Censored(epsilon=1, weights="none"), downscale=True)


def log_posterior(y, epsilon, grid):
    evaluate = clamped(y, epsilon).density_and_gradient()
    values = np.array([evaluate(q)[0] for q in grid])
    return values - logsumexp(values)


GRID = np.array(
    [
        [eta, 0.0, -np.log(kappa)]
        for eta in np.linspace(-12, 6, 37)
        for kappa in 2.0 ** np.arange(-8, 15)
    ]
)


@pytest.mark.runs
@pytest.mark.parametrize("epsilon", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_a_record_at_an_end_moves_the_posterior_by_no_more_than_epsilon(epsilon, end):
    near_0 = 1e-4 * np.linspace(0.5, 1.5, 20)
    spread = np.random.default_rng(3).beta(0.5, 3.0, 40)
    for others in (near_0, spread):
        without = log_posterior(others, epsilon, GRID)
        added = log_posterior(np.append(others, end), epsilon, GRID)
        assert np.abs(added - without).max() <= epsilon * (1 + 1e-9)
        again = log_posterior(np.append(others, [end, end]), epsilon, GRID)
        assert np.abs(again - added).max() <= epsilon * (1 + 1e-9)
        replaced = log_posterior(np.append(others, 1.0 - end), epsilon, GRID)
        assert np.abs(replaced - added).max() <= 2 * epsilon * (1 + 1e-9)


def test_the_clamp_reaches_its_claim():
    """Two records that differ as much as two can: the test above looks where the loss is."""
    losses = []
    for others in ([0.5, 0.5], 1e-4 * np.linspace(0.5, 1.5, 20)):
        gap = log_posterior(np.append(others, 0.0), 1.0, GRID) - log_posterior(others, 1.0, GRID)
        losses.append(np.abs(gap).max())
    assert max(losses) > 0.25
