"""The logistic function against scipy's, in both tails."""

import numpy as np
import pytest
from scipy import special

from pyvws.models.regression import log_sigmoid


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0, 5.0, 36.0, 40.0, 300.0, 700.0])
def test_against_scipy_in_both_tails(eta):
    for side in (eta, -eta):
        expected = [special.log_expit(side), special.expit(-side)]
        np.testing.assert_allclose(log_sigmoid(side), expected, rtol=4e-16)


@pytest.mark.parametrize("far", [1e3, 1e300, np.inf])
def test_far_out(far):
    assert log_sigmoid(far) == (0.0, 0.0)
    assert log_sigmoid(-far) == (-far, 1.0)
