"""A fit that R saved, or holds, gives its log-likelihood."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from pyvws.engines import rstan
from pyvws.engines.stan_run import paper_program, stan_data
from pyvws.errors import InputError
from pyvws.r.bridge import call
from pyvws.synthesis.existing_fit import from_stanfit
from pyvws.validation._stan_case import seeded_target


@pytest.fixture
def saved(need, tmp_path):
    """Path of a saved fit, R's own matrix of it, and the weights."""
    need("rstan")
    target = seeded_target("poisson", 12, 1, seed=3)
    data = stan_data(target) | {"y": stan_data(target)["y"].astype(np.int32)}
    path = tmp_path / "fit.rds"
    arguments = {
        "program": str(rstan._program_file(paper_program(target.model))),
        "saved": str(path),
        "data": data,
        "draws": 20,
    }
    return path, call("stanfit", "fit", arguments, folder=Path(__file__).parent), target


def test_a_saved_fit_is_read_as_r_holds_it(saved):
    path, own, target = saved
    fit = from_stanfit(path, target.weights)
    assert fit.log_lik.shape == (40, 12)
    np.testing.assert_array_equal(fit.log_lik, own)


def test_log_lik_of_the_papers_program_is_weighted_already(saved):
    path, _, target = saved
    fit = from_stanfit(str(path), target.weights)
    assert (fit.log_lik[:, target.weights == 0] == 0).all()
    assert ((fit.reweight(0.9) > 0) == (target.weights > 0)).all()


def test_an_object_of_rpy2_is_read_too(saved):
    import rpy2.rinterface as rinterface

    from pyvws.r.session import SESSION

    path, own, _ = saved
    held = []
    SESSION.run(lambda: held.append(rinterface.baseenv["readRDS"](str(path))))
    np.testing.assert_array_equal(from_stanfit(held[0]).log_lik, own)
    SESSION.run(held.clear)  # R objects are freed in R's thread


def test_other_files_and_objects_say_what_is_expected(need, tmp_path):
    need("rstan")
    other = tmp_path / "other.rds"
    other.write_text("no R data")
    with pytest.raises(InputError, match="not a stanfit with log_lik"):
        from_stanfit(other)
    with pytest.raises(InputError, match="an rpy2 object"):
        from_stanfit(3.0)
