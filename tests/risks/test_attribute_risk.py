"""Attribute risk: an intruder's posterior over guesses, against Bayes' rule by enumeration."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from pyvws import attribute_risk

few = settings(max_examples=50, derandomize=True)


@st.composite
def problems(draw):
    """Log-likelihoods of guesses and datasets, places, weights, a prior; some guesses are -inf."""
    s, n, g, datasets = (draw(st.integers(1, most)) for most in (5, 4, 4, 3))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    guesses = rng.uniform(-9, 0, (s, n, g))
    true = rng.integers(0, g, n)
    impossible = rng.random((s, n, g)) < 0.2
    impossible[:, np.arange(n), true] = False
    guesses[impossible] = -np.inf
    weights = np.clip(rng.uniform(-0.2, 1.2, n), 0, 1)
    prior = rng.uniform(0.1, 3, (n, g))
    return guesses, rng.uniform(-60, -50, (s, datasets)), true, weights, prior


@given(problems())
@few
def test_against_loops(problem):
    guesses, synthetic, true, weights, prior = problem
    found = attribute_risk(guesses, synthetic, true=true, weights=weights, prior=prior)
    (s, n, g), datasets = guesses.shape, synthetic.shape[1]
    for i in range(n):
        chances, effective = [], math.inf
        for guess in range(g):
            ratios = [
                math.exp(weights[i] * (guesses[d, i, guess] - guesses[d, i, true[i]]))
                if weights[i] > 0
                else 1.0
                for d in range(s)
            ]
            chance = prior[i, guess]
            for dataset in range(datasets):
                if sum(ratios) == 0:
                    chance = 0.0
                    continue
                parts = [ratios[d] * math.exp(synthetic[d, dataset]) for d in range(s)]
                chance *= sum(parts) / sum(ratios) * math.exp(50)
                effective = min(effective, sum(parts) ** 2 / sum(part**2 for part in parts))
            chances.append(chance)
        expected = np.array(chances) / sum(chances)
        assert found.posterior[i] == pytest.approx(expected, rel=1e-9, abs=1e-300)
        assert found.effective_draws[i] == pytest.approx(effective, rel=1e-9)
        assert found.by_record[i] == found.posterior[i, true[i]]
        assert found.rank[i] == (found.posterior[i] >= found.posterior[i, true[i]]).sum()


@pytest.mark.parametrize("alpha", [1.0, 0.4])
def test_importance_weights_give_bayes_rule_of_a_discrete_parameter(alpha):
    """Rates with a public prior: the posterior under each guess can be summed over all rates."""
    rates, others, synthetic = np.array([2.0, 5.0, 9.0]), np.array([4, 6]), np.array([5, 7, 3])
    guesses, own = np.array([3, 8, 12]), 1
    log_other = stats.poisson.logpmf(others[:, None], rates).sum(axis=0)
    log_release = stats.poisson.logpmf(synthetic[:, None], rates).sum(axis=0)

    def posterior(value):
        chance = np.exp(log_other + alpha * stats.poisson.logpmf(value, rates))
        return chance / chance.sum()

    exact = np.array([posterior(value) @ np.exp(log_release) for value in guesses])
    copies = np.round(posterior(guesses[own]) * 400_000).astype(int)
    drawn = np.repeat(np.arange(3), copies)
    log_guesses = stats.poisson.logpmf(guesses, rates[drawn][:, None])[:, None, :]
    found = attribute_risk(
        log_guesses, log_release[drawn][:, None], true=own, weights=[alpha]
    ).posterior
    assert found[0] == pytest.approx(exact / exact.sum(), rel=1e-4)


GOOD = ([[[-1.0, -2.0]]], [[-3.0]])


@pytest.mark.parametrize(
    ("arguments", "options", "key"),
    [
        (([[-1.0]], [[-3.0]]), {}, "log-guesses-shape"),
        (([[["a"]]], [[-3.0]]), {}, "log-guesses-not-numeric"),
        (([[[-1.0, np.nan]]], [[-3.0]]), {}, "log-guesses-infinite"),
        (([[[-1.0, np.inf]]], [[-3.0]]), {}, "log-guesses-infinite"),
        ((GOOD[0], [[-np.inf]]), {}, "log-guesses-infinite"),
        ((GOOD[0], [[-3.0], [-3.0]]), {}, "unequal-lengths"),
        (([[[-np.inf, -1.0]]], [[-3.0]]), {}, "confidential-value-impossible"),
        (GOOD, {"true": 2}, "true-guess-codes"),
        (GOOD, {"true": 0.5}, "true-guess-codes"),
        (GOOD, {"weights": [1.5]}, "outside-0-to-1"),
        (GOOD, {"weights": [1.0, 1.0]}, "unequal-lengths"),
        (GOOD, {"prior": [1.0, -1.0]}, "prior-values"),
        (GOOD, {"prior": [1.0, 1.0, 1.0]}, "prior-shape"),
        (GOOD, {"prior": [0.0, 0.0]}, "prior-impossible"),
    ],
)
def test_bad_input(arguments, options, key):
    with refused(key):
        attribute_risk(*arguments, **options)
