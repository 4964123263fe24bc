"""Releases by proposals that nobody edits: what a stranger's table keeps from file to datasets."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import pyvws as vws
from benchmarks import proposals
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.parts import follows
from pyvws.tables.schema.schema import Schema

pytestmark = [pytest.mark.runs, pytest.mark.filterwarnings("ignore")]

N = 500


def stranger() -> pl.DataFrame:
    rng = np.random.default_rng(21)
    area = rng.choice(["n", "s", "w"], N)
    wage = rng.lognormal(0.5, 1.1, N).round(4)
    age = rng.integers(16, 90, N)
    return pl.DataFrame(
        {
            "amount": rng.uniform(10, 1000, N).round(2),
            "weight": 100.0 / rng.integers(1, 9, N),
            "country": "AT",
            "gone": pl.Series([None] * N, dtype=pl.String),
            "area": area,
            "copied": area,
            "age": age,
            "band": np.where(age < 30, "young", np.where(age < 65, "middle", "old")),
            "born": 2019 - age,
            "wage": wage,
            "charge": (0.17 * wage).round(2),
            "agesq": age**2,
            "lwage": np.log(wage).astype("f4").astype("f8"),
            "rate": 100 * wage / age,
        }
    )


def test_a_proposal_keeps_values_duplicates_and_computed_columns_in_every_record() -> None:
    table = stranger()
    schema = Schema.propose(table).accepted()
    assert schema.computed >= {"country", "gone", "copied", "band", "born"}
    assert schema.computed >= {"charge", "agesq", "lwage", "rate"}
    counts = vws.NoisyCounts(epsilon=60.0, delta=1e-5)
    made = vws.synthesize(table, schema=schema, mechanism=counts, datasets=1, seed=1).datasets[0]
    assert made.columns == table.columns
    assert abs(made["amount"].mean() / table["amount"].mean() - 1.0) < 0.1
    assert {*made["weight"].cast(pl.Float64)} <= {*table["weight"]}
    assert {*made["country"]} == {"AT"}
    assert made["gone"].null_count() == len(made)
    assert made["wage"].min() > 0.0
    assert made["copied"].equals(made["area"].alias("copied"))
    bands = pl.when(pl.col("age") < 30).then(pl.lit("young"))
    bands = bands.when(pl.col("age") < 65).then(pl.lit("middle")).otherwise(pl.lit("old"))
    assert made.select((pl.col("band") == bands).all()).item()
    assert (made["born"] == 2019 - made["age"]).all()
    assert (made["charge"] - 0.17 * made["wage"]).abs().max() <= 0.005 + 1e-9
    assert (made["charge"] == made["charge"].round(2)).all()
    assert (made["agesq"] == made["age"] ** 2).all()
    assert (made["lwage"] - made["wage"].log()).abs().max() < 1e-9
    assert (made["rate"] * made["age"] - 100 * made["wage"]).abs().max() < 1e-6


@pytest.mark.parametrize(("name", "cap"), proposals.FILES.items())
def test_a_public_file_by_its_proposal_keeps_most_of_the_way_at_epsilon_4(
    name: str, cap: int | None
) -> None:
    if not (proposals.DATA / name).is_file():
        pytest.skip(f"needs {name} beside the checkout")
    table = read_table(proposals.DATA / name).with_codes
    schema = Schema.propose(table).accepted()
    counts = vws.NoisyCounts(epsilon=4.0, delta=1e-5, cap=cap)
    made = vws.synthesize(table, schema=schema, mechanism=counts, datasets=1, seed=1)
    assert made.privacy["epsilon_total"] <= 4.0
    found = vws.table_utility(table, made.datasets, schema=schema, s_pmse=False)
    assert found.share_of_the_way >= 0.6
    values = schema.coded(made.datasets[0])
    assert sum(int(follows(schema, x, values).breaking.sum()) for x in schema.synthesized) == 0


@pytest.mark.parametrize("in_steps", [False, True])
def test_a_run_names_the_column_and_the_kind_of_record_that_make_epsilon_large(
    in_steps: bool, tmp_path: Path
) -> None:
    """One clerk of a trade that nobody else of the south has; two have it in the north."""
    rows = [("n", "farm")] * 150 + [("s", "farm")] * 146 + [("n", "mine")] * 2 + [("s", "mine")]
    table = pl.DataFrame({"area": [a for a, _ in rows], "trade": [b for _, b in rows]})
    columns = {
        "area": vws.Column(model="table", levels=["n", "s"]),
        "trade": vws.Column(model="table", levels=["farm", "mine"], predictors=["area"]),
    }
    run = vws.Synthesizer(schema=vws.Schema(columns), mechanism="unweighted", datasets=1)
    if in_steps:
        table.write_csv(tmp_path / "t.csv")
        run.fit_to(tmp_path / "t.csv", tmp_path / "out", seed=1 << 60)
    else:
        run.fit(table, seed=1 << 60).write(tmp_path / "out")
    confidential = (tmp_path / "out" / "confidential" / "summary.json").read_text()
    found = json.loads(confidential)["largest_bound"]
    assert found.pop("share") > 0.5
    assert found == {"column": "trade", "records_alike": 1, "records_of_its_predictors": 147}
    for path in (tmp_path / "out" / "release").iterdir():
        assert b"largest_bound" not in path.read_bytes()
    alone = vws.synthesize(
        pl.DataFrame({"y": [*range(3, 33), 90]}), outcome="y", model="poisson",
        mechanism="unweighted", engine="laplace", datasets=1, seed=1 << 60,
    )  # fmt: skip
    told = alone.summary["largest_bound"]
    assert told == {
        "column": "y",
        "share": 1.0,
        "records_alike": 1,
        "records_of_its_predictors": 31,
    }
