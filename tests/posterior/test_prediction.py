"""Synthetic outcomes in steps are those of a loop over the steps, from one stream."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.models.normal import Normal
from pyvws.models.normal_mixture import NormalMixture
from pyvws.posterior import prediction

DRAWS = {
    "normal": {"beta": np.array([[1.0, -2.0]]), "sigma": np.array([0.5])},
    "normal-mixture": {
        "beta": np.array([[[1.0, -2.0], [30.0, 1.0]]]),
        "sigma": np.array([[0.5, 0.2]]),
        "pi": np.array([[0.4, 0.6]]),
    },
}
FAMILIES = [Normal(), NormalMixture(components=2, labels="full-conditional")]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(n=st.integers(1, 40), step=st.integers(1, 45), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, deadline=None, derandomize=True)
def test_against_a_loop_over_steps(family, n, step, seed):
    draw = DRAWS[family.name]
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.normal(size=n)])
    outcome = rng.choice([0.0, 30.0], n)
    expected, stream = [], np.random.default_rng(seed)
    for at in range(0, n, step):
        rows = slice(at, min(at + step, n))
        expected += list(family.predict(draw, design[rows], stream, outcome=outcome[rows]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "AT_ONCE", step)
        found = prediction.predicted(
            family, draw, design, np.random.default_rng(seed), outcome=outcome
        )
    assert found.tolist() == expected


def test_without_an_outcome_none_is_given():
    design = np.ones((3, 2))
    found = prediction.predicted(Normal(), DRAWS["normal"], design, np.random.default_rng(1))
    expected = Normal().predict(DRAWS["normal"], design, np.random.default_rng(1))
    assert found.tolist() == expected.tolist()
