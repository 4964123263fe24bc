"""Commands on a run's datasets read its schema: codes of missing values are no numbers."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pyvws.commands.cli import app

SCHEMA = """
[columns.age]
model = "normal"
range = [0, 120]
missing = ["999", true]
REVIEW

[columns.pay]
model = "normal"
range = [0, 100]
missing = "N"
"""
MISSING = {"age": ["999", ""], "pay": ["N"]}


def people(seed: int) -> pl.DataFrame:
    """Cells as a file has them: a tenth of each column has a missing code."""
    rng = np.random.default_rng(seed)
    age = rng.integers(20, 80, 120)
    pay = (age / 2 + rng.normal(size=120)).round(2)
    cells = {"age": age.astype(str), "pay": pay.astype(str)}
    for name, codes in MISSING.items():
        gone = rng.random(120) < 0.1
        cells[name] = np.where(gone, rng.choice(codes, 120), cells[name])
    return pl.DataFrame(cells)


def valued(table: pl.DataFrame) -> pl.DataFrame:
    return table.select(
        pl.when(~pl.col(name).is_in(codes)).then(name).cast(pl.Float64)
        for name, codes in MISSING.items()
    )


@pytest.fixture(params=["public", "under review"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A run's folder with two datasets, and the original beside it."""
    review = 'review = ["missing"]' if request.param == "under review" else ""
    out = tmp_path / "out"
    for part in ("release", "confidential"):
        (out / part).mkdir(parents=True)
        if part == "confidential" or not review:
            (out / part / "schema.toml").write_text(SCHEMA.replace("REVIEW", review))
    statement = {
        "datasets": 2,
        "lipschitz_bound": 1.0,
        "columns_released_unchanged": [],
        "columns_synthesized": list(MISSING),
        "columns": [{"name": name, "model": "normal"} for name in MISSING],
    }
    (out / "release" / "privacy.json").write_text(json.dumps(statement))
    for place in (1, 2):
        people(place).write_csv(out / "release" / f"synthetic-0{place}.csv")
    people(0).write_csv(tmp_path / "original.csv")
    return out


def told(out: Path, *words: Any) -> Any:
    """What a command prints as JSON; on stderr it names a schema under review and nothing else."""
    made = CliRunner().invoke(app, [*map(str, words), "--json"])
    assert made.exit_code == 0, made.output
    warned = not (out / "release" / "schema.toml").exists()
    own = out / "confidential" / "schema.toml"
    assert made.stderr.startswith(f"Warning: {own} is still under review") is warned
    assert bool(made.stderr) is warned
    return json.loads(made.stdout)


def test_a_mean_leaves_codes_out(run: Path) -> None:
    wanted = np.mean([valued(people(place))["age"].mean() for place in (1, 2)])
    for given in ([run], sorted((run / "release").glob("*.csv"))):
        found = told(run, "tabulate", *given, "--mean", "age")
        assert found["rows"][0]["estimate"] == pytest.approx(wanted)


def test_a_margin_leaves_codes_out(run: Path) -> None:
    original = run.with_name("original.csv")
    for name in MISSING:
        found = told(run, "utility", original, run, "--outcome", name)
        mean = found["data"]["mean"]
        assert mean == pytest.approx(valued(people(0))[name].mean())


def test_without_the_schema_under_review_nothing_is_guessed(run: Path) -> None:
    own = run / "confidential" / "schema.toml"
    own.rename(run.with_name("given.toml"))
    words = ["tabulate", str(run), "--mean", "age"]
    made = CliRunner().invoke(app, words)
    if (run / "release" / "schema.toml").exists():
        assert made.exit_code == 0
        return
    assert "has no schema.toml" in str(made.exception)
    given = CliRunner().invoke(app, [*words, "--schema", str(run.with_name("given.toml"))])
    assert given.exit_code == 0


def test_regressions_leave_codes_out_and_count_the_records(run: Path) -> None:
    tables = [valued(people(place)).drop_nulls() for place in (0, 1, 2)]
    gone = [120 - table.height for table in tables]
    wanted = [np.polyfit(table["age"], table["pay"], 1)[0] for table in tables]
    words = ["--formula", "pay ~ age"]
    found = told(run, "combine", run, *words)
    assert found["coefficients"]["age"]["estimate"] == pytest.approx(np.mean(wanted[1:]))
    assert found["left_out"] == gone[1:]
    original = run.with_name("original.csv")
    found = told(run, "utility", original, run, "--regression", "pay ~ age")["age"]
    assert found["data"] == pytest.approx(wanted[0])
    assert found["synthetic"] == pytest.approx(np.mean(wanted[1:]))
    assert (found["data_left_out"], found["synthetic_left_out"]) == (gone[0], gone[1:])
    low, high = sorted(gone[1:])
    for command, of_data in (
        (["combine", str(run), *words], ""),
        (["utility", str(original), str(run), "--regression", "pay ~ age"], f"{gone[0]} of the"),
    ):
        said = CliRunner().invoke(app, command).stdout
        assert f"Records left out for a missing value: {of_data}" in said
        assert f"{low} to {high} of a dataset." in said
