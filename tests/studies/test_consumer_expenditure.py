"""The Consumer Expenditure study on a made file of ten predictors, and on the survey's own file."""

import dataclasses
import re
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_studies import consumer_expenditure as study
from pyvws_studies.command import app as command
from pyvws_studies.consumer_expenditure import PRINTED, exhibits, value_range
from pyvws_studies.consumer_expenditure_findings import findings
from typer.testing import CliRunner

import pyvws as vws
from pyvws import InputError, SamplerSettings

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT.parent / "shared" / "data" / "ce_2017.csv"
N = 160
KNOWN = ("Gender", "Age", "Region")
LEVELS = {
    **{"Gender": 2, "Age": 2, "Education": 3, "Region": 2, "Urban": 2},
    **{"Marital": 3, "UrbanType": 2, "CBSA": 2, "FamilySize": 3, "Earner": 2},
}
FORMULA = "~ " + " + ".join(f"factor({name})" for name in LEVELS)
REGRESSION = "~ factor(Region) + factor(Urban) + factor(Earner)"
FEW = SamplerSettings(draws=10, warmup=100, chains=1)
OPTIONS = {
    **{"formula": FORMULA, "known": KNOWN, "regression": REGRESSION},
    **{"coefficient": "factor(Earner)2", "groups": ["Age=40"], "topcoding": 0.9},
    **{"components": 2, "datasets": 3, "replicates": 5, "settings": FEW},
}


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    rng = np.random.default_rng(1)
    income = np.rint(np.exp(rng.normal(10.0, 1.0, N)))
    income[:15] = 0.0
    predictors = {name: rng.integers(1, k + 1, N) for name, k in LEVELS.items()}
    predictors["Age"] = rng.integers(18, 80, N)
    path = tmp_path_factory.mktemp("ce") / "ten.csv"
    pl.DataFrame({"Income": income, **predictors}).write_csv(path)
    return path


@pytest.fixture(scope="module")
def result(file):
    return study.run(file, seed=1, **OPTIONS)


@pytest.fixture(scope="module")
def shown_exhibits(result):
    return exhibits(result)


def _table(file):
    return pl.read_csv(file).with_columns(Age=1 + (pl.col("Age") >= 40).cast(pl.Int64))


@pytest.mark.draws
def test_weights_are_the_papers_within_known_patterns(file, result):
    table = _table(file)
    alike = {"radius": 0.2, "known": table[list(KNOWN)], "singletons": "weight-zero"}
    y = table["Income"]
    weights = {
        "Synthesizer": np.ones(N),
        "Marginal": 1.0 - vws.identification_risk(y, radius=0.2, known=table[list(KNOWN)]),
        "Pairwise": vws.pairwise_weights(y, **alike),
        "Pairwise, c = 1.5, g = 0": vws.pairwise_weights(y, c=1.5, **alike),
        "Pairwise, c = 1, g = 0.1": vws.pairwise_weights(y, g=0.1, **alike),
        "Three-way": vws.three_way_weights(y, **alike),
        "Four-way": vws.four_way_weights(y, **alike),
    }
    assert list(result.results) == list(weights)
    for name, made in result.results.items():
        np.testing.assert_array_equal(made.fit.weights, weights[name])
    assert result.patterns == 8
    assert set(result.columns) == {"Income", *LEVELS}


@pytest.mark.draws
def test_figures_are_those_of_the_public_functions(file, result):
    table = _table(file)
    y, known = table["Income"].to_numpy(), table[list(KNOWN)]
    np.testing.assert_array_equal(
        result.topcoded_risk,
        vws.identification_risk(y, [vws.topcode(y, quantile=0.9).values], known=known),
    )
    regression = f"Income {REGRESSION}"
    for made in result.results.values():
        tables = [table.with_columns(Income=pl.Series(values)) for values in made.datasets]
        assert len(tables) == 3
        assert all((values == np.rint(values)).all() for values in made.datasets)
        np.testing.assert_array_equal(
            made.risk, vws.identification_risk(y, made.datasets, radius=0.2, known=known)
        )
        assert (
            made.moles.rose.sum() == (made.risk - result.results["Synthesizer"].risk >= 0.25).sum()
        )
        assert made.utility == vws.ecdf_utility(y, made.datasets)
        found = vws.regression_utility(table, tables, regression)
        place = found.names.index("factor(Earner)2")
        own = found.synthetic[place], *found.synthetic_interval[place]
        assert made.estimates["factor(Earner)2"] == pytest.approx(own)
        data = found.original[place], *found.original_interval[place]
        assert result.data["factor(Earner)2"] == pytest.approx(data)
        middle, low, high = made.estimates["median"]
        assert low <= middle <= high


@pytest.mark.draws
def test_single_records_are_written_apart_and_for_their_owner_alone(
    result, shown_exhibits, tmp_path, monkeypatch
):
    monkeypatch.setattr(study, "exhibits", lambda _: shown_exhibits)
    names = study.write(result, tmp_path)
    assert sorted(names) == sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()
    )
    assert (tmp_path / "confidential").stat().st_mode & 0o777 == 0o700
    assert all(
        path.stat().st_mode & 0o777 == 0o600 for path in (tmp_path / "confidential").iterdir()
    )
    largest = str(int(result.y.max()))
    for path in tmp_path.glob("*.csv"):
        text = path.read_text()
        assert len(text.splitlines()) < N
        assert largest not in text
    assert largest in (tmp_path / "confidential" / "records.csv").read_text()
    distances = pl.read_csv(tmp_path / "table-7.csv")
    assert distances["source"].to_list() == ["file"] * 3 + ["paper"] * 3
    assert distances["u_m"].to_list()[3:] == [pair[0] for pair in PRINTED["table-7"].values()]
    for number, by in (("2", result.data_risk), ("3", result.y)):
        top = pl.read_csv(tmp_path / "confidential" / f"table-{number}.csv")
        rows = np.argsort(-by, kind="stable")[:10]
        assert top["Data"].to_list() == result.data_risk[rows].tolist()
        cases = top.select("Synthesizer", "Marginal", "Topcoding")
        for marked, row in zip(top["highest"], cases.iter_rows(named=True), strict=True):
            high = max(row.values())
            assert (marked or "") == " and ".join(k for k, x in row.items() if x == high > 0)


@pytest.mark.draws
def test_docs_name_each_table_and_figure_with_its_file(shown_exhibits):
    """The exhibits of the study are those of docs/studies/figures.csv, under the same numbers."""
    kept = pl.read_csv(ROOT / "docs" / "studies" / "figures.csv").fill_null("")
    listed = set()
    for source, which in (("risk2024", ""), ("risk2024 supplement", "Supplement, ")):
        for row in kept.filter(pl.col("source") == source).iter_rows(named=True):
            number = row["figure"].rstrip("ab")
            place = number if number.startswith("Table") else f"Figure {number}"
            listed.add((which + place, row["study"], row["file"]))
    places = {place for place, *_ in listed}
    last = {"Figure": 10, "Table": 7, "Supplement, Figure": 7, "Supplement, Table": 3}
    assert places == {f"{kind} {n}" for kind, most in last.items() for n in range(1, most + 1)}
    of_study = {(place, name) for place, command, name in listed if "consumer" in command}
    unlisted = {"table.csv", "findings.csv", "section-3.2.1.png", "records.csv"}
    numbered = {
        (one.title.split(":")[0], "confidential/" * one.confidential + one.file)
        for one in shown_exhibits
        if one.file not in unlisted
    }
    assert of_study - {("Supplement, Table 1", "table-7.csv")} == numbered


@pytest.mark.draws
def test_findings_follow_the_figures(result):
    """Where Marginal and Pairwise change places, so does each finding that compares them."""
    made = dict(result.results)
    made["Marginal"], made["Pairwise"] = made["Pairwise"], made["Marginal"]
    swapped = findings(dataclasses.replace(result, results=made))
    compared = 0
    for before, after in zip(findings(result), swapped, strict=True):
        assert before.finding == after.finding
        if re.search("^Pairwise.*(less|below|fewer|more utility)", before.finding):
            compared += 1
            assert (before.holds, after.holds) != (True, True)
    assert compared == 4
    same = dict.fromkeys(made, result.results["Synthesizer"])
    holds = {one.finding: one.holds for one in findings(dataclasses.replace(result, results=same))}
    assert not holds["Marginal lowers the mean risk further."]
    assert not holds["Marginal raises the risk of some records by 0.25 or more."]


@pytest.mark.draws
def test_the_command_hands_on_its_options_and_writes_the_page(
    file, result, shown_exhibits, tmp_path, monkeypatch
):
    given_to = {}

    def run(path, **options):
        given_to.update(options)
        return result

    monkeypatch.setattr(study, "run", run)
    monkeypatch.setattr(study, "exhibits", lambda _: shown_exhibits)
    words = ["--outcome", "Income", "--formula", FORMULA, "--known", "Gender,Age,Region"]
    words += ["--radius", "0.3", "--components", "7", "--datasets", "9", "--topcode", "5000"]
    words += ["--c", "2", "--g", "0.2", "--group", "Age=40", "--coefficient", "factor(Earner)2"]
    words += ["--draws", "20", "--warmup", "120", "--chains", "3", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(command, ["consumer-expenditure", "--file", str(file), *words])
    assert done.exit_code == 0, done.output
    assert given_to.pop("settings") == SamplerSettings(draws=20, warmup=120, chains=3)
    assert given_to.pop("listener") is not None
    assert given_to == {
        **{"outcome": "Income", "formula": FORMULA, "known": KNOWN, "groups": ["Age=40"]},
        **{"regression": None, "coefficient": "factor(Earner)2", "topcoding": 5000.0},
        **{"radius": 0.3, "components": 7, "datasets": 9, "labels": "full-conditional"},
        **{"c": 2.0, "g": 0.2, "seed": 1},
    }
    page = tmp_path / "out" / "confidential" / "report.html"
    assert str(page) in done.output.replace("\n", "")
    text = page.read_text("utf-8")
    for one in shown_exhibits:
        assert (one.title in text) == (one.file != "records.csv")
    assert page.stat().st_mode & 0o777 == 0o600


@pytest.mark.draws
def test_the_surveys_file_needs_no_option(tmp_path):
    if not FILE.is_file():
        pytest.skip("ce_2017.csv is not there")
    path = tmp_path / "ce.csv"
    pl.read_csv(FILE).head(150).write_csv(path)
    result = study.run(path, seed=1, components=1, datasets=2, replicates=2, settings=FEW)
    assert set(result.columns) == set(pl.read_csv(FILE).columns)
    assert list(result.data) == ["mean", "median", "90 % quantile", "factor(Tenure)4"]
    assert study.table(result) is not None


@settings(max_examples=200)
@given(st.floats(-1e9, 1e9))
def test_a_range_holds_its_value(value):
    low, high = map(float, re.findall(r"-?\d+", value_range(value)))
    assert low <= value <= high
    assert high <= 10 * low or low >= 10 * high or (low, high) == (-1, 1) or low < 0 < -high


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"known": ["Sex"]}, "known names column 'Sex'"),
        ({"outcome": "Pay"}, "outcome names column 'Pay'"),
        ({"groups": ["Age=60,40"]}, "group 'Age=60,40' must be COLUMN=NUMBER,NUMBER"),
        ({"coefficient": "Earner2"}, "coefficient 'Earner2' is not in the regression"),
        ({"datasets": 1}, "datasets must be a whole number of at least 2"),
        ({"radius": 0.0}, "radius must be above 0"),
        ({"c": -1.0}, "c must not be negative"),
        ({"formula": "~ Nothing"}, "'Nothing'"),
    ],
)
def test_wrong_options_are_refused_before_any_fit(file, changed, said):
    with pytest.raises(InputError, match=re.escape(said)):
        study.run(file, seed=1, **{**OPTIONS, **changed})
