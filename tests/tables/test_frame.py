"""Tables of any kind in, the same kind out; what is missing is named by count and place."""

import io
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest
from refusals import refused

from pyvws.errors import InputError
from pyvws.tables.files.frame import (
    check_columns,
    numeric_column,
    open_frame,
    outcome_series,
    plain_columns,
    unit_codes,
    with_columns,
)
from pyvws.tables.files.kinds import floats_of

COLUMNS = {"visits": [3, 0, 7], "age": [1.5, 2.5, 9.0], "town": ["a", "b", "a"]}

KINDS = {
    "pandas": lambda columns: pd.DataFrame(columns, index=[9, 9, 2][: len(columns["visits"])]),
    "polars": pl.DataFrame,
    "arrow": pa.table,
}


@pytest.mark.parametrize("kind", KINDS)
def test_same_columns_from_every_kind(kind):
    frame = open_frame(KINDS[kind](COLUMNS))
    assert numeric_column(frame, "visits", role="outcome").tolist() == [3.0, 0.0, 7.0]
    assert numeric_column(frame, "age", role="outcome").dtype == np.float64
    plain = plain_columns(frame, ["town", "visits"], role="known")
    assert list(plain) == ["town", "visits"]
    assert plain["town"].tolist() == ["a", "b", "a"]
    assert plain["town"].index.tolist() == [0, 1, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_kind_comes_back_with_the_outcome_replaced(kind):
    table = KINDS[kind](COLUMNS)
    frame = open_frame(table).select("town", "visits")
    values = np.array([8.0, 2.0, 0.0])
    made = with_columns(
        frame, [outcome_series("visits", values, "whole", backend=frame.implementation)]
    )
    assert type(made) is type(table)
    seen = open_frame(made)
    assert list(seen.columns) == ["town", "visits"]
    assert str(seen["visits"].dtype) == "Int64"
    assert seen["visits"].to_list() == [8, 2, 0]
    assert seen["town"].to_list() == ["a", "b", "a"]
    assert open_frame(table)["visits"].to_list() == [3, 0, 7]  # the input is left as it is
    if kind == "pandas":
        assert made.index.tolist() == [9, 9, 2]


@pytest.mark.parametrize("kind", KINDS)
def test_missing_values_are_counted_and_placed(kind):
    table = KINDS[kind](
        {"visits": [1, None, 3], "age": [math.nan, 1.0, math.inf], "town": [None, "secret", None]}
    )
    frame = open_frame(table)
    for name, places in [("visits", "1 (row 2)"), ("age", "2 (rows 1 and 3)")]:
        with refused("column-missing-at-rows", column=name, bad=places):
            numeric_column(frame, name, role="original")
        with refused("column-missing-at-rows", column=name, bad=places):
            plain_columns(frame, [name], role="known")
    with refused("column-missing-at-rows", column="town", bad="2 (rows 1 and 3)"):
        plain_columns(frame, ["town"], role="known")


def test_integers_with_gaps_and_small_types():
    for values in (pd.array([1, None, 3], dtype="Int64"), pd.array([1, None, 3], dtype="Float64")):
        frame = open_frame(pd.DataFrame({"y": values}))
        with refused("column-missing-at-rows", column="y", bad="1 (row 2)"):
            numeric_column(frame, "y", role="original")
    small = open_frame(pl.DataFrame({"y": [200, 1]}, schema={"y": pl.UInt8}))
    assert numeric_column(small, "y", role="outcome").tolist() == [200.0, 1.0]
    values = np.array([70000.0, 0.0])
    series = outcome_series("y", values, "whole", backend=small.implementation)
    made = with_columns(small, [series])
    assert made["y"].to_list() == [70000, 0]
    nullable = open_frame(pd.DataFrame({"y": pd.array([4, 5], dtype="Int64")}))
    assert numeric_column(nullable, "y", role="outcome").tolist() == [4.0, 5.0]


@pytest.mark.parametrize("kind", KINDS)
def test_unknown_columns_get_the_nearest_names(kind):
    frame = open_frame(KINDS[kind](COLUMNS))
    with refused("columns-lacking", role="outcome", hint="Did you mean 'visits'?"):
        check_columns(frame, ["Visit"], role="outcome")
    with refused("columns-lacking", hint="It has: 'visits', 'age', 'town'."):
        check_columns(frame, ["town", "zzz"], role="keep")
    wide = open_frame(pl.DataFrame({"age": [1, 2], "page": [1, 2], "wage": [1, 2]}))
    with refused("columns-lacking", role="known") as caught:
        check_columns(wide, ["aged"], role="known")
    assert "'aged', which the table lacks. Did you mean 'age'" in str(caught.value)


@pytest.mark.parametrize(
    ("table", "refusal"),
    [
        *(
            (table, pytest.raises(InputError, match=f"Arrow table. Got {type(table).__name__}.$"))
            for table in ({"a": [1]}, np.ones((2, 2)), pd.Series([1, 2]))
        ),
        (pl.DataFrame({"a": [1]}), refused("table-too-small", frame=1)),
        (pd.DataFrame({"a": []}), refused("table-too-small", frame=0)),
        (pd.DataFrame([[1, 2], [3, 4]]), refused("column-name-no-text")),
        *(
            (twice, refused("column-names-twice"))
            for twice in (
                pd.DataFrame([[1, 2, 3], [4, 5, 6]], columns=["a", "b", "a"]),
                pa.table([[1, 2], [3, 4]], names=["a", "a"]),
            )
        ),
    ],
)
def test_tables_that_are_refused(table, refusal):
    with refusal:
        open_frame(table)


def test_outcomes_that_are_not_numbers():
    frame = open_frame(pl.DataFrame({"t": ["1", "2"], "b": [True, False]}))
    for name, kind in [("t", "String"), ("b", "Boolean")]:
        with pytest.raises(InputError, match=f"^original '{name}' .* type is {kind}"):
            numeric_column(frame, name, role="original")
    with pytest.raises(InputError) as caught:
        numeric_column(
            open_frame(pd.DataFrame({"s": pd.Categorical(["8675309", "x"], ordered=True)})),
            "s",
            role="outcome",
        )
    assert "8675309" not in str(caught.value)


def test_a_lazy_table_is_read():
    frame = open_frame(pl.DataFrame(COLUMNS).lazy())
    assert numeric_column(frame, "visits", role="outcome").tolist() == [3.0, 0.0, 7.0]


def test_whole_numbers_of_128_bits_are_numbers_and_patterns() -> None:
    """What polars makes of a csv's integers beyond 64 bits: two of them are one float."""
    large = [10**30, 10**30 + 1, 3]
    frame = open_frame(pl.DataFrame({"x": pl.Series(large, dtype=pl.Int128)}))
    assert plain_columns(frame, ["x"], role="formula")["x"].tolist() == [1e30, 1e30, 3.0]
    assert plain_columns(frame, ["x"], role="known")["x"].nunique() == 3


@pytest.mark.parametrize("values", [[2**53 + 1, 3], [2**63 - 1, None, -5], [None, 2]])
def test_whole_numbers_of_every_kind_are_the_nearest_floats(values) -> None:
    expected = [np.nan if x is None else float(x) for x in values]
    kinds = pa.array(values), pl.Series(values), pd.Series(values, dtype="Int64")
    for kind, column in zip((pa.table, pl.DataFrame, pd.DataFrame), kinds, strict=True):
        found = floats_of(open_frame(kind({"x": column}))["x"])
        assert np.array_equal(found, expected, equal_nan=True)


def test_units_whose_ids_are_long_numbers_stay_apart() -> None:
    """As floats these ids would be one."""
    for first in (2**53, 10**21):
        ids = pl.Series("home", [first, first + 1, first], dtype=pl.Int128)
        assert unit_codes(open_frame(ids.to_frame()), "home").tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", [object, "category"])
def test_ids_that_are_text_in_part_are_refused(kind):
    """A long csv read by pandas in parts has such ids, and a unit would be split."""
    table = pd.DataFrame({"home": pd.Series([1, "1", 2], dtype=kind)})
    with refused("unit-ids-of-two-types"):
        unit_codes(open_frame(table), "home")
    whole = pd.DataFrame({"home": pd.Series([1, 2.0, 1], dtype=kind)})
    assert unit_codes(open_frame(whole), "home").tolist() == [0, 1, 0]


@pytest.mark.parametrize("kind", ["string_view", "binary_view"])
@pytest.mark.parametrize("in_pandas", [False, True])
def test_arrow_views_are_plain_columns(kind, in_pandas):
    cells = pa.array([b"a", b"", b"b"]).cast(kind.removesuffix("_view")).cast(kind)
    table = pa.table({"n": [1, 2, 3], "c": cells})
    if in_pandas:
        column = pd.Series(pd.arrays.ArrowExtensionArray(cells), index=[4, 7, 5])
        table = pd.DataFrame({"n": pd.Series([1, 2, 3], index=[4, 7, 5]), "c": column})
    opened = open_frame(table)
    assert opened[[2, 0, 1]]["c"].to_list() == [cells[k].as_py() for k in (2, 0, 1)]
    assert list(opened.columns) == ["n", "c"]


@pytest.mark.parametrize("odd", ["x", "7.5", "0", "2.0"])
@pytest.mark.parametrize("reader", [pd.read_csv, pl.read_csv, pa_csv.read_csv])
def test_no_record_changes_the_unit_of_another_by_the_type_of_its_id(reader, odd):
    """A claim for units would not hold if one record could part or join the units of others."""
    ids = ["1", "01", "2", "1.0", "2"]
    for own, units in ((ids, [0, 0, 1, 0, 1]), (ids[:3], [0, 0, 1])):
        text = "\n".join(["home", *own, odd]) + "\n"
        codes = unit_codes(open_frame(reader(io.BytesIO(text.encode()))), "home")
        assert codes[:-1].tolist() == units


@pytest.mark.parametrize("reader", [pd.read_csv, pl.read_csv, pa_csv.read_csv])
def test_ids_that_a_reader_rounded_are_refused(reader):
    ids = [str(10**17 + place) for place in range(3)]
    whole = reader(io.BytesIO("\n".join(["home", *ids]).encode()))
    assert unit_codes(open_frame(whole), "home").tolist() == [0, 1, 2]
    rounded = reader(io.BytesIO("\n".join(["home", *ids, "1.5"]).encode()))
    with refused("digits-lost"):
        unit_codes(open_frame(rounded), "home")
