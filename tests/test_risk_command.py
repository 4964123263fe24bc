"""pyvws risk with --keys: rows in any order, as a table and as JSON, and what it refuses."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    paths = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        age = rng.integers(18, 60, 80)
        ill = np.where(age + rng.normal(0, 9, 80) > 40, "y", "n")
        paths.append(str(tmp_path / f"{seed}.csv"))
        pl.DataFrame({"age": age, "ill": ill, "pay": rng.gamma(3, 9, 80)}).write_csv(paths[-1])
    return paths


def run(*words: Any) -> Any:
    return CliRunner().invoke(app, ["risk", *map(str, words)])


def test_risks_by_keys(files: list[str]) -> None:
    people, synthetic, holdout = files
    made = run(people, synthetic, "--keys", "age", "--target", "ill,pay")
    assert made.exit_code == 0, made.output
    frames = [pl.read_csv(path) for path in files]
    found = vws.table_risk(frames[0], [frames[1]], keys=["age"], target=["ill", "pay"])
    said = " ".join(made.output.split())
    for score in found.scores:
        assert score.name in made.output
        assert f"{score.value:.4g}" in made.output
        assert score.blind in said
    assert "compared by tenths of the data: pay." in said
    made = run(people, synthetic, "--keys", "age", "--holdout", holdout, "--json")
    told = json.loads(made.stdout)
    held = vws.table_risk(frames[0], [frames[1]], keys=["age"], holdout=frames[2])
    assert told["closest"]["value"] == held.closest


def test_attacks_follow_the_other_risks(files: list[str]) -> None:
    people, synthetic, holdout = files
    words = (people, synthetic, "--keys", "age,ill", "--target", "pay", "--holdout", holdout)
    before, made = run(*words), run(*words, "--attacks")
    assert made.exit_code == 0, made.output
    assert made.stdout.startswith(before.stdout)
    frames = [pl.read_csv(path) for path in files]
    found = vws.attack_risk(
        frames[0], [frames[1]], control=frames[2], keys=["age", "ill"], secret="pay"
    )
    told = json.loads(run(*words, "--attacks", "--json").stdout)
    assert told["attacks"]["linkability"]["risk"] == found.scores[2].risk
    public = Path(people).with_name("public.csv")
    pl.read_csv(holdout).with_columns(pl.col("pay") * 1.01).write_csv(public)
    told = json.loads(run(*words, "--reference", public, "--json").stdout)
    assert told["attacks"]["membership"]["control_attacks"] == 80
    with refused("target-without-keys"):
        app(["risk", people, synthetic, "--outcome", "pay", "--attacks"], standalone_mode=False)
    assert "A small figure proves nothing" in " ".join(made.stdout.split())
    for asked, key in ((words[:-2], "control-missing"), (words[:4] + words[6:], "secret-missing")):
        with refused(key):
            app([*map(str, ("risk", *asked, "--attacks"))], standalone_mode=False)


def released(folder: Path, people: str) -> Path:
    """A release of one outcome and a predictor; the table has another column beside them."""
    table = pl.read_csv(people)
    release = vws.synthesize(
        table,
        outcome="pay",
        formula="~ ill",
        model="normal",
        mechanism="unweighted",
        engine="laplace",
        draws=200,
        datasets=2,
        seed=1 << 60,
    )
    return release.write(folder / "out")


def test_columns_that_a_release_lacks_are_named_and_left_out(
    files: list[str], tmp_path: Path
) -> None:
    out = released(tmp_path, files[0])
    told = run(files[0], out, "--keys", "ill", "--json")
    assert told.exit_code == 0, told.output
    assert "leaves out columns that the release lacks: age." in told.stderr
    without = tmp_path / "without.csv"
    pl.read_csv(files[0]).drop("age").write_csv(without)
    assert json.loads(told.stdout) == json.loads(
        run(without, out, "--keys", "ill", "--json").stdout
    )
    scored = CliRunner().invoke(app, ["utility", files[0], str(out), "--json"])
    assert scored.exit_code == 0, scored.output
    page = ["report", str(out), "--original", files[0], "--keys", "ill"]
    assert CliRunner().invoke(app, page).exit_code == 0
    bare = tmp_path / "bare.csv"  # No statement says that this file lacks a column rightly.
    bare.write_bytes((out / "release/synthetic-01.csv").read_bytes())
    assert "lacks column 'age'" in str(run(files[0], bare, "--keys", "ill").exception)


def test_the_rule_for_imputed_records_is_refused_where_nothing_was_imputed(
    files: list[str], tmp_path: Path
) -> None:
    out = released(tmp_path, files[0])
    for words in (["combine", out, "--formula", "pay ~ ill"], ["tabulate", out, "--count"]):
        ended = CliRunner().invoke(app, [*map(str, words), "--of", "table"])
        assert "'unweighted' made these datasets" in str(ended.exception)
        assert CliRunner().invoke(app, [*map(str, words)]).exit_code == 0
