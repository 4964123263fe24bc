"""What a schema that is paid for costs, on the made-up households, by the command."""

from pathlib import Path

import polars as pl
import pytest
from pyvws_studies import private_schema
from run_here import run_here

import pyvws as vws
from pyvws.synthesis.private_answers import OTHER

pytestmark = pytest.mark.runs
pytest.importorskip("opendp")


def test_schema_and_run_share_one_budget(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, out = tmp_path / "households.csv", tmp_path / "out"
    vws.example("households").to_csv(file, index=False)
    monkeypatch.setattr(private_schema, "SPLITS", private_schema.SPLITS[2:])
    monkeypatch.setattr(private_schema, "DATASETS", 1)
    run = run_here("study", "private-schema", "--file", file, "--runs", "1", "--out", out)
    assert run.code == 0
    rows = pl.read_csv(out / "table.csv").to_dicts()
    assert [row["schema"] for row in rows] == [
        *("by hand", "by hand, what is left", "a steward's word", "no word")
    ]
    assert all(row["epsilon"] <= private_schema.BUDGET[0] for row in rows)
    assert rows[0]["lost"] == 0.0
    assert all(row["score"] > 700.0 for row in rows)
    pl.DataFrame({"x": [1]}).write_csv(file)
    wrong = run_here("study", "private-schema", "--file", file)
    assert wrong.code != 0
    assert "households" in wrong.err


def test_a_column_that_lost_all_levels_is_scored_as_nothing() -> None:
    ten = next(own for own in private_schema._files() if "DEYE" in own.hand.columns)
    frame = pl.DataFrame({name: ["1", "2"] for name in ten.hand.columns})
    lost = ten.scored(frame.with_columns(DEYE=pl.lit(OTHER), SEX=pl.Series(["1", OTHER])))
    assert lost["DEYE"].to_list() == ["", ""]
    assert lost["SEX"].to_list() == ["1", OTHER]
