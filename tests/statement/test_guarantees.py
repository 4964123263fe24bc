"""The word of a strict claim whose schema a program read off the records and somebody signed."""

import json
from typing import Any

import jsonschema
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import pyvws as vws
from pyvws.comparison.found import KINDS
from pyvws.statement.releases import costs_together, has_costs
from pyvws.statement.words import GUARANTEES, SCHEMA, STRICT, claim_of, if_public

WORDS = st.sampled_from([*GUARANTEES])
TABLE = pd.DataFrame({"a": ["x", "y"] * 60, "b": ["u", "u", "v"] * 40})
MECHANISMS: dict[str, Any] = {
    "dp": vws.NoisyCounts(epsilon=4.0, classes=3, measure="pairs"),
    "approximate-dp": vws.NoisyCounts(epsilon=4.0, delta=1e-5, classes=3, measure="pairs"),
}


@given(WORDS, st.booleans())
def test_only_a_strict_word_has_the_condition(word: str, signed: bool) -> None:
    found = if_public(claim_of(word), signed=signed)
    assert found in GUARANTEES
    assert found in KINDS
    assert claim_of(found) == claim_of(word)
    assert (found in STRICT) == (word in STRICT)
    assert (found != claim_of(word)) == (signed and claim_of(word) in ("dp", "approximate-dp"))


@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize("claim", [*MECHANISMS])
@pytest.mark.parametrize("kind", ["by hand", "signed", "accepted", "unsigned"])
def test_the_word_of_noisy_counts_follows_who_made_the_schema(claim: str, kind: str) -> None:
    proposed = vws.Schema.propose(TABLE)
    reviewed = {name: vws.Column(model="nominal", levels=TABLE[name].unique()) for name in TABLE}
    schema, word = {
        "by hand": (vws.Schema(reviewed), claim),
        "signed": (vws.Schema(reviewed, reviewed="A. Steward"), f"{claim}-if-public"),
        "accepted": (proposed.accepted("A. Steward"), f"{claim}-if-public"),
        "unsigned": (proposed, "none"),
    }[kind]
    made = vws.synthesize(TABLE, schema=schema, mechanism=MECHANISMS[claim], datasets=1)
    said = made.privacy
    jsonschema.validate(json.loads(json.dumps(said)), SCHEMA)
    assert said["guarantee"] == word
    assert (said["certified"] is None) == (kind == "unsigned")
    assert has_costs(said)
    assert costs_together([said])["releases"]["strict"] == (kind != "unsigned")
    entries = len(proposed.to_review) if kind == "accepted" else None
    signature = {"by": "A. Steward", "entries": entries}
    assert made.summary.get("signed_proposal") == (
        signature if word.endswith("if-public") else None
    )


def test_a_statement_of_an_earlier_version_gets_the_condition_by_its_caveat() -> None:
    both = {"leave-one-out": {"total": 2.0}, "replace-one": {"total": 4.0}}
    said: dict[str, Any] = {
        **{"guarantee": "dp", "unit_of_privacy": "one record", "epsilon_by_neighbours": both},
        "certified": {"neighbours": "leave-one-out", "epsilon_total": 2.0},
        "caveat_keys": [{"key": "proposed-and-signed"}],
    }
    together = costs_together([said, {**said, "guarantee": "dp-if-public"}])
    assert together["strict"]["epsilon"] == 4.0
