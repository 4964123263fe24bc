"""Values cross to R and back unchanged, or raise InputError."""

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from refusals import refused

from pyvws.errors import InputError
from pyvws.r.bridge import call
from pyvws.r.columns import (
    decoded,
    encoded,
    from_numpy,
    from_pandas,
    from_polars,
    from_scalar,
    to_python,
)

HERE = Path(__file__).parent
# R starts inside the first example, and other processes share the machine.
patient = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
in_r = pytest.mark.r


def probe(function: str, **arguments: Any) -> Any:
    return call("probes", function, arguments, folder=HERE)


def same(value: Any) -> Any:
    return probe("same", x=value)


def stored(column: Any) -> Any:
    """A column from the form in which R has it, without R."""
    return to_python(decoded(encoded(column)))


def bits(array: Any) -> list[int]:
    return np.ascontiguousarray(array, dtype=np.float64).view(np.int64).tolist()


# Numbers and truth values, bit for bit


SPECIAL = np.array([0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, np.inf, -np.inf, 0.1])


@in_r
def test_r_sees_the_same_floats() -> None:
    assert bits(same(SPECIAL)) == bits([*SPECIAL])
    assert probe("hexadecimal", x=np.array([-0.0, 5e-324, 0.1])).tolist() == [
        "-0x0p+0",
        "0x0.0000000000001p-1022",
        "0x1.999999999999ap-4",
    ]


@in_r
@patient
@given(hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(-(2**63), 2**63 - 1)))
def test_any_bits_come_back(pattern: Any) -> None:
    values = pattern.view(np.float64)
    is_na = np.isnan(values) & (pattern & 0xFFFFFFFF == 1954)
    values[is_na] = 0.0
    assert bits(same(values)) == bits(values)


@in_r
@patient
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6)))
def test_matrices_come_back(matrix: Any) -> None:
    back = same(matrix)
    assert back.shape == matrix.shape
    assert bits(back) == bits(matrix)


@in_r
def test_matrices_are_column_major_in_r() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    for form in (matrix, np.asfortranarray(matrix), matrix[::-1][::-1]):
        assert probe("cell", x=form, row=2, column=3).tolist() == [5.0]
        assert same(form).tolist() == matrix.tolist()


@in_r
def test_narrow_and_swapped_floats_keep_their_value() -> None:
    assert same(np.array([0.1], dtype=np.float32)).tolist() == [float(np.float32(0.1))]
    assert same(np.array([0.1], dtype=">f8")).tolist() == [0.1]


@in_r
@patient
@given(hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**31) + 1, 2**31 - 1)))
def test_whole_numbers_come_back(values: Any) -> None:
    back = same(values)
    assert back.dtype == np.int32
    assert back.tolist() == values.tolist()


EXACT = [2**31 - 1, 2**31, -(2**31), 2**33 + 5, np.int64(2**40), 2**53, -(2**53)]
BEYOND = [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, 2**70]


@in_r
@pytest.mark.parametrize("value", EXACT)
def test_whole_numbers_to_2_to_the_53_come_back(value: int) -> None:
    for form in (value, np.array([value])):
        assert probe("shown", x=form) == [str(value)]
        assert same(form).dtype in (np.float64, np.int32)
        assert same(form)[0] == value
    assert stored(from_pandas(pd.array([value, None], dtype="Int64")))[0] == value


@in_r
@pytest.mark.parametrize("value", BEYOND)
def test_larger_whole_numbers_are_refused(value: int) -> None:
    for form in (value, [value], {"a": value}, pd.DataFrame({"x": [value, 0]})):
        with pytest.raises(InputError):
            same(form)
    assert same(str(value)) == [str(value)]


@in_r
def test_the_message_names_the_argument_and_not_the_value() -> None:
    with refused("r-argument", name="x", function="same"):
        same(np.array([1, 2**53 + 1]))


@in_r
def test_truth_is_not_a_number() -> None:
    assert probe("storage", x=True).tolist() == ["logical", "logical"]
    assert probe("storage", x=1).tolist() == ["integer", "integer"]
    assert same(np.array([[True], [False]])).tolist() == [[True], [False]]


@in_r
def test_nan_is_not_na() -> None:
    back = probe("made", which="gaps")
    assert back._mask.tolist() == [False, True]
    assert np.isnan(back._data[0])
    assert probe("made", which="whole gaps").tolist() == [1, pd.NA]
    assert bits(same(np.array([np.nan]))) == bits([np.nan])
    values = pd.arrays.FloatingArray(np.array([1.0, np.nan, 3.0]), np.array([False, False, True]))
    assert stored(from_pandas(values))._mask.tolist() == [False, False, True]
    assert stored(from_polars(pl.Series([None, float("nan")])))._mask.tolist() == [True, False]


# Text


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@in_r
@patient
@given(st.lists(st.one_of(st.none(), text), max_size=12).filter(lambda x: {*x} != {None}))
@example(["NA", None])
def test_text_comes_back(values: list[str | None]) -> None:
    back = same(np.array([*values, None], dtype=object)[:-1])
    assert [None if value is pd.NA else value for value in back] == values


@in_r
@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_text_that_r_cannot_hold_is_refused(value: str) -> None:
    with refused("r-argument"):
        same(value)


@in_r
def test_text_of_another_encoding_is_translated() -> None:
    assert probe("made", which="latin").tolist() == ["é"]


# Factors, dates and times


@pytest.mark.parametrize(
    ("categories", "levels"),
    [(["b", "a", "c"], ["b", "a", "c"]), ([3, 1, 2], ["3", "1", "2"]), ([True], ["TRUE"])],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_factors_keep_levels_and_order(
    categories: list[Any], levels: list[str], ordered: bool
) -> None:
    back = stored(from_pandas(pd.Categorical.from_codes([0, -1, 0], categories, ordered=ordered)))
    assert back.codes.tolist() == [0, -1, 0]
    assert back.categories.tolist() == levels
    assert back.ordered is ordered


def test_categories_that_would_merge_or_change_are_refused() -> None:
    with refused("r-categories-alike"):
        from_pandas(pd.Categorical.from_codes([0, 1], pd.Index([1, "1"], dtype=object)))
    for categories in ([0.1, 0.2], [pd.Timestamp("2024-01-01")]):
        with refused("r-categories"):
            from_pandas(pd.Categorical(categories))


@settings(max_examples=60)
@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)))
@example(dt.datetime(1697, 1, 1, 0, 0, 0, 1))
@example(dt.datetime(2256, 1, 1, 0, 0, 0, 2))
def test_a_time_of_any_year_comes_back_or_is_refused(moment: dt.datetime) -> None:
    """2^33 seconds or 272 years from 1970, doubles hold seconds but not every microsecond."""
    whole = moment.replace(microsecond=0)
    assert stored(from_scalar(whole)).tolist() == [whole]
    try:
        back = stored(from_scalar(moment)).tolist()
    except InputError:
        back = None
    assert back == [moment] or (back is None and abs(moment.year - 1970) >= 272)


@pytest.mark.parametrize("unit", ["us", "ns"])
def test_a_time_that_would_change_is_refused(unit: str) -> None:
    last = {"us": "9999-12-31T23:59:59.999999", "ns": "2024-01-01T00:00:00.000000001"}[unit]
    with pytest.raises(InputError):
        stored(from_numpy(np.array([last], dtype=f"datetime64[{unit}]")))


# Containers


@in_r
def test_scalars_and_nothing() -> None:
    assert same(None) is None
    assert probe("nothing") is None
    assert same(1.5).tolist() == [1.5]
    assert same(np.float64(-0.0)).tolist() == [-0.0]


@in_r
def test_lists_and_dicts() -> None:
    value = {"a": [1, "x", None], "b": {"c": np.array([1.0])}, "e": [], "f": {}}
    back = same(value)
    assert list(back) == ["a", "b", "e", "f"]
    assert back["a"][0].tolist() == [1]
    assert back["a"][1].tolist() == ["x"]
    assert back["a"][2] is None
    assert back["b"]["c"].tolist() == [1.0]
    assert back["e"] == []
    assert back["f"] == {}
    nested = probe("made", which="nested")
    assert nested["b"]["d"] is None
    assert nested["e"][1].tolist() == [True]
    assert probe("made", which="named").tolist() == [1.0, 2.0]


@in_r
def test_a_frame_is_one_in_r() -> None:
    """`tests/tables/test_design_r.py` sends every kind of column."""
    frame = pd.DataFrame({"x": [1.0, 2.0, 3.0]})
    assert probe("storage", x=frame).tolist() == ["list", "data.frame"]
    assert probe("automatic_rows", x=frame).tolist() == [True]
    assert probe("row_names", x=frame.iloc[[2, 0]]).tolist() == ["2", "0"]


# What is refused


@in_r
@pytest.mark.parametrize(
    "value",
    [
        np.array([1.0], dtype=np.longdouble),
        np.longdouble(1),
        1j,
        b"x",
        object(),
        np.zeros((1, 1, 1)),
        np.ma.masked_array([1.0], [True]),
        np.array([dt.timedelta(1)], dtype="timedelta64[s]"),
        np.array([["2024-01-01"]], dtype="datetime64[D]"),
        np.array([1, "a"], dtype=object),
        np.array([None], dtype=object),
        {1: 2},
        {"": 2},
        pd.NaT,
        pd.DataFrame({"x": [pd.Interval(0, 1)]}),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({1: [1.0]}),
        pl.Series([1]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_cross_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        same(value)


@pytest.mark.parametrize("series", [pl.Series([[1, 2]]), pl.Series([1], dtype=pl.Int128)])
def test_columns_of_polars_that_r_has_not_are_refused(series: pl.Series) -> None:
    with refused("r-polars-type"):
        from_polars(series)


@in_r
@pytest.mark.parametrize(
    "which",
    [
        *("complex", "raw", "closure", "cube", "table", "dimnames", "whole_matrix_na", "factor"),
        *("repeated", "partly", "comment", "difference", "invalid", "bytes", "frame"),
    ],
)
def test_what_python_cannot_hold_is_refused(which: str) -> None:
    with pytest.raises(InputError):
        probe("odd", which=which)
