"""What the Stan programs must have in common, read from their text."""

from __future__ import annotations

import re

import pytest

from pyvws.engines._stan_run import paper_program, shipped_program
from pyvws.models.registry import MODELS

PARAMETERS = {
    "poisson": ["beta", "sigma_beta", "L_beta"],
    "negative-binomial": ["beta", "sigma_beta", "L_beta", "inv_phi"],
}


def declared(program: str, block: str) -> list[str]:
    body = re.search(rf"^{block} \{{(.*?)^\}}", program, re.S | re.M)[1]
    return re.findall(r"(\w+)(?:\[n\])?;", re.sub(r"//.*", "", body))


@pytest.mark.parametrize("name", MODELS)
def test_both_dialects_have_the_same_parameters_in_the_same_order(name):
    model = MODELS[name]
    assert declared(shipped_program(model), "parameters") == PARAMETERS[name]
    assert declared(paper_program(model), "parameters") == PARAMETERS[name]


@pytest.mark.parametrize("name", MODELS)
def test_data_have_the_papers_names(name):
    papers = ["n", "K", "y", "weights", "X"]
    assert declared(paper_program(MODELS[name]), "data") == papers
    extra = {"censored", "bound", "write_log_lik"}
    assert set(declared(shipped_program(MODELS[name]), "data")) == {*papers, *extra}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("program", [shipped_program, paper_program])
def test_priors_are_the_papers(name, program):
    text = program(MODELS[name])
    assert "L_beta ~ lkj_corr_cholesky(6);" in text
    assert "sigma_beta ~ student_t(3, 0, 1);" in text
    assert ("inv_phi ~ cauchy(0, 5);" in text) == (name == "negative-binomial")
