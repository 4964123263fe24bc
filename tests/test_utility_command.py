"""pyvws utility on whole tables: what is printed, as JSON and as a picture, and what it refuses."""

import json
import stat
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """A table of three columns, a bootstrap of it, and the table with its pay permuted."""
    rng = np.random.default_rng(5)
    age = rng.integers(18, 80, 600)
    pay = np.exp(2 + age / 30 + rng.normal(size=600) / 4).round(2)
    table = pl.DataFrame({"age": age, "pay": pay, "town": rng.choice(["a", "b", "N"], 600)})
    tables = {
        "people": table,
        "again": table[rng.integers(0, 600, 600)],
        "permuted": table.with_columns(pay=pl.Series(rng.permutation(pay))),
    }
    for name, one in tables.items():
        one.write_csv(tmp_path / f"{name}.csv")
    return [str(tmp_path / f"{name}.csv") for name in tables]


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["utility", *map(str, words)])


def test_a_first_record_in_place_of_names_is_not_shown(tmp_path: Path) -> None:
    """Of a table without a header, by the commands that name its columns to a dataset."""
    bare, synthetic = str(tmp_path / "bare.csv"), str(tmp_path / "synthetic.csv")
    Path(bare).write_text(
        "900.77,Ann,yes\n" + "".join(f"{i}.5,{chr(66 + i % 2)},no\n" for i in range(40))
    )
    pl.DataFrame({"pay": [1.5, 2.5], "who": ["Ann", "Bob"], "ill": ["no", "yes"]}).write_csv(
        synthetic
    )
    for words in (["utility", bare, synthetic], ["risk", bare, bare, "--keys", "zz"]):
        made = CliRunner().invoke(app, words)
        said = f"{made.output} {made.exception}"
        assert made.exit_code != 0
        for value in ("900.77", "Ann", "yes"):
            assert value not in said, said
        assert "columns 1" in said


def test_scores_columns_and_pairs_are_printed(files: list[str]) -> None:
    people, _, permuted = files
    made = run(people, permuted)
    assert made.exit_code == 0, made.output
    found = vws.table_utility(pl.read_csv(people), [pl.read_csv(permuted)])
    said = " ".join(made.output.split())
    for score in found.scores:
        assert f"{score.value:.4g}" in made.output
        assert f"{score.name} cannot see {score.blind}." in said
    assert "age and pay" in made.output
    assert "No score says anything of privacy" in said
    assert "Bins of k_marginal are tenths of the data: age, pay." in said


def test_json_has_every_figure(files: list[str]) -> None:
    made = run(*files, "--json")
    found = json.loads(made.stdout)
    scores = found["scores"]
    assert set(scores) == {"k_marginal", "s_pmse", "margins", "associations"}
    again, permuted = scores["s_pmse"]["by_dataset"]
    assert again < 3 < 10 < permuted
    assert scores["margins"]["larger_is_better"] is False
    assert found["columns"]["pay"]["associations_kept"] < 0.9
    assert found["tenths_of_the_data"] == ["age", "pay"]


def test_a_verdict_stands_first_and_the_worst_first_below(files: list[str]) -> None:
    people, again, permuted = files
    bad, good = (json.loads(run(people, one, "--json").stdout) for one in (permuted, again))
    assert bad["share_of_the_way"] < 0.2 < 0.8 < good["share_of_the_way"]
    assert "worse than tables of one predictor" in bad["verdict"]
    made = run(people, permuted)
    assert made.output.splitlines()[0].startswith("Verdict: k_marginal")
    said = made.output[made.output.index("the worst first") :]
    assert said.index("age and pay") < said.index("pay and town")  # Only age was tied to pay.


def test_tables_that_a_user_names_stand_beside_the_data(files: list[str]) -> None:
    people, again, permuted = files
    tables = ("--table", "town", "--table", "town,pay")
    found = json.loads(run(people, again, permuted, *tables, "--json").stdout)
    share = found["town"]["share town a"]
    table = pl.read_csv(people)
    p = (table["town"] == "a").mean()
    half = 1.96 * (p * (1 - p) / 599) ** 0.5
    assert share["data"] == pytest.approx(p)
    assert share["data_interval"] == pytest.approx([p - half, p + half], abs=1e-3)
    assert 0.3 < share["overlap"] <= 1.0
    mean = found["town, pay"]["mean pay in town b"]
    assert mean["data"] == pytest.approx(table.filter(pl.col("town") == "b")["pay"].mean())
    both = run(people, again, permuted, *tables, "--regression", "pay ~ age", "--regression", "~")
    assert both.exit_code == 1
    both = run(people, again, permuted, *tables, "--regression", "pay ~ age")
    assert both.exit_code == 0, both.output
    for word in ("share town a", "mean pay in town b", "pay ~ age"):
        assert word in both.output


def test_one_margin_says_what_it_cannot_see(files: list[str]) -> None:
    people, _, permuted = files
    for column in ("pay", "town"):
        made = run(people, permuted, "--outcome", column)
        assert made.exit_code == 0, made.output
        assert "One margin cannot see what ties the column to others" in made.output
        assert "blind" in json.loads(run(people, permuted, "--outcome", column, "--json").stdout)


def test_a_picture_is_its_owners_alone(files: list[str], tmp_path: Path) -> None:
    picture = tmp_path / "ties.png"
    made = run(*files, "--columns", "age,pay", "--figure", picture, "--quiet")
    assert (made.exit_code, made.output) == (0, "")
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert stat.S_IMODE(picture.stat().st_mode) == 0o600


def test_a_schema_says_what_is_missing(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "schema.toml").write_text(
        '[columns.age]\nrole = "public"\n'
        '[columns.town]\nmodel = "nominal"\nlevels = ["a", "b"]\nmissing = "N"\n'
    )
    made = run(*files, "--schema", tmp_path / "schema.toml", "--json")
    found = json.loads(made.stdout)
    assert found["columns"]["town"]["missing"] > 0.2
    assert found["left_out"] == ["pay"]


@pytest.mark.parametrize("more", [[], ["--json"]])
def test_scores_of_a_table_without_a_header_show_places(tmp_path: Path, more: list[str]) -> None:
    bare = tmp_path / "bare.csv"
    bare.write_text(
        "900.77,Ann,Bern,Chur\n" + "".join(f"{i}.5,{'BC'[i % 2]},no,x\n" for i in range(60))
    )
    made = run(bare, bare, *more)
    assert made.exit_code == 0
    assert "column 2" in made.output
    assert not any(value in made.output for value in ("900.77", "Ann", "Bern", "Chur"))


def test_worse_than_independent_columns_is_a_line_that_fails(
    files: list[str], tmp_path: Path
) -> None:
    table, again, permuted = files
    shifted = pl.read_csv(table).with_columns(age=pl.lit(20), town=pl.lit("a"))
    shifted.write_csv(tmp_path / "shifted.csv")
    for path, fails in ((again, False), (permuted, False), (tmp_path / "shifted.csv", True)):
        printed = run(table, path).output
        assert printed.startswith("Fails: worse than independent columns") == fails
        assert ("Fails" in printed) == fails
        assert json.loads(run(table, path, "--json").output)["worse_than_independent"] == fails
