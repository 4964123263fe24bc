"""A fit that R saved, or holds, gives its log-likelihood: of rstan, brms, rstanarm, or a matrix."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from pyvws_validation._stan_case import seeded_target
from refusals import refused

import pyvws as vws
from pyvws import MissingDependencyError, from_stanfit
from pyvws._base.resources import folder
from pyvws.engines import rstan
from pyvws.engines.stan_run import paper_program, stan_data
from pyvws.r.bridge import call


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

    from pyvws.r.bridge import SESSION

    path, own, _ = saved
    held = []
    SESSION.run(lambda: held.append(rinterface.baseenv["readRDS"](str(path))))
    np.testing.assert_array_equal(from_stanfit(held[0]).log_lik, own)
    SESSION.run(held.clear)  # R objects are freed in R's thread


def test_other_files_and_objects_say_what_is_expected(need, tmp_path):
    need("rstan")
    other = tmp_path / "other.rds"
    other.write_text("no R data")
    with refused("stanfit-kind"):
        from_stanfit(other)
    with refused("r-path"):
        from_stanfit(3.0)


@pytest.fixture
def file_of(need, tmp_path):
    """A function that lets R write a file, and its path."""
    need("rstan")

    def write(kind):
        path = tmp_path / f"{kind}.rda"
        call("stanfit", "written", {"kind": kind, "file": str(path)}, folder=Path(__file__).parent)
        return path

    return write


@pytest.mark.parametrize("kind", ["matrix", "table", "by chain", "one of a file"])
def test_a_matrix_of_r_is_draws_by_records(kind, file_of):
    """An array of iterations by chains by records comes chain after chain."""
    fit = from_stanfit(file_of(kind), [1.0, 0.5, 0.25])
    np.testing.assert_array_equal(fit.log_lik, -np.arange(1.0, 13.0).reshape(3, 4).T)
    assert fit.chains == (2 if kind == "by chain" else 1)


def test_one_of_several_objects_is_named(file_of):
    path = file_of("several")
    with refused("stanfit-kind"):
        from_stanfit(path)
    assert from_stanfit(path, name="second").log_lik.tolist() == [[-7.0], [-8.0]]
    with refused("stanfit-kind"):
        from_stanfit(path, name="third")


@pytest.mark.r
def test_weights_that_a_fit_has_itself_are_read_with_it():
    """A made object answers as brms and rstanarm do: their log_lik holds the weights."""
    script = str(folder("r_reference") / "rstan.R")
    found = call("stanfit", "as_brms", {"script": script}, folder=Path(__file__).parent)
    assert found["weights"].tolist() == [1.0, 0.5, 0.25]
    assert found["log_lik"].shape == found["y_rep"].shape == (4, 3)
    assert found["chains"].tolist() == [2]


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize("package", ["brms", "rstanarm"])
def test_a_fit_of_a_package_of_r_ends_in_a_release(package, file_of, need, tmp_path):
    """Its terms are those of its parameters, weights included, and its datasets are its draws."""
    need("rstan")
    try:
        path = file_of(package)
    except MissingDependencyError as missing:
        pytest.skip(str(missing))
    weights = np.tile([1.0, 0.5, 0.25, 0.75], 5)
    fit = from_stanfit(path, y_rep_from="parameters")
    np.testing.assert_array_equal(fit.weights, weights)
    assert fit.log_lik.shape == fit.y_rep.shape == (200, 20)
    assert fit.chains == 2
    own = call("stanfit", "terms_of_parameters", {"file": str(path)}, folder=Path(__file__).parent)
    np.testing.assert_allclose(fit.log_lik, own, rtol=1e-9)
    with refused("existing-fit-other-weights"):
        from_stanfit(path, np.ones(20))

    frame = pl.DataFrame({"y": [3.0, 1.0, 4.0, 1.0, 5.0] * 4})
    release = vws.synthesize(
        frame, outcome="y", model="normal", existing_fit=fit, datasets=3, seed=1
    )
    assert release.summary["Delta"] == pytest.approx(np.abs(own).max())
    rows = {tuple(row) for row in fit.y_rep}
    assert all(tuple(dataset["y"]) in rows for dataset in release.aligned())
    out = release.write(tmp_path / "out")
    privacy = json.loads((out / "release" / "privacy.json").read_text())
    assert (privacy["guarantee"], privacy["epsilon_total"]) == (
        "asymptotic-dp",
        release.privacy["epsilon_total"],
    )
    assert {"given-weights", "outside-fit"} <= {one["key"] for one in privacy["ledger"]}
