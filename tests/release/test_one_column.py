"""One outcome with entries of a schema: missing values, points of mass, a rule and dates."""

import datetime
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from runs import BRIEF as OF_RUNS
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.tables.files.row_order import UNLINKED_ROW

pytestmark = pytest.mark.filterwarnings("ignore")

BRIEF: dict[str, Any] = {**OF_RUNS, "mechanism": "lw"}
_N = 150
_SEX = vws.Column(role="public", levels=("f", "m"))


def _table() -> pl.DataFrame:
    rng = np.random.default_rng(6)
    age = rng.integers(10, 60, _N)
    pay = np.where(rng.random(_N) < 0.2, 0.0, rng.normal(30.0, 5.0, _N).round(1))
    born = [datetime.date(2000, 1, 1) + datetime.timedelta(int(d)) for d in rng.normal(0, 30, _N)]
    return pl.DataFrame(
        {
            "sex": rng.choice(["f", "m"], _N),
            "age": age,
            "pay": pay,
            "code": pl.Series([None if x < 0.15 else f"{y:.1f}" for x, y in rng.random((_N, 2))]),
            "visits": np.where(age < 16, 0, rng.poisson(3.0, _N)),
            "born": born,
        }
    )


TABLE = _table()
_DAYS = {"days_since": "2000-01-01", "range": ["1999-01-01", "2001-12-31"]}
_AGE = vws.Column(role="public", range=(float(TABLE["age"].min()), float(TABLE["age"].max())))  # type: ignore[arg-type]

# The outcome, what the run is given, and the schema that a user would write for it.
RUNS: dict[str, tuple[str, dict[str, Any], dict[str, vws.Column]]] = {
    "mass": (
        "pay",
        {"model": "normal", "formula": "~ sex", "column": {"mass": [0], "decimals": 1}},
        {"sex": _SEX, "pay": vws.Column(model="normal", formula="~ sex", mass=[0], decimals=1)},
    ),
    "missing": (
        "code",
        {"model": "normal", "column": "missing = true, decimals = 1"},
        {"code": vws.Column(model="normal", predictors=(), missing=True, decimals=1)},
    ),
    "rule": (
        "visits",
        {"model": "poisson", "keep": ["age"], "column": {"rule": "0 where age < 16"}},
        {
            "age": _AGE,
            "visits": vws.Column(model="poisson", predictors=(), rule="0 where age < 16"),
        },
    ),
    "dates": (
        "born",
        {"model": "normal", "outcome_unit": 30.0, "column": _DAYS},
        {
            "born": vws.Column(
                model="normal", predictors=(), settings={"outcome_unit": 30.0}, **_DAYS
            )
        },
    ),
}


@pytest.mark.runs
@pytest.mark.parametrize("kind", RUNS)
def test_a_column_with_entries_is_a_table_of_one_column(kind: str) -> None:
    outcome, given, columns = RUNS[kind]
    alone = vws.synthesize(TABLE, outcome=outcome, **given, **BRIEF)
    whole = vws.synthesize(TABLE, schema=vws.Schema(columns), **BRIEF)
    assert alone.privacy == whole.privacy
    for ours, theirs in zip(alone.datasets, whole.datasets, strict=True):
        assert ours.equals(theirs)
    assert set(alone.datasets[0].columns) == set(columns)


@pytest.mark.runs
def test_what_the_entries_say_holds_in_every_dataset() -> None:
    outcome, given, _ = RUNS["rule"]
    for dataset in vws.synthesize(TABLE, outcome=outcome, **given, **BRIEF).datasets:
        assert (dataset.filter(pl.col("age") < 16)["visits"] == 0).all()
    outcome, given, _ = RUNS["missing"]
    for dataset in vws.synthesize(TABLE.to_pandas(), outcome=outcome, **given, **BRIEF).datasets:
        assert isinstance(dataset, pd.DataFrame)
        assert 0 < dataset["code"].isna().sum() < _N


@pytest.mark.runs
def test_the_command_takes_entries(tmp_path: Path) -> None:
    TABLE.with_columns(pl.col("code").fill_null("N")).write_csv(tmp_path / "in.csv")
    command = ["synthesize", str(tmp_path / "in.csv"), "--outcome", "code", "--model", "normal"]
    command += ["--formula", "~ sex + age", "--column", 'missing = ["N"]', "--seed", "1"]
    command += ["--draws", "60", "--warmup", "150", "--chains", "2", "--datasets", "1"]
    command += ["--mechanism", "lw"]
    made = CliRunner().invoke(app, [*command, "--out", str(tmp_path / "out")])
    assert made.exit_code == 0, made.output
    released = pl.read_csv(tmp_path / "out/release/synthetic-01.csv")
    assert released.columns == ["sex", "age", "code"]
    assert 0 < (released["code"] == "N").sum() < _N
    schema = vws.Schema.read(tmp_path / "out/release/schema.toml")
    assert schema.columns["code"].missing == "N"


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"column": "missing = ["}, "column-entries-words"),
        ({"column": 3}, "column-entries-words"),
        ({"column": {"model": "normal"}}, "column-entry-of-run"),
        ({"column": {"mas": [0]}}, "entry-unknown"),
        ({"column": {"mass": [0]}, "round": True}, "round-with-entries"),
        ({"column": {"mass": ["x"]}}, "not-a-number"),
    ],
)
def test_entries_are_checked_before_a_table_is_read(given: dict[str, Any], key: str) -> None:
    with refused(key):
        vws.Synthesizer(outcome="visits", model="poisson", mechanism="lw", **given)


def test_a_column_of_a_rule_is_one_that_is_released() -> None:
    with refused("rule-of-unreleased-column", hidden="age"):
        vws.synthesize(
            TABLE, outcome="visits", model="poisson", column={"rule": "0 where age < 16"}, **BRIEF
        )


def test_entries_need_a_table_in_memory(tmp_path: Path) -> None:
    run = vws.Synthesizer(outcome="pay", model="normal", column={"mass": [0]}, mechanism="lw")
    with refused("not-in-steps"):
        run.fit_to(TABLE.lazy(), tmp_path / "out")


@pytest.mark.runs
def test_entries_go_with_a_comparison(tmp_path: Path) -> None:
    shared = {"outcome": "pay", "model": "normal", "column": {"mass": [0]}, "datasets": 1}
    how = {"draws": 60, "warmup": 100, "chains": 2, "choices": ["lw"], "seeds": 1, "jobs": 1}
    (row,) = vws.compare(TABLE, tmp_path / "compared", **shared, **how).rows
    assert row.scores


@pytest.mark.runs
def test_an_engine_without_an_order_stays_without_one() -> None:
    """The planted error: a run that starts again on the collected rows calls them ordered."""
    duckdb = pytest.importorskip("duckdb")
    table = TABLE.to_arrow()
    frame = duckdb.from_arrow(table)
    release = vws.synthesize(
        frame, outcome="pay", model="normal", column={"mass": [0], "decimals": 1}, **BRIEF
    )
    assert UNLINKED_ROW in release.records.column_names


@pytest.mark.runs
@pytest.mark.parametrize("gap", [None, "N"])
@pytest.mark.parametrize("in_steps", [False, True])
def test_the_error_on_missing_values_names_what_models_them(
    gap: Any, in_steps: bool, tmp_path: Path
) -> None:
    """The option that the error names makes the run, and the entry of a schema does too."""
    cells = [gap if k % 9 == 0 else f"{k / 7:.2f}" for k in range(60)]
    table = pl.DataFrame({"y": cells})
    table.write_csv(tmp_path / "t.csv")
    table = table if gap else table.cast(pl.Float64)

    def made(**given: Any) -> Any:
        run = vws.Synthesizer(mechanism="unweighted", engine="laplace", datasets=1, **given)
        if in_steps:
            return run.fit_to(tmp_path / "t.csv", tmp_path / "out", seed=1, overwrite=True)
        return run.fit(table, seed=1)

    outcome: dict[str, Any] = {"outcome": "y", "model": "normal"}
    with pytest.raises(InputError) as caught:
        made(**outcome)
    options = re.findall("--column '([^']*)'", str(caught.value))
    assert len(options) == (0 if in_steps and not gap else 1)
    if not in_steps:
        made(column=options[0], **outcome)
    assert "schema" in str(caught.value)
    (entry,) = re.findall("schema by missing = (true)", str(caught.value)) or ["N"]
    column = vws.Column(model="normal", missing=entry == "true" or entry, range=(0, 10))
    made(schema=vws.Schema({"y": column}))


def test_the_error_on_infinite_values_names_no_empty_cells() -> None:
    for value, said in ((np.inf, False), (np.nan, True)):
        table = pd.DataFrame({"y": [1.0, 2.0, value, 4.0], "x": [1.0, 2.0, 4.0, value]})
        for outcome, formula in (("y", "~ 1"), ("x", "~ y")):
            with pytest.raises(InputError) as caught:
                vws.synthesize(
                    table, outcome=outcome, formula=formula, model="normal", seed=1, mechanism="lw"
                )
            assert ("schema" in str(caught.value)) == said
            assert ("--column" in str(caught.value)) == (said and formula == "~ 1")
