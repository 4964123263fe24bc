"""Engines laplace and auto: moments, khat, seeds, modes of a clamped target, and which one drew."""

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_validation._stan_case import FAMILIES, seeded_target
from refusals import refused

import pyvws as vws
from pyvws import ConvergenceError, SamplerSettings
from pyvws._base.cores import one_core
from pyvws.engines.laplace import AutoEngine, LaplaceEngine, smoothed_weights, systematic
from pyvws.models.registry import find_model
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

LONG = SamplerSettings(draws=2000, chains=2)
SHORT = SamplerSettings(draws=300, chains=2)


def intercept_only(model, y, weights=None, clamp=None):
    y = np.asarray(y, dtype=float)
    family = find_model(model).prepare(y, "y")
    cells = make_cells(family.encode(y), np.ones((len(y), 1)))
    return PseudoPosterior(family, cells, np.ones(len(y)) if weights is None else weights, clamp)


def on_a_grid(target, low, high):
    """beta (G,) on a grid and its distribution function (G,), by sums over the grid of q (2,)."""
    beta, scale = np.linspace(low, high, 600), np.linspace(-9.0, 6.0, 300)
    evaluate = target.density_and_gradient()
    heights = np.array([[evaluate(np.array([b, u]))[0] for u in scale] for b in beta])
    share = np.exp(heights - heights.max()).sum(axis=1)
    return beta, (np.cumsum(share) - 0.5 * share) / share.sum()


def largest_difference(target, posterior, low, high):
    """Between the shares of draws and of the grid under its 5, 25, 50, 75 and 95 % points."""
    beta, below = on_a_grid(target, low, high)
    levels = np.array([0.05, 0.25, 0.5, 0.75, 0.95])
    points = np.interp(levels, below, beta)
    return np.abs((posterior.draws["beta"] < points).mean(axis=0) - levels).max()


@pytest.mark.runs
@pytest.mark.draws
@pytest.mark.parametrize(
    ("model", "y", "low", "high"),
    [
        ("poisson", [3, 5, 4, 0, 7, 2] * 10, 0.8, 1.8),
        ("logistic", [0, 1, 1, 0, 1] * 8, -1.5, 2.5),
        ("logistic", [0] * 30, -60.0, 0.0),  # Separated: no 1 at all.
        ("poisson", [2], -4.0, 4.0),  # One record.
    ],
)
def test_draws_are_distributed_as_on_a_grid(model, y, low, high):
    target = intercept_only(model, y)
    posterior = LaplaceEngine().sample(target, LONG, seed=3)
    assert posterior.diagnostics.khat < 0.7
    assert largest_difference(target, posterior, low, high) < 0.04  # 5 standard errors of 4,000


@pytest.mark.runs
def test_weights_of_0_leave_a_record_out():
    y = np.array([3.0, 5.0, 4.0, 90.0])
    some = intercept_only("poisson", y, np.array([1.0, 1.0, 1.0, 0.0]))
    fewer = intercept_only("poisson", y[:3])
    made = [LaplaceEngine().sample(one, SHORT, seed=1).draws["beta"] for one in (some, fewer)]
    np.testing.assert_allclose(*made, rtol=1e-6)


@pytest.mark.runs
@pytest.mark.parametrize("model", FAMILIES)
def test_every_family_is_approximated_and_a_seed_repeats_its_bits(model):
    target = seeded_target(model, 200, 2, seed=11, slope=1.0)
    first = LaplaceEngine().sample(target, SHORT, seed=1)
    with one_core():
        again = LaplaceEngine().sample(target, SHORT, seed=1)
    other = LaplaceEngine().sample(target, SHORT, seed=2)
    assert (first.engine, first.chains, first.n_draws, first.approximated) == (
        *("laplace", 2, 600, True),
    )
    assert first.diagnostics.khat < 0.9
    for name, values in first.draws.items():
        np.testing.assert_array_equal(values, again.draws[name])
    assert (first.draws["beta"] != other.draws["beta"]).any()


@pytest.mark.runs
def test_auto_takes_the_approximation_of_a_large_table_and_nuts_of_a_small_one():
    large, small = (intercept_only("poisson", [3, 5, 4, 0, 7, 2] * n) for n in (20, 1))
    assert AutoEngine().sample(large, LONG, seed=1).engine == "laplace"
    assert AutoEngine().sample(small, LONG, seed=1).engine == "native"


class Twisted(PseudoPosterior):
    """A target with a second mode, four standard deviations away from the one that is found."""

    __slots__ = ()

    def density_and_gradient(self):
        plain = PseudoPosterior.density_and_gradient(self)
        shift = np.zeros(self.dimension)
        shift[0] = 0.2

        def evaluate(q):
            (a, by_a), (b, by_b) = plain(q), plain(q + shift)
            total = np.logaddexp(a, b)
            return total, np.exp(a - total) * by_a + np.exp(b - total) * by_b

        return evaluate


@pytest.mark.runs
def test_khat_tells_of_a_target_with_two_modes_and_auto_then_takes_nuts():
    plain = intercept_only("poisson", [3, 5, 4, 0, 7, 2] * 20)
    target = Twisted(plain.model, plain.cells, plain.weights)
    found = LaplaceEngine().sample(target, LONG, seed=1).diagnostics
    assert found.khat > 0.7
    assert any("khat" in problem for problem in found.problems())
    assert AutoEngine().sample(target, LONG, seed=1).engine == "native"


@pytest.mark.runs
@pytest.mark.draws
@pytest.mark.parametrize("far", [20.0, 40.0])
def test_both_modes_of_a_clamped_target_have_their_share(far):
    y = np.concatenate([np.full(60, 3.0), np.full(60, far)]) + np.tile(np.arange(3.0), 40)
    target = intercept_only("poisson", y, clamp=Clamp(4.0, "deviance"))
    assert len(target.starts()) == 2
    posterior = LaplaceEngine().sample(target, LONG, seed=4)
    assert largest_difference(target, posterior, 0.0, 7.0) < 0.04
    assert posterior.diagnostics.khat < 0.7


def test_a_mixture_is_refused():
    target = intercept_only("normal-mixture", np.arange(9.0))
    with refused("laplace-components-swap", model="normal-mixture"):
        LaplaceEngine().sample(target, SHORT, seed=1)


STRICT = {"outcome": "y", "model": "poisson", "mechanism": "censored", "weights": "none"}
COUNTS = pl.DataFrame({"y": np.random.default_rng(1).poisson(5.0, 200)})


@pytest.mark.parametrize("engine", ["laplace", "auto"])
def test_a_run_that_would_say_dp_refuses_an_approximation(engine):
    with refused("dp-by-approximate-engine"):
        vws.synthesize(COUNTS, epsilon=6.0, engine=engine, seed=1, **STRICT)


@pytest.mark.runs
def test_a_clamped_run_that_accepts_an_approximation_has_no_guarantee():
    run = vws.synthesize(
        COUNTS, epsilon=6.0, engine="laplace", accept_unconverged=True, seed=1 << 62, **STRICT
    )
    assert run.privacy["guarantee"] == "none"


@pytest.mark.runs
def test_statement_and_summary_say_which_engine_drew():
    run = vws.synthesize(
        COUNTS, outcome="y", model="poisson", mechanism="lw", engine="auto", seed=9
    )
    assert run.privacy["guarantee"] == "asymptotic-dp"
    assert run.privacy["relies_on"]["sampler"] == {"engine": "laplace", "draws": "resampled"}
    assert "approximated" in [said["key"] for said in run.privacy["caveat_keys"]]
    assert run.summary["diagnostics"]["khat"] < 0.7
    assert run.summary["diagnostics"]["rhat_max"] is None
    assert [fit["engine"] for fit in run.summary["fits"]] == ["laplace", "laplace"]


@pytest.mark.runs
def test_a_table_names_the_engine_of_each_column():
    rng = np.random.default_rng(2)
    table = pl.DataFrame({"a": rng.poisson(5.0, 300), "b": rng.poisson(2.0, 300)})
    schema = vws.Schema(
        {"a": vws.Column(model="poisson"), "b": vws.Column(model="poisson", predictors=())}
    )
    run = vws.synthesize(table, schema=schema, mechanism="sw", engine="auto", seed=1, datasets=2)
    assert [one["engine"] for one in run.privacy["columns"]] == ["laplace", "laplace"]


@given(
    st.lists(st.floats(0.0, 1.0), min_size=1, max_size=40).filter(sum),
    st.integers(1, 60),
    st.floats(0.0, 1.0, exclude_max=True),
)
def test_systematic_draws_take_each_place_its_share_of_times(sizes, S, u):
    weights = np.array(sizes) / sum(sizes)
    places = systematic(weights, S, u)
    counts = np.bincount(places, minlength=len(weights))
    assert len(places) == S
    assert (np.diff(places) >= 0).all()
    assert (np.abs(counts - S * weights) < 1.0 + 1e-9).all()


def test_smoothed_weights_are_the_ratios_where_these_have_no_tail():
    ratios = np.log(np.random.default_rng(1).uniform(0.5, 1.0, 1000))
    weights, khat = smoothed_weights(ratios)
    assert khat < 0.0
    np.testing.assert_allclose(weights, np.exp(ratios) / np.exp(ratios).sum(), rtol=0.1)
    heavy = np.log(np.random.default_rng(1).pareto(0.8, 4000) + 1.0)
    assert 0.9 < smoothed_weights(heavy)[1] < 1.7
    assert smoothed_weights(np.full(50, np.nan))[1] == np.inf
    assert smoothed_weights(np.zeros(50))[1] == -np.inf


@given(st.integers(0, 2**32 - 1), st.floats(0.0, 12.0), st.sampled_from([400, 4000]))
@settings(max_examples=40)
def test_ratios_of_any_spread_have_weights_and_a_khat_that_tells(seed, digits, P):
    """A normal with a spread of 10 nats or more is no approximation, however far its draws are."""
    ratios = np.random.default_rng(seed).normal(0.0, 10.0**digits, P)
    weights, khat = smoothed_weights(ratios)
    assert (weights >= 0.0).all()
    assert weights.sum() == pytest.approx(1.0)
    assert weights[ratios.argmax()] == weights.max()
    if digits >= 1.0:
        assert khat > 0.7


@pytest.mark.runs
@pytest.mark.parametrize("levels", [20, 60])
def test_few_records_of_many_levels_have_no_approximation_and_it_says_so(levels):
    rng = np.random.default_rng(1)
    y = rng.integers(1, levels + 1, 30).astype(float)
    design = np.column_stack([np.ones(30), rng.normal(size=(30, 3))])
    family = find_model("nominal", levels=tuple(map(str, range(levels)))).prepare(y, "y")
    target = PseudoPosterior(family, make_cells(family.encode(y), design), np.ones(30))
    try:
        found = LaplaceEngine().sample(target, LONG, seed=1).diagnostics.problems()
    except ConvergenceError as none:  # No mode is found.
        found = [str(none)]
    assert found
