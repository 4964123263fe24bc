"""Every engine works on one density: the package's, Stan's today, and the papers' program's."""

from dataclasses import replace

import numpy as np
import pytest
from asked_of_stan import asked
from pyvws_validation._stan_answers import LiveStan
from pyvws_validation._stan_case import seeded_target
from pyvws_validation.cases import censored_density, density

from pyvws.engines import pystan
from pyvws.engines.stan_run import clamp_data, shipped_program, stan_data
from pyvws.errors import MissingDependencyError
from pyvws.posterior.clamp import Clamp
from pyvws.posterior.pseudo_posterior import PseudoPosterior

COUNTS = ("poisson", "negative-binomial")


@pytest.mark.parametrize("case", asked([*density.CASES, *censored_density.CASES]))
def test_the_density_is_stans(case, need):
    need(case.engine)
    found = case.judge()
    assert found.passed, found.words
    assert found.measurements


@pytest.mark.parametrize("model", COUNTS)
def test_a_clamp_replaces_each_term_by_its_clamped_value(model, need):
    need("pystan")
    target = seeded_target(model, 40, 2, seed=3)
    prior = PseudoPosterior(target.model, target.cells, np.zeros(40)).density_and_gradient()
    points = np.random.default_rng(1).uniform(-0.5, 0.5, (20, target.dimension))
    points[:, 0] += 4.0
    bound = 4.0
    window = clamp_data(replace(target, clamp=Clamp(2 * bound)))
    data = {**stan_data(target), **window, "write_log_lik": 1}
    theirs, _, written = pystan.densities(shipped_program(target.model), data, points)
    draws = target.model.constrain(points, 2)
    terms = target.model.log_likelihood(draws, target.cells)[:, target.cells.cell_of_record]
    clamped = np.clip(terms * target.weights, -bound, bound)
    assert (clamped == -bound).any(axis=1).all()
    assert (clamped > -bound).any(axis=1).all()
    ours = np.array([prior(point)[0] for point in points]) + clamped.sum(axis=1)
    gap = ours - theirs
    np.testing.assert_allclose(gap, gap[0], atol=1e-11)
    np.testing.assert_allclose(written["log_lik"], clamped, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("model", COUNTS)
def test_without_its_flag_stan_writes_no_log_likelihood(model, need):
    need("pystan")
    target = seeded_target(model, 10, 1, seed=3)
    data = {**stan_data(target), **clamp_data(target), "write_log_lik": 0}
    point = np.zeros((1, target.dimension))
    _, _, written = pystan.densities(shipped_program(target.model), data, point)
    assert "log_lik" not in written


def test_another_density_is_told_apart(need, monkeypatch):
    need("pystan")
    right = density.shipped_program(seeded_target("poisson", 5, 1, seed=1).model)
    assert "student_t(3, 0, 1)" in right
    off = seeded_target("negative-binomial", 60, 1, seed=1)
    points = np.random.default_rng(1).uniform(-1, 1, (10, off.dimension))
    lower = PseudoPosterior(off.model, off.cells, off.weights * (1 - 1e-9))
    monkeypatch.setattr(density, "stan_data", lambda target: stan_data(off))
    value, _, _ = density.differences(lower, "pystan", points, LiveStan("pystan"))
    assert value > density.VALUE_LIMIT


def test_a_missing_stan_is_a_skipped_row_with_its_reason(monkeypatch):
    from pyvws_validation import _stan_case

    def missing(name: str) -> str:
        raise MissingDependencyError(f"{name} is not installed.")

    monkeypatch.setattr(_stan_case, "engine_version", missing)
    row = next(density.CASES[0].rows())
    assert (row.verdict, row.reason) == ("skipped", "pystan is not installed.")
