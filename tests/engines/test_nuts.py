"""The native engine: right target, same seed same draws, no start far out, interrupts pass on."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from pyvws_validation._stan_case import SAMPLED, seeded_target
from refusals import refused

from pyvws import ConvergenceError, Nominal, SamplerSettings
from pyvws._base.cores import one_core
from pyvws.engines.nuts import NativeEngine
from pyvws.models.model import Start
from pyvws.models.registry import MODELS
from pyvws.models.sampled_scale import sampled_scale
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

# Five Monte Carlo standard errors: a fair engine leaves them once in two million times.
_ERRORS = 5.0
_SETTINGS = SamplerSettings(draws=500, warmup=300, chains=2)
_SHORT = SamplerSettings(draws=50, warmup=100, chains=2)


def _target(model: str = "poisson", *, weights: float = 1.0, n: int = 60) -> PseudoPosterior:
    y = np.random.default_rng(5).poisson(6.0, n).astype(float)
    cells = make_cells(y, np.ones((n, 1)))
    return PseudoPosterior(MODELS[model], cells, np.full(n, weights))


def _grid_moments(target: PseudoPosterior) -> tuple[float, float]:
    """Posterior mean and sd of beta by a sum over a grid of (beta, log sigma)."""
    density = target.density_and_gradient()
    centre = target.start().centre[0]
    beta = np.linspace(centre - 0.6, centre + 0.6, 301)
    logp = np.array(
        [[density(np.array([b, u]))[0] for u in np.linspace(-4.0, 8.0, 241)] for b in beta]
    )
    mass = np.exp(logp - logp.max()).sum(axis=1)
    mass /= mass.sum()
    mean = float(mass @ beta)
    return mean, float(np.sqrt(mass @ (beta - mean) ** 2))


@pytest.mark.draws
@pytest.mark.parametrize("weights", [1.0, 0.25])
def test_posterior_moments_equal_those_of_a_grid(weights: float) -> None:
    target = _target(weights=weights)
    mean, sd = _grid_moments(target)
    posterior = NativeEngine().sample(
        target, SamplerSettings(draws=2000, warmup=500, chains=2), seed=1
    )
    beta = posterior.draws["beta"][:, 0]
    error = sd / np.sqrt(posterior.diagnostics.ess_bulk_min)
    assert abs(beta.mean() - mean) < _ERRORS * error
    assert abs(beta.std() / sd - 1) < 0.1


@pytest.mark.draws
@pytest.mark.parametrize("model", SAMPLED)
def test_same_seed_gives_same_draws_on_any_number_of_cores(model: str) -> None:
    target = seeded_target(model, 60, 1, seed=5)
    first = NativeEngine().sample(target, _SHORT, seed=7)
    with one_core():
        second = NativeEngine().sample(target, _SHORT, seed=7)
    other = NativeEngine().sample(target, _SHORT, seed=8)
    for name, values in first.draws.items():
        np.testing.assert_array_equal(values, second.draws[name])
    assert not np.array_equal(first.draws["beta"], other.draws["beta"])


@pytest.mark.parametrize("model", SAMPLED)
def test_the_sampled_scale_has_an_inverse(model: str) -> None:
    target = seeded_target(model, 60, 2, seed=5)
    scale = sampled_scale(target.start())
    for z in np.random.default_rng(1).normal(0.0, 0.5, (5, target.dimension)):
        q = np.empty(len(z))
        scale.restore(z, q)
        np.testing.assert_allclose(scale.inverse(q), z, rtol=1e-8, atol=1e-8)


@pytest.mark.draws
def test_a_refit_has_the_posterior_of_a_fit_from_afresh() -> None:
    settings = SamplerSettings(draws=2000, warmup=500, chains=2)
    first = NativeEngine().sample(_target(), settings, seed=1)
    target = _target(weights=0.25)
    mean, sd = _grid_moments(target)
    again = NativeEngine().sample(target, settings, seed=2, previous=first)
    beta = again.draws["beta"][:, 0]
    assert abs(beta.mean() - mean) < _ERRORS * sd / np.sqrt(again.diagnostics.ess_bulk_min)
    assert abs(beta.std() / sd - 1) < 0.1
    same = NativeEngine().sample(target, settings, seed=2, previous=first)
    np.testing.assert_array_equal(same.draws["beta"], again.draws["beta"])


def test_a_refit_takes_the_warm_up_it_is_given_or_half() -> None:
    seen: list[int] = []
    first = NativeEngine().sample(_target(), _SHORT, seed=1)
    for refit in (None, 200):
        settings = SamplerSettings(draws=20_000, warmup=1000, chains=1, refit_warmup=refit)
        NativeEngine().sample(
            *(_target(), settings),
            seed=1,
            progress=lambda _done, total: seen.append(total),
            previous=first,
        )
        NativeEngine().sample(
            *(_target(), settings), seed=1, progress=lambda _done, total: seen.append(total)
        )
    assert set(seen) == {20_500, 20_200, 21_000}


@pytest.mark.parametrize(("sd", "warmup"), [(2.0, 150), (None, 1000)])
def test_a_target_of_known_shape_takes_a_short_warm_up(sd: float | None, warmup: int) -> None:
    """Fits that start from another too, unless they are given theirs."""
    seen: list[int] = []
    y = np.random.default_rng(5).integers(1, 4, 60).astype(float)
    cells = make_cells(y, np.ones((60, 1)))
    target = PseudoPosterior(Nominal(("a", "b", "c"), sd), cells, np.ones(60))
    settings = SamplerSettings(draws=500, warmup=1000, chains=1)
    told: dict[str, Any] = {"seed": 1, "progress": lambda _done, total: seen.append(total)}
    first = NativeEngine().sample(target, settings, **told)
    NativeEngine().sample(target, settings, previous=first, **told)
    NativeEngine().sample(target, replace(settings, refit_warmup=200), previous=first, **told)
    assert set(seen) == {500 + warmup, 500 + min(warmup, 500), 700}


def test_a_previous_fit_at_the_edge_is_no_place_to_start_from() -> None:
    first = NativeEngine().sample(_target(), _SHORT, seed=1)
    edge = replace(first, draws=first.draws | {"sigma_beta": np.zeros((100, 1))})
    fit = NativeEngine().sample(_target(), _SETTINGS, seed=2, previous=edge)
    afresh = NativeEngine().sample(_target(), _SETTINGS, seed=2)
    np.testing.assert_array_equal(fit.draws["beta"], afresh.draws["beta"])


@pytest.mark.draws
def test_draws_have_one_row_a_draw_and_diagnostics() -> None:
    posterior = NativeEngine().sample(_target("negative-binomial"), _SETTINGS, seed=3)
    shapes = {name: values.shape for name, values in posterior.draws.items()}
    assert shapes == {
        "beta": (1000, 1),
        "sigma_beta": (1000, 1),
        "L_beta": (1000, 1, 1),
        "inv_phi": (1000,),
        "phi": (1000,),
    }
    assert posterior.diagnostics.rhat_max < 1.05
    np.testing.assert_allclose(posterior.draws["phi"] * posterior.draws["inv_phi"], 1.0)


class FarOut:
    """A target whose chains start where every density overflows."""

    def __init__(self, target: Any) -> None:
        self._target = target

    def __getattr__(self, name: str) -> object:
        return getattr(self._target, name)

    def starts(self) -> tuple[Start, ...]:
        starts = self._target.starts()
        return tuple(Start(start.centre + 1e4, start.information) for start in starts)


@pytest.mark.parametrize("model", SAMPLED)
def test_a_start_far_out_ends_in_an_error(model: str) -> None:
    far_out: Any = FarOut(seeded_target(model, 60, 1, seed=5))
    with pytest.raises(ConvergenceError, match="could not start"):
        NativeEngine().sample(far_out, _SHORT, seed=1)


@pytest.mark.draws
def test_predictors_in_any_unit_mix_alike() -> None:
    rng = np.random.default_rng(2)
    x = rng.normal(size=200)
    y = rng.poisson(np.exp(2 + 0.3 * x)).astype(float)
    design = np.column_stack([np.ones(200), 1e5 * x + 3e5])
    target = PseudoPosterior(MODELS["poisson"], make_cells(y, design), np.ones(200))
    posterior = NativeEngine().sample(target, SamplerSettings(chains=2), seed=1)
    slope = posterior.draws["beta"][:, 1] * 1e5
    assert abs(slope.mean() - 0.3) < 0.1
    assert posterior.diagnostics.rhat_max < 1.02


def test_progress_reaches_the_total() -> None:
    seen: list[tuple[int, int]] = []
    settings = SamplerSettings(draws=20_000, warmup=300, chains=1)
    NativeEngine().sample(
        _target(), settings, seed=1, progress=lambda done, total: seen.append((done, total))
    )
    assert seen
    assert all(0 <= done <= total == 20_300 for done, total in seen)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)


def interrupted(sample: Any, target: Any) -> None:
    """The sampler passes an interrupt on, and none of its threads stays."""

    def interrupt(done: int, _total: int) -> None:
        if done > 0:
            raise KeyboardInterrupt

    settings = SamplerSettings(draws=10_000_000, warmup=100, chains=2)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        sample(target, settings, seed=1, progress=interrupt)
    assert threading.active_count() <= before


def test_an_interrupt_stops_the_chains_and_is_passed_on() -> None:
    interrupted(NativeEngine().sample, _target())


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        ({"draws": 0}, refused("not-a-whole-number", name="draws")),
        ({"chains": 1.5}, refused("not-a-whole-number", name="chains")),
        ({"warmup": 5}, refused("sampler-too-short", name="warmup")),
        ({"refit_warmup": 5}, refused("sampler-too-short", name="refit_warmup")),
        ({"target_accept": 1.0}, refused("not-strictly-between-0-and-1")),
    ],
)
def test_settings_out_of_range_are_refused(given: dict[str, float], refusal: Any) -> None:
    with refusal:
        SamplerSettings(**given)  # type: ignore[arg-type]
