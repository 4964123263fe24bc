"""The package's programs as a user would bring them, through the Stan engines."""

from __future__ import annotations

import numpy as np
import pytest

from pyvws.engines._engine import SamplerSettings
from pyvws.engines._stan_run import paper_program, shipped_program, stan_data
from pyvws.engines.registry import find_stan_engine
from pyvws.engines.user_program import UserProgram
from pyvws.existing_fit import from_log_lik
from pyvws.validation._stan_case import seeded_target


@pytest.mark.parametrize("name", ["pystan", "rstan", "cmdstan"])
def test_its_log_lik_is_the_packages_times_the_weights(name, need):
    need(name)
    target = seeded_target("poisson", 30, 2, seed=5)
    text = (paper_program if name == "rstan" else shipped_program)(target.model)
    settings = SamplerSettings(draws=20, warmup=100, chains=2)
    fit = UserProgram(text).fit(find_stan_engine(name), stan_data(target), settings, seed=1)
    own = target.model.log_likelihood(fit.draws, target.cells)[:, target.cells.cell_of_record]
    np.testing.assert_allclose(fit.log_lik, own * target.weights, rtol=1e-9, atol=1e-9)
    existing = from_log_lik(fit.log_lik, target.weights)
    assert existing.bounds().database == np.abs(fit.log_lik).max()
