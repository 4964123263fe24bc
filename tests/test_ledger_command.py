"""pyvws ledger and --after: what the releases of one table have cost together."""

import errno
import json
import os

import numpy as np
import polars as pl
import pytest
from jsonschema import Draft202012Validator
from refusals import refused
from run_here import run_here
from statements import OF_A_CLAMP, statement
from typer.main import get_command
from typer.testing import CliRunner

import pyvws as vws
from pyvws._base.seeds import release_id
from pyvws.commands.cli import app
from pyvws.commands.options import given_settings
from pyvws.errors import OutputError
from pyvws.report.ledger_figure import ledger_figure
from pyvws.statement.releases import costs_together, digest, release_cost
from pyvws.statement.words import SCHEMA
from pyvws.synthesis.settings import RunSettings


def clamped(**changes):
    facts = {"lipschitz_bound": 0.5, "datasets": 2, **changes}
    return statement(**OF_A_CLAMP | facts)


def run(*words):
    made = CliRunner().invoke(app, [*map(str, words)])
    assert made.exit_code == 0, made.output
    return made


def written(folder, made):
    release = folder / "release"
    release.mkdir(parents=True)
    (release / "privacy.json").write_text(json.dumps(made.released()), encoding="utf-8")


def test_the_ledger_of_a_folder(tmp_path):
    strict = clamped()
    loose = clamped(enforced=False, data_weights=True, lipschitz_bound=4.0, window=4.0)
    written(tmp_path / "first", strict)
    written(tmp_path / "second", loose)
    figure = tmp_path / "costs.svg"
    said = run("ledger", tmp_path, "--json", "--figure", figure)
    found = json.loads(said.stdout)
    assert list(found["releases"]) == ["first", "second"]
    assert found["together"] == costs_together([strict.released(), loose.released()])
    assert found["together"]["strict"]["epsilon"] == 4.0  # Two draws of 1, one record replaced.
    assert found["together"]["asymptotic"] == {"epsilon": 32.0, "of_window": 16.0}
    assert figure.read_bytes().startswith(b"<?xml")
    costs = {"first": release_cost(strict.released(), "leave-one-out")}
    (axis,) = ledger_figure(costs, "all records of one home").axes
    assert axis.get_xlabel() == "ε of all records of one home, added up"
    text = run("ledger", tmp_path).stdout
    assert "strict releases together: epsilon 4" in text
    assert list(json.loads(run("ledger", tmp_path / "first", "--json").stdout)["releases"]) == [
        "first"
    ]


def test_the_ledger_names_releases_by_a_signed_proposal(tmp_path):
    strict = {**_strict(), "schema_was_proposed": True}
    written(tmp_path / "plain", clamped(public_settings=_strict()))
    written(tmp_path / "by_word", clamped(public_settings=strict))
    found = json.loads(run("ledger", tmp_path, "--json").stdout)
    assert {name: one["signed"] for name, one in found["releases"].items()} == {
        "plain": False,
        "by_word": True,
    }
    said = " ".join(run("ledger", tmp_path).stdout.split())
    assert "by_word: The schema was proposed from the confidential table" in said
    earlier = clamped(public_settings=strict).released()
    uses = [entry["use"] for entry in clamped(earlier=(earlier,)).released()["ledger"]]
    assert ", dp-if-public:" in uses[0]


def _strict():
    return {"schema": "schema.toml"}


def test_a_full_disk_leaves_no_part_of_a_figure(tmp_path, monkeypatch):
    written(tmp_path / "first", clamped())
    figure = tmp_path / "costs.png"

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    made = CliRunner().invoke(app, ["ledger", str(tmp_path), "--figure", str(figure)])
    assert isinstance(made.exception, OutputError)
    assert "No space left" in str(made.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_statement_has_the_earlier_ones_it_was_given(tmp_path):
    earlier = clamped().released()
    made = clamped(earlier=(earlier, earlier)).released()
    together = costs_together([earlier, earlier, clamped().released()])
    names = [one["digest"] for one in made["costs_together"].pop("earlier")]
    assert made["costs_together"] == together
    assert names == [digest(earlier)] * 2  # Without a release_id each counts.
    assert made["costs_together"]["releases"]["strict"] == 3
    entries = [entry for entry in made["ledger"] if entry["key"] == "earlier"]
    assert [entry["epsilon"] for entry in entries] == [4.0, 4.0]
    keys = [said["key"] for said in made["caveat_keys"]]
    assert ("further-releases" in keys, "other-releases" in keys) == (True, False)
    assert "costs_together" not in clamped().released()


def test_no_release_of_the_folder_is_dropped_and_none_counts_twice(tmp_path):
    text = json.dumps(clamped().released())
    inner = tmp_path / "all" / "first" / "release"
    inner.mkdir(parents=True)
    for place in (inner, inner.parent):  # Two files, of which one name would stand for both.
        (place / "privacy.json").write_text(text, encoding="utf-8")
    written(tmp_path / "elsewhere", clamped())
    for link in ("second", "third"):  # One release, to which two links lead.
        (tmp_path / "all" / link).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = json.loads(run("ledger", tmp_path / "all", "--json").stdout)
    assert len(found["releases"]) == found["together"]["releases"]["strict"] == 3
    assert found["together"]["strict"]["epsilon"] == 12.0


def named(number, **changes):
    """A statement as a run writes it, with its release_id."""

    class Named:
        def released(self):
            return {**clamped(**changes).released(), "release_id": str(number)}

    return Named()


def test_a_release_that_the_folder_lacks_still_counts_and_is_named(tmp_path):
    first = named(1, lipschitz_bound=4.0)
    second = named(2, earlier=(first.released(),))
    written(tmp_path / "second", second)
    written(tmp_path / "third", named(3))
    said = " ".join(run("ledger", tmp_path).stdout.split())
    assert "strict releases together: epsilon 40" in said  # 32, 4 and 4.
    assert f"missing 1: no file of release {digest(first.released())[:12]} is there" in said
    assert "It was made before second" in said
    found = json.loads(run("ledger", tmp_path, "--json").stdout)
    assert {name: one["missing"] for name, one in found["releases"].items()} == {
        **{"missing 1": True, "second": False},
        "third": False,
    }
    for folder in ("first", "copy"):
        written(tmp_path / folder, first)
    said = " ".join(run("ledger", tmp_path).stdout.split())
    assert "strict releases together: epsilon 40" in said
    assert "missing" not in said
    assert "first: a copy of copy, and counts once." in said


def test_every_after_counts_however_it_is_given(tmp_path):
    """Options that are repeated, commas, and a file's text or list name the same releases."""
    command = get_command(app).commands["synthesize"]

    def named_by(*words):
        context = command.make_context("synthesize", ["t.csv", "--outcome", "y", *words])
        return given_settings(context)["after"]

    file = tmp_path / "run.toml"
    assert named_by("--after", "A", "--after", "B,C") == ("A", "B", "C")
    for line in ('after = "A,B,C"', 'after = ["A", "B", "C"]'):
        file.write_text(line, encoding="utf-8")
        assert named_by("--config", str(file)) == ("A", "B", "C")
    file.write_text('keep = "all"', encoding="utf-8")
    context = command.make_context("synthesize", ["t.csv", "--config", str(file)])
    assert given_settings(context)["keep"] == "all"


def test_a_release_has_a_name_that_a_copy_and_the_same_seed_have_and_no_other():
    assert release_id(2**62 + 1) == release_id(2**62 + 1) != release_id(2**62 + 2)
    assert release_id(None) != release_id(None)  # Where the noise is secret.


@pytest.mark.runs
def test_a_run_reads_them_from_their_folders_and_refuses_another_unit(tmp_path):
    written(tmp_path / "first", clamped())
    written(tmp_path / "homes", clamped(unit="home"))
    frame = pl.DataFrame({"y": np.random.default_rng(1).poisson(3, 50)})
    given = {"outcome": "y", "model": "poisson", "mechanism": "lw", "datasets": 1}
    given["seed"] = 2**60 + 1
    release = vws.synthesize(frame, after=str(tmp_path / "first"), **given)
    assert release.privacy["costs_together"]["releases"] == {
        **{"strict": 1, "asymptotic": 1},
        "none": 0,
    }
    assert release.privacy["release_id"] == release_id(2**60 + 1)
    assert Draft202012Validator(SCHEMA).is_valid(release.privacy)
    for one in (tmp_path / "first", str(tmp_path / "first")):
        assert RunSettings(outcome="y", after=one, mechanism="lw").after == (
            str(tmp_path / "first"),
        )
    with refused("not-a-choice"):
        vws.synthesize(frame, after=[str(tmp_path / "homes")], **given)


@pytest.mark.parametrize("figure", ["1e308", "1" + "0" * 400, "NaN"])
@pytest.mark.parametrize("neighbours", ["leave-one-out", "replace-one"])
def test_a_figure_that_no_sum_holds_is_one_line_or_unknown(neighbours, figure, tmp_path):
    pytest.importorskip("opendp")
    histogram = vws.PerturbedHistogram(epsilon=1.0, range=(0, 9))
    made = vws.Synthesizer(outcome="y", datasets=1, mechanism=histogram)
    out = made.fit(pl.DataFrame({"y": [1, 2, 3, 4, 1, 2]}), seed=1).write(tmp_path / "all" / "one")
    place = out / "release" / "privacy.json"
    said = json.loads(place.read_text())
    said["epsilon_by_neighbours"][neighbours]["total"] = "FIGURE"
    place.write_text(json.dumps(said).replace('"FIGURE"', figure))
    for words in (["ledger", tmp_path / "all"], ["report", tmp_path / "all" / "one"]):
        done = run_here(*words)
        assert done.code in (0, 1)
        assert "unexpected" not in done.err
        if done.code:
            assert len(done.err.splitlines()) == 1
