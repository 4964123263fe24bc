"""Whole runs under maps of bounds: a table, units, survey weights, one record, and in steps."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runs import SEED, command, in_steps, release_of, synthesizer
from test_survey_weights import people, schema
from typer.testing import CliRunner

import pyvws as vws
from pyvws.commands.cli import app
from pyvws.errors import InputError
from pyvws.statement.words import caveat_keys

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
]

AT_T: dict[str, Any] = {"mechanism": "inverse", "t": 3.0}


def with_homes() -> pd.DataFrame:
    return people().assign(home=[f"h{k // 3}" for k in range(150)])


TABLE = people()
HOMES = with_homes()


@pytest.mark.parametrize("of_table", [{}, {"unit": "home"}, {"survey_weight": "w"}])
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_mixed_columns_units_and_exponents(of_table: dict[str, str], power: float) -> None:
    """Each weight is the map of the record's own bound, with which its risk rises in a line."""
    made = release_of(HOMES, schema=schema(**of_table), power=power, **AT_T)
    records = made.records
    lowered = records[records["weight"] < 1.0]
    assert len(lowered) > 10
    bounds = 3.0 / lowered["weight"] ** (1.0 / power)
    slope, least = np.polyfit(lowered["risk"], bounds, 1)
    np.testing.assert_allclose(bounds, least + slope * lowered["risk"], rtol=1e-9)
    assert least + slope == pytest.approx(made.summary["fits"][0]["Delta"])
    last = records["lipschitz_bound_final"].max()
    assert made.summary["epsilon"] == pytest.approx(2 * last)
    assert made.privacy["guarantee"] == "asymptotic-dp"
    if of_table == {"unit": "home"}:
        of_units = records["weight"].groupby(HOMES["home"]).nunique()
        assert of_units.max() == 1


def test_the_statement_names_t_the_map_and_no_target() -> None:
    privacy = release_of(HOMES, schema=schema(), **AT_T).privacy
    said = {one["key"]: one.get("values", {}) for one in privacy["caveat_keys"]}
    assert said["public-t"] == {"t": 3.0}
    assert said["inverse-map"] == {"power": 1.0}
    assert {"weights", "estimated"} <= set(said)
    assert not {"searched", "searched-t", "not-sparse-by-bound", "shift"} & set(said)
    text = " ".join(privacy["caveats"])
    assert "is this package's own map, and the asymptotic result" in text
    assert "The setting t, 3," in text


def test_a_searched_t_is_told_with_its_loss() -> None:
    made = release_of(HOMES, schema=schema(), mechanism="inverse", search_t=True, epsilon=12.0)
    said = caveat_keys(made.privacy)
    assert {"searched", "searched-t", "inverse-map"} <= set(said)
    assert "public-t" not in said
    assert made.privacy["epsilon_per_dataset"] <= 12.0
    t = made.summary["settings"]["t"]
    assert f"{t:g}" not in " ".join(made.privacy["caveats"])  # It follows from the records.


@pytest.mark.parametrize("of_table", [{}, {"survey_weight": "w"}, {"unit": "home"}])
def test_in_steps_as_in_memory(
    tmp_path: Path, at_once: Callable[[int], None], of_table: dict[str, str]
) -> None:
    at_once(40)
    own = schema(**of_table)
    table = pl.from_pandas(HOMES)
    memory = synthesizer(schema=own, **AT_T).fit(table, seed=SEED)
    out = in_steps(table, tmp_path, schema=own, **AT_T)
    steps = pl.read_parquet(out / "confidential" / "records.parquet")
    np.testing.assert_allclose(steps["weight"], memory.records["weight"], rtol=0.05)
    privacy = json.loads((out / "release" / "privacy.json").read_text())
    assert privacy["caveat_keys"] == memory.privacy["caveat_keys"]
    assert privacy["epsilon_per_dataset"] == pytest.approx(
        memory.privacy["epsilon_per_dataset"], rel=0.1
    )


def test_nearly_equal_shares_come_out_nearly_equal() -> None:
    """500 a, 499 b and one c, which LW gives as 2 : 1."""
    table = pl.DataFrame({"y": ["a"] * 500 + ["b"] * 499 + ["c"]})
    own = vws.Schema({"y": vws.Column(model="table", levels=("a", "b", "c"))})
    weights = release_of(table, schema=own, mechanism="inverse", t=2.0).records["weight"].to_numpy()
    assert weights[:999].tolist() == [1.0] * 999
    assert 0.0 < weights[-1] < 0.25


@given(st.permutations([300, 300, 99, 1]), st.integers(1, 2**40))
@settings(max_examples=4, derandomize=True)
def test_of_tables_equal_cells_have_equal_weights_whatever_the_seed(
    counts: list[int], seed: int
) -> None:
    """No draw moves a weight; draws alone have the two levels of 300 records apart."""
    table = pl.DataFrame({"y": np.repeat([*"abcd"], counts)})
    own = vws.Schema({"y": vws.Column(model="table", levels=tuple("abcd"))})
    asked = {"schema": own, "mechanism": "inverse", "t": 0.5, "draws": 100}
    made, again = (release_of(table, **asked, seed=s).records["weight"] for s in (seed, seed + 1))
    assert made.to_list() == again.to_list()
    levels = np.split(made.to_numpy(), np.cumsum(counts)[:-1])
    assert [len(set(of_one)) for of_one in levels] == [1] * 4
    rarest, rare, often, as_often = sorted(float(of_one[0]) for of_one in levels)
    assert rarest < rare < often == as_often < 1.0


def test_a_table_too_short_is_refused_as_under_lw() -> None:
    one = pl.DataFrame({"y": [3]})
    keys = []
    for mechanism in ({"mechanism": "lw"}, AT_T):
        with pytest.raises(InputError) as refused:
            synthesizer(outcome="y", model="poisson", **mechanism).fit(one, seed=SEED)
        keys.append(refused.value.key or str(refused.value))
    assert keys[0] == keys[1]


def test_the_command_takes_t_and_asks_for_it(tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(9.0, 60)
    pd.DataFrame({"visits": counts}).to_csv(tmp_path / "visits.csv", index=False)
    words = ["synthesize", tmp_path / "visits.csv", "--outcome", "visits", "--model", "poisson"]
    brief = ["--engine", "laplace", "--draws", 200, "--chains", 1, "--datasets", 1, "--seed", 1]
    out = tmp_path / "out"
    command(*words, *brief, "--mechanism", "inverse", "--t", 2, "--power", 1.5, "--out", out)
    records = pd.read_parquet(out / "confidential" / "records.parquet")
    assert records["weight"].max() <= 1.0
    text = (out / "release" / "run.toml").read_text()
    assert "t = 2" in text
    assert "power = 1.5" in text


SHORT = (
    *("--model", "poisson", "--engine", "laplace", "--draws", "200", "--warmup", "100"),
    *("--chains", "1", "--datasets", "1", "--seed", "1"),
)


@pytest.mark.parametrize("map", ["linear", "softmax", "logistic"])
def test_the_statement_names_the_map(map: str, tmp_path: Path) -> None:
    counts = np.random.default_rng(1).poisson(9.0, 60)
    pd.DataFrame({"visits": counts}).to_csv(tmp_path / "visits.csv", index=False)
    out = tmp_path / "out"
    words = ["synthesize", str(tmp_path / "visits.csv"), "--outcome", "visits", "--mechanism", "lw"]
    done = CliRunner().invoke(app, [*words, *SHORT, "--map", map, "--g", "0", "--out", str(out)])
    assert done.exit_code == 0, done.output
    privacy = json.loads((out / "release" / "privacy.json").read_text(encoding="utf-8"))
    said = [caveat["values"] for caveat in privacy["caveat_keys"] if "map" in caveat["key"]]
    assert said == ([] if map == "linear" else [{"map": map}])
    records = pd.read_parquet(out / "confidential" / "records.parquet")
    np.testing.assert_allclose(records["weight"], 1.0 - records["risk"], rtol=1e-12, atol=1e-15)
    ends = (records["risk"].min() == 0.0, records["risk"].max() == 1.0)
    assert ends == ((True, True) if map == "linear" else (False, False))
