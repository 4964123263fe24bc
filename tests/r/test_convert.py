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

pytestmark = pytest.mark.r

HERE = Path(__file__).parent
# R starts inside the first example, and other processes share the machine.
patient = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])


def probe(function: str, **arguments: Any) -> Any:
    return call("probes", function, arguments, folder=HERE)


def same(value: Any) -> Any:
    return probe("same", x=value)


def bits(array: Any) -> list[int]:
    return np.ascontiguousarray(array, dtype=np.float64).view(np.int64).tolist()


# Floats, bit for bit


SPECIAL = np.array([0.0, -0.0, 5e-324, -5e-324, 2.2250738585072014e-308, np.inf, -np.inf, 0.1])


def test_special_floats_keep_every_bit() -> None:
    assert bits(same(SPECIAL)) == bits(SPECIAL)


def test_r_sees_the_same_floats() -> None:
    assert probe("hexadecimal", x=np.array([-0.0, 5e-324, 0.1])).tolist() == [
        "-0x0p+0",
        "0x0.0000000000001p-1022",
        "0x1.999999999999ap-4",
    ]


def test_nan_is_not_na() -> None:
    values = pd.arrays.FloatingArray(np.array([1.0, np.nan, 3.0]), np.array([False, False, True]))
    assert probe("truly_missing", x=values).tolist() == [False, False, True]
    back = same(values)
    assert isinstance(back, pd.arrays.FloatingArray)
    assert back._mask.tolist() == [False, False, True]
    assert np.isnan(back._data[1])
    assert bits(same(np.array([np.nan]))) == bits([np.nan])


@patient
@given(hnp.arrays(np.int64, st.integers(0, 30), elements=st.integers(-(2**63), 2**63 - 1)))
def test_any_bits_come_back(pattern: Any) -> None:
    values = pattern.view(np.float64)
    is_na = np.isnan(values) & (pattern & 0xFFFFFFFF == 1954)
    values[is_na] = 0.0
    assert bits(same(values)) == bits(values)


@patient
@given(hnp.arrays(np.float64, hnp.array_shapes(min_dims=2, max_dims=2, min_side=0, max_side=6)))
def test_matrices_come_back(matrix: Any) -> None:
    back = same(matrix)
    assert back.shape == matrix.shape
    assert bits(back) == bits(matrix)


def test_matrices_are_column_major_in_r() -> None:
    matrix = np.arange(6.0).reshape(2, 3)
    for form in (matrix, np.asfortranarray(matrix), matrix[::-1][::-1]):
        assert probe("cell", x=form, row=2, column=3).tolist() == [5.0]
        assert same(form).tolist() == matrix.tolist()


def test_narrow_and_swapped_floats_keep_their_value() -> None:
    assert same(np.array([0.1], dtype=np.float32)).tolist() == [float(np.float32(0.1))]
    assert same(np.array([0.1], dtype=">f8")).tolist() == [0.1]


# Whole numbers and truth values


@patient
@given(hnp.arrays(np.int64, st.integers(0, 20), elements=st.integers(-(2**31) + 1, 2**31 - 1)))
def test_whole_numbers_come_back(values: Any) -> None:
    back = same(values)
    assert back.dtype == np.int32
    assert back.tolist() == values.tolist()


EXACT = [2**31 - 1, 2**31, -(2**31), 2**33 + 5, np.int64(2**40), 2**53, -(2**53)]
BEYOND = [2**53 + 1, -(2**53) - 1, 2**63 - 1, 2**63, 2**70]


@pytest.mark.parametrize("value", EXACT)
def test_whole_numbers_to_2_to_the_53_come_back(value: int) -> None:
    for form in (value, np.array([value]), pd.array([value, None], dtype="Int64")):
        back = probe("shown", x=form)
        assert back[0] == str(value)
        assert pd.isna(same(form)[-1]) or same(form).dtype in (np.float64, np.int32)
        assert same(form)[0] == value


@pytest.mark.parametrize("value", BEYOND)
def test_larger_whole_numbers_are_refused(value: int) -> None:
    for form in (value, [value], {"a": value}, pd.Series([value, 0])):
        with pytest.raises(InputError):
            same(form)
    assert same(str(value)) == [str(value)]


def test_the_message_names_the_argument_and_not_the_value() -> None:
    with refused("r-argument", name="x", function="same"):
        same(np.array([1, 2**53 + 1]))


@patient
@given(st.lists(st.one_of(st.none(), st.integers(-(2**31) + 1, 2**31 - 1)), max_size=20))
def test_nullable_whole_numbers_come_back(values: list[int | None]) -> None:
    array = pd.array(values, dtype="Int64")
    back = pd.array(same(array), dtype="Int64")
    assert back.equals(array)
    assert probe("truly_missing", x=array).tolist() == [value is None for value in values]


@patient
@given(st.lists(st.sampled_from([None, True, False]), max_size=20))
def test_nullable_truth_values_come_back(values: list[bool | None]) -> None:
    array = pd.array(values, dtype="boolean")
    back = pd.array(same(array), dtype="boolean")
    assert back.equals(array)
    assert probe("storage", x=array)[0] == "logical"


def test_truth_is_not_a_number() -> None:
    assert probe("storage", x=True).tolist() == ["logical", "logical"]
    assert probe("storage", x=1).tolist() == ["integer", "integer"]
    assert same(np.array([[True], [False]])).tolist() == [[True], [False]]


# Text


text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@patient
@given(st.lists(st.one_of(st.none(), text), max_size=12))
def test_text_comes_back(values: list[str | None]) -> None:
    back = same(pd.array(values, dtype="string"))
    assert [None if value is pd.NA else value for value in back] == values


@pytest.mark.parametrize("value", ["a\0b", "\ud800"])
def test_text_that_r_cannot_hold_is_refused(value: str) -> None:
    with refused("r-argument"):
        same(value)


def test_text_keeps_na_apart_from_its_letters() -> None:
    for form in (
        pd.Series(["NA", None]),
        pd.Series(["NA", np.nan], dtype=object),
        np.array(["NA", None], dtype=object),
        pl.Series(["NA", None]),
    ):
        back = same(form)
        assert back[0] == "NA"
        assert back[1] is pd.NA


def test_text_of_another_encoding_is_translated() -> None:
    assert probe("made", which="latin").tolist() == ["é"]


# Factors


@pytest.mark.parametrize(
    ("categories", "levels"),
    [(["b", "a", "c"], ["b", "a", "c"]), ([3, 1, 2], ["3", "1", "2"]), ([True], ["TRUE"])],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_factors_keep_levels_and_order(
    categories: list[Any], levels: list[str], ordered: bool
) -> None:
    factor = pd.Categorical.from_codes([0, -1, 0], categories, ordered=ordered)
    back = same(factor)
    assert isinstance(back, pd.Categorical)
    assert back.codes.tolist() == [0, -1, 0]
    assert back.categories.tolist() == levels
    assert back.ordered is ordered
    assert probe("labels", x=factor)[0] == levels[0]


def test_categories_that_would_merge_or_change_are_refused() -> None:
    with refused("r-argument", function="same"):
        same(pd.Categorical.from_codes([0, 1], pd.Index([1, "1"], dtype=object)))
    with refused("r-argument"):
        same(pd.Categorical([0.1, 0.2]))


def test_factor_made_in_r() -> None:
    back = probe("made", which="factor")
    assert back.codes.tolist() == [1, -1, 0]
    assert back.categories.tolist() == ["a", "b"]


# Dates and times


def test_dates_stay_dates() -> None:
    days = np.array(["2024-02-29", "NaT", "1900-03-01"], dtype="datetime64[D]")
    assert probe("storage", x=days).tolist() == ["double", "Date"]
    assert probe("day_text", x=days).tolist() == ["2024-02-29", pd.NA, "1900-03-01"]
    back = same(days)
    assert back.dtype == np.dtype("datetime64[D]")
    assert back.astype(str).tolist() == ["2024-02-29", "NaT", "1900-03-01"]
    assert same(dt.date(2024, 2, 29)).tolist() == [dt.date(2024, 2, 29)]
    assert probe("made", which="whole_date").astype(int).tolist() == [19000]


@patient
@given(st.datetimes(dt.datetime(1800, 1, 1), dt.datetime(2200, 1, 1)))
def test_times_keep_microseconds(moment: dt.datetime) -> None:
    for form in (moment, np.array([moment], dtype="datetime64[us]"), pd.Series([moment])):
        assert same(form).astype("datetime64[us]").tolist() == [moment]


@patient
@given(st.datetimes(dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59)))
@example(dt.datetime(1697, 1, 1, 0, 0, 0, 1))
@example(dt.datetime(2256, 1, 1, 0, 0, 0, 2))
def test_a_time_of_any_year_comes_back_or_is_refused(moment: dt.datetime) -> None:
    """2^33 seconds or 272 years from 1970, doubles hold seconds but not every microsecond."""
    whole = moment.replace(microsecond=0)
    assert same(whole).astype("datetime64[us]").tolist() == [whole]
    try:
        back = same(moment).tolist()
    except InputError:
        back = None
    assert back == [moment] or (back is None and abs(moment.year - 1970) >= 272)


def test_the_last_microsecond_of_a_calendar_is_refused() -> None:
    with refused("r-argument"):
        same(np.array(["9999-12-31T23:59:59.999999"], dtype="datetime64[us]"))


def test_times_are_instants_in_utc() -> None:
    zone = dt.timezone(dt.timedelta(hours=2))
    moment = dt.datetime(2024, 7, 1, 12, 0, 0, 250000, tzinfo=zone)
    for form in (moment, pd.Series([moment]), pl.Series([moment])):
        assert probe("time_text", x=form).tolist() == ["2024-07-01 10:00:00.250000"]
    assert probe("made", which="berlin").tolist() == [dt.datetime(2024, 7, 1, 10)]


def test_times_that_change_are_refused() -> None:
    with refused("r-argument"):
        same(np.array(["2024-01-01T00:00:00.000000001"], dtype="datetime64[ns]"))
    with refused("r-argument"):
        same(pd.Timestamp("2024-01-01T00:00:00.000000001"))


# Containers


def test_scalars_and_nothing() -> None:
    assert same(None) is None
    assert probe("nothing") is None
    assert same(1.5).tolist() == [1.5]
    assert same(np.float64(-0.0)).tolist() == [-0.0]
    assert same(np.array(2)).tolist() == [2]


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


def test_series_with_text_index_is_a_named_vector() -> None:
    series = pd.Series([1.0, 2.0], index=["u", "v"])
    assert probe("names_of", x=series).tolist() == ["u", "v"]
    assert same(series).to_dict() == {"u": 1.0, "v": 2.0}
    assert probe("made", which="named").to_dict() == {"a": 1.0, "b": 2.0}


def frame() -> pd.DataFrame:
    return pd.DataFrame(
        {
            "n": pd.array([1, None, 3], dtype="Int32"),
            "x": [0.5, -0.0, np.inf],
            "b": [True, False, True],
            "s": pd.array(["a", None, "é"], dtype="string"),
            "f": pd.Categorical(["u", "v", "u"], ["v", "u"], ordered=True),
            "d": pd.array([dt.date(2024, 1, 1), None, dt.date(1999, 12, 31)], dtype=object),
            "t": np.array(["2024-01-01T00:00:01", "NaT", "1960-01-01"], dtype="datetime64[us]"),
        }
    )


def test_pandas_frame_comes_back() -> None:
    back = same(frame())
    pd.testing.assert_frame_equal(back, frame())
    assert probe("automatic_rows", x=frame()).tolist() == [True]


def test_polars_frame_comes_back_as_pandas() -> None:
    table = pl.DataFrame(
        {
            "n": pl.Series([1, None, 3], dtype=pl.Int32),
            "x": [0.5, -0.0, float("inf")],
            "b": [True, False, True],
            "s": ["a", None, "é"],
            "f": pl.Series(["u", "v", "u"], dtype=pl.Enum(["v", "u"])),
            "d": [dt.date(2024, 1, 1), None, dt.date(1999, 12, 31)],
            "t": [dt.datetime(2024, 1, 1, 0, 0, 1), None, dt.datetime(1960, 1, 1)],
        }
    )
    expected = frame()
    expected["f"] = expected["f"].cat.as_unordered()
    pd.testing.assert_frame_equal(same(table), expected)


def test_polars_null_is_na_and_nan_is_nan() -> None:
    series = pl.Series([None, float("nan"), 1.0])
    assert probe("truly_missing", x=series).tolist() == [True, False, False]
    assert probe("labels", x=pl.Series(["b", "a", None], dtype=pl.Categorical))[0] == "b"


def test_row_names() -> None:
    named = pd.DataFrame({"x": [1.0, 2.0]}, index=["first", "second"])
    pd.testing.assert_frame_equal(same(named), named, check_column_type=False)
    assert probe("made", which="rows").index.tolist() == ["first", "second"]
    picked = pd.DataFrame({"x": [1.0, 2.0, 3.0]}).iloc[[2, 0]]
    assert same(picked).index.tolist() == [2, 0]
    assert probe("made", which="subset").index.tolist() == [3, 1]
    counted = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=[1, 2, 3])
    assert same(counted).index.tolist() == [1, 2, 3]
    empty = same(pd.DataFrame(index=range(3)))
    assert empty.shape == (3, 0)
    assert probe("made", which="empty").shape == (0, 0)


def test_frame_made_in_r() -> None:
    back = probe("made", which="frame")
    assert back["n"].tolist() == [1, pd.NA]
    assert back["x"].array._mask.tolist() == [False, True]
    assert back["f"].tolist() == ["u", "v"]
    assert back["d"].tolist() == [dt.date(2024, 2, 29), None]
    assert back["s"].tolist() == ["a", pd.NA]
    assert isinstance(back.index, pd.RangeIndex)


# What is refused


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
        np.array([1, "a"], dtype=object),
        np.array([None], dtype=object),
        {1: 2},
        {"": 2},
        pd.NaT,
        pd.Series([1.0], index=[5]),
        pd.Series([pd.Interval(0, 1)]),
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        pd.DataFrame({1: [1.0]}),
        pd.DataFrame({"x": [1.0, 2.0]}, index=["a", "a"]),
        pd.DataFrame({"x": [1.0]}, index=[0.5]),
        pd.DataFrame({"x": [1.0]}, index=[2**31]),
        pl.Series([[1, 2]]),
        pl.Series([1], dtype=pl.Int128),
        pd.Categorical([pd.Timestamp("2024-01-01")]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_cross_is_refused(value: Any) -> None:
    with pytest.raises(InputError):
        same(value)


@pytest.mark.parametrize(
    "which",
    [
        *("complex", "raw", "closure", "cube", "table", "dimnames", "whole_matrix_na", "half_day"),
        *("nanosecond", "never", "repeated", "partly", "comment", "difference", "invalid", "bytes"),
    ],
)
def test_what_python_cannot_hold_is_refused(which: str) -> None:
    with pytest.raises(InputError):
        probe("odd", which=which)
