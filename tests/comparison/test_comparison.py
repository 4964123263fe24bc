"""Comparisons of a small table: shared fits, resumed points, time, and the release that follows."""

import json
import os
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from refusals import refused
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, OutputError, Schema
from pyvws.commands.cli import app
from pyvws.comparison.compare import _three_digits

pytestmark = pytest.mark.runs

_RNG = np.random.default_rng(7)
_AGE = _RNG.choice(["young", "old"], 300)
PEOPLE = pl.DataFrame(
    {"age": _AGE, "job": np.where(_RNG.random(300) < 0.8, _AGE, _RNG.choice(["young", "old"], 300))}
).with_columns(job=pl.col("job").replace({"young": "yes", "old": "no"}))
SCHEMA = """
[columns.age]
model = "table"
levels = ["young", "old"]
predictors = []

[columns.job]
model = "table"
levels = ["yes", "no"]
predictors = ["age"]
"""
SHARED: dict[str, Any] = {"datasets": 2, "draws": 100, "warmup": 100, "chains": 2}


def compared(folder: Path, **given: Any) -> vws.Comparison:
    asked = {"choices": ["unweighted", "lw", "sw"], "seeds": 2, "jobs": 1, **given}
    return vws.compare(PEOPLE, folder, schema=_schema(folder), **SHARED, **asked)


def _schema(folder: Path) -> Schema:
    path = folder.parent / "people.toml"
    path.write_text(SCHEMA)
    return Schema.read(str(path))


_KILLED = """
import os, sys
import numpy as np, pandas as pd
import pyvws as vws
os.umask(0)
rows = np.arange(140_000)
vws.compare(pd.DataFrame({"y": rows % 7, "x": rows % 5 + 0.0}), sys.argv[1], outcome="y",
            model="poisson", choices=["perturbed-histogram range=0,6", "lw"],
            epsilons=[1.0], seeds=2, jobs=2, datasets=1, draws=20, warmup=100, chains=1)
"""


def test_each_public_t_has_a_point_beside_the_unweighted_run(tmp_path: Path) -> None:
    """What a user runs on an earlier file to choose t; lw's advice on a table names it."""
    PEOPLE.write_csv(tmp_path / "people.csv")
    _schema(tmp_path / "out")
    arguments = ["people.csv", "--schema", "people.toml", "--t", ".5,2", "--seeds", "1"]
    arguments += ["--jobs", "1", "--draws", "100", "--datasets", "1", "--json", "--out", "out"]
    arguments = [str(tmp_path / x) if x in ("people.csv", "people.toml") else x for x in arguments]
    arguments[-1] = str(tmp_path / "out")
    found = json.loads(CliRunner().invoke(app, ["compare", *arguments]).stdout)
    rows = {row["choice"]: row["epsilon_mean"] for row in found["rows"]}
    assert list(rows) == ["unweighted", "inverse t=0.5", "inverse t=2"]
    assert 0 < rows["inverse t=0.5"] < rows["inverse t=2"] <= 2 * 2 * 2
    both = compared(tmp_path / "both", choices=["lw"], t=[0.5], seeds=1)
    assert [row.point.choice.label for row in both.rows] == ["lw", "inverse t=0.5"]
    of_lw = [advice.text for advice in both.advice if "take lw" in advice.text]
    assert of_lw
    assert all("take inverse in its place" in text for text in of_lw)
    with refused("not-above-0"):
        compared(tmp_path / "bad", t=[0.0])


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux has /dev/shm")
def test_a_killed_comparison_leaves_no_column_and_no_open_file(tmp_path: Path) -> None:
    """The whole group dies at once, so that no process is there to remove anything."""
    out, temporary = tmp_path / "out", tmp_path / "tmp"
    temporary.mkdir()
    before = set(_files(Path("/dev/shm")))
    run = subprocess.Popen(
        [sys.executable, "-c", _KILLED, str(out)],
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    )
    try:
        while not list(out.glob("confidential/replicates/*.json")):
            assert run.poll() is None
            time.sleep(0.05)
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
    columns = [np.arange(100) % 7, np.arange(100) % 5 + 0.0]
    left = [*_files(temporary), *(set(_files(Path("/dev/shm"))) - before)]
    held = [path for path in left if any(one.tobytes() in path.read_bytes() for one in columns)]
    for path in held:
        path.unlink()
    assert held == []
    assert _modes(out / "confidential") == {0o700, 0o600}


def _files(folder: Path) -> Iterator[Path]:
    """The files of this user in a folder and its folders."""
    for path in folder.rglob("*"):
        if path.is_file() and path.stat().st_uid == os.geteuid():
            yield path


def _modes(folder: Path) -> set[int]:
    return {stat.S_IMODE(path.stat().st_mode) for path in (folder, *folder.rglob("*"))}


def test_points_share_the_fits_of_a_seed_and_a_second_call_goes_on(tmp_path: Path) -> None:
    out, told = tmp_path / "out", list[tuple[int, int]]()
    first = compared(out, progress=lambda *now: told.append(now))
    assert told[-1] == (6, 6)
    rows = {row.point.name: row for row in first.rows}
    assert list(rows) == ["unweighted", "lw", "sw"]
    # SW meets the bound of the LW fit that it shares with lw, so one weight reaches about it.
    for a, b in zip(rows["lw"].epsilons, rows["sw"].epsilons, strict=True):
        assert 0.5 < b / a < 2.0
    assert rows["unweighted"].guarantee == "none"
    assert len(set(rows["lw"].values("k_marginal"))) == 2
    files = {path: path.read_bytes() for path in (out / "confidential/replicates").iterdir()}
    assert len(files) == 6
    more = compared(out, seeds=3, epsilons=[float(rows["lw"].epsilons[0]) / 2])
    assert all(path.read_bytes() == content for path, content in files.items())
    assert len(more.rows) == 5
    again = {row.point.name: row for row in more.rows}
    assert again["lw"].scores[:2] == rows["lw"].scores
    assert max(next(row for row in more.rows if row.point.name.startswith("sw at")).epsilons) <= (
        more.advice[0].epsilon
    )


def test_a_reached_epsilon_is_rounded_up_so_that_its_point_stays_within_it() -> None:
    reached = (42.84, 42.75, 47.2, 0.012341, 1234.0)
    assert [*map(_three_digits, reached)] == [42.9, 42.8, 47.2, 0.0124, 1240.0]


def test_one_job_and_two_give_the_same_points(tmp_path: Path) -> None:
    one, two = (compared(tmp_path / str(jobs), jobs=jobs, choices=["lw"]) for jobs in (1, 2))
    assert one.rows[0].scores == two.rows[0].scores
    assert one.rows[0].epsilons == two.rows[0].epsilons


def test_what_time_does_not_allow_is_said_and_done_later(tmp_path: Path) -> None:
    short = compared(tmp_path / "out", minutes=1e-9)
    assert short.rows == () == short.advice
    assert short.not_run == ("seeds 1, 2 of every point",)
    page = (tmp_path / "out/confidential/comparison.html").read_text()
    assert "Not run in the time given: seeds 1, 2 of every point." in page
    assert "shorter fits: another folder, with --draws 250" in page
    assert len(compared(tmp_path / "out").rows) == 3


def test_a_folder_of_another_table_or_of_other_settings_is_refused(tmp_path: Path) -> None:
    compared(tmp_path / "out", choices=["unweighted"], seeds=1)
    with pytest.raises(OutputError, match="holds a study with other settings"):
        vws.compare(PEOPLE[:200], tmp_path / "out", schema=_schema(tmp_path / "out"), **SHARED)
    with pytest.raises(OutputError, match="holds a study with other settings"):
        compared(tmp_path / "out", seed=2)
    with refused("not-a-choice", name="score"):
        compared(tmp_path / "out", score="s_pmse")


def test_the_release_that_follows_says_that_settings_were_compared(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        found = compared(tmp_path / "out", choices=["lw", "sw"], epsilons=[2.0])
    finally:
        os.umask(before)
    folder = tmp_path / "out/confidential"
    assert _modes(folder) == {0o700, 0o600}
    names = {path.name for path in folder.iterdir()}
    assert {"comparison.csv", "comparison.png", "comparison.html", "take-2.toml"} <= names
    release = vws.synthesize(PEOPLE, **found.settings(2.0), seed=1 << 62)
    (entry,) = [one for one in release.privacy["ledger"] if one["key"] == "compared"]
    assert entry["epsilon"] == "not accounted"
    assert "compared" in release.privacy["relies_on"]["not_covered"]
    assert "compared = true" in release.config
    with refused("no-choice-at-epsilon"):
        found.settings(3.0)
    PEOPLE.write_csv(tmp_path / "people.csv")
    words = ["synthesize", str(tmp_path / "people.csv"), "--seed", "1"]
    words += ["--config", str(folder / "take-2.toml"), "--out", str(tmp_path / "release")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    privacy = json.loads((tmp_path / "release/release/privacy.json").read_text())
    assert any(one["key"] == "compared" for one in privacy["ledger"])


@pytest.mark.parametrize("records", [None, 40])
def test_whole_units_are_compared(tmp_path: Path, records: int | None) -> None:
    homes = pl.concat([PEOPLE, PEOPLE.tail(30)])
    homes = homes.with_columns(home=pl.int_range(pl.len()) % 300)
    members = {"sizes": [1, 3], "summaries": {"persons": "size", "before": "count"}}
    columns = {"home": Column(role="id"), **_schema(tmp_path / "out").columns}
    schema = Schema(columns, unit="home", members=members)
    given: dict[str, Any] = {"choices": ["lw", "sw"], "seeds": 1, "jobs": 1, "records": records}
    found = vws.compare(homes, tmp_path / "out", schema=schema, **SHARED, **given)
    assert [row.problems for row in found.rows] == [(), ()]
    assert all(500.0 < row.values("k_marginal")[0] <= 1000.0 for row in found.rows)
    assert "for all records of one home" in found.plot().axes[0].get_xlabel()
    page = (tmp_path / "out/confidential/comparison.html").read_text()
    assert page.count("against epsilon for all records of one home") == 2  # Caption, alt text.
    given["choices"] = ["cw"]
    with refused("unit-mechanism"):
        vws.compare(homes, tmp_path / "other", schema=schema, **SHARED, **given)
    assert not (tmp_path / "other").exists()


def test_the_command_prints_the_points_and_the_advice(tmp_path: Path) -> None:
    people = tmp_path / "people.csv"
    PEOPLE.with_columns(pay=pl.Series(_RNG.poisson(30, 300))).write_csv(people)
    words = ["compare", str(people), "--outcome", "pay", "--model", "poisson", "--formula", "~ age"]
    words += ["--choice", "lw", "--choice", "sw", "--epsilons", "2", "--seeds", "1", "--jobs", "1"]
    words += ["--draws", "200", "--warmup", "200", "--chains", "2", "--datasets", "2"]
    words += ["--out", str(tmp_path / "out")]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    assert "At epsilon 2 a dataset: take " in done.output
    assert "k_marginal" in done.output
    assert "asymptotic" in done.output
    assert "4 of 4 results" in done.output
    told = CliRunner().invoke(app, [*words, "--json"])
    said = json.loads(told.output)
    assert len(said["rows"]) == 4
    assert said["advice"]["2"].startswith("At epsilon 2 a dataset")
    wrong = CliRunner().invoke(app, [*words, "--mechanism", "lw"])
    assert "A comparison does not take mechanism. It goes into choices" in str(wrong.exception)


def test_the_command_takes_a_level_of_text_that_no_record_has(tmp_path: Path) -> None:
    people, schema = tmp_path / "people.csv", tmp_path / "people.toml"
    codes = {"age": {"young": 1, "old": 2}, "job": {"yes": 1, "no": 2}}
    coded = [pl.col(name).replace_strict(of) for name, of in codes.items()]
    PEOPLE.with_columns(coded).write_csv(people)
    levels = '["1", "2", "N"]'
    schema.write_text(SCHEMA.replace('["young", "old"]', levels).replace('["yes", "no"]', levels))
    words = ["compare", str(people), "--schema", str(schema), "--choice", "lw", "--seeds", "1"]
    words += ["--jobs", "1", "--draws", "100", "--chains", "2", "--datasets", "2"]
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "out")])
    assert done.exit_code == 0, done.output
    assert "1 of 1 results" in done.output
