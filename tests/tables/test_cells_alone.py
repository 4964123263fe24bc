"""A cell's value follows from that cell alone, however a reader types its column for others.

Else one record would change the terms of others, and no strict claim would hold.
"""

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow.csv as arrow_csv
import pytest

from pyvws import Column, InputError, Schema
from pyvws.evaluation.public_cells import read_records, table_plan
from pyvws.tables.files.frame import open_frame
from pyvws.tables.files.read import read_table
from pyvws.tables.files.steps import open_large

COLUMNS = {
    "gain": Column(model="normal", range=(-5, 120), missing=("99", "-1", "N"), mass=(0,)),
    "kind": Column(model="nominal", levels=("1", "2", "x")),
    "left": Column(
        model="normal",
        days_since="2001-01-01",
        range=("2001-01-01", "2001-12-31"),
        missing=("2001-12-31", "N", True),
    ),
    "own": Column(model="nominal", levels=("true", "false", "unknown"), missing=True),
}
CELLS = {
    "gain": (["5.5", "99.0", "-1.0", "0.0", "-1"], ["7", "N", "99", "1e1"]),
    "kind": (["1.0", "2.0", "1", "2"], ["1", "x", "2.0"]),
    "left": (
        ["2001-12-31 00:00:00", "2001-06-30", "2001-05-01 00:00:00", ""],
        ["2001-06-29", "N", "2001-12-31"],
    ),
    "own": (["True", "False", "true", ""], ["unknown", "False", ""]),
}
SWALLOWED = {
    "truth": (
        Column(model="nominal", levels=("0", "1", "true", "false")),
        ["1", "0"],
        ["1", "true"],
    ),
    "dates": (
        Column(model="nominal", levels=("30/06/2001", "2001-06-30", "x")),
        ["30/06/2001", "30/06/2001"],
        ["30/06/2001", "x"],
    ),
    "code": (
        Column(
            model="normal",
            days_since="1999-01-01",
            range=("1990-01-01", "2001-12-31"),
            missing=("01/06/1999", "x"),
        ),
        ["01/06/1999", "01/06/1999"],
        ["01/06/1999", "x"],
    ),
    "digits": (
        Column(
            model="nominal", levels=("9007199254740992", "9007199254740993", "1.5"), missing=True
        ),
        ["9007199254740993", "9007199254740992"],
        ["9007199254740992", "", "1.5"],
    ),
}
READERS = {
    "command line": lambda path: read_table(path).with_codes,
    "polars": lambda path: pl.read_csv(path, infer_schema_length=None, try_parse_dates=True),
    "pandas": pd.read_csv,
    "arrow": arrow_csv.read_csv,
}


def read(path: Path, reader: str, name: str, cells: list[str]) -> Any:
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([(name, "beside"), *((cell, "1") for cell in cells)])
    return READERS[reader](path)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("name", COLUMNS)
def test_no_record_changes_the_coded_value_of_another(
    name: str, reader: str, tmp_path: Path
) -> None:
    cells, others = CELLS[name]
    schema = Schema({name: COLUMNS[name]})
    seen = []
    for other in others:
        frame = open_frame(read(tmp_path / "table.csv", reader, name, [*cells, other]))
        coded = schema.coded(frame, by_schema=frame.columns)
        seen.append({key: own[: len(cells)] for key, own in coded.items()})
    for own in seen[1:]:
        for key, values in seen[0].items():
            np.testing.assert_array_equal(own[key], values)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("kind", SWALLOWED)
def test_a_type_in_which_two_levels_may_be_one_is_refused(
    kind: str, reader: str, tmp_path: Path
) -> None:
    """Another record decides that 1 is true, 30/06/2001 a date, or a long number rounded."""
    column, cells, others = SWALLOWED[kind]
    seen = []
    for other in others:
        frame = open_frame(read(tmp_path / "table.csv", reader, "a", [*cells, other]))
        try:
            coded = Schema({"a": column}).coded(frame, by_schema=frame.columns)
        except InputError:
            continue
        seen.append({key: own[: len(cells)].tolist() for key, own in coded.items()})
    assert seen
    assert all(str(own) == str(seen[0]) for own in seen)


def test_a_code_that_is_no_date_in_any_order_may_stand_beside_dates() -> None:
    column = Column(
        model="normal",
        days_since="2001-01-01",
        range=("2001-01-01", "2001-12-31"),
        missing=("9999-99-99", "0000-00-00"),
    )
    table = pl.DataFrame({"a": pl.Series(["2001-01-02", "2001-01-03"]).str.to_date()})
    frame = open_frame(table)
    assert Schema({"a": column}).coded(frame, by_schema=frame.columns)["a"].tolist() == [1.0, 2.0]


@pytest.mark.parametrize("reader", READERS)
def test_no_record_changes_the_cell_of_another_in_a_table_of_estimates(
    reader: str, tmp_path: Path
) -> None:
    """The noise of the Laplace mechanism is for one record in one cell."""
    schema = Schema({"kind": Column(model="nominal", levels=("1", "2"))})
    asked: dict[str, Any] = {"total": (), "mean": (), "quantile": {}, "weights": None}
    plan = table_plan(
        "kind", count=True, share="kind", strata=None, clusters=None, schema=schema, **asked
    )
    cells, seen = ["1.0", "2.0", "1", "02"], []
    for other in ("1", "x", "", "1.5"):
        records = read_records(
            read(tmp_path / "table.csv", reader, "kind", [*cells, other]), plan, "original"
        )
        seen.append((records.cell[:4].tolist(), records.levels["kind"][:4].tolist()))
    assert seen == [([0, 1, 0, 1],) * 2] * 4


@pytest.mark.parametrize("digits", [38, 39, 60])
def test_a_whole_number_that_no_type_holds_keeps_nobody_from_reading(
    digits: int, tmp_path: Path
) -> None:
    path = tmp_path / "table.csv"
    cells = ["1", "20000000000000001", "9" * digits]
    path.write_text("a,b\n" + "".join(f"{cell},{cell}\n" for cell in cells))
    table = read_table(path)
    assert table.frame.columns == ["a", "b"]
    assert table.frame["a"].cast(pl.String).to_list() == cells
    as_text, typed = open_large(path).tally(["a"], by_schema=True)
    assert sorted(typed["a"].cast(pl.String)) == sorted(cells) == sorted(as_text["a"])
