"""The package's programs as a user would bring them, through the Stan engines."""

import traceback
from contextlib import nullcontext

import numpy as np
import pytest
from pyvws_validation._stan_case import seeded_target
from refusals import refused
from switched_program import switched_program

from pyvws import InputError, SamplerSettings, from_log_lik
from pyvws.engines.registry import find_stan_engine
from pyvws.engines.stan_run import paper_program, shipped_program, stan_data
from pyvws.engines.user_program import UserProgram, program_data


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


@pytest.mark.parametrize("name", ["pystan", "rstan"])
def test_a_target_that_does_not_hold_log_lik_is_refused(name, need):
    need(name)
    text = switched_program(name)
    target = seeded_target("poisson", 30, 2, seed=5)
    plain = stan_data(target)
    data = program_data(plain["y"], plain["X"], target.weights)
    settings = SamplerSettings(draws=20, warmup=100, chains=1)
    passes = {(0, "weighted"), (2, "plain"), (4, "weighted")}
    for switch in (0, 1, 2, 3, 4, 7):
        for written in ("weighted", "plain"):
            refused = pytest.raises(InputError, match="does not move with the weights")
            with nullcontext() if (switch, written) in passes else refused:
                UserProgram(text, log_lik=written).fit(
                    find_stan_engine(name), {**data, "censored": switch}, settings, seed=1
                )


@pytest.mark.parametrize("name", ["pystan", "rstan"])
def test_what_a_program_prints_while_it_is_checked_reaches_nobody(name, need, capfd):
    need(name)
    program = UserProgram(switched_program(name))
    y = np.array([675_397, 3, 5, 4])
    data = program_data(y, np.ones((4, 1)), np.ones(4))
    engine, settings = find_stan_engine(name), SamplerSettings(draws=20, warmup=100, chains=1)
    program.fit(engine, {**data, "censored": 5}, settings, seed=1)
    with refused("stan-stops-under-weights") as caught:
        program.fit(engine, {**data, "censored": 6}, settings, seed=1)
    heard = "".join([*capfd.readouterr(), *traceback.format_exception(caught.value)])
    assert "675397" not in heard
