"""Engines agree on posteriors within Monte Carlo error, and the comparison can fail."""

import numpy as np
import pytest
from asked_of_stan import asked
from pyvws_validation.cases import posterior

pytestmark = pytest.mark.draws


@pytest.mark.slow
@pytest.mark.parametrize("case", asked(posterior.CASES))
def test_stans_posterior_is_the_native_one(case, need):
    need(case.engine)
    found = case.judge()
    assert found.passed, found.words
    assert found.measurements


def test_equal_samples_have_no_gap_and_a_shift_is_seen():
    rng = np.random.default_rng(1)
    first = rng.normal(size=(4, 1000, 2))
    assert posterior.largest_gap(first, first) == 0.0
    assert posterior.largest_gap(first, rng.normal(size=(4, 1000, 2))) < posterior.LIMIT
    # 4000 independent draws have a standard error of 0.016 each; a shift of 0.2 is nine of both.
    assert posterior.largest_gap(first, first + 0.2) > posterior.LIMIT


def test_a_wrong_spread_is_seen_by_the_quantiles():
    rng = np.random.default_rng(1)
    first, second = rng.normal(size=(2, 4, 1000, 1))
    assert posterior.largest_gap(first, 1.3 * second) > posterior.LIMIT
