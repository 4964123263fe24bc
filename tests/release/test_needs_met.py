"""Whether needs are met: said after a run, and again by whoever has release/ alone."""

import json
import shutil
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.evaluation.combining_rules import NoisyCells
from pyvws.evaluation.needs_met import needs_met
from pyvws.mechanisms.counts.needs import Need, needs_of
from pyvws.report.public_page import needs as shown
from pyvws.statement.words import SCHEMA

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")

N = 3000
NEEDS = (
    "poor by region within 12",
    "poor by region + rare within 12",
    "size ~ poor + age within 40",
    "age by region",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run by the command line wrote."""
    made = tmp_path_factory.mktemp("needs")
    rng = np.random.default_rng(3)
    age = rng.integers(0, 6, N)
    frame = pl.DataFrame(
        {
            "region": rng.choice([*"abc"], N),
            "rare": np.where(np.arange(N) < 2, "y", "n"),
            "age": age.astype(str),
            "poor": np.where(rng.random(N) < 0.2 + 0.1 * age, "yes", "no"),
            "size": rng.poisson(3.0, N).clip(0, 9),
        }
    )
    frame.write_csv(made / "table.csv")
    levels = {"region": tuple("abc"), "rare": tuple("ny"), "poor": ("no", "yes")}
    columns = {name: vws.Column(model="table", levels=own) for name, own in levels.items()}
    columns["age"] = vws.Column(model="table", levels=tuple(map(str, range(6))))
    columns["size"] = vws.Column(model="poisson", range=(0, 9))
    (made / "schema.toml").write_text(vws.Schema(columns).text)
    words = [word for need in NEEDS for word in ("--need", need)]
    given = ["--mechanism", "noisy-counts", "--epsilon", "5", "--delta", "1e-5", "--quiet"]
    paths = [str(made / "table.csv"), "--schema", str(made / "schema.toml")]
    ended = CliRunner().invoke(
        app, ["synthesize", *paths, *given, *words, "--datasets", "3", "--out", str(made / "out")]
    )
    assert ended.exit_code == 0, ended.output
    shutil.rmtree(made / "out/confidential")
    shutil.move(made / "out", made / "elsewhere")
    (made / "table.csv").unlink()
    return made / "elsewhere/release"


def stated(folder: Path) -> Any:
    return json.loads((folder / "privacy.json").read_text())


def test_the_statement_says_of_each_need_whether_it_is_met(folder: Path) -> None:
    privacy = stated(folder)
    jsonschema.validate(privacy, SCHEMA)
    found = {own["need"]: own for own in privacy["counts"]["needs"]}
    shares = found["poor by region"]
    assert (shares["met"], shares["groups"], shares["groups_met"]) == (True, 3, 3)
    assert 0.0 < shares["reached"] < 12.0
    rare = found["poor by region + rare"]
    assert (rare["met"], rare["groups"]) == (False, 6)
    assert rare["groups_met"] < 6
    regression = found["size ~ poor + age"]
    assert regression["met"] is True
    assert 1.0 < regression["reached"] < 40.0
    assert found["age by region"]["met"] is None
    words = [row[2] for row in shown(privacy).rows]
    assert words[0].startswith("Met. The widest 95 % interval")
    assert words[1].startswith("Not met.")
    assert words[3].startswith("No precision was asked for.")


def test_the_answers_follow_from_a_copied_release_alone(folder: Path) -> None:
    privacy = stated(folder)
    assert privacy["relies_on"]["public_settings"]["needs"] == [*NEEDS]
    needs = [Need.read(own) for own in needs_of(NEEDS)]
    frames = [pl.read_csv(path) for path in sorted(folder.glob("*.csv"))]
    assert len(frames) == 3
    cells = NoisyCells.of(pl.read_parquet(folder / "counts.parquet"), privacy)
    schema = vws.Schema.read(folder / "schema.toml")
    for own, said in zip(
        needs_met(needs, cells, schema, frames), privacy["counts"]["needs"], strict=True
    ):
        assert own == {**said, "reached": pytest.approx(said["reached"], rel=1e-9)}
    alone = needs_met(needs, cells, schema, frames[:1])
    assert [own["reached"] is None for own in alone] == [False, False, True, False]


def test_a_release_with_needs_is_reproduced(folder: Path) -> None:
    """The settings that stand in run.toml count the same sets."""
    ended = CliRunner().invoke(app, ["reproduce", str(folder.parent)])
    assert ended.exit_code == 0, ended.output
