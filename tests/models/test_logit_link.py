"""The logistic function against scipy's, in both tails."""

import numpy as np
import pytest
from scipy import special

from pyvws.models.regression import log_sigmoid, sigmoid_parts


@pytest.mark.parametrize("eta", [0.0, 0.3, 1.0, 5.0, 36.0, 40.0, 300.0, 700.0])
def test_against_scipy_in_both_tails(eta):
    for side in (eta, -eta):
        expected = [special.expit(side), special.expit(-side)]
        expected += [special.log_expit(side), special.log_expit(-side)]
        np.testing.assert_allclose(sigmoid_parts(side), expected, rtol=4e-16)
        assert log_sigmoid(side) == (sigmoid_parts(side)[2], sigmoid_parts(side)[1])


@pytest.mark.parametrize("far", [1e3, 1e300, np.inf])
def test_far_out(far):
    assert log_sigmoid(far) == (0.0, 0.0)
    assert log_sigmoid(-far) == (-far, 1.0)
