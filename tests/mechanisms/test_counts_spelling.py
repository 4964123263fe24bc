"""A cell's code follows from that cell alone, however a reader types the column for others."""

import csv
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv as arrow_csv
import pytest
from refusals import refused

import pyvws as vws
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.synthesis.confidential_table import check_table
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.files.read import read_table

COLUMNS = {
    "whole": vws.Column(model="nominal", levels=("1", "2", "3")),
    "zeros": vws.Column(model="nominal", levels=("01", "02", "7")),
    "decimal": vws.Column(model="nominal", levels=("1.50", "2.50")),
    "truth": vws.Column(model="logistic", levels=("false", "true")),
    "number": vws.Column(
        model="normal", range=(0, 50), cuts=(10, 20), decimals=0, mass=(0,), missing="099"
    ),
    "empty": vws.Column(model="normal", range=(0, 50), cuts=(10, 20), missing=True),
    "day": vws.Column(
        model="normal",
        days_since="2001-01-01",
        range=("2001-01-01", "2001-12-31"),
        cuts=("2001-06-30",),
        missing=True,
    ),
    "midnight": vws.Column(
        model="normal", days_since="2001-01-01", range=("2001-01-01", "2001-12-31"), missing=True
    ),
    "clock": vws.Column(model="nominal", levels=("10:30", "23:59")),
    "moment": vws.Column(model="nominal", levels=("2001-06-30 10:30", "2001-07-01T09:00:00Z")),
    "named_na": vws.Column(model="nominal", levels=("3", "NA")),
    "named_inf": vws.Column(model="nominal", levels=("2", "inf")),
}
MOMENTS = [
    ("2001-06-30T00:00:00", "10:30", "2001-06-30 10:30"),
    ("2001-06-29T00:00:00", "23:59", "2001-06-30T10:30:00"),
    ("2001-06-30T00:00:00", "10:30:00", "2001-06-30 10:30"),
]
RECORDS = [
    ("1", "01", "1.50", "True", "5", "1.5", "2001-06-30", *MOMENTS[0], "NA", "Inf"),
    ("2.0", "02", "2.50", "False", "0", "nan", "2001-06-30 00:00:00", *MOMENTS[1], "3", "2"),
    ("3", "7", "1.5", "True", "099", "", "", *MOMENTS[2], "3", "2"),
    ("1", "01", "1.50", "False", "12.0", "NA", "NULL", *MOMENTS[0], "3", "2"),
]
ODD = ["", "x", "1.0", "01", "2.5", "1e0", "NA", "true", "TRUE", "1e300", "nan", "+1", "None"]
ODD += ["10:30", "2001-06-30", "9" * 44]
READERS = {
    "command line": lambda path: read_table(path).with_codes,
    "polars": lambda path: pl.read_csv(path, infer_schema_length=None),
    "pandas": pd.read_csv,
    "arrow": arrow_csv.read_csv,
}


def counts(path: Path, reader: Any, name: str, cells: list[str]) -> np.ndarray:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([(name, "beside"), *((cell, "1") for cell in cells)])
    schema = vws.Schema({name: COLUMNS[name]})
    run = RunSettings(schema=schema, mechanism=vws.NoisyCounts(epsilon=1, measure="pairs"))
    counted = check_table(reader(path), run).counted
    assert counted is not None
    return run.plan.counting.table.counts(counted.codes)


@pytest.mark.runs
@pytest.mark.parametrize("name", READERS)
def test_no_record_changes_the_code_of_another(tmp_path: Path, name: str) -> None:
    path, reader = tmp_path / "table.csv", READERS[name]
    for column, cells in zip(COLUMNS, zip(*RECORDS, strict=True), strict=True):
        before = counts(path, reader, column, [*cells])
        assert before.sum() == len(RECORDS), column
        for cell in ODD if name != "polars" else ODD[:-1]:  # It reads no such number.
            after = counts(path, reader, column, [*cells, cell])
            assert np.abs(after - before).sum() <= 1, (column, cell)


@pytest.mark.parametrize("levels", [("1", "01"), ("1.5", "1.50"), ("true", "True")])
def test_levels_that_differ_by_their_spelling_alone_are_refused(levels: tuple[str, str]) -> None:
    schema = vws.Schema({"x": vws.Column(model="logistic", levels=levels)})
    with refused("levels-spelled-alike"):
        vws.NoisyCounts(epsilon=1, measure="pairs").workload(schema)


def kept(path: Path, name: str, ids: list[str], cap: int) -> list[int]:
    """Which of the records a cap keeps, in the order of the file; each has a level of its own."""
    levels = tuple(f"r{place}" for place in range(12))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("home", "x"), *zip(ids, levels, strict=False)])
    schema = vws.Schema({"x": vws.Column(model="nominal", levels=levels)}, unit="home")
    run = RunSettings(schema=schema, mechanism=vws.NoisyCounts(epsilon=1, cap=cap, measure="pairs"))
    written = read_table(path).as_written if name == "command line" else None
    counted = check_table(READERS[name](path), run, released=written).counted
    assert counted is not None
    return [int(code) for code in counted.codes[:, 0]]


def the_first_ones(n: int) -> np.ndarray:
    """Keys (n,) by which the first records of each unit count."""
    return np.arange(n, dtype=np.uint64)


@pytest.mark.runs
@pytest.mark.parametrize("name", READERS)
def test_no_record_changes_the_unit_of_another(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pyvws.plan.reading.secret_keys", the_first_ones)
    ids = ["1", "1.0", "01", "2", "2", "3", "", "NA"]
    before = kept(tmp_path / "table.csv", name, ids, 1)
    assert before == [0, 3, 5, 6]
    for cell in (*ODD, "17"):
        after = kept(tmp_path / "table.csv", name, [*ids, cell], 1)
        assert [place for place in after if place < len(ids)] == before, cell


def test_long_ids_of_a_file_are_units_of_their_own(tmp_path: Path) -> None:
    ids = [f"{10**17 + place}" for place in range(4)]
    for cell in ("", "x", "1.5"):
        assert kept(tmp_path / "table.csv", "command line", [*ids, cell], 1) == [0, 1, 2, 3, 4]


def test_no_type_is_refused_in_which_a_level_has_another_name() -> None:
    """The type of a column in memory may follow from a record, so no refusal may follow from it."""
    dates = {"d": vws.Column(model="table", levels=["30/06/2001", "01/07/2001"])}
    large = {"d": vws.Column(model="table", levels=["9007199254740993", "1"])}
    days = pl.DataFrame({"d": [date(2001, 6, 30)] * 5})
    numbers = pl.DataFrame({"d": [9007199254740993.0, 1.0]})
    for columns, table, right in ((dates, days, [-1] * 5), (large, numbers, [0, 1])):
        run = RunSettings(
            schema=vws.Schema(columns), mechanism=vws.NoisyCounts(epsilon=1.0, measure="pairs")
        )
        counted = check_table(table, run).counted
        assert counted is not None
        assert counted.codes[:, 0].tolist() == right


def test_a_missing_code_beyond_the_range_is_no_number_at_its_end() -> None:
    """Where numbers beyond the range count as its ends, one of which is a point of mass."""
    codes = {"99": "99", "-9": "-9", "59": "59", "70": "59"}
    income = vws.Column(
        model="normal", range=(0, 59), decimals=0, mass=(59,), missing=("-9", "99"), outside=True
    )
    column = counted_columns(vws.Schema({"income": income}))["income"]
    found, values = column.coded([*codes, "5"])
    assert [column.labels[code] for code in found[:4]] == [*codes.values()]
    assert np.isnan(values[:2]).all()
    assert values[2:].tolist() == [59.0, 59.0, 5.0]
