"""Dates: days since a public start, and back as dates of the type that went in."""

import datetime
from pathlib import Path

import hypothesis.strategies as st
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Column, Schema
from pyvws.tables.design.public import public_design
from pyvws.tables.files.kinds import days_of
from pyvws.tables.files.labels import as_days, days_or_empty, iso_of, moved
from pyvws.tables.files.read import read_table
from pyvws.tables.schema.parts import finish_of, follows
from pyvws.tables.schema.write_values import dates_like

DAY = datetime.date
ENTRIES = {"days_since": "2000-01-01", "range": ("1990-01-01", DAY(2029, 12, 31))}
SCHEMA = Schema(
    {
        "born": Column(role="public", **ENTRIES),
        "died": Column(model="normal", missing=True, mass=("2000-01-03",), **ENTRIES),
    }
)
BORN = [DAY(2000, 1, 1), DAY(1999, 12, 31), DAY(2001, 1, 1)]
DIED = [DAY(2000, 1, 3), None, DAY(2020, 2, 29)]


def text(dates: list[DAY | None]) -> list[str | None]:
    return [None if one is None else one.isoformat() for one in dates]


def moments(dates: list[DAY | None]) -> list[datetime.datetime | None]:
    return [None if one is None else datetime.datetime(*one.timetuple()[:3]) for one in dates]


TABLES = {
    "polars dates": lambda x: pl.Series(x),
    "polars moments": lambda x: pl.Series(moments(x), dtype=pl.Datetime("ms")),
    "polars text": lambda x: pl.Series(text(x)),
    "pandas nanoseconds": lambda x: pd.Series(pd.to_datetime(pd.Series(x)), dtype="M8[ns]"),
    "pandas seconds": lambda x: pd.Series(x, dtype="M8[s]"),
    "pandas objects": lambda x: pd.Series(x, dtype=object),
    "pandas arrow": lambda x: pd.Series(x, dtype=pd.ArrowDtype(pa.date32())),
    "pandas text": lambda x: pd.Series(text(x), dtype=object),
    "arrow dates": lambda x: pa.chunked_array([pa.array(x, pa.date32())]),
    "arrow moments": lambda x: pa.chunked_array([pa.array(moments(x), pa.timestamp("us"))]),
    "arrow text": lambda x: pa.chunked_array([pa.array(text(x))]),
}


def table_of(made: dict[str, object]) -> object:
    (first, *_) = made.values()
    if isinstance(first, pl.Series):
        return pl.DataFrame(made)
    return pa.table(made) if isinstance(first, pa.ChunkedArray) else pd.DataFrame(made)


@pytest.mark.parametrize("kind", TABLES)
def test_three_records_by_hand(kind: str) -> None:
    """2000-01-01 is day 0, 2001-01-01 day 366, 2020-02-29 day 7364."""
    made = {"born": TABLES[kind](BORN), "died": TABLES[kind](DIED)}
    table = table_of(made)
    coded = SCHEMA.coded(table)
    found = {name: [None if np.isnan(x) else x for x in values] for name, values in coded.items()}
    assert found == {
        "born": [0.0, -1.0, 366.0],
        "died": [2.0, None, 7364.0],
        "part of died": [2.0, 3.0, 1.0],
    }
    frame = nw.from_native(table, eager_only=True)
    for name in ("born", "died"):
        parts = coded.get(f"part of {name}")
        back = SCHEMA.decoded(name, coded[name], like=frame[name], parts=parts)
        assert back.to_list() == frame[name].to_list() or kind.startswith("pandas")
        assert back.to_polars().to_list() == frame[name].to_polars().to_list()
        before, after = frame[name].to_native(), back.to_native()
        if isinstance(before, pa.ChunkedArray):
            assert after.type == before.type
        else:
            assert after.dtype == before.dtype


def test_a_csv_keeps_its_spelling(tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text("born,died\n2000-01-01,2000-01-03\n1999-12-31,\n")
    table = read_table(tmp_path / "t.csv").with_codes
    coded = SCHEMA.coded(table)
    assert coded["born"].tolist() == [0.0, -1.0]
    parts = coded["part of died"]
    back = SCHEMA.decoded("died", coded["died"], like=table["died"], parts=parts)
    assert back.to_list() == ["2000-01-03", None]


@given(
    days=st.lists(st.one_of(st.none(), st.dates()), min_size=1, max_size=8),
    start=st.dates(),
    other=st.dates(),
)
@settings(max_examples=200)
def test_any_dates_come_back(days: list[DAY | None], start: DAY, other: DAY) -> None:
    column = nw.from_native(pl.Series("d", days, dtype=pl.Date), series_only=True)
    from_start = start.isoformat()
    found = days_of(column, from_start)
    by_hand = [np.nan if one is None else float((one - start).days) for one in days]
    assert np.array_equal(found, by_hand, equal_nan=True)
    assert dates_like(found, from_start, "d", column).to_list() == days
    spelled = text(days)
    assert [None if one is None else as_days(one, from_start) for one in spelled] == [
        None if np.isnan(one) else one for one in by_hand
    ]
    assert [None if np.isnan(x) else iso_of(x, from_start) for x in found] == spelled
    empty = days_or_empty(pl.Series(spelled, dtype=pl.String), from_start)
    assert empty is not None
    assert np.array_equal(empty.fill_null(np.nan).to_numpy(), found, equal_nan=True)
    from_other = moved(found, from_start, other.isoformat())
    assert np.array_equal(from_other, days_of(column, other.isoformat()), equal_nan=True)


@pytest.mark.parametrize("word", ["2000-1-1", "20000101", "2000-02-30", "2000-W01-1", "x", ""])
def test_what_is_no_date(word: str) -> None:
    assert as_days(word, "2000-01-01") is None


def test_cells_that_are_no_dates_are_counted_not_shown() -> None:
    good = {"born": text(BORN), "died": text(DIED)}
    for born, refusal in (
        (["31.12.1999", "2000-01-01", "2000-02-31"], refused("cells-no-code", bad=2)),
        (["1777-07-07", "2000-01-01", "2000-01-01"], refused("cells-outside-range", beyond=1)),
        ([None, "2000-01-01", "2000-01-01"], refused("column-missing-or-infinite", empty=1)),
        ([20000101, 3, 4], refused("column-of-other-type", what="date")),
        ([*moments(BORN[:2]), datetime.datetime(2000, 1, 1, 7)], refused("times-of-day", times=1)),
        (pl.Series(moments(BORN)).dt.replace_time_zone("Europe/Paris"), refused("times-of-zone")),
    ):
        with refusal as caught:
            SCHEMA.coded(pl.DataFrame({**good, "born": born}))
        assert "1777" not in str(caught.value)
        assert str(caught.value).startswith("Column 'born' ")
    plain = Schema({"born": Column(model="normal")})
    with refused("column-of-other-type", hint=" Dates need days_since."):
        plain.coded(pl.DataFrame({"born": BORN}))


def test_a_type_that_cannot_hold_the_range_is_refused_before_any_work() -> None:
    wide = Schema({"born": Column(model="normal", days_since="2000-01-01", range=(-200_000, 0))})
    short = pd.Series(pd.to_datetime(BORN[:2]), dtype="M8[ns]")
    with refused("dates-beyond-type"):
        wide.coded(pd.DataFrame({"born": short}))
    wide.coded(pl.DataFrame({"born": BORN[:2]}))


RULED = Schema(
    {
        "begin": Column(role="public", **ENTRIES),
        "end": Column(
            model="normal",
            missing=True,
            rule=("missing where begin > '2001-06-01'", "2020-01-01 where begin == '2001-01-01'"),
            **ENTRIES,
        ),
        "last": Column(model="normal", missing=True, rule=">= end", **ENTRIES),
        "span": Column(missing=True, rule="= last - begin"),
    }
)


def test_rules_of_dates() -> None:
    values = RULED.coded(
        pl.DataFrame(
            {
                "begin": [DAY(2001, 1, 1), DAY(2001, 1, 1), DAY(2002, 1, 1), DAY(2000, 1, 1)],
                "end": [DAY(2020, 1, 1), DAY(2020, 1, 2), None, DAY(2000, 1, 5)],
                "last": [DAY(2020, 1, 1), DAY(2020, 1, 1), None, DAY(2000, 1, 9)],
                "span": [6939, 6939, None, 9],
            }
        )
    )
    assert follows(RULED, "end", values).breaking.tolist() == [False, True, False, False]
    assert follows(RULED, "end", values).modelled.tolist() == [False, False, False, True]
    assert follows(RULED, "last", values).breaking.tolist() == [False, True, False, False]
    assert follows(RULED, "span", values).breaking.tolist() == [False, False, False, True]
    finish = finish_of(RULED, "end")
    assert finish is not None
    made = finish.settled(np.ones(4), values)
    assert made.tolist()[0] == (DAY(2020, 1, 1) - DAY(2000, 1, 1)).days
    assert np.isnan(made[2])


@pytest.mark.parametrize(
    ("entries", "refusal"),
    [
        ({"days_since": "1.1.2000"}, refused("not-a-date", name="days_since")),
        ({"days_since": 2000}, refused("not-a-date", name="days_since")),
        ({"range": None}, refused("dates-without-range")),
        ({"range": ("2001-01-01", "2000-01-01")}, refused("range-not-rising")),
        ({"range": ("2001-01-01", "soon")}, refused("not-a-date", name="range")),
        ({"range": (0.5, 3)}, refused("not-dates", value="0.5")),
        ({"range": (-(10**7), 3)}, refused("not-dates")),
        ({"decimals": 2}, refused("dates-with-decimals")),
        ({"mass": ("2050-01-01",)}, refused("range-below-points")),
        (
            {"rule": "2050-01-01 where begin == '2000-01-01'"},
            refused("range-below-points", label="2050-01-01"),
        ),
        ({"rule": "0 where begin == '2000-01-01'"}, refused("rule-value-impossible")),
        (
            {"rule": "missing where begin < 3", "missing": True},
            refused("rule-compares-dates-with-text"),
        ),
        ({"rule": ">= other"}, refused("rule-takes-dates-of-other-days")),
        ({"rule": ">= age"}, refused("rule-takes-dates-of-other-days")),
        (
            {"rule": "missing where begin < other", "missing": True},
            refused("rule-compares-dates-of-other-days"),
        ),
    ],
)
def test_what_a_column_of_dates_cannot_be(entries: dict[str, object], refusal: object) -> None:
    others = {
        "begin": Column(role="public", **ENTRIES),
        "other": Column(role="public", **{**ENTRIES, "days_since": "1999-01-01"}),
        "age": Column(role="public", range=(0, 100)),
    }
    with refusal:
        Schema({**others, "y": Column(**{"model": "normal", **ENTRIES, **entries})})


def test_a_file_gives_dates_and_takes_tomls_own(tmp_path: Path) -> None:
    SCHEMA.write(tmp_path / "s.toml")
    assert Schema.read(tmp_path / "s.toml") == SCHEMA
    assert 'range = ["1990-01-01", "2029-12-31"]' in SCHEMA.text
    assert 'mass = ["2000-01-03"]' in SCHEMA.text
    own = SCHEMA.text.replace('"1990-01-01"', "1990-01-01").replace('"2000-01-01"', "2000-01-01")
    (tmp_path / "s.toml").write_text(own)
    assert Schema.read(tmp_path / "s.toml") == SCHEMA


def test_a_predictor_has_the_scale_of_days() -> None:
    """The range's ends are -1 and 1; a day in the middle is 0."""
    column = Column(role="public", days_since="2000-01-01", range=("2000-01-01", "2000-01-03"))
    schema = Schema({"x": column, "y": Column(model="normal")})
    design = public_design(schema, "y")
    assert design.matrix({"x": [0.0, 1.0, 2.0]})[:, 1].tolist() == [-1.0, 0.0, 1.0]
