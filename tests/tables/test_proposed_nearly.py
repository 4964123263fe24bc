"""Rules that a few records break: told for every kind, and proposed where a blank is left free."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from pyvws import Schema
from pyvws.commands.cli import app
from pyvws.report.output_folder import dataset_files
from pyvws.tables.proposal.nearly import broken_rules

pytestmark = pytest.mark.usefixtures("rare_values_too")
CASES = Path(__file__).parents[3] / "shared" / "cases"
N = 1200


def kinds(broken: int) -> pl.DataFrame:
    """A table with a rule of each kind, which so many records break."""
    rng = np.random.default_rng(11)
    age = rng.integers(16, 90, N).astype(float)
    wage, pension = rng.integers(0, 9000, (2, N)).astype(float)
    begin = rng.integers(0, 900, N).astype(float)
    town = rng.integers(0, 12, N)
    columns = {
        "age": age,
        "band": np.searchsorted([25, 45, 65], age, side="right"),
        "wage": wage,
        "pension": pension,
        "total": wage + pension,
        "rate": (0.37 * wage).round(2),
        "begin": begin,
        "end": begin + rng.integers(1, 400, N),
        "town": town,
        "area": town % 4,
        "job": np.where(age >= 70, 0, rng.integers(0, 4, N)),
    }
    wrong = rng.choice(np.flatnonzero((age < 60) & (columns["area"] != 0)), broken, replace=False)
    columns["band"][wrong] = 3
    columns["total"][wrong] += 777
    columns["rate"][wrong] += 50
    columns["end"][wrong] = columns["begin"][wrong] - 3
    columns["area"][wrong] = 0
    columns["job"][np.flatnonzero(age >= 70)[: min(broken, 1)]] = 2
    words = {
        name: [f"{name[0]}{x}" for x in columns.pop(name)]
        for name in ("band", "town", "area", "job")
    }
    return pl.DataFrame({**columns, **words})


@pytest.mark.parametrize("broken", [0, 1, 6])
def test_every_kind_is_told_with_its_number_of_records(broken: int) -> None:
    table = kinds(broken)
    schema = Schema.propose(table)
    lines = broken_rules(schema, table, {name: name for name in schema.columns})
    but = f"holds but for {broken} record{'s' * (broken > 1)}."
    expected = {
        f"total: a sum by wage and pension {but}",
        f"rate: a formula by wage {but}",
        f"end: an order by begin {but}",
        f"band: a rule by age {but}",
        f"area: a lookup by town {but}",
        "job: a rule by age holds but for 1 record.",
    }
    if broken:
        assert expected <= {*lines}
        assert not {"777", "50", "0.37"} & {*" ".join(lines).replace(".", " ").split()}
        return
    assert lines == ["end: an order by begin holds in all records."]
    assert schema.columns["total"].rule == "= wage + pension"
    assert schema.columns["rate"].rule == "= 0.37 * wage"
    assert schema.columns["area"].lookup is not None
    assert schema.columns["band"].rule is not None


def test_a_bar_of_levels_is_told_and_chance_is_not() -> None:
    rng = np.random.default_rng(12)
    sex, cause = rng.choice(["f", "m"], 6000), rng.choice(["x", "y", "z"], 6000)
    bearing = (cause == "z") & (sex == "m")
    cause[np.flatnonzero(bearing)[2:]] = "y"
    table = pl.DataFrame({"sex": sex, "cause": cause, "other": rng.choice(["p", "q"], 6000)})
    schema = Schema.propose(table)
    lines = broken_rules(schema, table, {name: name for name in schema.columns})
    assert lines == ["cause: a bar of levels by sex holds but for 2 records."]


@pytest.mark.parametrize("seed", range(3))
def test_numbers_of_chance_have_no_rule(seed: int) -> None:
    """Of ages and amounts on one range, of a product, and of what lies near another number."""
    rng = np.random.default_rng(seed)
    a = rng.integers(0, 100, N).astype(float)
    table = pl.DataFrame(
        {"a": a, "b": rng.integers(0, 100, N), "c": a + rng.normal(0, 9, N).round()}
    )
    schema = Schema.propose(table)
    assert not any(column.rule for column in schema.columns.values())
    assert broken_rules(schema, table, {name: name for name in schema.columns}) == []


def test_a_sum_of_one_household_is_not_told_by_its_records() -> None:
    """Errors count units: all records of one household are one of many."""
    table = kinds(6).with_columns(hid=pl.int_range(N) // 4)
    schema = Schema.propose(table)
    assert any(
        "total: a sum" in x for x in broken_rules(schema, table, {n: n for n in schema.columns})
    )


def test_a_sum_with_blanks_leaves_them_free() -> None:
    rng = np.random.default_rng(13)
    a, b = rng.integers(0, 500, (2, N)).astype(float)
    a[rng.random(N) < 0.1] = np.nan
    total = a + b
    total[7] = np.nan
    table = pl.DataFrame({"a": a, "b": b, "total": total}, nan_to_null=True).cast(pl.Int64)
    schema = Schema.propose(table)
    assert schema.columns["total"].rule == "= a + b or missing"
    assert schema.columns["total"].frees_missing


def synthetic(tmp_path: Path, case: str, schema: str, epsilon: str) -> pl.DataFrame:
    out = tmp_path / "out"
    asked = ["synthesize", str(CASES / f"{case}.csv"), "--schema", schema, "--mechanism"]
    asked += ["noisy-counts", "--epsilon", epsilon, "--delta", "1e-6", "--datasets", "2"]
    found = CliRunner().invoke(app, [*asked, "--seed", "1", "--out", str(out)])
    assert found.exit_code == 0, found.output
    return pl.concat([pl.read_csv(file) for file in dataset_files(out)])


def accepted(tmp_path: Path, case: str) -> tuple[str, str]:
    """A proposal's words, and the file of the accepted proposal."""
    proposal, signed = str(tmp_path / "s.toml"), str(tmp_path / "a.toml")
    told = CliRunner().invoke(app, ["schema", str(CASES / f"{case}.csv"), "--out", proposal])
    said = CliRunner().invoke(app, ["schema", proposal, "--accept", "A. Steward", "--out", signed])
    assert (told.exit_code, said.exit_code) == (0, 0), told.output + said.output
    return told.output, signed


needs_cases = pytest.mark.skipif(not CASES.is_dir(), reason="the cases are not in this copy")


@needs_cases
@pytest.mark.filterwarnings("ignore")
def test_one_blank_among_a_thousand_leaves_bands(tmp_path: Path) -> None:
    told, signed = accepted(tmp_path, "bands_blank")
    assert "band: a rule by age holds but for 1 record." in told
    made = synthetic(tmp_path, "bands_blank", signed, "10")
    table = pl.read_csv(CASES / "bands_blank.csv").drop_nulls()
    ends = table.group_by("band").agg(low=pl.col("age").min(), high=pl.col("age").max())
    inner = made.join(ends, on="band")
    assert len(inner) >= len(made) - 60
    cuts = [25, 35, 45, 60, 65]
    levels = ["16-24", "25-34", "35-44", "45-59", "60-64", "65+"]
    expected = [levels[k] for k in np.searchsorted(cuts, inner["age"].to_numpy(), side="right")]
    assert inner["band"].to_list() == expected


@needs_cases
@pytest.mark.filterwarnings("ignore")
def test_shares_add_up_in_every_record(tmp_path: Path) -> None:
    _, signed = accepted(tmp_path, "shares")
    rule = Schema.read(signed).columns["rest"].rule
    assert rule == "= 100 - sleep - work - care within 0.2"
    made = synthetic(tmp_path, "shares", signed, "10")
    total = made.select(pl.sum_horizontal("sleep", "work", "care", "rest")).to_series()
    assert ((total - 100).abs() < 0.21).all()
    assert (made["rest"] >= 0).all()


@needs_cases
@pytest.mark.filterwarnings("ignore")
def test_a_region_before_its_towns_follows_from_them(tmp_path: Path) -> None:
    """And no record has a town of another region."""
    _, signed = accepted(tmp_path, "towns")
    schema = Schema.read(signed)
    assert [*schema.columns] == ["town", "region", "x"]
    assert schema.columns["region"].lookup is not None
    made = synthetic(tmp_path, "towns", signed, "10")
    assert (made["town"].str.slice(0, 2) == made["region"]).all()
