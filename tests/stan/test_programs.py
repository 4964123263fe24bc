"""What the Stan programs must have in common, read from their text."""

import re

import pytest
from pyvws_validation._stan_case import SAMPLED

from pyvws.engines.stan_run import paper_program, shipped_program
from pyvws.models.registry import MODELS

# What each program has besides the coefficients and their prior: parameters with their priors in
# Stan's words, and data.
OWN = {
    "poisson": ({}, []),
    "negative-binomial": ({"inv_phi": "cauchy(0, 5)"}, []),
    "normal": ({"sigma": "student_t(3, 0, 1)"}, []),
    "truncated-normal": ({"sigma": "student_t(3, 0, 1)"}, ["least", "most"]),
    "gamma": ({"inv_shape": "cauchy(0, 5)"}, []),
    "logistic": ({}, []),
    "ordinal": ({"gaps": "student_t(3, 0, 2.5)"}, ["J"]),
    "nominal": ({}, ["J", "coefficient_sd"]),
    "beta": ({"inv_kappa": "cauchy(0, 5)"}, []),
}
NAMES = [name for name in MODELS if name in OWN]
PRIORS = {"L_beta": "lkj_corr_cholesky(6)", "sigma_beta": "student_t(3, 0, 1)"}


def declared(program: str, block: str) -> list[str]:
    body = re.search(rf"^{block} \{{(.*?)^\}}", program, re.S | re.M)[1]
    return re.findall(r"(\w+)(?:\[n\])?;", re.sub(r"//.*", "", body))


@pytest.mark.parametrize("name", NAMES)
def test_both_dialects_have_the_same_parameters_in_the_same_order(name):
    parameters = ["beta", "sigma_beta", "L_beta", *OWN[name][0]]
    assert declared(shipped_program(MODELS[name]), "parameters") == parameters
    assert declared(paper_program(MODELS[name]), "parameters") == parameters


@pytest.mark.parametrize("name", NAMES)
def test_data_have_the_papers_names(name):
    papers = {"n", "K", "y", "weights", "X", *OWN[name][1]}
    assert set(declared(paper_program(MODELS[name]), "data")) == papers
    clamp = {"shift", "low", "high"}
    assert set(declared(paper_program(MODELS[name], censored=True), "data")) == papers | clamp
    extra = {"censored", *clamp, "write_log_lik"}
    assert set(declared(shipped_program(MODELS[name]), "data")) == papers | extra


@pytest.mark.parametrize("name", SAMPLED)
def test_a_censored_program_has_the_parameters_and_priors_of_the_weighted_one(name):
    """In the papers' dialect, where each is a program of its own."""
    weighted, censored = (paper_program(MODELS[name], censored=of) for of in (False, True))
    for start, end in (("\nparameters {", "\nmodel {"), ("\nmodel {", "\n  target += weighted")):
        block = weighted[weighted.index(start) : weighted.index(end)]
        assert block in censored


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("program", [shipped_program, paper_program])
def test_priors_are_the_documented_ones(name, program):
    stated = dict(re.findall(r"^ +(\w+)(?:\[j\]')? ~ (.*);$", program(MODELS[name]), re.M))
    multivariate = stated.pop("beta")
    assert multivariate.startswith("multi_normal_cholesky(zeros_beta, diag_pre_multiply(sigma_be")
    assert stated == {**PRIORS, **OWN[name][0]}
