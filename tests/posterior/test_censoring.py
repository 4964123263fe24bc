"""The clamp: by hand, by loops, and what it must not change."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst
from pyvws_validation._stan_case import seeded_target

from pyvws import InputError, censored_share, clamp_log_likelihood
from pyvws._base.checks import half_epsilon
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior

few = settings(max_examples=60, derandomize=True)
terms = st.sampled_from([-np.inf, np.inf, np.nan, -2.5, 2.5, -5.0, 0.0]) | st.integers(
    -640, 640
).map(lambda v: v / 64)
tables = st.tuples(st.integers(1, 5), st.integers(1, 6)).flatmap(
    lambda shape: st.tuples(
        npst.arrays(np.float64, shape, elements=terms),
        npst.arrays(np.float64, shape[1], elements=st.sampled_from([0.0, 0.25, 0.5, 1.0])),
    )
)
epsilons = st.sampled_from([0.5, 5.0, 10.0, np.inf])

TWO_DRAWS = [[-1.0, -9.0, 4.0], [-2.0, -5.0, -8.0]]


def test_three_records_under_the_deviance_clamp_by_hand():
    # alpha_i (l_i - a_i): -0.5, -4, 1 and -1.5, -2, -11, kept in [-4, 0].
    weights, saturated = [1.0, 0.5, 1.0], [-0.5, -1.0, 3.0]
    clamped = clamp_log_likelihood(TWO_DRAWS, weights, epsilon=4.0, saturated=saturated)
    assert clamped.tolist() == [[-0.5, -4.0, 0.0], [-1.5, -2.0, -4.0]]
    share = censored_share(TWO_DRAWS, weights, epsilon=4.0, saturated=saturated)
    assert share.by_record.tolist() == [0.0, 0.0, 1.0]  # a term of just -epsilon is left
    assert share.by_draw.tolist() == [1 / 3, 1 / 3]
    assert (share.overall, share.constant) == (1 / 3, False)


def test_the_deviance_clamp_is_the_one_that_a_fit_has():
    target = seeded_target("negative-binomial", 80, 2, seed=3)
    clamp = Clamp(3.0, "deviance")
    fit = PseudoPosterior(target.model, target.cells, target.weights, clamp)
    prior = PseudoPosterior(target.model, target.cells, np.zeros(80)).density_and_gradient()
    for q in np.random.default_rng(5).uniform(-0.6, 0.6, (4, target.dimension)):
        draw = target.model.constrain(q[None], 2)
        of = target.cells.cell_of_record
        terms = clamp_log_likelihood(
            target.model.log_likelihood(draw, target.cells)[:, of],
            target.weights,
            epsilon=3.0,
            saturated=target.model.saturated(target.cells)[of],
        )
        value = fit.density_and_gradient()(q)[0]
        assert value == pytest.approx(prior(q)[0] + terms.sum(), rel=1e-12)


@given(st.floats() | st.integers() | st.text(max_size=3))
@few
def test_half_of_any_epsilon_above_zero(epsilon):
    try:
        number = math.nan if isinstance(epsilon, str) else float(epsilon)
    except OverflowError:
        number = math.nan
    if number > 0:
        assert half_epsilon(epsilon) == number / 2
    else:
        with pytest.raises(InputError):
            half_epsilon(epsilon)


@given(tables, epsilons)
@few
def test_against_loops(table, epsilon):
    log_lik, weights = table
    draws, records = log_lik.shape
    expected = np.zeros_like(log_lik)
    hit = np.zeros(log_lik.shape, dtype=bool)
    for s in range(draws):
        for i in range(records):
            if weights[i] == 0:
                continue
            term = -math.inf if math.isnan(log_lik[s, i]) else weights[i] * log_lik[s, i]
            expected[s, i] = min(max(term, -epsilon / 2), epsilon / 2)
            hit[s, i] = expected[s, i] != term
    assert clamp_log_likelihood(log_lik, weights, epsilon=epsilon).tolist() == expected.tolist()
    share = censored_share(log_lik, weights, epsilon=epsilon)
    assert share.by_record.tolist() == [hit[:, i].sum() / draws for i in range(records)]
    assert share.by_draw.tolist() == [hit[s].sum() / records for s in range(draws)]
    assert share.overall == hit.sum() / hit.size
    assert share.constant == all(weights[i] == 0 or hit[:, i].all() for i in range(records))
