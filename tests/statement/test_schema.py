"""privacy.json against its schema file, whatever the mechanism and the way out."""

import copy
import json
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pyvws_validation._grid_engine import KnownDraws
from statements import statement
from test_accounting import any_facts, many

import pyvws as vws
from pyvws._base.phrase import Phrase
from pyvws.errors import ConvergenceWarning
from pyvws.mechanisms.registry import MECHANISMS, make_mechanism
from pyvws.statement.noise import HistogramStatement
from pyvws.statement.parts import ReliesOn
from pyvws.statement.releases import has_costs
from pyvws.statement.statement import STATEMENT_VERSION
from pyvws.statement.words import (
    CAVEATS,
    SCHEMA,
    TRUST,
    USES,
    caveat,
    caveat_keys,
    parted_caveats,
    trust,
    use,
)

VALIDATOR = Draft202012Validator(SCHEMA)
any_histogram = st.fixed_dictionaries(
    {
        "claim": st.sampled_from(["dp-if-bounded", "none"]),
        "epsilon": st.floats(1e-3, 1e3),
        "neighbours": st.sampled_from(["replace", "loo"]),
        "bins": st.integers(1, 99),
        "noise_scale": st.floats(1e-3, 1e3),
        "datasets": st.integers(1, 3),
        "columns_released_unchanged": st.sampled_from([(), ("age",)]),
        **{
            name: st.booleans()
            for name in (
                *("publishable", "bins_from_records", "edges_from_data", "allows_outside"),
                *("rounded", "keep_order"),
            )
        },
    }
)


def histogram(*, publishable, **facts):
    noise = ReliesOn(engine="discrete-laplace", exact_draws=publishable)
    return HistogramStatement(mechanism="perturbed-histogram", relies_on=noise, **facts)


def test_the_schema_is_one_and_names_its_version():
    Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["properties"]["statement_version"]["const"] == STATEMENT_VERSION
    assert SCHEMA["$id"].endswith(f":{STATEMENT_VERSION}")


@pytest.mark.runs
@given(
    any_facts.map(lambda facts: statement(**facts)) | any_histogram.map(lambda f: histogram(**f))
)
@many
def test_every_statement_meets_the_schema(made):
    for written in (made.exact(), made.released()):
        VALIDATOR.validate(json.loads(json.dumps(written, allow_nan=False)))
        by_records = getattr(made, "bins_from_records", False)
        if not (by_records and made.neighbours == "loo"):  # A run refuses both together.
            assert has_costs(written)
        assert caveat_keys(written) == [said["key"] for said in written["caveat_keys"]]
        # The sentences follow from the keys and their values, and from nothing else.
        own = {said.key: said.words for said in getattr(made, "brought", ())}
        phrases = [
            Phrase(**said, words=own.get(said["key"], "")) for said in written["caveat_keys"]
        ]
        assert [caveat(said) for said in phrases] == written["caveats"]
        assumed = [Phrase(**said) for said in written["trust_keys"]]
        assert [trust(said) for said in assumed] == written["trust_assumptions"]
        first, rest = parted_caveats(written)
        assert len(first) <= 8
        assert sorted([*first, *rest]) == sorted(written["caveats"])
        for entry in written["ledger"]:
            assert use(Phrase(entry["key"], entry["values"])) == entry["use"]


@pytest.mark.parametrize("released", [statement().released(), statement().exact()])
def test_another_key_or_one_that_is_missing_breaks_the_schema(released):
    assert VALIDATOR.is_valid(released)
    assert not VALIDATOR.is_valid({**released, "epsilon": 1.0})
    assert not VALIDATOR.is_valid({**released, "bins": 4})
    for name in released:
        less = {key: of for key, of in released.items() if key != name}
        # An older statement has no keys of its trust assumptions.
        assert VALIDATOR.is_valid(less) == (name == "trust_keys")
    for part in ("ledger", "caveat_keys", "trust_keys"):
        changed = copy.deepcopy(released)
        changed[part][0]["strange"] = 1
        assert not VALIDATOR.is_valid(changed)


def test_the_keys_of_sentences_that_version_1_wrote_are_found():
    made = statement(
        problems=("LW: R-hat is 1.2.",), threshold=0.9, target=1.0, searched=True, growth=1.0
    )
    for written in (made.exact(), made.released()):
        old = {**written, "caveats": [*written["caveats"], "Nobody says this."]}
        del old["caveat_keys"]
        assert caveat_keys(old) == [*caveat_keys(written), "own"]


def test_no_key_stands_for_two_sentences():
    assert len(set(CAVEATS.values())) == len(CAVEATS)
    assert len(set(USES.values())) == len(USES)
    assert len(set(TRUST.values())) == len(TRUST)


def test_only_a_release_that_takes_all_its_randomness_from_a_seed_trusts_the_seed():
    facts = {"claim": "none", "epsilon": 1.0, "neighbours": "loo", "bins": 3}
    flags = dict.fromkeys(("publishable", "bins_from_records", "edges_from_data"), False)
    flags |= {"allows_outside": False, "rounded": False}
    more = {"noise_scale": 1.0, "datasets": 1, "columns_released_unchanged": ()}
    made = histogram(**facts, **flags, **more)
    secret = histogram(**{**facts, **flags, **more, "publishable": True})
    seeded = {"agency", "public", "computation", "seed"}
    assert {said.key for said in statement().trusted()} == seeded
    assert {said.key for said in made.trusted()} == {"agency", "public", "float-noise-computation"}
    of_noise = {"agency", "public", "noise-computation"}
    assert {said.key for said in secret.trusted()} == of_noise
    assert not any("sampler" in TRUST[said.key] for said in [*made.trusted(), *secret.trusted()])
    exact = {"agency", "public", "exact-computation", "seed-of-rows"}
    assert {said.key for said in statement(exact_draws=True).trusted()} == exact
    assert set(TRUST) == seeded | exact | of_noise | {"float-noise-computation", "public-seed"}


_OWN = {
    "inverse": {"t": 2.0},
    "weighted-epsilon": {"epsilon": 30.0},
    "censored": {"epsilon": 3.0},
    "perturbed-histogram": {"epsilon": 2.0, "range": (-9.0, 9.0), "noise": "seeded-float"},
}


@pytest.mark.runs
@pytest.mark.parametrize("in_steps", [False, True])
@pytest.mark.parametrize("mechanism", sorted(MECHANISMS))
def test_what_every_mechanism_writes_meets_the_schema(
    tmp_path: Path, mechanism: str, in_steps: bool
) -> None:
    if in_steps and mechanism == "perturbed-histogram":
        return  # It takes a table in memory alone.
    if mechanism == "noisy-counts":
        return  # It takes a schema: tests/release/test_noisy_counts.py holds its statement.
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(40, 3)) * [0.1, 0.0, 0.1]
    run = vws.Synthesizer(
        outcome="y",
        model="normal",
        mechanism=make_mechanism(mechanism, **_OWN.get(mechanism, {})),
        datasets=2,
        accept_above_target=mechanism == "weighted-epsilon",
        engine=KnownDraws([draws]),
        settings=vws.SamplerSettings(draws=40, chains=1),
    )
    table = pl.DataFrame({"y": rng.normal(size=30).round(1)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if in_steps:
            run.fit_to(table.lazy(), tmp_path / "out", seed=1)
        else:
            run.fit(table, seed=1).write(tmp_path / "out")
    released = json.loads((tmp_path / "out/release/privacy.json").read_text())
    VALIDATOR.validate(released)
    summary = json.loads((tmp_path / "out/confidential/summary.json").read_text())
    VALIDATOR.validate(summary["privacy"])
    assert released["mechanism"] == mechanism
