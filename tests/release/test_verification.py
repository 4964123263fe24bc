"""Verification answers: the answer, its cost, what they refuse, and planted errors."""

import json
import shutil
import warnings
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from pyvws_validation._verified_losses import VerifiedRuns, partitions
from pyvws_validation.cases.noise import CASES
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from benchmarks import verification as study
from pyvws.commands.cli import app
from pyvws.errors import SpendingError
from pyvws.evaluation.regressions import fit_formula
from pyvws.evaluation.verification_question import CANNOT_TELL, NO, YES, coded_records, question
from pyvws.privacy import seller
from pyvws.privacy.budget import Budget
from pyvws.release import verification
from pyvws.release.verification import agreeing_parts, secret_parts, verify
from pyvws.statement.releases import costs_together
from pyvws.statement.words import SCHEMA
from pyvws.tables.files.read import file_digest

SURVEY = Path(__file__).parents[3] / "shared" / "data" / "ma2019.csv"
LARGE = 20.0  # An epsilon at which the noise is hardly ever 1.
PUBLIC = vws.Schema(
    {
        "x": vws.Column(model="table", levels=tuple(range(10))),
        "sex": vws.Column(model="table", levels=("f", "m"), missing="N"),
        "one": vws.Column(model="table", levels=("a",)),
        "y": vws.Column(model="normal", range=(-5, 30), decimals=1, missing=True, outside=True),
    }
)


def made_up(slope=2.0, n=900):
    rng = np.random.default_rng(3)
    x = rng.integers(0, 10, n)
    y = np.round(slope * x + rng.normal(0.0, 1.0, n), 1)
    sex = rng.choice(["f", "m", "N"], n, p=[0.5, 0.4, 0.1])
    return pl.DataFrame({"x": x, "sex": sex, "one": ["a"] * n, "y": y})


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A run's folder, with the table beside it."""
    folder = tmp_path_factory.mktemp("verified")
    with warnings.catch_warnings(action="ignore"):
        release = vws.synthesize(
            made_up(),
            schema=PUBLIC,
            mechanism=vws.NoisyCounts(epsilon=100, classes=10, measure="pairs"),
            datasets=2,
            seed=5,
        )
    return release.write(folder / "out")


@pytest.fixture
def out(made, tmp_path):
    shutil.copytree(made, tmp_path / "out")
    of_table(tmp_path / "out", made_up())
    return tmp_path / "out"


def of_table(out, frame):
    """Write a table beside a run's folder, as if the run had read it."""
    frame.write_csv(out.with_name("table.csv"))
    summary = out / "confidential" / "summary.json"
    known = json.loads(summary.read_text())
    digest = file_digest(out.with_name("table.csv"))
    summary.write_text(json.dumps(known | {"input_sha256": digest, "input_sha256_of": "file"}))


def ask(out, formula="y ~ x", *, within=1.0, epsilon=LARGE, most=100.0, **asked):
    table = asked.pop("original", out.with_name("table.csv"))
    given = {"original": table, "most_epsilon": most, **asked}
    return verify(out, formula, within=within, epsilon=epsilon, **given)


def entries(out):
    found = sorted((out / verification.ANSWERS).glob("*/privacy.json"))
    return [json.loads(file.read_text()) for file in found]


def test_the_answer_follows_the_confidential_table(out):
    found = ask(out)
    assert (found.answer, found.question.coefficient) == (YES, "x")
    assert found.question.predicted(0.0) == pytest.approx(30.0)
    of_table(out, made_up(slope=-1.0))
    assert ask(out).answer == NO
    assert found.sheet.facts["answer"] == YES


def test_the_noisy_number_is_split_by_two_deviations_of_half_of_the_parts(out):
    asked = ask(out, epsilon=0.5).question
    assert asked.deviation == pytest.approx(2.799, abs=1e-3)
    told = [asked.answer(k) for k in (9, 10, 20, 21)]
    assert told == [NO, CANNOT_TELL, CANNOT_TELL, YES]
    assert asked.predicted(asked.within) == pytest.approx(15.0, abs=0.01)


def test_an_answer_is_in_the_ledger_and_later_statements_hold_it(out):
    ask(out, epsilon=0.5)
    ask(out, epsilon=0.25)
    first, second = entries(out)
    for own in (first, second):
        assert Draft202012Validator(SCHEMA).is_valid(own)
        assert own["certified"] == {
            "neighbours": "leave-one-out",
            "epsilon_per_dataset": own["epsilon_total"],
            "epsilon_total": own["epsilon_total"],
        }
    release = json.loads((out / "release" / "privacy.json").read_text())
    together = costs_together([release, first, second])["strict"]["epsilon"]
    assert together == release["epsilon_total"] + 0.75
    assert second["costs_together"]["strict"]["epsilon"] == together
    assert [entry["key"] for entry in second["ledger"]] == ["earlier", "earlier", "verification"]
    said = CliRunner().invoke(app, ["ledger", str(out), "--json"])
    told = json.loads(said.stdout)
    assert told["together"]["strict"]["epsilon"] == together
    assert list(told["releases"]) == ["out", "verified/001", "verified/002"]


def test_the_cost_is_entered_before_anything_is_bought(out, monkeypatch):
    def stopped(*_given, **_asked):
        raise KeyboardInterrupt

    monkeypatch.setattr(seller, "add_discrete_laplace", stopped)
    with pytest.raises(KeyboardInterrupt):
        ask(out, epsilon=0.5, most=0.5)
    (own,) = entries(out)
    assert own["verification"]["answer"] == "not told"
    with refused("verify-beyond-budget", most=0.5, left="0"):
        ask(out, epsilon=0.1, most=0.5)


def test_the_budget_is_the_agency_s(out, monkeypatch):
    with refused("verify-not-set"):
        verify(out, "y ~ x", within=1.0, epsilon=0.1)
    assert ask(out, epsilon=1.1, most=3.3).spent == 1.1
    verify(out, "y ~ x", within=1.0, epsilon=2.2)  # The sum is 3.3, and above it as doubles.
    with refused("verify-other-budget", agreed=3.3):
        ask(out, epsilon=0.1, most=5.0)
    monkeypatch.setattr(verification, "read_table", None)  # The table is not read.
    with refused("verify-beyond-budget", most=3.3, left="0"):
        verify(out, "y ~ x", within=1.0, epsilon=0.1)
    assert len(entries(out)) == 2


def test_a_question_that_no_answer_could_tell_is_not_asked(out, monkeypatch):
    monkeypatch.setattr(verification, "read_table", None)
    for asked in ({"within": 0.01}, {"epsilon": 0.1}, {"within": "0.1%"}):
        found = ask(out, **asked)
        assert (found.answer, found.agreeing, found.epsilon) == (CANNOT_TELL, None, 0.0)
        assert "nothing was asked or spent" in found.sheet.notes[-1]
    assert entries(out) == []


@pytest.mark.parametrize(
    ("key", "asked"),
    [
        ("formula-without-outcome", {"formula": "y x"}),
        ("columns-lacking", {"formula": "y ~ z"}),
        ("formula-single-level", {"formula": "y ~ one"}),
        ("column-not-numeric", {"formula": "sex ~ x"}),
        ("verify-of-all-rows", {"formula": "y ~ poly(x, 2)"}),
        ("verify-coefficient", {"formula": "y ~ x + sex"}),
        ("verify-coefficient", {"coefficient": "z"}),
        ("verify-within", {"within": "0"}),
        ("verify-within", {"within": "some"}),
        ("verify-parts", {"parts": 31}),
        ("verify-no-table", {"original": "none.csv"}),
        ("verify-other-table", {"original": __file__}),
    ],
)
def test_what_is_refused_is_public(out, key, asked):
    with refused(key):
        ask(out, **asked)
    assert entries(out) == []


def test_folders_that_cannot_answer(out):
    (out / "release" / "schema.toml").unlink()
    with refused("verify-without-schema"):
        ask(out)
    shutil.copy(out / "confidential" / "schema.toml", out / "release" / "schema.toml")
    shutil.rmtree(out / "confidential")
    with refused("verify-without-confidential"):
        ask(out)


BAD = {
    "one record": pl.DataFrame({"x": ["1"], "sex": ["f"], "one": ["a"], "y": ["2"]}),
    "no values": pl.DataFrame({name: ["", "N", "?"] * 100 for name in PUBLIC.columns}),
    "a constant": pl.DataFrame({"x": ["1"] * 300, "sex": "f", "one": "a", "y": ["2"] * 300}),
    "no record": pl.DataFrame({name: [] for name in PUBLIC.columns}),
}


@pytest.mark.parametrize("table", BAD.values(), ids=BAD)
def test_a_part_that_cannot_be_fitted_says_no(out, table):
    of_table(out, table.cast(pl.String))
    found = ask(out)
    assert found.answer == NO
    assert found.agreeing <= 2


def test_a_few_records_that_agree_are_no_yes(out):
    """Of the parts that can be fitted all agree, and most parts are empty: these say no too."""
    few = made_up().head(24)
    of_table(out, few)
    assert ask(out, within=50.0).answer == NO


CELLS = st.sampled_from(["", "1", "9", "12", "f", "N", "1e300", "-7.25", "true", "2001-01-01"])
ROWS = st.lists(st.tuples(*[CELLS] * len(PUBLIC.columns)), min_size=2, max_size=8)


@given(ROWS, st.integers(0, 7))
def test_no_record_changes_how_another_is_read(rows, without):
    whole, rest = rows, [*rows[:without], *rows[without + 1 :]]
    both = [
        coded_records(PUBLIC, pl.DataFrame(own, [*PUBLIC.columns], orient="row"), PUBLIC.columns)
        for own in (whole, rest)
    ]
    kept = [place for place in range(len(whole)) if place != without]
    assert both[0][kept].equals(both[1])


def test_cells_are_coded_as_a_regression_by_the_schema_reads_them():
    table = made_up()
    for formula in ("y ~ x", "y ~ sex + x", "log(y + 6) ~ ."):
        table = table.drop("one", strict=False)
        coded = fit_formula(coded_records(PUBLIC, table, table.columns), formula)
        plain = fit_formula(table, formula, schema=PUBLIC)
        assert coded.names == plain.names
        np.testing.assert_array_equal(coded.coefficients, plain.coefficients)
    ends = coded_records(PUBLIC, pl.DataFrame({"y": [99.0, -9.0, None]}), ["y"])["y"]
    np.testing.assert_array_equal(ends, [30.0, -5.0, np.nan])


def test_survey_weights_enter_the_regression_of_a_part():
    table = made_up(n=200).with_columns(w=pl.Series(np.resize([1.0, 2.0, 0.0, -1.0, 3.0], 200)))
    weights = {"weight": "w", "weight_range": (0, 1024)}
    columns = {"x": PUBLIC.columns["x"], "y": PUBLIC.columns["y"]}
    schema = vws.Schema({**columns, "w": vws.Column(role="drop")}, **weights)
    exponents = vws.Schema({**columns, "w": vws.Column(role="drop")}, survey_weight="w")
    times = table["w"].cast(pl.Int64).clip(0).to_list()
    repeated = pl.concat([table[[place] * n] for place, n in enumerate(times) if n])
    expected = fit_formula(repeated, "y ~ x").coefficients
    for own in (schema, exponents):
        coded = coded_records(own, table, ["x", "y"])
        found = fit_formula(coded, "y ~ x", weights=coded.columns[-1])
        np.testing.assert_allclose(found.coefficients, expected, rtol=1e-10)
        assert found.records == sum(n > 0 for n in times)
        asked = question([table], own, "y ~ x", within=0.5, scale=0.1)
        assert asked.agrees(coded)
        assert asked.estimate != pytest.approx(expected[1], abs=1e-6)


def test_a_release_by_survey_weights_is_answered(tmp_path):
    columns = {"x": PUBLIC.columns["x"], "y": PUBLIC.columns["y"], "w": vws.Column(role="drop")}
    schema = vws.Schema(columns, weight="w", weight_range=(0, 4))
    table = made_up().with_columns(w=pl.Series(np.resize([1.0, 2.0, 4.0], 900)))
    how = vws.NoisyCounts(epsilon=100, classes=10, measure="pairs")
    with warnings.catch_warnings(action="ignore"):
        release = vws.synthesize(table, schema=schema, mechanism=how, datasets=2, seed=5)
    out = release.write(tmp_path / "out")
    of_table(out, table)
    assert ask(out).answer == YES
    (own,) = entries(out)
    assert own["guarantee"] == "dp-if-weights-fixed"
    assert "counts-weights-fixed" in [phrase["key"] for phrase in own["caveat_keys"]]
    assert Draft202012Validator(SCHEMA).is_valid(own)


def test_whole_units_fall_to_parts_by_coins_and_not_by_their_order():
    units = np.array([0, 1, -1, 0, 2, 1, 3, *range(4, 2000)])
    first, second = (secret_parts(units, 25) for _ in range(2))
    assert (first != second).mean() > 0.9
    assert first[0] == first[3]
    assert first[1] == first[5]
    assert first[2] == -1
    shares = np.bincount(first[first >= 0], minlength=25)
    assert len(shares) == 25
    assert shares.min() > 30
    assert shares.max() < 150


def test_partitions_are_all_there_with_their_chances():
    assert [len(list(partitions(n))) for n in range(5)] == [1, 1, 2, 5, 15]


ROW = {case.id: case for case in CASES}["guarantee/verification-replace"]
RUNS = VerifiedRuns(bases=(((5.0, 5.0),),), extremes=((5.0, 5.0), (9.0, 9.0)), neighbours="replace")


def loss(epsilon=2.0):
    losses = RUNS.losses(epsilon)
    share, claims = ROW.share, losses.claims
    return {
        near: own / claims[near] if own >= share[near] * claims[near] else 0.0
        for near, own in losses.by_neighbours.items()
    }


def test_planted_errors_of_noise_and_of_parts_are_seen(monkeypatch):
    assert all(0.0 < own <= 1.0 + 1e-9 for own in loss().values())
    with monkeypatch.context() as planted:
        usual = seller.add_discrete_laplace
        half = lambda counts, scale: usual(counts, scale=0.5 * scale)  # noqa: E731
        planted.setattr(seller, "add_discrete_laplace", half)
        assert max(loss().values()) > 1.9
    with monkeypatch.context() as planted:
        in_order = lambda units, parts: np.arange(len(units)) % parts  # noqa: E731
        planted.setattr(verification, "secret_parts", in_order)
        assert loss() == {"leave-one-out": 0.0, "replace-one": 0.0}  # Far from what it should be.
    with monkeypatch.context() as planted:
        alternating = lambda units, parts: (units + len(units)) % 2  # noqa: E731
        planted.setattr(verification, "secret_parts", alternating)
        found = VerifiedRuns(
            bases=(((5.0, 5.0), (9.0, 9.0), (5.0,) * 9),), extremes=((5.0,),), neighbours="loo"
        ).losses(2.0)
        assert found.by_neighbours["leave-one-out"] > found.claims["leave-one-out"]


def test_noise_below_its_price_is_not_sold():
    asked = question([made_up()], PUBLIC, "y ~ x", within=1.0, scale=0.5)
    records = coded_records(PUBLIC, made_up(), PUBLIC.columns)
    with pytest.raises(SpendingError, match="beyond what the settings allow"):
        agreeing_parts(asked, records, np.arange(len(records)), Budget(epsilon=1.0))


def test_the_command_answers(out):
    words = ["verify", str(out), "--formula", "y ~ x", "--within", "40%", "--epsilon", "5"]
    without = CliRunner().invoke(app, words)
    assert without.exception.key == "verify-not-set"
    words += ["--original", str(out.with_name("table.csv")), "--most-epsilon", "10"]
    said = CliRunner().invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "predicted at twice the tolerance" in said.stdout
    told = json.loads(CliRunner().invoke(app, [*words[:8], "--json"]).stdout)
    assert told["answer"] == YES
    assert told["spent"] == told["most_epsilon"] == 10.0


@pytest.mark.runs
@pytest.mark.slow
@pytest.mark.draws
@pytest.mark.skipif(not SURVEY.is_file(), reason=f"{SURVEY.name} is not beside the project")
def test_answers_on_a_survey_are_right_where_the_truth_is_clear():
    with warnings.catch_warnings(action="ignore"):
        found = [*study.answers(SURVEY, study.QUESTIONS[:1], runs=3)]
    clear = [own for own in found if own.truth in (YES, NO)]
    assert len(clear) >= 2
    assert np.mean([own.shares[own.truth] for own in clear]) >= 0.5  # Of 90 % or more.
