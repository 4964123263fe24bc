"""The made-up table and its schema: equal everywhere, true to each other, written whole."""

import hashlib
from pathlib import Path

import pandas as pd
import pytest
from refusals import refused
from run_here import run_here

import pyvws as vws
from pyvws.tables.files.example import EXAMPLES, example, example_schema
from pyvws.tables.schema.schema import Schema


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_the_same_on_every_machine(name: str) -> None:
    written = example(name).to_csv(index=False, lineterminator="\n").encode()
    assert example(name).equals(example(name))
    assert hashlib.sha256(written).hexdigest()[:16] == "b5330d501731d2d4"


def test_households_have_what_surveys_have() -> None:
    table = vws.example("households")
    assert table["household"].is_unique
    assert (table["rent"].isna() == (table["tenure"] == "owner")).all()
    assert 0.03 < table["income"].isna().mean() < 0.1
    assert 0.04 < (table["income"] == 0).mean() < 0.12
    dates = pd.to_datetime(table["moved_in"], format="%Y-%m-%d")
    assert dates.dt.year.between(1985, 2024).all()


def test_the_schema_admits_every_value_of_its_table(tmp_path: Path) -> None:
    path = tmp_path / "households.toml"
    path.write_text(example_schema("households"))
    schema, table = Schema.read(path), example("households")
    assert not schema.under_review
    assert list(schema.columns) == list(table.columns)
    for name, column in schema.columns.items():
        if column.levels:
            assert set(table[name].astype(str)) == {str(level) for level in column.levels}
    for name in ("income", "rent"):
        low, high = schema.columns[name].range
        assert table[name].dropna().between(low, high).all()


def test_the_command_writes_both_files_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    run = run_here("example", "households", "--out", folder)
    assert run.code == 0, run.err
    assert sorted(path.name for path in folder.iterdir()) == ["households.csv", "households.toml"]
    back = pd.read_csv(folder / "households.csv", dtype={"income": "Int64", "rent": "Int64"})
    pd.testing.assert_frame_equal(back, example("households"), check_dtype=False)
    (folder / "households.csv").unlink()
    (folder / "households.toml").write_text("# mine\n")
    refused = run_here("example", "households", "--out", folder)
    assert (refused.code, refused.out) == (1, "")
    assert "--overwrite" in refused.err
    assert [path.name for path in folder.iterdir()] == ["households.toml"]
    assert (folder / "households.toml").read_text() == "# mine\n"
    assert run_here("example", "households", "--out", folder, "--overwrite").code == 0


def test_another_name_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    with refused("not-a-choice"):
        example("household")
    run = run_here("example", "household", "--out", tmp_path / "new")
    assert run.code == 2
    assert "households" in run.err
    assert list(tmp_path.iterdir()) == []
