"""Conditional tables: counts, exact Dirichlet draws, and runs on whole tables."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_validation._stan_case import SAMPLED
from refusals import refused
from runs import BRIEF
from scipy.special import digamma, polygamma

import pyvws as vws
from pyvws import Column, InputError, Schema
from pyvws.models.conditional_table import (
    ConditionalTable,
    log_dirichlet,
    median_maxima,
    weighted_counts,
)
from pyvws.models.registry import MODELS, family_of
from pyvws.tables.design.cells import make_cells
from pyvws.tables.design.public import public_design

pytestmark = pytest.mark.runs

SCHEMA = Schema(
    {
        "a": Column(model="table", levels=("x", "y")),
        "b": Column(model="table", levels=("1", "2", "3"), predictors=("a",)),
        "c": Column(model="table", levels=("n", "m"), predictors=("b", "a"), missing="?"),
    }
)


def table(N=120, seed=0):
    rng = np.random.default_rng(seed)
    a = rng.integers(2, size=N)
    b = np.minimum(a + rng.integers(2, size=N), 2)
    c = np.where(b == 0, 2, (a + rng.integers(2, size=N)) % 2)
    return pl.DataFrame(
        {
            "a": np.array(["x", "y"])[a],
            "b": np.array([1, 2, 3])[b],
            "c": np.array(["n", "m", "?"])[c],
        }
    )


@given(seed=st.integers(0, 2**32 - 1), P=st.integers(1, 5), L=st.integers(2, 4))
@settings(max_examples=40)
def test_counts_are_a_loops_sums(seed, P, L):
    rng = np.random.default_rng(seed)
    N = int(rng.integers(0, 30))
    pattern, level = rng.integers(P, size=N), rng.integers(L, size=N)
    alpha = rng.random(N) * (rng.random(N) < 0.8)
    expected = np.zeros((P, L))
    for p, j, weight in zip(pattern, level, alpha, strict=True):
        expected[p, j] += weight
    np.testing.assert_array_equal(weighted_counts(pattern, level, alpha, P, L), expected)


@pytest.mark.parametrize(
    ("pattern", "level", "weights"), [([0, 2], [0, 0], [1, 1]), ([0], [-1], [1]), ([0], [0], [])]
)
def test_places_outside_the_table_are_refused(pattern, level, weights):
    with pytest.raises(InputError):
        weighted_counts(pattern, level, weights, 2, 2)


def conditional(name, frame=None):
    frame = table() if frame is None else frame
    values = SCHEMA.coded(frame)
    family = family_of(SCHEMA, name, public_design(SCHEMA, name))
    assert isinstance(family, ConditionalTable)
    return family, make_cells(values[name], public_design(SCHEMA, name).matrix(values)), values


@pytest.mark.parametrize("shift", [0.02, 1.0])
def test_draws_have_the_dirichlet_posteriors_moments(shift):
    """E log theta_l = digamma(a_l) - digamma(sum a), with a variance of trigammas."""
    family, cells, values = conditional("c")
    family = replace(family, concentration=3 * shift)
    rng = np.random.default_rng(4)
    weights = rng.random(cells.n_records)
    S = 4_000
    log_theta = family.exact_draws(cells, weights, S, rng)["log_theta"]
    np.testing.assert_allclose(np.exp(log_theta).sum(axis=2), 1.0, atol=1e-12)
    pattern = (values["b"] - 1) * 2 + values["a"] - 1
    counts = np.zeros((6, 3))
    for p, j, weight in zip(pattern, values["c"] - 1, weights, strict=True):
        counts[int(p), int(j)] += weight
    shape = counts + shift
    mean = digamma(shape) - digamma(shape.sum(axis=1, keepdims=True))
    variance = polygamma(1, shape) - polygamma(1, shape.sum(axis=1, keepdims=True))
    assert np.abs((log_theta.mean(axis=0) - mean) / np.sqrt(variance / S)).max() < 5
    assert np.abs(log_theta.var(axis=0) / variance - 1).max() < 0.3


def test_a_record_has_the_log_share_of_its_pattern_and_level():
    family, cells, values = conditional("c")
    log_theta = np.random.default_rng(1).normal(size=(3, 6, 3))
    found = family.log_likelihood({"log_theta": log_theta}, cells)[:, cells.cell_of_record]
    pattern = ((values["b"] - 1) * 2 + values["a"] - 1).astype(int)
    np.testing.assert_array_equal(found, log_theta[:, pattern, values["c"].astype(int) - 1])


def test_synthetic_levels_have_the_patterns_shares():
    family = conditional("c")[0]
    theta = np.random.default_rng(2).dirichlet(np.ones(3), size=6)
    n = 60_000
    codes = {"a": np.repeat([1.0, 2.0], n), "b": np.full(2 * n, 3.0)}
    design = public_design(SCHEMA, "c").matrix(codes)
    draw = {"log_theta": np.log(theta)[None]}
    made = family.predict(draw, design, np.random.default_rng(3))
    for at, pattern in ((0, 4), (1, 5)):
        shares = np.bincount(made[at * n : (at + 1) * n].astype(int) - 1, minlength=3) / n
        assert np.abs(shares - theta[pattern]).max() < 0.01


@pytest.mark.parametrize("mechanism", ["unweighted", "lw", "sw", "cw"])
def test_runs(mechanism):
    frame = table()
    release = vws.synthesize(frame, schema=SCHEMA, mechanism=mechanism, **BRIEF)
    for made in release.datasets:
        assert made.schema == frame.schema
        assert set(made["c"]) <= {"n", "m", "?"}
    diagnostics = release.summary["fits"][-1]["diagnostics"]
    assert diagnostics["independent"]
    assert release.privacy["epsilon_per_dataset"] > 0


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
def test_a_column_with_chains_beside_gives_the_tables_r_hat():
    mixed = Schema(dict(SCHEMA.columns) | {"b": replace(SCHEMA.columns["b"], model="nominal")})
    release = vws.synthesize(table(), schema=mixed, mechanism="unweighted", **BRIEF)
    diagnostics = release.summary["fits"][-1]["diagnostics"]
    assert np.isfinite(diagnostics["rhat_max"])
    assert "independent" not in diagnostics


def test_what_a_table_cannot_do_is_refused_before_any_work():
    frame = table()
    numbers = Schema(
        {"b": Column(role="public", range=(1, 3)), "a": Column(model="table", levels=("x", "y"))}
    )
    with refused("predictor-without-cuts", name="a"):
        vws.synthesize(frame, schema=numbers, mechanism="lw", **BRIEF)
    formula = Schema(
        {
            "b": Column(role="public", levels=("1", "2", "3")),
            "a": Column(model="table", levels=("x", "y"), formula="~ b"),
        }
    )
    with refused("formula-of-table-model", name="a"):
        vws.synthesize(frame, schema=formula, mechanism="lw", **BRIEF)
    with refused("table-without-schema"):
        vws.synthesize(frame, outcome="a", model="table", mechanism="lw", **BRIEF)
    with pytest.raises(InputError):
        vws.synthesize(frame, schema=SCHEMA, mechanism="lw", engine="pystan", **BRIEF)
    large = BRIEF | {"draws": 10_000_000}
    with refused("too-many-shares"):
        vws.synthesize(frame, schema=SCHEMA, mechanism="lw", **large)
    with refused("not-above-0", name="concentration"):
        ConditionalTable(concentration=0.0)
    with refused("labels-not-distinct"):
        ConditionalTable(levels=("a",))


def test_every_other_family_has_a_sampled_target():
    own = {name for name, model in MODELS.items() if isinstance(model, ConditionalTable)}
    assert own == {"table"}
    assert set(SAMPLED) == set(MODELS) - own


@pytest.mark.draws
@pytest.mark.parametrize(("own", "others"), [(0.5, 9.0), (1.5, 800.0), (300.0, 2.0), (0.01, 40.0)])
def test_half_of_all_fits_have_a_larger_maximum(own: float, others: float) -> None:
    found = median_maxima([own], [others], 50)[0]
    log_share = log_dirichlet(np.array([own, others]), 50 * 2000, np.random.default_rng(5))[:, 0]
    above = (-log_share).reshape(2000, 50).max(axis=1) > found
    assert abs(above.mean() - 0.5) < 0.06  # Five standard errors of 2,000 fits.
    assert median_maxima([own + 1.0], [others], 50)[0] < found
