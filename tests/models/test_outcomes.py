"""Which outcomes a family takes, where it starts, what it draws, and what it says of them."""

import numpy as np
import pytest
from refusals import refused
from scipy import stats
from scipy.special import expit

from pyvws._base.phrase import Phrase
from pyvws.errors import ConvergenceError, InputError
from pyvws.models.registry import MODELS, find_model, model_settings
from pyvws.models.regression import Regression
from pyvws.posterior.pseudo_posterior import PseudoPosterior
from pyvws.tables.design.cells import make_cells

REGRESSIONS = sorted(name for name, model in MODELS.items() if isinstance(model, Regression))
COUNTS = ["negative-binomial", "poisson"]

_AMOUNTS = [8.0, 8.0, 12.0, 12.0], [40.0, 40.0, 60.0, 60.0]

# Outcomes of two groups, and what X beta must be near in each.
STARTS = {
    "poisson": (_AMOUNTS, np.log([10.0, 50.0])),
    "negative-binomial": (_AMOUNTS, np.log([10.0, 50.0])),
    "gamma": (_AMOUNTS, np.log([10.0, 50.0])),
    "normal": (_AMOUNTS, [10.0, 50.0]),
    "truncated-normal": (([0.1, 0.2, 0.3, 0.2], [0.5, 0.6, 0.7, 0.6]), [0.2, 0.6]),
    "logistic": (([0.0, 0.0, 0.0, 1.0], [0.0, 1.0, 1.0, 1.0]), np.log([1 / 3, 3.0])),
    # Odds of more than the lowest level: 1 and 1/4 in one group, 4 and 1 in the other.
    "ordinal": (
        ([2.0] * 5 + [3.0] * 3 + [7.0] * 2, [2.0] * 2 + [3.0] * 3 + [7.0] * 5),
        np.log([1.0, 4.0]),
    ),
    "beta": (([0.1, 0.2, 0.3, 0.2], [0.5, 0.6, 0.7, 0.6]), np.log([1 / 4, 3 / 2])),
}

# Draws of the parameters after beta, and the law of an outcome at X beta = eta.
LAWS = {
    "poisson": ({}, lambda eta: stats.poisson(np.exp(eta))),
    "negative-binomial": ({"phi": 4.0}, lambda eta: stats.nbinom(4.0, 4.0 / (np.exp(eta) + 4.0))),
    "gamma": ({"shape": 0.7}, lambda eta: stats.gamma(0.7, scale=np.exp(eta) / 0.7)),
    "normal": ({"sigma": 1.5}, lambda eta: stats.norm(eta, 1.5)),
    "truncated-normal": (
        {"sigma": 1.5},
        lambda eta: stats.truncnorm((-1.0 - eta) / 1.5, (2.0 - eta) / 1.5, eta, 1.5),
    ),
    "logistic": ({}, lambda eta: stats.bernoulli(expit(eta))),
    "ordinal": (
        {"gaps": [2.0, 0.5]},
        lambda eta: stats.rv_discrete(
            values=([0, 5, 6, 9], np.diff(expit(np.array([-np.inf, 0.0, 2.0, 2.5, np.inf]) - eta)))
        ),
    ),
    "beta": (
        {"kappa": 3.0},
        lambda eta: stats.beta(3.0 * expit(eta), 3.0 * expit(-eta), loc=-1.0, scale=4.0),
    ),
}
SETTINGS = {
    "ordinal": {"levels": (0, 5, 6, 9)},
    "beta": {"range": (-1, 3)},
    "truncated-normal": {"range": (-1, 2)},
}


def test_names():
    assert find_model("negative_binomial") is MODELS["negative-binomial"]
    with refused("not-a-choice"):
        find_model("tweedie")
    with refused("model-unknown-setting", family="poisson", unused="outcome_scale"):
        find_model("poisson", outcome_scale="log")


def test_a_predictor_that_separates_the_levels_leaves_a_start_of_moderate_size():
    """Newton's steps then lead to coefficients of 1e5, where no sampler moves."""
    rng = np.random.default_rng(0)
    own = rng.choice(3, 200, p=[0.04, 0.5, 0.46])
    level = np.where(own == 0, rng.integers(2, 4, 200), 1).astype(float)
    X = np.column_stack([np.ones(200), own == 1, own == 2])
    model = find_model("ordinal", levels=(1, 2, 3))
    target = PseudoPosterior(model, make_cells(level, X), np.ones(200))
    start = target.start()
    assert np.abs(start.centre).max() < 10.0
    assert target.density_and_gradient()(start.centre)[0] > -60.0


@pytest.mark.parametrize("name", REGRESSIONS)
@pytest.mark.parametrize("weight", [0.0, 0.5, 1.0])
def test_the_start_is_finite_and_near_the_rows_means(name, weight):
    groups, expected = STARTS[name]
    y = np.tile(np.concatenate(groups), 40)
    X = np.tile(np.repeat([[1.0, 0.0], [1.0, 1.0]], len(groups[0]), axis=0), (40, 1))
    model = find_model(name).prepare(y, "y")
    target = PseudoPosterior(model, make_cells(model.encode(y), X), np.full(len(y), weight))
    start = target.start()
    assert np.isfinite(target.density_and_gradient()(start.centre)[0])
    assert (np.linalg.eigvalsh(start.information) > 0).all()
    if weight:
        assert X[[0, -1]] @ start.centre[:2] == pytest.approx(np.array(expected), abs=0.15)


@pytest.mark.parametrize("name", REGRESSIONS)
def test_synthetic_outcomes_have_the_models_mean_and_variance(name):
    n = 100_000
    extra, law_at = LAWS[name]
    model = find_model(name, **SETTINGS.get(name, {}))
    draw = {key: np.array([value]) for key, value in extra.items()}
    draw["beta"] = np.array([[1.5, -0.5]])
    X = np.column_stack([np.ones(2 * n), np.repeat([0.0, 1.0], n)])
    made = model.predict(draw, X, np.random.default_rng(11)).reshape(2, n)
    assert model.whole_numbers == (made == np.floor(made)).all()
    for y, eta in zip(made, [1.5, 1.0], strict=True):
        mean, variance, kurtosis = law_at(eta).stats(moments="mvk")
        # Four standard errors of a mean and of a variance.
        assert abs(y.mean() - mean) < 4 * np.sqrt(variance / n)
        assert abs(y.var() - variance) < 4 * variance * np.sqrt((kurtosis + 2) / n)
        if model.name in ("logistic", "ordinal"):
            levels, counts = np.unique(y, return_counts=True)
            share = law_at(eta).pmf(levels)
            assert (abs(counts / n - share) < 4 * np.sqrt(share * (1 - share) / n)).all()


@pytest.mark.parametrize(
    ("values", "refusal"),
    [
        ([-1.0, 2.0], refused("counts-negative", column="visits", negative=1)),
        ([0.5, 2.5, 1.0], refused("counts-with-fraction", column="visits", fractional=2)),
        ([1e17], refused("counts-above-floats", column="visits")),
    ],
)
@pytest.mark.parametrize("name", COUNTS)
def test_outcomes_that_are_not_counts(name, values, refusal):
    with refusal:
        find_model(name).prepare(np.array(values), "visits")


def test_a_normal_outcome_is_modelled_on_its_scale():
    y = np.array([1.0, 10.0, 100.0])
    model = find_model("normal", outcome_scale="log")
    np.testing.assert_array_equal(model.prepare(y, "y").encode(y), np.log(y))
    draw = {"beta": np.array([[2.0]]), "sigma": np.array([1e-9])}
    made = model.predict(draw, np.ones((4, 1)), np.random.default_rng(1))
    np.testing.assert_allclose(made, np.exp(2.0), rtol=1e-7)
    assert model.caveats[0] == Phrase("unit-log")
    with refused("log-values-too-low", column="pay", too_low=1):
        model.prepare(np.array([1.0, 0.0]), "pay")
    with pytest.raises(ConvergenceError, match="beyond any number"):
        model.predict(draw, np.full((1, 1), 1e4), np.random.default_rng(1))


def test_settings_that_a_user_can_give():
    takes = {name: model_settings(MODELS[name]) for name in REGRESSIONS}
    taking = {"normal", "truncated-normal", "ordinal", "beta", "gamma"}
    assert {name for name, settings in takes.items() if settings} == taking
    scaled = ("outcome_scale", "outcome_centre", "outcome_unit")
    assert takes["normal"] == (*scaled, "smallest_sd")
    assert takes["truncated-normal"] == ("range", *scaled)
    with refused("not-a-choice", name="outcome_scale"):
        find_model("normal", outcome_scale="sqrt")


def test_a_beta_outcome_is_its_place_in_the_range():
    y = np.array([0.0, 2.5, 7.5])
    inside = find_model("beta", range=(-10, 10)).prepare(y, "share")
    np.testing.assert_allclose(inside.encode(y), [0.5, 0.625, 0.875], rtol=1e-15)
    assert Phrase("squeezed") not in inside.caveats
    # v = 0, 1/4 and 3/4 become (1 + 8 v) / 10, whatever other outcomes are there.
    squeezed = find_model("beta", range=[0, 10], squeeze=0.1)
    assert squeezed.prepare(y, "share") == squeezed.prepare(y[1:], "share") == squeezed
    np.testing.assert_allclose(squeezed.encode(y), [0.1, 0.3, 0.7], rtol=1e-15)
    assert Phrase("squeezed") in squeezed.caveats
    at_an_end = find_model("beta", range=[0, 10])
    assert at_an_end.encode(y).tolist() == [0.0, 0.25, 0.75]
    draw = {"beta": np.array([[-60.0, 120.0]]), "kappa": np.array([1e-3])}
    for family in (at_an_end, squeezed):
        made = family.predict(draw, np.array([[1.0, 0.0], [1.0, 1.0]]), np.random.default_rng(1))
        assert made.tolist() == [0.0, 10.0]


def test_a_squeeze_is_undone_in_what_is_predicted():
    draw = {"beta": np.array([[0.4]]), "kappa": np.array([3.0])}
    plain, squeezed = (
        find_model("beta", range=(-1, 3)),
        find_model("beta", range=(-1, 3), squeeze=0.2),
    )
    v, moved = (
        family.predict(draw, np.ones((500, 1)), np.random.default_rng(1))
        for family in (plain, squeezed)
    )
    inside = (moved > -1) & (moved < 3)
    assert 0.2 < inside.mean() < 1
    np.testing.assert_allclose(squeezed.encode(moved)[inside], plain.encode(v)[inside], rtol=1e-12)


def test_without_a_clamp_an_outcome_at_an_end_needs_a_squeeze():
    weights, X = np.ones(3), np.ones((3, 1))
    cells = make_cells(np.array([0.0, 0.25, 1.0]), X)
    with refused("beta-at-end"):
        PseudoPosterior(find_model("beta"), cells, weights).density_and_gradient()
    without = PseudoPosterior(find_model("beta"), cells, np.array([0.0, 1.0, 0.0]))
    assert np.isfinite(without.density_and_gradient()(np.zeros(3))[0])


@pytest.mark.parametrize("bad", [-0.1, 0.5, np.nan, "a"])
def test_squeezes_that_are_none(bad):
    with pytest.raises(InputError, match=r"^squeeze must be "):
        find_model("beta", squeeze=bad)


def test_the_unit_of_a_beta_outcome_does_not_matter():
    y = np.random.default_rng(1).beta(0.5, 3.0, 50)
    parts = [find_model("beta").prepare(y, "y").encode(y)]
    parts.append(find_model("beta", range=(0, 1024)).prepare(1024 * y, "y").encode(1024 * y))
    np.testing.assert_array_equal(*parts)


def test_beta_outcomes_outside_their_range_are_never_moved():
    with refused("values-outside-range", column="share", outside=3):
        find_model("beta", range=(0, 5)).prepare(np.array([-1.0, 2.0, 6.0, 5.5]), "share")


@pytest.mark.parametrize(
    "bad", [(1, 0), (0, 0), (0, 1, 2), (0, np.inf), (-1e308, 1e308), ("a", "b"), 3]
)
def test_ranges_that_are_none(bad):
    with refused("model-range"):
        find_model("beta", range=bad)


BAD = [
    ("logistic", {}, [0.0, 2.0, 0.5, 1.0], refused("logistic-values", column="grade")),
    ("gamma", {}, [0.0, -2.0, 3.0], refused("gamma-values-too-low", column="grade")),
    ("ordinal", {}, [1.5, 2.0, 3.0], refused("levels-with-fraction", column="grade")),
    ("ordinal", {}, np.arange(51.0), refused("ordinal-levels-number", column="grade")),
    ("ordinal", {}, [3.0, 3.0], refused("ordinal-levels-number", column="grade")),
    ("ordinal", {"levels": (1, 2, 3)}, [1.0, 4.0, 2.5], refused("values-no-level", column="grade")),
]


@pytest.mark.parametrize(("name", "settings", "values", "refusal"), BAD)
def test_outcomes_that_a_family_cannot_have(name, settings, values, refusal):
    with refusal:
        find_model(name, **settings).prepare(np.array(values), "grade")


def test_levels_come_from_the_user_or_from_the_data():
    y = np.array([7.0, -1.0, 3.0, 7.0])
    taken = find_model("ordinal").prepare(y, "grade")
    assert taken.levels == (-1.0, 3.0, 7.0)
    assert taken.encode(y).tolist() == [3.0, 1.0, 2.0, 3.0]
    assert taken.stan_settings(make_cells(np.ones(1), np.ones((1, 1)))) == {"J": 3}
    assert taken.caveats == (Phrase("levels-from-data"),)
    assert taken.prepare(np.array([0.0, 1.0]), "grade").levels == (0.0, 1.0)
    given = find_model("ordinal", levels=[7, 5, 3, -1]).prepare(y, "grade")
    assert given.encode(y).tolist() == [4.0, 1.0, 2.0, 4.0]
    assert given.caveats == ()


@pytest.mark.parametrize("bad", [(1,), (1, 1), (1, 2.5), tuple(range(51))])
def test_levels_that_are_none(bad):
    with refused("ordinal-levels"):
        find_model("ordinal", levels=bad)


def test_a_small_shape_never_rounds_an_amount_to_zero():
    draw = {"beta": np.array([[0.0]]), "shape": np.array([1e-4])}
    made = find_model("gamma").predict(draw, np.ones((1000, 1)), np.random.default_rng(1))
    assert (made > 0).all()
    find_model("gamma").prepare(made, "amount")
