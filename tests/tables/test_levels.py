"""Columns of categories in any type: coded by public levels, and given back in their own type."""

from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused

from pyvws.tables.files.frame import open_frame, outcome_series, with_columns
from pyvws.tables.files.labels import label_of
from pyvws.tables.files.outcome_copies import look_for_copies
from pyvws.tables.schema.read_values import coded_column

TEXT, WHOLE, TRUTH = ["b", "a", "b"], [2, 1, 2], [True, False, True]

COLUMNS: dict[str, Any] = {
    "pandas text": pd.Series(TEXT, index=[7, 7, 1]),
    "pandas string": pd.Series(TEXT, dtype="string"),
    "pandas objects": pd.Series(TEXT, dtype=object),
    "pandas category": pd.Series(TEXT, dtype="category"),
    "pandas numbers as category": pd.Series(WHOLE, dtype="category"),
    "pandas order": pd.Series(pd.Categorical(TEXT, categories=["a", "b"], ordered=True)),
    "pandas bytes": pd.Series(WHOLE, dtype="int8"),
    "pandas Int64": pd.Series(WHOLE, dtype="Int64"),
    "pandas truth": pd.Series(TRUTH),
    "pandas boolean": pd.Series(TRUTH, dtype="boolean"),
    "pandas fractions": pd.Series([2.5, 1.0, 2.5]),
    "polars text": pl.Series(TEXT),
    "polars category": pl.Series(TEXT, dtype=pl.Categorical),
    "polars enumeration": pl.Series(TEXT, dtype=pl.Enum(["a", "b"])),
    "polars bytes": pl.Series(WHOLE, dtype=pl.UInt8),
    "polars truth": pl.Series(TRUTH),
    "arrow text": pa.chunked_array([pa.array(TEXT, pa.large_string())]),
    "arrow dictionary": pa.chunked_array([pa.array(TEXT).dictionary_encode()]),
    "arrow bytes": pa.chunked_array([pa.array(WHOLE, pa.int8())]),
}


def framed(column: Any) -> Any:
    kinds = {pd.Series: pd.DataFrame, pl.Series: pl.DataFrame}
    return open_frame(kinds.get(type(column), pa.table)({"x": column}))


def plain(column: Any) -> list[Any]:
    return column.to_pylist() if hasattr(column, "to_pylist") else list(column)


@pytest.mark.parametrize("kind", COLUMNS)
def test_values_come_back_in_their_own_type(kind: str) -> None:
    column = COLUMNS[kind]
    frame = framed(column)
    coded = coded_column(frame, "x", role="outcome")
    assert coded.codes.tolist() == [2.0, 1.0, 2.0]
    assert coded.codes.dtype == np.float64
    series = outcome_series("x", coded.codes, coded.values, backend=frame.implementation)
    made = with_columns(frame.select("x"), [series])
    back = made["x"]
    if isinstance(column, pd.Series):
        pd.testing.assert_series_equal(back, column, check_names=False)
    else:
        assert plain(back) == plain(column)
        assert getattr(back, "dtype", None) == getattr(column, "dtype", None)
        assert getattr(back, "type", None) == getattr(column, "type", None)


@pytest.mark.parametrize(
    ("column", "labels", "codes", "levels"),
    [
        ("polars text", ("b", "c", "a"), [1, 3, 1], ["b", "c", "a"]),
        ("pandas category", ("c", "b", "a"), [2, 3, 2], ["c", "b", "a"]),
        ("pandas numbers as category", ("3", "2", "1"), [2, 3, 2], [3, 2, 1]),
        ("polars enumeration", ("c", "b", "a"), [2, 3, 2], ["c", "b", "a"]),
        ("arrow dictionary", ("c", "b", "a"), [2, 3, 2], ["c", "b", "a"]),
        ("polars bytes", ("1", "2", "9"), [2, 1, 2], [1, 2, 9]),
        ("pandas truth", ("true", "false"), [1, 2, 1], [True, False]),
        ("pandas fractions", ("0.5", "2.5", "1"), [2, 3, 2], [0.5, 2.5, 1.0]),
    ],
)
def test_public_labels_fix_the_codes(column: str, labels: Any, codes: Any, levels: Any) -> None:
    coded = coded_column(framed(COLUMNS[column]), "x", labels, role="outcome")
    assert coded.codes.tolist() == codes
    assert coded.values.to_list() == levels
    drawn = np.arange(len(levels), 0.0, -1.0)
    made = outcome_series("y", drawn, coded.values, backend=coded.values.implementation)
    assert made.name == "y"
    assert made.to_list() == levels[::-1]


def test_levels_that_no_record_has_stay_out_unless_they_are_public() -> None:
    part = pd.DataFrame({"x": pd.Series([*TEXT, "z"], dtype="category")}).iloc[:3]
    coded = coded_column(open_frame(part), "x", role="outcome")
    assert coded.values.to_native().cat.categories.tolist() == ["a", "b"]


def test_a_release_of_another_kind_gets_the_levels_too() -> None:
    coded = coded_column(framed(COLUMNS["pandas text"]), "x", role="outcome")
    other = pl.DataFrame({"x": [None, None], "z": [1, 2]})
    series = outcome_series(
        "x", np.array([2.0, 1.0]), coded.values, backend=open_frame(other).implementation
    )
    made = open_frame(with_columns(open_frame(other).select("x", "z"), [series]))
    assert made.to_dict(as_series=False) == {"x": ["b", "a"], "z": [1, 2]}


@pytest.mark.parametrize(
    ("column", "labels", "key"),
    [
        (pl.Series(["secret", "a", "b"]), ("a", "b"), "cells-unknown-levels"),
        (pl.Series([1, 2], dtype=pl.Int8), ("1", "2", "300"), "levels-of-other-type"),
        (pl.Series(["a", None]), (), "column-missing-at-rows"),
    ],
)
def test_bad_columns(column: Any, labels: Any, key: str) -> None:
    with refused(key):
        coded_column(framed(column), "x", labels, role="outcome")


@pytest.mark.parametrize("copy", [TEXT, [f" {level}" for level in TEXT]])
def test_a_copy_of_labels_is_refused(copy: list[str]) -> None:
    table = pl.DataFrame({"y": TEXT * 5, "same": copy * 5, "other": ["a", "b", "c"] * 5})
    coded = coded_column(open_frame(table), "y", role="outcome")
    sought = {"y": (coded.codes, coded.values)}
    look_for_copies(open_frame(table), ["y", "other"], sought)
    with refused("columns-equal-outcome", outcome="y"):
        look_for_copies(open_frame(table), ["y", "same", "other"], sought)


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (Decimal("1.00"), "1"),
        (Decimal("0.50"), "0.5"),
        (Decimal("1E+2"), "100"),
        (
            Decimal("12345678901234567890123456789012345.60"),
            "12345678901234567890123456789012345.6",
        ),
        (datetime(2000, 12, 31), "2000-12-31"),
        (datetime(2000, 12, 31, 0, 0, 1), "2000-12-31 00:00:01"),
    ],
)
def test_equal_values_of_other_types_are_one_label(value: Any, label: str) -> None:
    assert label_of(value) == label
