"""Units of several records in a table that is read in steps: the release is that from memory."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused
from runs import SEED, synthesizer
from test_units import ONE, SCHEMA_TEXT, people
from test_whole_units import HOMES, homes, schema

import pyvws as vws
from pyvws.posterior.systematic_draws import SAMPLINGS
from pyvws.tables.files.read import read_table

pytestmark = [
    pytest.mark.runs,
    pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning"),
]


@pytest.fixture(autouse=True)
def small_steps(at_once: Callable[[int], None]) -> None:
    """Units whose records stand in several batches."""
    at_once(50)


def both(
    table: pd.DataFrame, folder: Path, *, suffix: str = "csv", **settings: Any
) -> tuple[Path, Path]:
    """The folders of a run in steps and of the same run in memory."""
    path = folder / f"in.{suffix}"
    table.to_csv(path, index=False) if suffix == "csv" else table.to_parquet(path, index=False)
    seed = settings.pop("seed", SEED)
    run = synthesizer(**{"mechanism": "lw", **settings})
    run.fit_to(path, folder / "steps", seed=seed)
    source = read_table(path)
    frame = source.frame if run.schema is None else source.with_codes
    made = run.fit(frame, seed=seed, release_frame=source.as_written)
    made.write(folder / "memory", format=suffix)
    return folder / "steps", folder / "memory"


def summary(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "confidential" / "summary.json").read_text())
    return found


def same_release(steps: Path, memory: Path) -> None:
    names = sorted(one.name for one in (memory / "release").iterdir())
    assert names == sorted(one.name for one in (steps / "release").iterdir())
    for name in names:
        one, other = (where / "release" / name for where in (steps, memory))
        if one.suffix == ".parquet":
            assert pl.read_parquet(one).equals(pl.read_parquet(other))
        else:
            assert one.read_bytes() == other.read_bytes(), name
    one, other = (
        pl.read_parquet(where / "confidential" / "records.parquet") for where in (steps, memory)
    )
    assert one.equals(other)
    mine, theirs = summary(steps), summary(memory)
    for name in ("Delta", "epsilon", "records", "units", "design_columns"):
        assert mine[name] == theirs[name], name


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_one_outcome_is_that_from_memory_wherever_a_unit_s_records_stand(
    tmp_path: Path, suffix: str
) -> None:
    table = people(240).sample(frac=1.0, random_state=3)
    given = {**ONE, "mechanism": "unweighted", "unit": "home", "keep": ("home", "pay")}
    same_release(*both(table, tmp_path, suffix=suffix, **given))


@pytest.mark.parametrize("mechanism", ["unweighted", "lw"])
def test_a_table_is_that_from_memory(tmp_path: Path, mechanism: str) -> None:
    table = people(240).sample(frac=1.0, random_state=3)
    table["pay"] = np.where(table["visits"] > 3, 2.0 * table["visits"], 0.0)
    path = tmp_path / "schema.toml"
    path.write_text('unit = "home"\n' + SCHEMA_TEXT)
    steps, memory = both(table, tmp_path, schema=str(path), mechanism=mechanism)
    if mechanism == "unweighted":
        same_release(steps, memory)
    mine, theirs = summary(steps), summary(memory)
    assert mine["units"]["number"] == theirs["units"]["number"] == table["home"].nunique()
    assert mine["units"]["largest_share"] == theirs["units"]["largest_share"]
    assert mine["epsilon"] == pytest.approx(theirs["epsilon"], rel=0.1)
    weights = pl.read_parquet(steps / "confidential" / "records.parquet")["weight_final"]
    of_units = pd.Series(weights.to_numpy()).groupby(table["home"].to_numpy()).nunique()
    assert of_units.max() == 1


@pytest.mark.parametrize("records", [None, 333])
@pytest.mark.parametrize("sampling", SAMPLINGS)
def test_whole_units_are_those_from_memory(
    tmp_path: Path, records: int | None, sampling: str
) -> None:
    given: dict[str, Any] = {"schema": schema(), "mechanism": "unweighted", "records": records}
    steps, memory = both(homes(), tmp_path, sampling=sampling, **given)
    same_release(steps, memory)
    made = pd.read_csv(steps / "release" / "synthetic-01.csv")
    assert made["home"].nunique() == (records or HOMES)


def test_the_order_within_a_unit_counts_and_that_of_units_does_not(tmp_path: Path) -> None:
    table = homes()
    one = both(table, tmp_path, schema=schema(), mechanism="unweighted")
    turned = table.iloc[::-1].sort_values("place", kind="stable")
    (tmp_path / "turned").mkdir()
    other = both(turned, tmp_path / "turned", schema=schema(), mechanism="unweighted")
    name = "release/synthetic-02.csv"
    assert (one[0] / name).read_bytes() == (other[0] / name).read_bytes()
    (tmp_path / "back").mkdir()
    back = both(table.iloc[::-1], tmp_path / "back", schema=schema(), mechanism="unweighted")
    same_release(*back)
    assert (one[0] / name).read_bytes() != (back[0] / name).read_bytes()


def not_run(table: pd.DataFrame, folder: Path, run: vws.Synthesizer, refusal: Any) -> None:
    path = folder / "in.csv"
    table.to_csv(path, index=False)
    with refusal:
        run.fit_to(path, folder / "out", seed=1)
    assert not (folder / "out").exists()


def test_what_units_cannot_be_is_refused_as_from_memory(tmp_path: Path) -> None:
    run = vws.Synthesizer(outcome="visits", model="poisson", unit="home", mechanism="lw")
    table = people()
    not_run(table.assign(home="a"), tmp_path, run, refused("unit-of-one-value"))
    holed = table.assign(home=table["home"].where(np.arange(len(table)) > 3))
    not_run(holed, tmp_path, run, refused("column-missing-in-records", column="home", tally=4))
    with refused("unit-of-lists", name="home"):
        run.fit(pl.from_pandas(table).with_columns(pl.concat_list("home")), seed=1)
    whole = vws.Synthesizer(schema=schema(), mechanism="sw")
    second = homes()["place"] == 2
    mixed = homes().assign(owner=homes()["owner"].where(~second, "no"))
    changed = int((homes()["owner"] == "yes")[second].sum())
    not_run(mixed, tmp_path, whole, refused("of-unit-differs", differs=changed))
    large = pd.concat([homes().assign(owner="no")] * 2)
    many = int((large.groupby("home").size() > 4).sum())
    not_run(large, tmp_path, whole, refused("units-of-other-sizes", wrong=many))


def test_an_engine_without_an_order_is_refused(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    given = people()  # noqa: F841 - DuckDB reads it by its name.
    run = vws.Synthesizer(outcome="visits", model="poisson", unit="home", mechanism="lw")
    with refused("tally-without-order"):
        run.fit_to(duckdb.sql("select * from given"), tmp_path / "out", seed=1)
    members = homes()  # noqa: F841
    whole = vws.Synthesizer(schema=schema(), mechanism="unweighted")
    with refused("members-in-order"):
        whole.fit(duckdb.sql("select * from members"), seed=1)
