"""The mixture's Stan programs: its density, its posterior without labels, its parameters."""

from dataclasses import replace

import numpy as np
import pytest
from asked_of_stan import asked
from pyvws_validation._stan_case import seeded_target
from pyvws_validation.cases import density, mixture_density
from test_programs import declared

from pyvws.engines import pystan
from pyvws.engines.stan_run import clamp_data, paper_program, shipped_program, stan_data
from pyvws.models.normal_mixture import NormalMixture
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior

MODEL = NormalMixture(components=3)


@pytest.mark.parametrize("case", asked(mixture_density.CASES[:2]))
def test_the_density_is_stans(case, need):
    need(case.engine)
    found = case.judge()
    assert found.passed, found.words


@pytest.mark.parametrize("setting", ["gamma_shape", "gamma_rate", "smallest_sd"])
def test_another_setting_is_told_apart(setting, need, monkeypatch):
    need("pystan")

    def off(target):
        data = stan_data(target)
        return data | {setting: data[setting] * (1 + 1e-6)}

    monkeypatch.setattr(density, "stan_data", off)
    assert not mixture_density.CASES[0].judge().passed


@pytest.mark.draws
@pytest.mark.slow
@pytest.mark.parametrize("case", mixture_density.CASES[2:], ids=lambda case: case.id)
def test_stans_posterior_is_the_native_one(case, need):
    need(case.engine)
    found = case.judge()
    assert found.passed, found.words


def test_a_clamp_replaces_each_term_and_no_flag_writes_no_log_likelihood(need):
    need("pystan")
    target = seeded_target(MODEL, 40, 2, seed=3)
    nothing = PseudoPosterior(MODEL, target.cells, np.zeros(40)).density_and_gradient()
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (10, target.dimension))
    bound = 2.0
    window = clamp_data(replace(target, clamp=Clamp(2 * bound)))
    data = {**stan_data(target), **window, "write_log_lik": 0}
    theirs, _, written = pystan.densities(shipped_program(MODEL), data, points)
    assert "log_lik" not in written
    terms = MODEL.log_likelihood(MODEL.constrain(points, 2), target.cells)
    clamped = np.clip(terms[:, target.cells.cell_of_record] * target.weights, -bound, bound)
    assert (clamped == -bound).any(axis=1).all()
    gap = np.array([nothing(q)[0] for q in points]) + clamped.sum(axis=1) - theirs
    np.testing.assert_allclose(gap, gap[0], atol=1e-11)


@pytest.mark.parametrize("program", [shipped_program, paper_program])
def test_programs_have_the_settings_and_the_papers_priors(program):
    text = program(MODEL)
    papers = {"n", "K", "y", "X", "weights"}
    assert papers | set(MODEL.stan_settings(seeded_target(MODEL, 2, 1, seed=1).cells)) <= set(
        declared(text, "data")
    )
    assert "L_beta ~ lkj_corr_cholesky(1);" in text  # uniform over correlation matrices
    assert "sigma_beta ~ student_t(3, 0, 1);" in text
    assert "sigma ~ student_t(3, 0, 1);" in text
    assert "concentration ~ gamma(gamma_shape, gamma_rate);" in text
