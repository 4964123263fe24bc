"""Figures of a release from noisy counts, by the command line and from what is public alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")
N = 500


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release of which nothing confidential is left; a and b were counted together."""
    folder = tmp_path_factory.mktemp("counted")
    rng = np.random.default_rng(3)
    a = rng.choice(["x", "y"], N)
    b = np.where(rng.random(N) < 0.5, a, "x")
    table = pl.DataFrame({"a": a, "b": b, "c": a, "k": rng.integers(0, 4, N)})
    columns = {name: vws.Column(model="logistic", levels=("x", "y")) for name in "abc"}
    columns["k"] = vws.Column(model="poisson", range=(0, 3))
    schema = vws.Schema(columns)
    release = vws.synthesize(
        table,
        schema=schema,
        mechanism=vws.NoisyCounts(epsilon=8.0, measure=("a:b", "b:k"), classes=4),
        datasets=4,
        seed=1,
    )
    release.write(folder / "out")
    shutil.rmtree(folder / "out/confidential")
    return folder / "out"


def said(*words: str) -> Any:
    ended = CliRunner().invoke(app, [*words, "--json"])
    assert ended.exit_code == 0, ended.output
    return json.loads(ended.output)


def test_counted_cells_need_neither_datasets_nor_anything_confidential(written: Path) -> None:
    found = said("tabulate", str(written), "--counted")
    counts = pl.read_parquet(written / "release/counts.parquet")
    assert len(found["rows"]) == len(counts) - 1
    assert counts.filter(pl.col("set") == "records")["scale"][0] > 0
    seen = {(row["set"], row["label"]): row for row in found["rows"]}
    of_b = [
        [row["count"] for row in seen.values() if row["set"] == name and label in row["label"]]
        for name, label in (("a:b", ", x"), ("b:k", "x, "))
    ]
    assert sum(of_b[0]) == pytest.approx(sum(of_b[1]))  # Sets agree on the margin that they share.
    for row in found["rows"]:
        assert row["lower"] <= max(0.0, row["count"]) <= row["upper"]
    ended = CliRunner().invoke(app, ["tabulate", str(written), "--counted"])
    assert "the population" in ended.output


def test_intervals_of_a_table_are_shorter_and_say_which_were_counted(written: Path) -> None:
    words = ("tabulate", str(written), "--by", "a", "--share", "b,c")
    population, table = said(*words), said(*words, "--of", "table")
    assert (population["of"], table["of"]) == ("population", "table")
    for one, other in zip(population["rows"], table["rows"], strict=True):
        assert one["standard_error"] >= other["standard_error"]
        assert one["counted"] == other["counted"] == (one["column"] == "b")
    ended = CliRunner().invoke(app, list(words))
    assert "4 figures were counted. 4 others depend on the model." in ended.output


def test_a_regression_says_whether_its_columns_were_counted(written: Path) -> None:
    frames = [pl.read_csv(path) for path in sorted((written / "release").glob("*.csv"))]
    assert len(frames) == 4
    for formula, counted in (("k ~ b", True), ("k ~ a", False)):
        found = said("combine", str(written), "--formula", formula)
        assert (found["of"], found["counted"]) == ("population", counted)
    ended = CliRunner().invoke(
        app, ["combine", str(written), "--formula", "k ~ b", "--kind", "full"]
    )
    assert ended.exit_code != 0


def test_files_of_no_such_release_have_no_counted_cells(tmp_path: Path) -> None:
    for k in (1, 2):
        pl.DataFrame({"a": ["x", "y"]}).write_csv(tmp_path / f"{k}.csv")
    files = [str(tmp_path / f"{k}.csv") for k in (1, 2)]
    ended = CliRunner().invoke(app, ["tabulate", *files, "--counted"])
    assert ended.exit_code != 0
    assert "counts.parquet" in str(ended.exception)
    found = said("tabulate", *files, "--count", "--of", "table")
    assert found["rows"][0]["counted"] is False
