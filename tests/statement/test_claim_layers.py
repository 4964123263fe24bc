"""The layers of a claim and the entry for a registry say what the statement says, and no more."""

import html
import json
from datetime import date

import pytest
from hypothesis import given
from statements import OF_A_CLAMP, statement
from test_accounting import any_facts, many
from test_schema import any_histogram, histogram

from pyvws.report.claim_layers import KEYS, claim_layers, layers_page
from pyvws.report.page import Heading
from pyvws.report.registry_entry import registry_entry
from pyvws.statement.words import CAVEATS, TRUST, claim_of

HEADING = Heading("Clinic visits", "Office <b>", date(2026, 2, 3))
PARTS = {  # What the registry's form has, as read on its repository.
    "basic": {
        *("name", "data_curators", "intended_use", "data_product_type", "data_product_region"),
        *("description", "publication_date"),
    },
    "dp_variant": {"variant_name", "data_domain", "unprotected_quantities"},
    "privacy_loss": {
        *("privacy_unit", "privacy_unit_details", "privacy_parameters"),
        "privacy_parameters_details",
    },
    "deployment_model": {
        *("model_name", "actors", "release_type", "release_type_details", "data_source_type"),
        *("access_type", "access_type_details"),
    },
    "accounting": {"post_processing", "composition"},
    "implementation": {"preprocessing_and_hyperparameter_tuning", "mechanisms"},
    "administrative": {"sources", "notes", "registry_authors"},
}


def entry_of(privacy, heading=HEADING):
    return json.loads(registry_entry(privacy, heading))["deployment"]


def test_every_key_has_a_sentence_and_one_question():
    keys = [key for own in KEYS.values() for key in own]
    assert len(keys) == len(set(keys))
    assert set(keys) <= {*CAVEATS, *TRUST}
    assert set(TRUST) <= set(keys)


@pytest.mark.runs
@given(
    any_facts.map(lambda facts: statement(**facts)) | any_histogram.map(lambda f: histogram(**f))
)
@many
def test_no_sentence_of_a_statement_is_lost_and_no_figure_differs(made):
    privacy = json.loads(json.dumps(made.released()))
    layers = claim_layers(privacy, {})
    told = "\n".join(layer.answer for layer in layers)
    for said in [*privacy["caveats"], *privacy["trust_assumptions"]]:
        assert said in told
    page = html.unescape(layers_page(privacy, {}, HEADING))
    assert all(layer.answer in page and layer.where in page for layer in layers)
    own = entry_of(privacy)
    assert {name: set(part) for name, part in own.items()} == PARTS
    claimed, loss = privacy["certified"] or privacy, own["privacy_loss"]
    guarantee = claim_of(privacy["guarantee"])
    wanted = {} if guarantee == "none" else {"epsilon": claimed["epsilon_total"]}
    assert loss["privacy_parameters"] == {n: x for n, x in wanted.items() if x is not None}
    assert loss["privacy_unit"] == privacy["unit_of_privacy"]
    asymptotic = "No theorem proves it" in loss["privacy_parameters_details"]
    assert asymptotic == (guarantee in ("asymptotic-dp", "none"))
    variant = {"dp": "Pure DP", "dp-if-bounded": "Pure DP", "asymptotic-dp": "Custom"}
    assert own["dp_variant"]["variant_name"] == variant.get(guarantee)


def test_what_the_run_does_not_know_is_null_and_named():
    notes = entry_of(statement().released(), Heading())["administrative"]["notes"]
    own = entry_of(statement().released())
    assert "data_curators" in notes
    assert own["basic"]["data_curators"] == ["Office <b>"]
    assert "registry_authors" not in own["administrative"]["notes"]
    for name in ("intended_use", "data_product_region", "publication_date"):
        assert own["basic"][name] is None
        assert name in notes
        assert name in own["administrative"]["notes"]
    assert "asymptotic" in notes
    assert (
        "asymptotic" not in entry_of(statement(**OF_A_CLAMP).released())["administrative"]["notes"]
    )


def test_an_audit_is_told_of_without_its_figures():
    privacy = statement().released()
    without, made = (layers_page(privacy, audit, HEADING) for audit in ({}, {"records": 20}))
    assert "says nothing of an audit" in without
    assert "An audit of this run was made" in made
    assert "Office &lt;b&gt;" in made


def test_an_older_statement_has_its_layers_too():
    privacy = statement().released()
    for name in ("trust_keys", "relies_on"):
        del privacy[name]
    told = " ".join(layer.answer for layer in claim_layers(privacy, {}))
    assert all(said in told for said in [*privacy["caveats"], *privacy["trust_assumptions"]])
