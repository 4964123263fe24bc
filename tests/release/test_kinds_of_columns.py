"""Dates, ids and groups of levels through whole runs: in memory, in steps, and in reports."""

import dataclasses
import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from runs import FEW, fitted, in_steps, release_of, report_on, synthesizer
from typer.testing import CliRunner

import pyvws as vws
from pyvws import Column, ConvergenceWarning, Schema
from pyvws.commands.cli import app
from pyvws.models.sequence import draws_of

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
    pytest.mark.runs,
]

DATES: dict[str, Any] = {"days_since": "1900-01-01", "range": ("1920-01-01", "2040-12-31")}
SCHEMA = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "born": Column(model="normal", **DATES),
        "hired": Column(
            model="normal",
            missing=True,
            rule=("missing where born > '2004-12-31'", ">= born"),
            **DATES,
        ),
    }
)


def people(n: int = 80) -> dict[str, list[Any]]:
    rng = np.random.default_rng(5)
    first, cut = datetime.date(1930, 1, 1), datetime.date(2004, 12, 31)
    days, later = rng.integers(0, 29000, n).tolist(), rng.integers(0, 9999, n).tolist()
    born = [first + datetime.timedelta(x) for x in days]
    hired = [first + datetime.timedelta(x + d) for x, d in zip(days, later, strict=True)]
    free = [x > cut or i % 9 == 0 for i, x in enumerate(born)]
    return {
        "sex": rng.choice(["f", "m"], n).tolist(),
        "born": born,
        "hired": [None if no else d for no, d in zip(free, hired, strict=True)],
    }


TABLE = pl.DataFrame(people())


def released(table: Any = TABLE, **settings: Any) -> vws.Release:
    return release_of(table, **{"schema": SCHEMA, **settings})


def test_dates_come_out_alike_of_every_kind_of_table(tmp_path: Path) -> None:
    own = released(types="table").datasets
    for made, text in zip(own, released().datasets, strict=True):
        assert made.schema == TABLE.schema
        spelled = pl.col("born", "hired").cast(pl.String)
        assert made.with_columns(spelled).equals(text)  # As the schema spells dates.
        assert (made["hired"] >= made["born"]).drop_nulls().all()
        young = made["born"] > datetime.date(2004, 12, 31)
        assert made["hired"].filter(young).is_null().all()
        assert made["hired"].null_count() < made.height
        assert made["born"].is_between(datetime.date(1920, 1, 1), datetime.date(2040, 12, 31)).all()
    (arrow,) = released(pa.table(people()), types="table", datasets=1).datasets
    assert pl.from_arrow(arrow).equals(own[0])  # type: ignore[arg-type]
    moments = pd.DataFrame(people()).astype({"born": "M8[s]", "hired": "M8[s]"})
    (pandas,) = released(moments, types="table", datasets=1).datasets
    assert list(pandas.dtypes) == list(moments.dtypes)
    both = pl.from_pandas(pandas).with_columns(pl.col("born", "hired").cast(pl.Date))
    assert both.equals(own[0])
    out = in_steps(TABLE, tmp_path, schema=SCHEMA)
    for number, made in enumerate(own, 1):
        file = out / f"release/synthetic-0{number}.csv"
        assert pl.read_csv(file, try_parse_dates=True).equals(made)
    report_on(out, tmp_path / "in.csv")


@pytest.mark.parametrize("kind", [pl.String, pl.Datetime("ns"), pl.Date])
def test_a_copy_of_a_date_is_refused(kind: Any) -> None:
    public = Column(role="public", days_since="1970-01-01", range=("1920-01-01", "2040-12-31"))
    schema = Schema({"other": public, **SCHEMA.columns})
    with refused("columns-equal-outcome", outcome="born"):
        released(TABLE.with_columns(other=pl.col("born").cast(kind)), schema=schema)


IDS = Schema(
    {
        "person": Column(role="id"),
        "sex": Column(role="public", levels=("f", "m")),
        "born": SCHEMA.columns["born"],
        "key": Column(role="id", prefix="P"),
    }
)


def test_new_ids_number_the_records_and_no_id_of_the_table_leaves(
    tmp_path: Path, at_once: Callable[[int], None]
) -> None:
    at_once(30)
    table = TABLE.select(
        pl.int_range(900_001, 900_081).alias("person"),
        "sex",
        "born",
        pl.format("secret{}", pl.int_range(80)).alias("key"),
    )
    numbers, keys = list(range(1, 81)), [f"P{x}" for x in range(1, 81)]
    release = released(table, schema=IDS)
    for made in release.datasets:
        assert made.columns == table.columns
        assert (made["person"].to_list(), made["key"].to_list()) == (numbers, keys)
    without = released(table, schema=Schema({n: IDS.columns[n] for n in ("sex", "born")}))
    assert without.datasets[0].equals(release.datasets[0].select("sex", "born"))
    assert release.privacy["columns_numbered"] == ["person", "key"]
    assert release.privacy["columns_released_unchanged"] == ["sex"]
    assert without.privacy.items() <= release.privacy.items()
    (pandas,) = released(table.to_pandas(), schema=IDS, datasets=1).datasets
    assert pl.from_pandas(pandas).equals(release.datasets[0])
    (lazy,) = released(table.lazy(), schema=IDS, datasets=1).datasets
    assert lazy.equals(release.datasets[0])
    out = in_steps(table, tmp_path, schema=IDS)
    for number, made in enumerate(release.datasets, 1):
        file = out / f"release/synthetic-0{number}.csv"
        assert pl.read_csv(file, try_parse_dates=True).equals(made)
        assert "secret" not in file.read_text()
        assert "9000" not in file.read_text()
    report_on(out, tmp_path / "in.csv")


def test_ids_go_with_another_number_of_rows_and_with_an_engine_of_its_own(tmp_path: Path) -> None:
    schema = Schema({name: IDS.columns[name] for name in ("person", "born")})
    table = TABLE.select(pl.int_range(900_001, 900_081).alias("person"), "born")
    (made,) = released(table, schema=schema, datasets=1, records=25).datasets
    assert made["person"].to_list() == list(range(1, 26))
    duckdb = pytest.importorskip("duckdb")
    held = duckdb.from_arrow(table.to_arrow())
    synthesizer(schema=schema).fit_to(held, tmp_path / "out", seed=1)
    found = pl.read_parquet(tmp_path / "out/release/synthetic-01.parquet")
    assert found.columns == ["person", "born"]
    assert found["person"].to_list() == list(range(1, 81))


def test_an_id_that_the_table_lacks_is_one_line() -> None:
    with refused("columns-lacking", role="The schema"):
        released(TABLE.with_columns(person=1), schema=IDS)


LEVELS = tuple(f"{group}{place}" for group in "ABCD" for place in range(4))
GROUPS = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "job": Column(model="nominal", levels=LEVELS, group_by=1, missing=True),
        "pay": Column(model="normal", range=(0, 100), predictors=("job",)),
    }
)


def workers(n: int = 150) -> dict[str, list[Any]]:
    """Women are A0 mostly, nobody is in D, and only B earns."""
    rng = np.random.default_rng(3)
    sex, free = rng.choice(["f", "m"], n).tolist(), rng.choice(LEVELS[:12], n).tolist()
    often = rng.random(n) < 0.8
    job = ["A0" if s == "f" and o else x for s, o, x in zip(sex, often, free, strict=True)]
    pay = [(50.0 if x[0] == "B" else 5.0) + rng.random() for x in job]
    return {"sex": sex, "job": [None if i % 20 == 7 else x for i, x in enumerate(job)], "pay": pay}


WORKERS = pl.DataFrame(workers())


@pytest.mark.parametrize("model", ["nominal", "table"])
def test_levels_follow_their_group_and_a_group_without_records_stops_nothing(model: str) -> None:
    job = dataclasses.replace(GROUPS.columns["job"], model=model)
    pay = Column(model="normal", range=(0, 100), predictors=("job",))
    schema = Schema({**GROUPS.columns, "job": job, "pay": pay})
    release = released(WORKERS, schema=schema, datasets=4)
    made = pl.concat(release.datasets)
    assert made.schema == WORKERS.schema
    women, men = (made.filter(pl.col("sex") == one)["job"] for one in ("f", "m"))
    assert (women == "A0").mean() > 0.5 > 0.3 > (men == "A0").mean()
    assert set(made["job"]) <= {*LEVELS, None}
    assert made["job"].null_count() > 0
    rich = made.filter(pl.col("job").str.starts_with("B"))["pay"].mean()
    assert rich > made.filter(pl.col("job").str.starts_with("C"))["pay"].mean() + 20
    names = ["group of job", *(f"job in {group}" for group in "ABCD"), "pay"]
    assert [column["name"] for column in release.privacy["columns"]] == names
    assert release.privacy["columns_synthesized"] == ["job", "pay"]


def test_a_records_term_is_that_of_its_group_and_of_its_level_in_it() -> None:
    """log p(group) + log p(level | group) + log f(pay), by hand for each record."""
    run: Any = fitted(WORKERS, schema=GROUPS)
    draws, by_hand = run.final.posterior.draws, np.zeros((80, WORKERS.height))
    columns = {one.column: one for one in run.loop.model.columns}
    for i, (sex, job, pay) in enumerate(WORKERS.rows()):
        x = np.array([1.0, sex == "m"])
        group = 4 if job is None else "ABCD".index(job[0])
        terms = [("group of job", group)]
        terms += [] if job is None else [(f"job in {job[0]}", int(job[1]))]
        for name, place in terms:
            beta = draws_of(draws, name)["beta"]
            eta = np.column_stack([np.zeros(len(beta)), beta @ x])
            by_hand[:, i] += eta[:, place] - np.logaddexp.reduce(eta, axis=1)
        of_pay = columns["pay"]
        own = of_pay.model.log_likelihood(draws_of(draws, "pay"), of_pay.cells)
        by_hand[:, i] += own[:, of_pay.cells.cell_of_record[i]]
        assert pay is not None
    found = run.loop.model.log_likelihood(draws, run.loop.cells)[:, run.loop.cells.cell_of_record]
    np.testing.assert_allclose(found, by_hand, rtol=1e-9, atol=1e-9)
    most = np.abs(by_hand).max(axis=0)
    assert (run.final.bounds.by_record >= most - 1e-9).all()


def test_groups_in_steps_and_in_a_report(tmp_path: Path, at_once: Callable[[int], None]) -> None:
    at_once(40)
    out = in_steps(WORKERS, tmp_path, schema=GROUPS)
    for number, made in enumerate(released(WORKERS, schema=GROUPS).datasets, 1):
        assert pl.read_csv(out / f"release/synthetic-0{number}.csv").equals(made)
    report_on(out, tmp_path / "in.csv")


@pytest.mark.parametrize("odd", [{}, {"pay": "12.5"}, {"pay": "N"}, {"code": "1.0"}])
@pytest.mark.parametrize("memory", ["2GB", "1KB"])
def test_the_spelling_of_a_csv_follows_from_its_schema_alone(
    tmp_path: Path, odd: dict[str, str], memory: str
) -> None:
    """One record's cell makes a reader take a column of a csv for floats, or for text."""
    rng = np.random.default_rng(3)
    table = pl.DataFrame(
        {"code": rng.choice(["1", "2"], 60), "pay": rng.integers(0, 99, 60).astype(str)}
    )
    for name, cell in odd.items():
        table = table.with_columns(pl.Series(name, [cell, *table[name][1:]]))
    table.write_csv(tmp_path / "table.csv")
    columns = {
        "code": Column(model="table", levels=("1", "2", "N"), settings={"concentration": 90.0}),
        "pay": Column(
            model="normal",
            predictors=(),
            range=(0, 99),
            decimals=0,
            missing="N",
            part={"model": "table", "predictors": [], "concentration": 90.0},
        ),
    }
    Schema(columns).write(tmp_path / "schema.toml")
    short = [f"--{name}={value}" for name, value in {**FEW, "seed": 1 << 60}.items()]
    words = [f"{tmp_path}/table.csv", f"--schema={tmp_path}/schema.toml", f"--out={tmp_path}/out"]
    words += ["--mechanism=unweighted", f"--memory={memory}", "--quiet", *short]
    assert CliRunner().invoke(app, ["synthesize", *words]).exit_code == 0
    made = pl.read_csv(tmp_path / "out/release/synthetic-01.csv", infer_schema=False)
    assert set(made["code"]) == {"1", "2", "N"}
    assert "N" in set(made["pay"])
    assert made["pay"].str.contains("^(N|[0-9]+)$").all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_numbers_with_a_word_for_what_is_missing_are_text_whether_a_record_has_it_or_not(
    kind: Any,
) -> None:
    schema = vws.Schema(
        {
            "wage": vws.Column(
                model="normal", missing=["N"], part={"model": "table"}, range=(0, 99), decimals=0
            )
        }
    )
    wage = np.random.default_rng(3).integers(20, 60, 80)
    release = vws.synthesize(
        kind({"wage": wage}), schema=schema, mechanism="unweighted", draws=150, warmup=150, seed=4
    )
    made = release.datasets[0]["wage"]
    assert all(isinstance(x, str) and (x == "N" or x.isdecimal()) for x in made)
