"""The inverse of the transforms, which Stan's draws pass through."""

import numpy as np
import pytest
from pyvws_validation._stan_case import SAMPLED, seeded_target

from pyvws.models.registry import MODELS

# Rounding of the transform itself, against coordinates of size 3.
TOLERANCE = 1e-13


@pytest.mark.parametrize("name", SAMPLED)
@pytest.mark.parametrize("K", [1, 2, 3, 8])
def test_it_undoes_constrain(name, K):
    model = seeded_target(name, 30, K, seed=1).model
    q = np.random.default_rng(K).uniform(-3, 3, (50, model.dimension(K)))
    np.testing.assert_allclose(model.unconstrain(model.constrain(q, K)), q, atol=TOLERANCE)


def test_a_singular_factor_is_infinite_and_does_not_raise():
    draws = {
        "beta": np.zeros((1, 2)),
        "sigma_beta": np.ones((1, 2)),
        "L_beta": np.array([[[1.0, 0.0], [1.0, 0.0]]]),
    }
    assert np.isinf(MODELS["poisson"].unconstrain(draws)[0, -1])
