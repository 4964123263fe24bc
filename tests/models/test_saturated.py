"""The saturated log-likelihood: the supremum over public parameters, and of the record alone."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyvws_validation._stan_case import UNSATURATED
from refusals import refused
from scipy import stats

from pyvws.models.registry import MODELS, find_model
from pyvws.tables.design.cells import make_cells

counts = st.integers(0, 10**6).map(float)
amounts = st.floats(1e-6, 1e6)
places = st.floats(1e-9, 1.0 - 1e-9)
_HALVES = np.geomspace(1e-6, 1.0, 40)


def saturated(name, y, **settings):
    model = find_model(name, **settings)
    outcome = np.atleast_1d(np.asarray(y, dtype=float))
    return model.saturated(make_cells(outcome, np.ones((len(outcome), 1))))


@given(counts, st.floats(0.01, 100.0), st.floats(1e-3, 1e6))
def test_no_count_is_likelier(y, share, phi):
    mu = max(y * share, 1e-9)
    highest = saturated("poisson", y)[0]
    assert highest == pytest.approx(stats.poisson.logpmf(y, max(y, 1e-300)), abs=1e-6)
    assert stats.nbinom.logpmf(y, phi, phi / (phi + mu)) <= highest + 1e-6


@given(amounts, st.floats(0.1, 10.0), st.sampled_from(_HALVES))
def test_no_amount_is_likelier_within_the_public_shapes(y, share, part):
    shape = 50.0 * part
    highest = saturated("gamma", y, largest_shape=50.0)[0]
    assert highest == pytest.approx(stats.gamma.logpdf(y, 50.0, scale=y / 50.0), abs=1e-8)
    assert stats.gamma.logpdf(y, shape, scale=share * y / shape) <= highest + 1e-9


@given(places, st.floats(-12.0, 12.0), st.sampled_from(_HALVES))
def test_no_place_is_likelier_within_the_public_precisions(v, eta, part):
    kappa, mu = 30.0 * part, 1.0 / (1.0 + np.exp(-eta))
    highest = saturated("beta", v, largest_kappa=30.0)[0]
    assert stats.beta.logpdf(v, mu * kappa, (1.0 - mu) * kappa) <= highest + 1e-7


@given(places)
def test_a_place_has_the_mean_that_makes_it_likeliest(v):
    mu = 1.0 / (1.0 + np.exp(-np.linspace(-25.0, 25.0, 20001)))
    best = stats.beta.logpdf(v, mu * 30.0, (1.0 - mu) * 30.0).max()
    assert saturated("beta", v, largest_kappa=30.0)[0] == pytest.approx(best, abs=1e-4)


def test_an_end_of_the_range_has_nothing_taken_off():
    assert saturated("beta", [0.0, 1.0]).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("name", sorted(MODELS.keys() - set(UNSATURATED)))
def test_it_is_of_the_record_alone(name):
    """Other records, their number and their order change no bit."""
    settings = {"levels": (1, 2, 3)} if name == "ordinal" else {}
    outcomes = {"beta": [0.2, 0.9, 0.5, 1e-7], "logistic": [0.0, 1.0, 1.0, 0.0]}
    y = np.array(outcomes.get(name, [1.0, 3.0, 2.0, 1.0]))
    together = saturated(name, y, **settings)
    for i, value in enumerate(np.unique(y)):
        assert together[i] == saturated(name, value, **settings)[0]


def test_a_truncated_normal_has_none():
    """The term of a record at an end of the range grows as the mean moves away beyond the end."""
    cells = make_cells(np.zeros(1), np.ones((1, 1)))
    family = find_model("truncated-normal")
    draws = {"beta": -np.array([[0.0], [1e2], [1e4], [1e6]]), "sigma": np.ones(4)}
    found = family.log_likelihood(draws, cells)[:, 0]
    assert (np.diff(found) > 4.0).all()
    with refused("truncated-normal-at-end"):
        family.saturated(cells)


def test_a_public_range_without_an_end_is_refused():
    with refused("deviance-without-least-sd"):
        saturated("normal-mixture", 1.0, smallest_sd=0.0)
    ends = {"normal": "smallest_sd", "gamma": "largest_shape", "beta": "largest_kappa"}
    for name, setting in ends.items():
        with refused("not-above-0", name=setting):
            find_model(name, **{setting: 0.0})
