"""A proposed schema: sensible kinds, whatever the frame, and every look at the data is marked."""

import datetime
import os
import stat
import tomllib
from dataclasses import replace
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from refusals import refused
from scipy.stats import norm

from pyvws.tables.design.public import PatternDesign, public_design
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema, _schema

pytestmark = pytest.mark.usefixtures("rare_values_too")

_DATA = Path(__file__).parents[3] / "shared" / "data"
N = 60


def proposed(values, kind=pl.DataFrame):
    return Schema.propose(kind({"y": values})).columns["y"]


def test_kinds_by_hand():
    assert proposed(["b", "a", "b"] * 20) == Column(
        model="nominal", levels=("a", "b"), review=("levels",)
    )
    assert proposed([True, False, True]) == Column(model="nominal", levels=("false", "true"))
    assert proposed([2, 1, 10] * 20) == Column(
        model="nominal", levels=("1", "2", "10"), review=("model", "levels")
    )
    assert proposed(["10", "9", "N"] * 20).levels == ("9", "10", "N")
    assert proposed([0, 2**53 + 1] * 20).levels == ("0", "9007199254740993")
    visits = [int(-20 * np.log(1 - (x + 0.5) / 200)) for x in range(200)]
    assert proposed(visits) == Column(
        model="negative-binomial", range=(0, 120), decimals=0, review=("model", "range", "decimals")
    )
    around = ("model", "range", "decimals", "outcome_centre", "outcome_unit")
    assert proposed([*range(N), 3]) == Column(
        model="truncated-normal",
        range=(0, 60),
        decimals=0,
        settings={"outcome_centre": 30.0, "outcome_unit": 10.0},
        review=around,
    )
    assert proposed([0.25 * x for x in range(-10, N)]) == Column(
        model="truncated-normal",
        range=(-4, 16),
        decimals=2,
        settings={"outcome_centre": 6.0, "outcome_unit": 5.0},
        review=around,
    )
    assert proposed([1000 * x for x in range(1, N)]) == Column(
        model="truncated-normal",
        range=(0, 60000),
        decimals=0,
        settings={"outcome_centre": 30000.0, "outcome_unit": 10000.0},
        review=around,
    )
    z = norm.ppf((np.arange(200) + 0.5) / 200)
    incomes = np.where(z < z[2], -100.0 - np.arange(200), np.exp(10 + z))
    for values, unit in (
        (incomes, 1000.0),
        (1000 * np.sinh(2 * z), 1000.0),
        (20 * np.sinh(3 * z), 10.0),
    ):
        for size in (1.0, 1000.0):  # The unit of the numbers changes nothing.
            signed = proposed(size * values.round(2))
            assert signed.outcome_scale == "signed-log"
            assert 0.1 < signed.settings["outcome_unit"] / (size * unit) < 10.0
    bell = proposed((4000 * z - 500).round(1))
    assert (bell.outcome_scale, bell.settings["outcome_unit"]) == (None, 5000.0)
    years = proposed([1900 + 2 * x for x in range(N)] * 2)
    assert (years.model, years.outcome_scale, years.range) == (
        *("truncated-normal", None),
        (1900, 2020),
    )
    assert years.settings == {"outcome_centre": 1960.0, "outcome_unit": 20.0}
    skewed = np.exp(10 + z).round(2)
    assert (proposed(skewed).outcome_scale, proposed(skewed).mass) == ("log", ())
    zero = proposed([0.0, *skewed])  # The scale log has no 0.
    assert (zero.outcome_scale, zero.mass) == ("log", (0.0,))
    assert proposed([1000 * x for x in range(N)]).mass == ()


def dropped(values, kind=pl.DataFrame):
    found = proposed(values, kind)
    assert found == Column(role="drop", note=found.note, review=found.review)
    return found.note.split(";")[0], found.review


def test_what_is_dropped():
    for values, note in (
        ([datetime.date(2020, 1, 1)] * N, "all records have one date"),
        ([f"id{x}" for x in range(N)], "every value differs, as in an id or free text"),
        ([f"w{x // 2}" for x in range(2 * 301)], "it is free text, or a code of very many levels"),
        ([f"{x % 301:05d}" for x in range(3000)], "it is free text, or a code of very many levels"),
        ([f"w{x % 31}" for x in range(61)], "it is free text, or a code of very many levels"),
        (
            [None] * N + [f"w{x % 19}" for x in range(20)],
            "it is free text, or a code of very many levels",
        ),
    ):
        assert dropped(values) == dropped(values, pd.DataFrame) == (note, ("role",))
    other = "it holds neither numbers, dates, text, truth values nor categories"
    for values in ([[1, 2]] * N, [b"x"] * N, [None] * N):
        assert dropped(values) == (other, ())
    for values in ([datetime.time(3)] * N, [{1: 2}] * N):
        assert dropped(values, pd.DataFrame) == (other, ())
    views = pa.array(["a", "b"] * N, pa.string_view()).dictionary_encode()
    assert dropped(views, pa.table) == (other, ())
    periods = pd.period_range("2000-01", periods=N // 5, freq="M").repeat(5)
    intervals = pd.cut(np.arange(N), 5)
    for values in (periods, intervals, periods.astype("category"), intervals.astype("interval")):
        assert dropped(values, pd.DataFrame) == (other, ())
    lone = pd.Series(["a", "\ud800"] * N, dtype=object)  # No Unicode.
    assert dropped(lone, pd.DataFrame) == (other, ())
    moments = [datetime.datetime(2020, 1, 1, x % 24) for x in range(N)]
    assert dropped(moments) == dropped(moments, pd.DataFrame) == ("it has times of the day", ())


def test_types_of_text():
    texts = [f"w{x % 30}" for x in range(10 * N)]
    want = proposed(texts)
    for kind in (pa.string_view(), pa.large_string(), pa.dictionary(pa.int8(), pa.string())):
        assert proposed(pa.array(texts).cast(kind), pa.table) == want
    mixed = pd.Series([1, "1", 2, "2", "x"] * N, dtype=object)  # 1 and "1" are one level.
    assert proposed(mixed, pd.DataFrame).levels == ("1", "2", "x")
    schema = Schema.propose(pd.DataFrame({"y": mixed}))
    assert schema.coded(pd.DataFrame({"y": mixed}))["y"][:5].tolist() == [1, 1, 2, 2, 3]


def test_ids():
    for values in (
        list(range(1, N)),
        list(range(N, 0, -1)),
        [3 * x for x in range(N)],
        [10_000_000 + 7_919 * x * x for x in range(N)],
    ):
        assert dropped(values)[1] == ("role",)
        assert dropped(values, pa.table)[1] == ("role",)
        assert proposed([*values, values[0]]).role == "synthesize"
        assert proposed([float(x) for x in values]).role == "synthesize"
    incomes = [int(20_000 * 1.05**x) for x in range(N)]
    assert proposed(incomes).outcome_scale == "log"


def test_missing_values():
    assert proposed(["a", None, "b"] * 20) == Column(
        model="nominal", levels=("a", "b"), missing=True, review=("levels", "missing")
    )
    for values in ([1.0, None, 2.0] * 20, [1, None, 2] * 20):
        assert proposed(values) == Column(
            model="nominal", levels=("1", "2"), missing=True, review=("model", "levels", "missing")
        )
    assert proposed([0.5, *range(N), None]).missing is True
    coded = proposed([*map(str, range(400)), "N", "N"])
    assert (coded.model, coded.missing, coded.range) == ("truncated-normal", "N", (0, 400))


def test_points_of_mass():
    wages = [0] * 20 + [1000 * x for x in range(3, N)]
    found = proposed(wages)
    assert (found.mass, found.outcome_scale, found.range) == ((0.0,), None, (0, 60000))
    of_scale = ("outcome_centre", "outcome_unit")
    assert found.review == ("model", "range", "decimals", "mass", *of_scale)
    few = [500 if x == 0 else x for x in wages]
    assert proposed([*map(str, [*few, *range(10**6, 10**6 + 300)]), "N"]).mass == ()
    assert proposed([*map(str, [*wages, *range(10**6, 10**6 + 300)]), "N"]).mass == (0.0,)
    assert proposed([*map(str, wages * 6), *map(str, range(10**6, 10**6 + 400)), "N"]).mass == (
        0.0,
    )
    assert proposed([1000 * x for x in range(1, 10)] * 6).mass == ()


def test_codes_that_stand_apart():
    ages = [*range(5, 45)] * 3
    used = [*ages, *[991] * 60, *[994] * 4]
    found = proposed(used)
    assert (found.missing, found.range, found.mass) == (("991", "994"), (5, 45), ())
    assert found.model == "truncated-normal"
    assert "missing" in found.review
    assert found.note.startswith("missing has numbers")
    assert proposed([float(x) for x in used]).missing == ("991", "994")
    text = [*map(str, [*used, *range(45, 400), *[9999] * 10]), "N", "R", None, ""]
    assert proposed(text).missing == ("991", "994", "9999", "", "N", "R", True)
    assert proposed([-9] * 50 + ages).missing == "-9"
    assert proposed([-9] * 50 + ages + [99] * 20).missing == ("-9", "99")
    for values in (
        [*ages, *[991] * 9],  # Few records: the value of one of them, perhaps.
        [*ages, *[500] * 60],
        [*ages, *[80] * 60],  # Not far enough.
        [*ages, *[-9] * 9],
        [*ages, *([-1, -2, -3, -4, -5, -6] * 12)],
        [*map(float, ages), *[990.5] * 60],
        [*range(5), *[991] * 60],
    ):
        assert proposed(values).missing is None
    spelled = [f"{x:.1f}" for x in [*used, *range(45, 400)]]
    for values, there in ((used, 120), (spelled, 475)):
        table = pl.DataFrame({"y": values})
        parts = Schema.propose(table).coded(table)["part of y"].astype(int)
        assert np.bincount(parts).tolist() == [0, there, 60, 4]


def test_points_of_mass_of_counts():
    ratio = [*range(400)] + [501] * 100
    found = proposed(ratio)
    assert (found.model, found.mass, found.range) == ("truncated-normal", (501.0,), (0, 501))
    assert found.settings == {"outcome_centre": 250.5, "outcome_unit": 100.0}
    weights = [*range(20, 420)] + [0] * 100
    assert proposed(weights).mass == (0.0,)
    top = proposed([*range(1000, 90_000, 1000), *[99_950] * 20])
    assert (top.mass, top.range) == ((99_950.0,), (0, 99_950))
    # Zeros beside many ones are what a count has.
    visits = [0] * 300 + [1] * 100 + [2] * 40 + [3] * 20 + [*range(4, 60)]
    assert proposed(visits).mass == ()


def test_ids_of_units():
    rng = np.random.default_rng(2)
    sizes = rng.integers(1, 5, 200)
    homes = np.repeat(1000 + 7 * np.arange(200), sizes)
    ages = rng.integers(0, 90, len(homes))
    table = pl.DataFrame(
        {"home": homes, "age": ages, "area": np.repeat(rng.choice(list("abcd"), 200), sizes)}
    )
    found = Schema.propose(table).columns
    assert found["home"].note.startswith("several records share an id")
    assert (found["home"].role, found["home"].review) == ("drop", ("role",))
    assert [found[name].role for name in ("age", "area")] == ["synthesize"] * 2
    text = table.with_columns(pl.format("H{}", "home").alias("home"))
    assert Schema.propose(text).columns == found
    assert Schema.propose(text.to_pandas()).columns == found
    # Without a column that is alike in units, the numbers may be any, such as sorted incomes.
    assert Schema.propose(table.drop("area")).columns["home"].role == "synthesize"
    loose = table.sort("age")
    assert Schema.propose(loose).columns["home"].role == "synthesize"
    rare = pl.Series("area", [*["b"], *["a"] * (len(homes) - 1)])
    assert Schema.propose(table.with_columns(rare)).columns["home"].role == "synthesize"


def test_the_order_of_a_table_makes_no_ids():
    """A column that follows the order by which a table is sorted repeats in no other run."""
    rng = np.random.default_rng(4)
    n = 900
    days = np.datetime64("2020-01-01") + np.sort(rng.integers(0, 360, n))
    dates = days.astype(str).tolist()
    ages, areas = np.sort(rng.integers(15, 95, n)), np.sort(rng.integers(0, 120, n))
    tables = {
        "interview": {"interview": dates, "quarter": days.astype("M8[M]").astype(int) // 3},
        "age": {"age": ages, "group": ages // 10},
        "lau": {"lau": [f"L{x:03d}" for x in areas], "region": [f"R{x // 20}" for x in areas]},
    }
    for name, table in tables.items():
        table["value"] = rng.normal(size=n)
        assert Schema.propose(pl.DataFrame(table)).columns[name].role == "synthesize"
    # Weekdays repeat in other runs, and dates are no ids all the same.
    week = pl.DataFrame({"day": dates, "weekday": days.astype("M8[D]").astype(int) % 7})
    assert Schema.propose(week).columns["day"].model == "normal"
    sizes = rng.integers(1, 4, n)
    homes = {"home": np.repeat(np.arange(n) * 3, sizes)}
    homes["region"] = np.repeat(np.arange(n) // 100, sizes)
    assert Schema.propose(pl.DataFrame(homes)).columns["home"].role == "synthesize"
    homes["tenure"] = np.repeat(rng.choice(2, n), sizes)
    assert Schema.propose(pl.DataFrame(homes)).columns["home"].role == "drop"


def test_dates():
    days = [datetime.date(1999, 5, 1) + datetime.timedelta(days=9 * x) for x in range(N)]
    found = Column(
        model="normal",
        days_since="1970-01-01",
        range=("1999-01-01", "2000-12-31"),
        settings={"outcome_centre": 10957.0, "outcome_unit": 100.0},
        review=("model", "days_since", "range", "outcome_centre", "outcome_unit"),
    )
    spelled = [one.isoformat() for one in days]
    for values in (days, spelled, [datetime.datetime(*one.timetuple()[:3]) for one in days]):
        assert proposed(values) == proposed(values, pd.DataFrame) == found
        assert proposed(values, pa.table) == found
    coded = proposed([*spelled, "N", None])
    assert (coded.model, coded.missing) == ("normal", ("N", True))
    assert coded.review[-1] == "missing"
    assert proposed([*days, *[days[3]] * 20]).mass == (10739.0,)
    assert proposed(spelled[:3] * 20).model == "nominal"  # Few dates may be those of waves.


def test_dates_within_what_their_type_can_hold():
    days = np.r_[np.arange("2000-01", "2000-03", dtype="M8[D]"), np.datetime64("2262-03-01")]
    for unit, last in (("ns", "2262-04-11"), ("us", "2262-12-31")):
        table = pd.DataFrame({"day": days.astype(f"M8[{unit}]")})
        for one in (table, pl.from_pandas(table), pa.table(table)):
            schema = Schema.propose(one)
            assert schema.columns["day"].given["range"] == ("2000-01-01", last)
            assert len(schema.coded(one)["day"]) == len(days)


def test_declared_levels():
    enum = pl.Series("y", ["b", "a"] * 30, dtype=pl.Enum(["z", "b", "a"]))
    assert Schema.propose(pl.DataFrame({"y": enum})).columns["y"].levels == ("z", "b", "a")
    ordered = pd.Categorical(["b", "a"] * 30, ["b", "z", "a"], ordered=True)
    found = proposed(ordered, pd.DataFrame)
    assert (found.model, found.levels) == ("ordinal", ("b", "z", "a"))
    assert found.review == ("levels",)


@pytest.mark.parametrize(
    "values",
    [
        ["a", "b", "a"] * 20,
        [1, 2, 3] * 20,
        [True, False, True] * 20,
        [0.5, 1.5, 2.25] * 20,
        ["a", None, "a", "b"] * 20,
    ],
)
def test_the_same_proposal_from_every_kind(values):
    found = proposed(values)
    assert proposed(values, pa.table) == found
    assert proposed(values, lambda columns: pd.DataFrame(columns).convert_dtypes()) == found
    assert proposed(values, pd.DataFrame) == found


ODD_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
COLUMNS = st.one_of(
    st.lists(st.one_of(st.none(), ODD_TEXT), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.integers(-(2**62), 2**62)), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.integers(-3, 3)), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.floats(-1e300, 1e300)), min_size=1, max_size=12),
    st.lists(st.one_of(st.none(), st.booleans()), min_size=1, max_size=12),
)


@given(values=COLUMNS, name=ODD_TEXT.filter(lambda name: "\0" not in name))
@settings(max_examples=150)
def test_any_column_can_be_proposed_and_coded(values, name):
    table = pl.DataFrame({name: values})
    schema = Schema.propose(table)
    assert Schema.propose(table.clone()) == schema
    column = schema.columns[name]
    reviewed = {entry for entry in column.given if entry not in ("role", "review")}
    by_type = {pl.Boolean: {"model", "levels"}, pl.String: {"model"}}.get(table.dtypes[0], set())
    if column.role != "drop":
        assert reviewed - set(column.review) <= by_type
    if column.categorical:
        codes = schema.coded(table)[name]
        assert set(codes) <= set(range(1, len(column.coded_levels) + 1))
        back = schema.decoded(name, codes, like=table[name]).to_native()
        assert back.equals(table[name])
    elif schema.synthesized:
        coded = schema.coded(table)
        parts = coded.get(f"part of {name}")
        back = schema.decoded(name, coded[name], like=table[name], parts=parts).to_native()
        numbers = table[name].cast(pl.Float64, strict=False)
        assert back.cast(pl.Float64, strict=False).equals(numbers)
        assert np.array_equal(coded[name], numbers.fill_null(np.nan).to_numpy(), equal_nan=True)


CELLS = {  # One record decides what such a column is, although its `review` need not list it.
    "truth": st.sampled_from([True, False, None]),
    "moment": st.sampled_from(
        [
            datetime.datetime(2001, 1, 1),
            datetime.datetime(2001, 1, 2),
            datetime.datetime(2002, 2, 2, 7),
        ]
    ),
    "grade": st.sampled_from(["low", "mid", "high", None]),
    "text": st.sampled_from(["a", "b", "c", "1", "2.5", "$3", None]),
    "number": st.sampled_from([0, 1, 2, 2.5, 1e9, -9, None]),
}


@pytest.mark.runs
@given(st.data())
@settings(max_examples=60)
def test_whatever_differs_between_proposals_of_neighbours_is_under_review(data):
    rows = data.draw(st.lists(st.tuples(*CELLS.values()), min_size=3, max_size=40))
    other = [data.draw(st.tuples(*CELLS.values())), *rows[1:]]
    for records in (rows, other):
        table = pd.DataFrame(records, columns=list(CELLS))
        grades = pd.CategoricalDtype(["low", "mid", "high"], ordered=True)
        schema = Schema.propose(table.astype({"grade": grades}))
        columns = {name: replace(one, review=()) for name, one in schema.columns.items()}
        plain = replace(schema, columns=columns)  # Whatever its entries say, and in its file.
        assert plain.under_review
        assert plain.public_text == ""
        assert _schema(tomllib.loads(plain.text)) == plain
        assert not plain.signed("A. Person").under_review
        assert schema.signed().under_review == bool(schema.to_review)


def test_a_proposal_and_its_signature_in_a_file(tmp_path):
    schema = Schema.propose(pl.DataFrame({"a": [True, False] * 9, "b": [*map(str, range(18))]}))
    schema.write(tmp_path / "s.toml")
    assert stat.S_IMODE((tmp_path / "s.toml").stat().st_mode) == 0o600
    assert Schema.read(tmp_path / "s.toml") == schema
    assert schema.columns["b"].note
    text = schema.text.replace('review = ["role"]\n', "")
    assert text.count("reviewed = false") == 1
    for line, by in (("true", True), ('"A. Person"', "A. Person")):
        (tmp_path / "t.toml").write_text(text.replace("reviewed = false", f"reviewed = {line}"))
        signed = Schema.read(tmp_path / "t.toml")
        assert (signed.reviewed, signed.under_review) == (by, False)
        for word in ("note", "every value", "Person"):  # Notes and names never leave.
            assert word not in signed.public_text
        # A run by a release's own schema rests on the signature as the release does.
        (tmp_path / "p.toml").write_text(signed.public_text)
        assert Schema.read(tmp_path / "p.toml").reviewed is True
        signed.write(tmp_path / "u.toml")
        assert stat.S_IMODE((tmp_path / "u.toml").stat().st_mode) == 0o644
    (tmp_path / "t.toml").write_text(text.replace("reviewed = false\n", ""))
    assert not Schema.read(tmp_path / "t.toml").under_review  # As one that was never proposed.
    for wrong in (0, "", " ", ["me"]):
        with refused("reviewed-words"):
            schema.signed(wrong)


@pytest.mark.runs
@pytest.mark.parametrize("name", ["ma2019.csv", "ce_2017.csv"])
def test_survey_files(name):
    """Read with polars and with pandas, a proposal codes every column, and labels come back."""
    if not (_DATA / name).exists():
        assert not os.environ.get("CI"), f"{name} must be there in CI"
        pytest.skip(f"needs {name}, which lies beside the checkout of the developers")
    table = pl.read_csv(_DATA / name, infer_schema_length=None)
    found = Schema.propose(table)
    assert Schema.propose(pd.read_csv(_DATA / name)) == found
    schema = found
    schema.refuse_unbuilt()
    coded = schema.coded(table)
    assert all(len(values) == table.height for values in coded.values())
    for key in schema.synthesized:
        parts = coded.get(f"part of {key}")
        back = schema.decoded(key, coded[key], like=table[key], parts=parts).to_native()
        if parts is None or table[key].dtype.is_numeric():
            assert back.equals(table[key]), key
        else:  # Text that spells numbers comes back as the shortest that spells them.
            assert back.to_list() == [x.removesuffix(".0") for x in table[key]], key
        design = public_design(schema, key)
        assert design.matrix(coded, n=table.height).shape == (table.height, len(design.names))
        largest = design.patterns - 1 if isinstance(design, PatternDesign) else 1.0
        assert np.abs(design.matrix(coded, n=table.height)).max() <= largest
