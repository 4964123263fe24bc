"""The forecast: figures before any fit, near those of a run, and nothing written."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands._forecast import forecast
from pyvws.commands.cli import app

SCHEMA = """
[columns.sex]
model = "table"
levels = ["f", "m"]
[columns.job]
model = "table"
levels = ["a", "b", "c", "rare"]
predictors = ["sex"]
[columns.pay]
model = "normal"
outcome_scale = "log"
range = [0, 100000]
predictors = ["sex"]
"""


def table(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(7)
    job = rng.choice(["a", "b", "c"], n).astype(object)
    job[3] = "rare"
    return pd.DataFrame(
        {"sex": rng.choice(["f", "m"], n), "job": job, "pay": rng.lognormal(8, 0.3, n).round(2)}
    )


@pytest.mark.runs
@pytest.mark.draws
def test_the_forecast_of_epsilon_is_near_that_of_a_run(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_text(SCHEMA)
    schema = vws.Schema.read(tmp_path / "s.toml")
    lines = "\n".join(forecast(schema, table()))
    found = re.search(r"epsilon is about ([\d.]+) a dataset", lines)
    assert found is not None
    release = vws.synthesize(
        table(), schema=schema, mechanism="lw", datasets=1, draws=300, warmup=300, seed=1
    )
    assert 0.5 < float(found[1]) / release.privacy["epsilon_per_dataset"] < 2.0
    assert "3 conditionals" in lines
    assert "3 sets of" in lines
    assert lines.count("Recommended") == 1


@pytest.mark.filterwarnings("ignore")
def test_a_bound_by_record_without_a_normaliser_is_said_before_a_run_and_after() -> None:
    rng = np.random.default_rng(11)
    begin = rng.uniform(0, 5, 60)
    homes = pd.DataFrame({"begin": begin, "end": begin + rng.exponential(1.0, 60)})
    number = {"model": "normal", "range": (0.0, 30.0)}
    said = []
    for rule in (None, "> begin"):
        end = vws.Column(**number, rule=rule)
        schema = vws.Schema({"begin": vws.Column(**number), "end": end})
        lines = "\n".join(forecast(schema, homes))
        made = vws.synthesize(
            homes, schema=schema, mechanism="lw", engine="laplace", datasets=1, draws=60, seed=1
        )
        keys = {phrase["key"]: phrase["values"] for phrase in made.privacy["caveat_keys"]}
        said.append(("no normaliser for that" in lines, keys.get("record-bounds")))
    assert said == [(False, None), (True, {"columns": "'end'"})]


def test_a_density_of_0_at_rough_draws_makes_no_forecast_of_nan(tmp_path: Path) -> None:
    """A share of 0 or 1 has no density under beta, or an infinite one."""
    normal = 'model = "normal"\noutcome_scale = "log"\nrange = [0, 100000]'
    assert normal in SCHEMA
    beta = 'model = "beta"\nrange = [0, 1]'
    (tmp_path / "s.toml").write_text(SCHEMA.replace(normal, beta))
    shares = table()
    shares["pay"] = np.random.default_rng(1).beta(2, 2, len(shares)).round(3)
    shares.loc[[5, 6], "pay"] = [0.0, 1.0]
    lines = "\n".join(forecast(vws.Schema.read(tmp_path / "s.toml"), shares))
    assert re.search(r"epsilon is about [\d.]+ a dataset", lines)
    assert "2 bounds are infinite" in lines
    assert "nan" not in lines


@pytest.mark.runs
def test_the_commands_print_it_and_write_no_run(tmp_path: Path) -> None:
    table().to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "s.toml").write_text(SCHEMA)
    files = [str(tmp_path / name) for name in ("t.csv", "s.toml", "out")]
    run = ["synthesize", files[0], "--mechanism", "lw", "--out", files[2], "--plan"]
    done = CliRunner().invoke(app, [*run, "--schema", files[1], "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output)["forecast"][0].startswith("Forecast: these are estimates")
    run[3:4] = ["noisy-counts", "--epsilon", "1.5"]
    done = CliRunner().invoke(app, [*run, "--schema", files[1]])
    assert "noisy-counts at epsilon 1.5 and delta 0 " in done.output
    assert not (tmp_path / "out").exists()
    done = CliRunner().invoke(
        app, ["schema", files[0], "--out", str(tmp_path / "p.toml"), "--plan", "--json"]
    )
    assert len(json.loads(done.output)["forecast"]) >= 4
    assert str(table()["pay"].max()) not in done.output


def test_a_table_of_wide_logits_has_a_normal_prior_that_is_said_before_the_run() -> None:
    levels = {"a": "uvwxyz", "b": "uvwxyz", "c": "uv", "d": "uv"}
    columns = {name: vws.Column(model="nominal", levels=[*each]) for name, each in levels.items()}
    columns["d"] = vws.Column(model="nominal", levels=["u", "v"], settings={"coefficient_sd": 0})
    schema = vws.Schema(columns)
    rng = np.random.default_rng(3)
    data = pd.DataFrame({name: rng.choice([*each], 60) for name, each in levels.items()})
    plan = vws.Synthesizer(schema=schema, mechanism="lw", datasets=1).plan
    # Eleven coefficients have a normal prior, one and six none, and twelve what is asked for.
    sds = [one.family.coefficient_sd for one in plan.conditionals]
    assert sds == [None, None, 2.0, 0]
    assert plan.wide == ["c"]
    (line,) = (line for line in forecast(schema, data) if "coefficient_sd" in line)
    assert "'c'. " in line
    assert "standard deviation 2." in line
    alone = vws.Schema(
        {"a": vws.Column(role="public", levels=[*"abcdefghijklmn"]), "c": columns["c"]}
    )
    (one,) = vws.Synthesizer(schema=alone, mechanism="lw", datasets=1).plan.conditionals
    assert one.K == 14
    assert one.family.coefficient_sd is None


def test_a_table_that_no_run_takes_has_no_forecast() -> None:
    schema = vws.Schema({"sex": vws.Column(model="table", levels=["f"])})
    (line,) = forecast(schema, table())
    assert line.startswith("There is no forecast.")


@pytest.mark.runs
def test_rare_levels_cost_in_the_weighted_fit_what_the_forecast_says() -> None:
    rng = np.random.default_rng(4)
    data = pd.DataFrame(
        {
            "place": rng.choice(list("abcdefgh"), 3000),
            "kind": rng.choice(list("uvwxyz"), 3000, p=[0.9, 0.09, 0.004, 0.003, 0.002, 0.001]),
            "part": rng.choice(list("klmnop"), 3000, p=[0.9, 0.09, 0.004, 0.003, 0.002, 0.001]),
        }
    )
    chosen = {
        "place": vws.Column(model="table", levels=[*"abcdefgh"]),
        "kind": vws.Column(model="table", levels=[*"uvwxyz"], predictors=["place"]),
        "part": vws.Column(model="table", levels=[*"klmnop"], predictors=["place", "kind"]),
    }
    lines = "\n".join(forecast(vws.Schema(chosen), data))
    expected = re.search(r"epsilon is about ([\d.]+) a dataset", lines)
    assert expected is not None
    release = vws.synthesize(data, schema=vws.Schema(chosen), mechanism="lw", datasets=1, seed=1)
    assert 0.5 < float(expected[1]) / release.privacy["epsilon_per_dataset"] < 2.0
    assert "confidential" in lines
    assert "second" not in lines


def test_whole_households_have_a_forecast_by_unit() -> None:
    rng = np.random.default_rng(2)
    home = np.repeat(np.arange(120), rng.integers(1, 4, 120))
    people = pd.DataFrame(
        {
            "home": home,
            "owner": rng.choice(["yes", "no"], 120)[home],
            "sex": rng.choice(["f", "m"], len(home)),
        }
    )
    schema = vws.Schema(
        {
            "owner": vws.Column(model="table", levels=["yes", "no"]),
            "sex": vws.Column(model="table", levels=["f", "m"], predictors=["owner"]),
        },
        unit="home",
        members={"sizes": [1, 3], "of_unit": ["owner"], "summaries": {"persons": "size"}},
    )
    lines = "\n".join(forecast(schema, people))
    assert "a unit of 'home'" in lines
    assert "noisy-counts" not in lines  # They count records alone.
    assert forecast(schema, people.drop(columns="home"))[0].startswith("There is no forecast.")


def test_a_wide_table_is_told_to_count_predictors_alone() -> None:
    rng = np.random.default_rng(5)
    data = pd.DataFrame({f"c{k}": rng.choice(list("abcd"), 150) for k in range(25)})
    before = [[], *([f"c{k}"] for k in range(24))]
    schema = vws.Schema(
        {
            name: vws.Column(model="table", levels=list("abcd"), predictors=one)
            for name, one in zip(data, before, strict=True)
        }
    )
    advice = forecast(schema, data)[-1]
    assert "noisy-counts with --measure predictors" in advice
    assert "its 24 sets" in advice or "its 25 sets" in advice
    assert "--measure predictors" not in forecast(schema, data, epsilon=400.0)[-1]


@pytest.mark.parametrize(("levels", "said"), [(60, True), (12, False)])
def test_a_level_for_each_record_is_said_before_a_fit(levels: int, said: bool) -> None:
    names = [f"n{k:02d}" for k in range(levels)]
    table = pd.DataFrame({"name": (names * 60)[:60], "y": np.arange(60) % 7})
    schema = vws.Schema(
        {
            "name": vws.Column(role="public", levels=names),
            "y": vws.Column(model="poisson", range=(0, 9), predictors=["name"]),
        }
    )
    lines = " ".join(forecast(schema, table))
    assert (f"'y' make {levels} design columns for 60 records" in lines) == said
