"""Runs with units of several records: every score beside a second sample draws whole units."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.comparison.compare import compare

pytestmark = [pytest.mark.runs, pytest.mark.filterwarnings("ignore::pyvws.errors.MisfitWarning")]

SIZE = 8
CATEGORIES = {name: vws.Column(model="table", levels=("1", "2", "3")) for name in "ab"}
OF_UNITS = vws.Schema({"person": vws.Column(role="id"), **CATEGORIES}, unit="person")
OF_RECORDS = vws.Schema({"person": vws.Column(role="drop"), **CATEGORIES})
COUNTS: dict[str, Any] = {"mechanism": "noisy-counts", "epsilon": 8.0}


def panel() -> pl.DataFrame:
    """Persons whose records are all alike."""
    rng = np.random.default_rng(2)
    a = rng.integers(1, 4, 200)
    b = np.where(rng.random(200) < 0.5, a, rng.integers(1, 4, 200))
    once = pl.DataFrame({"person": np.arange(200), "a": a, "b": b}).cast({"a": str, "b": str})
    return pl.concat([once] * SIZE).sort("person")


def lacking(release: vws.Release) -> float:
    """How far the second sample of a run's own checks is from the best score."""
    return 1000.0 - float(release.summary["column_checks"]["k_marginal"]["bootstrap"])


def test_the_checks_of_noisy_counts_draw_units() -> None:
    pytest.importorskip("opendp")
    by_unit = vws.synthesize(panel(), schema=OF_UNITS, datasets=2, seed=1, cap=SIZE, **COUNTS)
    by_record = vws.synthesize(panel(), schema=OF_RECORDS, datasets=2, seed=1, **COUNTS)
    assert lacking(by_unit) > 1.4 * lacking(by_record)


def test_the_checks_of_weighted_units_and_their_board_draw_units(tmp_path: Path) -> None:
    few = {"mechanism": "lw", "datasets": 2, "seed": 1, "draws": 60, "warmup": 100, "chains": 2}
    by_unit, by_record = (
        vws.synthesize(panel(), schema=schema, **few) for schema in (OF_UNITS, OF_RECORDS)
    )
    assert lacking(by_unit) > 1.4 * lacking(by_record)
    by_unit.write(tmp_path / "out")
    panel().write_csv(tmp_path / "panel.csv")
    words = ["report", str(tmp_path / "out"), "--original", str(tmp_path / "panel.csv")]
    ended = CliRunner().invoke(app, words)
    assert ended.exit_code == 0, ended.output
    (page,) = tmp_path.glob("out/confidential/*.html")
    assert "whole units, by " in page.read_text()


def test_a_comparison_draws_units(tmp_path: Path) -> None:
    pytest.importorskip("opendp")
    table = panel()
    given: dict[str, Any] = {"epsilons": [8.0], "seeds": 1, "jobs": 1, "datasets": 2}
    choices = ["noisy-counts cap=8"]
    found = compare(table, tmp_path / "pair", choices=choices, schema=OF_UNITS, **given)
    ((score, *_),) = found.rows[0].scores
    own = vws.table_utility(table, [table], schema=OF_UNITS, s_pmse=False)
    assert score.bootstrap == own.k_marginal_bootstrap
    few = {"draws": 60, "warmup": 100, "chains": 2, "choices": ["lw"]}
    visits = table.select("person", visits=pl.col("a").cast(int))
    one: dict[str, Any] = {"outcome": "visits", "model": "poisson", **given, **few}
    apart, of_units = (
        compare(visits, tmp_path / str(unit), unit=unit, **one).rows[0].scores[0][0].bootstrap
        for unit in (None, "person")
    )
    assert of_units > 1.2 * apart


def test_the_command_says_that_units_are_drawn(tmp_path: Path) -> None:
    table = panel()
    table.write_csv(tmp_path / "panel.csv")
    table.drop("person").write_csv(tmp_path / "other.csv")
    OF_UNITS.write(tmp_path / "schema.toml")
    words = ["utility", str(tmp_path / "panel.csv"), str(tmp_path / "other.csv")]
    schema = ["--schema", str(tmp_path / "schema.toml")]
    printed = CliRunner().invoke(app, [*words, *schema])
    assert printed.exit_code == 0, printed.output
    assert "whole units, by person" in printed.output
    found = json.loads(CliRunner().invoke(app, [*words, *schema, "--json"]).output)
    assert found["unit"] == "person"


def test_the_command_finds_the_unit_of_a_run_by_a_formula(tmp_path: Path) -> None:
    """Such a run has no schema, and its statement names the unit."""
    table = panel()
    table.write_csv(tmp_path / "panel.csv")
    table.drop("person").write_csv(tmp_path / "synthetic-01.csv")
    said = {"mechanism": "lw", "unit_column": "person"}
    (tmp_path / "privacy.json").write_text(json.dumps(said))
    words = ["utility", str(tmp_path / "panel.csv"), str(tmp_path / "synthetic-01.csv")]
    for more in ([], ["--columns", "a,b"]):
        found = CliRunner().invoke(app, [*words, *more])
        assert found.exit_code == 0, found.output
        assert "whole units, by person" in found.output
        assert "person " not in found.stdout.split("scores")[0]
