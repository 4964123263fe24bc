"""pyvws ledger and --after: what the releases of one table have cost together."""

from __future__ import annotations

import errno
import json
import os

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.errors import InputError, OutputError
from pyvws.report.ledger_figure import ledger_figure
from pyvws.statement.accounting import PrivacyStatement
from pyvws.statement.releases import costs_together, release_cost


def statement(**changes):
    facts = {
        **{"mechanism": "censored", "model": "poisson", "reweighted": False, "searched": False},
        **{"lipschitz_bound": 0.5, "datasets": 2, "draws": 400, "threshold": 1.0},
        **{"columns_released_unchanged": (), "rounded": False, "reads_outcome": False},
        **{"model_caveats": (), "problems": (), "enforced": True, "data_weights": False},
        "weights_source": "none",
    }
    return PrivacyStatement(**{**facts, **changes})


def run(*words):
    made = CliRunner().invoke(app, [*map(str, words)])
    assert made.exit_code == 0, made.output
    return made


def written(folder, made):
    release = folder / "release"
    release.mkdir(parents=True)
    (release / "privacy.json").write_text(json.dumps(made.released()), encoding="utf-8")


def test_the_ledger_of_a_folder(tmp_path):
    strict = statement()
    loose = statement(enforced=False, data_weights=True, lipschitz_bound=4.0, window=4.0)
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
    written(tmp_path / "plain", statement(public_settings=_strict()))
    written(tmp_path / "by_word", statement(public_settings=strict))
    found = json.loads(run("ledger", tmp_path, "--json").stdout)
    assert {name: one["signed"] for name, one in found["releases"].items()} == {
        "plain": False,
        "by_word": True,
    }
    said = " ".join(run("ledger", tmp_path).stdout.split())
    assert "by_word: A look at the confidential table proposed the schema" in said
    earlier = statement(public_settings=strict).released()
    uses = [entry["use"] for entry in statement(earlier=(earlier,)).released()["ledger"]]
    assert ", dp-if-public:" in uses[0]


def _strict():
    return {"schema": "schema.toml"}


def test_a_full_disk_leaves_no_part_of_a_figure(tmp_path, monkeypatch):
    written(tmp_path / "first", statement())
    figure = tmp_path / "costs.png"

    def full(_handle):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    made = CliRunner().invoke(app, ["ledger", str(tmp_path), "--figure", str(figure)])
    assert isinstance(made.exception, OutputError)
    assert "No space left" in str(made.exception)
    assert [path.name for path in tmp_path.iterdir()] == ["first"]


def test_a_statement_has_the_earlier_ones_it_was_given(tmp_path):
    earlier = statement().released()
    made = statement(earlier=(earlier, earlier)).released()
    assert made["costs_together"] == costs_together([earlier, earlier, statement().released()])
    assert made["costs_together"]["releases"]["strict"] == 3
    entries = [entry for entry in made["ledger"] if entry["key"] == "earlier"]
    assert [entry["epsilon"] for entry in entries] == [4.0, 4.0]
    keys = [said["key"] for said in made["caveat_keys"]]
    assert ("further-releases" in keys, "other-releases" in keys) == (True, False)
    assert "costs_together" not in statement().released()


def test_no_release_of_the_folder_is_dropped_and_none_counts_twice(tmp_path):
    text = json.dumps(statement().released())
    inner = tmp_path / "all" / "first" / "release"
    inner.mkdir(parents=True)
    for place in (inner, inner.parent):  # Two files, of which one name would stand for both.
        (place / "privacy.json").write_text(text, encoding="utf-8")
    written(tmp_path / "elsewhere", statement())
    for link in ("second", "third"):  # One release, to which two links lead.
        (tmp_path / "all" / link).symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = json.loads(run("ledger", tmp_path / "all", "--json").stdout)
    assert len(found["releases"]) == found["together"]["releases"]["strict"] == 3
    assert found["together"]["strict"]["epsilon"] == 12.0


def test_a_release_that_the_folder_lacks_is_missed(tmp_path):
    earlier = statement().released()
    written(tmp_path / "second", statement(earlier=(earlier,)))
    made = CliRunner().invoke(app, ["ledger", str(tmp_path)])
    assert isinstance(made.exception, InputError)
    assert "2 releases" in str(made.exception)
    written(tmp_path / "first", statement())
    assert json.loads(run("ledger", tmp_path, "--json").stdout)["releases"].keys() == {
        *("first", "second")
    }


@pytest.mark.runs
def test_a_run_reads_them_from_their_folders_and_refuses_another_unit(tmp_path):
    written(tmp_path / "first", statement())
    written(tmp_path / "homes", statement(unit="home"))
    frame = pl.DataFrame({"y": np.random.default_rng(1).poisson(3, 50)})
    given = {"outcome": "y", "model": "poisson", "datasets": 1, "seed": 2**60 + 1}
    release = vws.synthesize(frame, after=str(tmp_path / "first"), **given)
    assert release.privacy["costs_together"]["releases"] == {
        **{"strict": 1, "asymptotic": 1},
        "none": 0,
    }
    with pytest.raises(InputError, match="unit of privacy"):
        vws.synthesize(frame, after=[str(tmp_path / "homes")], **given)
