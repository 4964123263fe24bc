"""A column's values, read as floats by its schema and written again, are the same values."""

from datetime import date, timedelta
from typing import Any

import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.schema import Schema

FIRST = date(1990, 1, 1)
KINDS: Any = pytest.mark.parametrize("table", [pd.DataFrame, pl.DataFrame])


def written_again(table: Any, column: Column) -> list[Any]:
    schema = Schema({"x": column})
    read = schema.coded(table)
    again = schema.decoded("x", read["x"], like=table["x"], parts=read.get(part_of("x")))
    return [None if pd.isna(cell) else cell for cell in again.to_list()]


def cells(values: st.SearchStrategy[Any]) -> st.SearchStrategy[list[Any]]:
    return st.lists(values, min_size=1, max_size=12)


@KINDS
@given(labels=cells(st.sampled_from(["a", "b", "N", None])))
def test_levels_and_missing_codes_come_back(table: Any, labels: list[Any]) -> None:
    column = Column(model="nominal", levels=["b", "a"], missing=["N", True])
    made = table({"x": pl.Series(labels, dtype=pl.String).to_pandas()})
    if table is pl.DataFrame:
        made = pl.DataFrame({"x": pl.Series(labels, dtype=pl.String)})
    assert written_again(made, column) == labels


@KINDS
@given(whole=cells(st.integers(-(10**9), 10**9)), decimals=st.integers(0, 4))
def test_numbers_with_decimals_come_back(table: Any, whole: list[int], decimals: int) -> None:
    numbers = [round(number / 10**decimals, decimals) for number in whole]
    column = Column(model="normal", decimals=decimals, mass=[0])
    assert written_again(table({"x": numbers}), column) == numbers


@KINDS
@given(numbers=cells(st.integers(0, 50) | st.sampled_from([98, 99])))
def test_numbers_with_missing_codes_come_back(table: Any, numbers: list[int]) -> None:
    column = Column(model="normal", range=[0, 50], decimals=0, mass=[0], missing=[98, 99])
    assert written_again(table({"x": numbers}), column) == numbers


@pytest.mark.parametrize("kind", ["int64", "Int64", "uint8", "int64[pyarrow]"])
def test_fractions_find_a_place_where_the_table_has_whole_numbers_alone(kind: str) -> None:
    """A released number with decimals and missing codes is as it was drawn, not cut to a whole."""
    column = Column(model="normal", range=[0, 50], decimals=1, missing=[99, True])
    like = pd.Series([1, 2, 99], dtype=kind, name="x")
    drawn = Schema({"x": column}).decoded("x", [0.52, float("nan"), 3.0], like=like)
    assert drawn.to_list() == [0.5, 99.0, 3.0]


@KINDS
@given(texts=cells(st.integers(0, 500).map(str) | st.just("N")))
def test_text_of_numbers_and_words_comes_back(table: Any, texts: list[str]) -> None:
    column = Column(model="normal", range=[0, 500], decimals=0, missing="N")
    assert written_again(table({"x": texts}), column) == texts


@KINDS
@given(days=cells(st.integers(0, 9000)))
def test_dates_come_back(table: Any, days: list[int]) -> None:
    dates = [FIRST + timedelta(day) for day in days]
    column = Column(model="normal", days_since="2000-01-01", range=[FIRST, "2020-12-31"])
    assert written_again(table({"x": dates}), column) == dates
    texts = [day.isoformat() for day in dates]
    assert written_again(table({"x": texts}), column) == texts
