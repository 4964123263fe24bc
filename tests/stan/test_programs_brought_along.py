"""The package's programs as a user would bring them, through the Stan engines."""

from __future__ import annotations

import traceback
from contextlib import nullcontext

import numpy as np
import pytest

from pyvws.engines._stan_run import paper_program, shipped_program, stan_data
from pyvws.engines.registry import find_stan_engine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.user_program import UserProgram, program_data
from pyvws.errors import InputError
from pyvws.synthesis.existing_fit import from_log_lik
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


# The switch says how weights are used: 0 as they must be, 1 not in the target, 2 not in log_lik, 3
# by half in log_lik, 4 with a term of y alone left out of it, which no parameter moves, 7 nowhere.
# With 5 the program prints a record, and with 6 it stops under other weights than 1, and says one.
OWN = """
data {
  int<lower=1> n;
  int<lower=1> K;
  COUNTS
  matrix[n, K] X;
  vector<lower=0>[n] weights;
  int censored;
}
parameters { vector[K] beta; }
model {
  beta ~ normal(0, 3);
  for (i in 1:n)
    target += (censored == 1 || censored == 7 ? 1 : weights[i])
      * poisson_log_lpmf(y[i] | X[i] * beta);
}
generated quantities {
  vector[n] log_lik;
  if (censored == 5) print("record ", y[1]);
  if (censored == 6 && max(weights) < 1) reject("record ", y[1]);
  for (i in 1:n) {
    real term = poisson_log_lpmf(y[i] | X[i] * beta) + (censored == 4 ? lgamma(y[i] + 1) : 0);
    log_lik[i] = (censored == 2 || censored == 7 ? 1 : weights[i])
      * (censored == 3 ? 0.5 : 1) * term;
  }
}
"""


@pytest.mark.parametrize("name", ["pystan", "rstan"])
def test_a_target_that_does_not_hold_log_lik_is_refused(name, need):
    need(name)
    counts = "int<lower=0> y[n];" if name == "rstan" else "array[n] int<lower=0> y;"
    text = OWN.replace("COUNTS", counts)
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
    counts = "int<lower=0> y[n];" if name == "rstan" else "array[n] int<lower=0> y;"
    program = UserProgram(OWN.replace("COUNTS", counts))
    y = np.array([675_397, 3, 5, 4])
    data = program_data(y, np.ones((4, 1)), np.ones(4))
    engine, settings = find_stan_engine(name), SamplerSettings(draws=20, warmup=100, chains=1)
    program.fit(engine, {**data, "censored": 5}, settings, seed=1)
    with pytest.raises(InputError, match="stops at draws of its own under other weights") as caught:
        program.fit(engine, {**data, "censored": 6}, settings, seed=1)
    heard = "".join([*capfd.readouterr(), *traceback.format_exception(caught.value)])
    assert "675397" not in heard
