"""Dates and ids through whole runs: every kind of table, in memory and in steps, the report."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import pyvws as vws
from pyvws.errors import ConvergenceWarning, InputError
from pyvws.synthesis.settings_by_name import arranged
from pyvws.tables.column import Column
from pyvws.tables.schema import Schema

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::{ConvergenceWarning.__module__}.ConvergenceWarning"),
    pytest.mark.runs,
]

QUICK: dict[str, Any] = {"draws": 40, "warmup": 150, "chains": 2, "seed": 1 << 60, "datasets": 2}
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
    chosen = {"schema": SCHEMA, "mechanism": "unweighted", **QUICK, **settings}
    return vws.synthesize(table, **chosen)


def test_dates_come_out_alike_of_every_kind_of_table(tmp_path: Path) -> None:
    own = released().datasets
    for made in own:
        assert made.schema == TABLE.schema
        assert (made["hired"] >= made["born"]).drop_nulls().all()
        young = made["born"] > datetime.date(2004, 12, 31)
        assert made["hired"].filter(young).is_null().all()
        assert made["hired"].null_count() < made.height
        assert made["born"].is_between(datetime.date(1920, 1, 1), datetime.date(2040, 12, 31)).all()
    (arrow,) = released(pa.table(people()), datasets=1).datasets
    assert pl.from_arrow(arrow).equals(own[0])  # type: ignore[arg-type]
    moments = pd.DataFrame(people()).astype({"born": "M8[s]", "hired": "M8[s]"})
    (pandas,) = released(moments, datasets=1).datasets
    assert list(pandas.dtypes) == list(moments.dtypes)
    both = pl.from_pandas(pandas).with_columns(pl.col("born", "hired").cast(pl.Date))
    assert both.equals(own[0])
    source = tmp_path / "people.csv"
    TABLE.write_csv(source)
    settings = {"schema": SCHEMA, "mechanism": "unweighted", **QUICK}
    seed = settings.pop("seed")
    vws.Synthesizer(**arranged(settings)).fit_to(source, tmp_path / "out", seed=seed)
    for number, made in enumerate(own, 1):
        file = tmp_path / f"out/release/synthetic-0{number}.csv"
        assert pl.read_csv(file, try_parse_dates=True).equals(made)
    command = [sys.executable, "-m", "pyvws", "report", str(tmp_path / "out")]
    ran = subprocess.run(
        [*command, "--original", str(source)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("kind", [pl.String, pl.Datetime("ns"), pl.Date])
def test_a_copy_of_a_date_is_refused(kind: Any) -> None:
    public = Column(role="public", days_since="1970-01-01", range=("1920-01-01", "2040-12-31"))
    schema = Schema({"other": public, **SCHEMA.columns})
    with pytest.raises(InputError, match="equal the outcome 'born'"):
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
    source = tmp_path / "people.csv"
    table.write_csv(source)
    settings = {"schema": IDS, "mechanism": "unweighted", **QUICK}
    seed = settings.pop("seed")
    vws.Synthesizer(**arranged(settings)).fit_to(source, tmp_path / "out", seed=seed)
    for number, made in enumerate(release.datasets, 1):
        file = tmp_path / f"out/release/synthetic-0{number}.csv"
        assert pl.read_csv(file, try_parse_dates=True).equals(made)
        assert "secret" not in file.read_text()
        assert "9000" not in file.read_text()
    command = [sys.executable, "-m", "pyvws", "report", str(tmp_path / "out")]
    original = ["--original", str(source)]
    ran = subprocess.run([*command, *original], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_ids_go_with_another_number_of_rows_and_with_an_engine_of_its_own(tmp_path: Path) -> None:
    schema = Schema({name: IDS.columns[name] for name in ("person", "born")})
    table = TABLE.select(pl.int_range(900_001, 900_081).alias("person"), "born")
    (made,) = released(table, schema=schema, datasets=1, records=25).datasets
    assert made["person"].to_list() == list(range(1, 26))
    duckdb = pytest.importorskip("duckdb")
    held = duckdb.from_arrow(table.to_arrow())
    settings = {"schema": schema, "mechanism": "unweighted", **QUICK}
    seed = settings.pop("seed")
    vws.Synthesizer(**arranged(settings)).fit_to(held, tmp_path / "out", seed=seed)
    found = pl.read_parquet(tmp_path / "out/release/synthetic-01.parquet")
    assert found.columns == ["person", "born"]
    assert found["person"].to_list() == list(range(1, 81))


def test_an_id_that_the_table_lacks_is_one_line() -> None:
    with pytest.raises(InputError, match="The schema names column 'key', which the table lacks"):
        released(TABLE.with_columns(person=1), schema=IDS)
