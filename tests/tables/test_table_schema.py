"""A schema: checked on creation, the same after a file, and codes that come back as they were."""

import datetime
import math
import tomllib

import hypothesis.strategies as st
import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Schema
from pyvws.models.registry import MODELS, model_settings
from pyvws.synthesis.settings import RunSettings
from pyvws.tables.schema.column import ENTRIES, Column
from pyvws.tables.schema.families import CATEGORICAL, FAMILIES
from pyvws.tables.schema.parts import follows
from pyvws.tables.schema.write_values import released_type

EXAMPLE = """
records = 6

[columns.area]
role = "drop"

[columns.sex]
role = "public"
levels = ["f", "m"]

[columns.age]
role = "public"
range = [0, 100]

[columns.marital]
model = "nominal"
levels = [1, 2]
missing = "N"

[columns.income]
model = "normal"
range = [0, 5_000_000]
decimals = 0
formula = "~ sex * marital"
outcome_scale = "log"
smallest_sd = 0.5
review = ["range"]
"""

RECORDS = {
    "area": ["x", "y", "z"],
    "sex": ["m", "f", "m"],
    "age": [50, 0, 100],
    "marital": ["2", "N", "1"],
    "income": [10, 2000, 30],
}
KINDS = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


def read(text, tmp_path):
    (tmp_path / "schema.toml").write_text(text, encoding="utf-8")
    return Schema.read(tmp_path / "schema.toml")


@pytest.fixture
def example(tmp_path):
    return read(EXAMPLE, tmp_path)


def test_the_families_are_those_of_the_models():
    fixed = ("levels", "range")  # Entries of a column.
    assert set(MODELS) <= set(FAMILIES)
    for name, model in MODELS.items():
        assert set(model_settings(model)) - set(fixed) == set(FAMILIES[name]), name
        assert getattr(model, "categorical", False) == (name in CATEGORICAL), name


def test_a_file_says_what_is_used_and_how(example):
    assert list(example.columns) == ["area", "sex", "age", "marital", "income"]
    assert example.synthesized == ("marital", "income")
    assert example.public == ("sex", "age")
    assert example.predictors_of("marital") == ("sex", "age")
    assert example.predictors_of("income") == ("sex", "marital")
    assert example.used == ("sex", "age", "marital", "income")
    assert example.to_review == (("income", "range"),)
    assert example.records == 6
    assert example.columns["marital"].levels == ("1", "2")
    assert example.columns["marital"].coded_levels == ("1", "2", "N")
    assert example.columns["income"].settings == {"smallest_sd": 0.5}
    assert example.columns["income"].outcome_scale == "log"
    example.refuse_unbuilt()


def test_a_schema_is_the_same_after_a_file(example, tmp_path):
    example.write(tmp_path / "again.toml")
    again = Schema.read(tmp_path / "again.toml")
    assert again == example
    assert list(again.columns) == list(example.columns)
    assert again.text == example.text


ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
NUMBERS = st.floats(-1e12, 1e12)


@st.composite
def columns(draw):
    if draw(st.booleans()):
        levels = draw(st.lists(ANY_TEXT, min_size=2, max_size=5, unique=True))
        return Column(
            role=draw(st.sampled_from(["public", "synthesize", "drop"])),
            model="nominal",
            levels=tuple(levels),
            missing=draw(st.one_of(st.none(), st.just(True), ANY_TEXT)),
            review=draw(st.sampled_from([(), ("levels",), ("model", "levels")])),
        )
    low = draw(NUMBERS)
    high = low + draw(st.floats(1.0, 1e12))
    return Column(
        model=draw(st.sampled_from(["normal", "normal-mixture"])),
        range=(low, high),
        scale=draw(st.one_of(st.none(), st.tuples(NUMBERS, st.floats(1e-300, 1e12)))),
        decimals=draw(st.one_of(st.none(), st.integers(0, 15))),
        mass=tuple(draw(st.lists(st.floats(low, high), max_size=2, unique=True))),
        missing=draw(st.one_of(st.none(), st.just(True), st.just(["N", -9, True]))),
        predictors=draw(st.sampled_from([None, ()])),
        settings=draw(st.sampled_from([{}, {"smallest_sd": 0.125}])),
        review=draw(st.sampled_from([(), ("range",)])),
    )


@given(st.dictionaries(ANY_TEXT, columns(), min_size=1, max_size=4), st.one_of(st.none(), ANY_TEXT))
@settings(max_examples=60)
def test_any_schema_is_the_same_after_its_text(parts, unit):
    schema = Schema(parts, unit=unit)
    found = tomllib.loads(schema.text)
    assert list(found["columns"]) == list(parts)
    again = {
        name: Column(
            **{entry: value for entry, value in entries.items() if entry in ENTRIES},
            settings={entry: value for entry, value in entries.items() if entry not in ENTRIES},
        )
        for name, entries in found["columns"].items()
    }
    assert Schema(again, unit=found.get("unit")) == schema


@pytest.mark.parametrize(
    ("entries", "refusal"),
    [
        ({"role": "publik"}, refused("not-a-choice")),
        ({"model": "norml"}, refused("family-unknown")),
        ({"model": 3}, refused("not-text")),
        ({}, refused("model-missing")),
        ({"model": "nominal"}, refused("family-without-levels", model="nominal")),
        ({"model": "nominal", "levels": []}, refused("levels-empty")),
        ({"model": "nominal", "levels": ["a", "b", "a"]}, refused("levels-repeated")),
        ({"model": "nominal", "levels": [1, "1"]}, refused("levels-repeated")),
        ({"model": "nominal", "levels": "ab"}, refused("not-a-list", name="levels")),
        ({"model": "nominal", "levels": ["a", "\ud800"]}, refused("level-no-unicode")),
        ({"model": "logistic", "levels": "abc"[:0] or ["a", "b", "c"]}, refused("logistic-levels")),
        ({"model": "normal", "levels": ["a", "b"]}, refused("family-of-numbers")),
        ({"model": "normal", "range": [3, 1]}, refused("range-not-rising")),
        ({"model": "normal", "range": [1]}, refused("not-two-numbers")),
        ({"model": "normal", "range": [0, math.inf]}, refused("not-finite", name="range")),
        ({"model": "normal", "scale": [3, 0]}, refused("scale-words")),
        ({"role": "public", "levels": ["a", "b"], "range": [0, 1]}, refused("levels-and-range")),
        ({"model": "normal", "decimals": -1}, refused("not-a-whole-number")),
        ({"model": "normal", "decimals": 99}, refused("decimals-too-many")),
        (
            {"model": "normal", "predictors": [], "formula": "~ 1"},
            refused("predictors-and-formula"),
        ),
        ({"model": "normal", "predictors": ["a", "a"]}, refused("name-twice")),
        ({"model": "normal", "predictors": [1]}, refused("not-a-list-of-names")),
        ({"model": "normal", "mass": [math.nan]}, refused("not-finite", name="mass")),
        ({"model": "normal", "levles": ["a"]}, refused("entry-unknown", name="levles")),
        ({"model": "poisson", "smallest_sd": 1.0}, refused("entry-unknown")),
        (
            {"model": "poisson", "outcome_scale": "log"},
            refused("entry-unknown", name="outcome_scale"),
        ),
        ({"model": "normal", "review": ["range"]}, refused("review-unknown-entry")),
        ({"model": "normal", "range": {"low": 1}}, refused("entry-is-a-table")),
        ({"model": "normal", "predictors": ["agee"]}, refused("schema-column-unknown")),
        ({"model": "normal", "predictors": ["x"]}, refused("predictor-of-itself")),
        ({"model": "normal", "predictors": ["later"]}, refused("order-of-synthesis")),
        ({"model": "normal", "predictors": ["person"]}, refused("column-role", wanted="person")),
        ({"model": "normal", "rule": "<= person"}, refused("column-role", wanted="person")),
        ({"model": "normal", "prefix": "P"}, refused("prefix-without-ids")),
        ({"role": "id", "levels": ["a", "b"]}, refused("ids-with-entries", others="levels")),
        ({"role": "id", "model": "normal"}, refused("ids-with-entries", others="model")),
        ({"model": "nominal", "levels": list(range(301))}, refused("nominal-too-many-levels")),
        ({"model": "normal", "formula": "~ later"}, refused("order-of-synthesis")),
        ({"model": "normal", "predictors": ["gone"]}, refused("column-role", wanted="gone")),
        ({"model": "normal", "formula": "~ age +* 3"}, refused("formula-unreadable")),
        ({"model": "normal", "rule": "0 if age < 3"}, refused("rule-unreadable")),
        ({"model": "normal", "rule": "0 where age"}, refused("rule-without-comparison")),
        ({"model": "normal", "rule": "0 where age * 2 < 3"}, refused("rule-compares-more")),
        ({"model": "normal", "rule": "0 where age in 3"}, refused("rule-in-without-list")),
        ({"model": "normal", "rule": "0 where 1 < 2"}, refused("rule-without-column")),
        ({"model": "normal", "rule": "0 only where age < 3"}, refused("only-without-missing")),
        ({"model": "normal", "rule": "missing where age < 3"}, refused("rule-says-missing")),
        ({"model": "normal", "rule": "no where age < 3"}, refused("rule-value-impossible")),
        ({"model": "normal", "rule": "0 where agee < 3"}, refused("schema-column-unknown")),
        ({"model": "normal", "rule": "0 where later < 3"}, refused("order-of-synthesis")),
        ({"model": "normal", "rule": "= age % 3"}, refused("rule-words")),
        ({"model": "normal", "rule": "= sin(age)"}, refused("rule-words")),
        ({"model": "normal", "rule": "= 2 ** age"}, refused("rule-words")),
        ({"rule": "= log(age)"}, refused("rule-undefined-for-numbers", text="log(age)")),
        ({"rule": "= 3 / age"}, refused("rule-undefined-for-numbers")),
        ({"model": "normal", "rule": ">= age + 3"}, refused("rule-bounds-by-more")),
        ({"model": "normal", "rule": ">= age - gone"}, refused("rule-bounds-by-more")),
        ({"model": "normal", "rule": "= age + age"}, refused("computed-with-more")),
        ({"model": "normal", "rule": ["<= gone"]}, refused("column-role", wanted="gone")),
        ({"model": "normal", "rule": "<= x"}, refused("predictor-of-itself")),
        ({"role": "public", "rule": "<= age"}, refused("rule-of-other-role")),
        ({"model": "normal", "missing": ["N", "N"]}, refused("missing-codes-repeated")),
        ({"model": "normal", "mass": [0, 0]}, refused("mass-repeated")),
        ({"model": "normal", "mass": 0}, refused("not-a-list", name="mass")),
        ({"model": "normal", "mass": [0], "range": [1, 2]}, refused("range-below-points")),
        (
            {"model": "normal", "rule": "0 where age < 1", "range": [1, 2]},
            refused("range-below-points"),
        ),
    ],
)
def test_what_a_column_cannot_be(entries, refusal, tmp_path):
    def line(name, value):
        if isinstance(value, dict):
            return f"{name} = {{ low = 1 }}"
        text = str(list(value) if isinstance(value, tuple) else value)
        return f"{name} = {text!r}" if isinstance(value, str) else f"{name} = {text}"

    own = "\n".join(line(name, value) for name, value in entries.items())
    text = (
        f'[columns.age]\nrole = "public"\n[columns.gone]\nrole = "drop"\n'
        f'[columns.person]\nrole = "id"\n[columns.x]\n{own}\n'
        '[columns.later]\nmodel = "normal"\n'
    )
    with refusal as caught:
        read(text, tmp_path) if "\\ud800" not in own else Column(**entries)
    assert "\\ud800" in own or str(caught.value).startswith("schema.toml: Column 'x': ")


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "schema-empty"),
        ("columns = 3", "columns-not-tables"),
        ("[columns]\nage = 3", "entries-in-one-line"),
        ("[column.age]", "schema-entry-unknown"),
        ("a = = 3", "toml-unreadable"),
        ('records = 1.5\n[columns.a]\nrole = "public"', "not-a-whole-number"),
        ('unit = 3\n[columns.a]\nrole = "public"', "not-text"),
    ],
)
def test_what_a_file_cannot_be(text, key, tmp_path):
    with refused(key):
        read(text, tmp_path)


def test_a_file_that_is_not_there(tmp_path):
    with refused("schema-cannot-be-read"):
        Schema.read(tmp_path / "no.toml")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"unit": "y"}, "unit-is-synthesized"),
        (
            {
                "survey_weight": "y",
                "columns": {
                    "y": Column(model="normal", outcome_scale="log", range=(1, 9)),
                    "z": Column(model="poisson"),
                },
            },
            "survey-weight-not-last",
        ),
        (
            {"survey_weight": "y", "columns": {"y": Column(model="normal", range=(1, 9))}},
            "survey-weight-without-range",
        ),
        (
            {
                **{"survey_weight": "y", "mean_survey_weight": 2.0},
                "columns": {"y": Column(model="normal", outcome_scale="log", range=(1, 9))},
            },
            "synthetic-weights-with-exponents",
        ),
        ({"columns": {"y": Column(role="public")}}, "nothing-to-synthesize"),
    ],
)
def test_entries_that_runs_cannot_follow_are_named(change, key):
    parts = {"columns": {"y": Column(model="normal")}, **change}
    with refused(key):
        Schema(**parts).refuse_unbuilt()


@pytest.mark.parametrize("kind", KINDS)
def test_codes_by_hand(kind, example):
    coded = example.coded(KINDS[kind](RECORDS))
    assert {name: values.tolist() for name, values in coded.items()} == {
        "sex": [2.0, 1.0, 2.0],
        "age": [50.0, 0.0, 100.0],
        "marital": [2.0, 3.0, 1.0],
        "income": [10.0, 2000.0, 30.0],
    }
    assert all(values.dtype == np.float64 for values in coded.values())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("changed", "refusal"),
    [
        ({"marital": ["2", "secret", "secret"]}, refused("cells-unknown-levels")),
        ({"marital": ["2", None, "1"]}, refused("cells-empty")),
        ({"income": [-777, 1, 1]}, refused("cells-outside-range", name="income")),
        ({"age": [101, 100, 777]}, refused("cells-outside-range", name="age")),
        ({"income": [1.0, None, 1.0]}, refused("column-missing-or-infinite")),
        ({"age": ["a", "3", "c"]}, refused("cells-no-code")),
        ({"age": [True, False, True]}, refused("column-of-other-type")),
        ({"sex": [1, 2, 1]}, refused("levels-of-other-type")),
        ({"sex": [datetime.date(2020, 1, 1)] * 3}, refused("column-type-not-plain")),
    ],
)
def test_records_that_do_not_fit_are_counted_not_shown(kind, changed, refusal, example):
    with refusal as caught:
        example.coded(KINDS[kind](RECORDS | changed))
    assert "secret" not in str(caught.value)
    assert "777" not in str(caught.value)


def test_columns_that_the_table_lacks(example):
    table = pl.DataFrame(RECORDS).rename({"income": "Income"})
    with refused("columns-lacking", role="The schema"):
        example.coded(table)
    example.coded(pl.DataFrame(RECORDS).drop("area"))


def levels_of(values, *, missing=None):
    return Schema({"y": Column(model="nominal", levels=values, missing=missing)})


SAME = [
    (pd.Series([1, 2, 1]), ["1", "2"]),
    (pd.Series([1.0, 2.0, 1.0]), ["1", "2"]),
    (pd.Series(["1", "2", "1"]), [1, 2]),
    (pd.Series(["1", "2", "1"], dtype=object), [1, 2]),
    (pd.Series([1, 2, 1], dtype="category"), [1.0, 2.0]),
    (pd.Series([1.0, 2.0, 1.0], dtype="category"), [1, 2]),
    (pd.Series(pd.Categorical(["b", "a", "b"], ["b", "c", "a"], ordered=True)), ["b", "a", "c"]),
    (pd.Series([True, False, True]), ["True", "False"]),
    (pd.Series([True, False, True], dtype="category"), ["true", "false"]),
    (pd.Series([True, False, True], dtype="boolean"), [True, False]),
    (pd.Series([True, False, True], dtype=object), ["TRUE", "FALSE"]),
    (pd.Series([7, 9, 7], dtype="Int8"), [7, 9, 8]),
    (pd.Series(["x", "y", "x"], dtype="string[pyarrow]"), ["x", "y"]),
    (pd.Series([1, 2, 1], dtype="int64[pyarrow]"), ["1", "2"]),
    (pl.Series([1, 2, 1], dtype=pl.UInt8), ["1", "2"]),
    (pl.Series([2**62 + 1, 2**62, 2**62 + 1]), [2**62 + 1, 2**62]),
    (pl.Series(["x", "y", "x"]), ["x", "y"]),
    (pl.Series(["x", "y", "x"], dtype=pl.Categorical), ["x", "y"]),
    (pl.Series(["x", "y", "x"], dtype=pl.Enum(["y", "x"])), ["x", "y", "z"]),
    (pl.Series([True, False, True]), ["true", "false"]),
    (pa.chunked_array([["x", "y"], ["x"]]), ["x", "y"]),
    (pa.chunked_array([["x", "y"], ["x"]], type=pa.large_string()), ["x", "y"]),
    (pa.chunked_array([pa.array(["x", "y", "x"]).dictionary_encode()]), ["x", "y"]),
    (pa.chunked_array([pa.array([5, 6, 5]).dictionary_encode()]), ["5", "6"]),
    (pa.chunked_array([[True, False, True]]), ["true", "false"]),
]


def native_table(column):
    """A table of the one column, in the library that the column is of."""
    if isinstance(column, pa.ChunkedArray):
        return pa.table({"y": column})
    return (
        pl.DataFrame({"y": column})
        if isinstance(column, pl.Series)
        else pd.DataFrame({"y": column})
    )


@pytest.mark.parametrize(("column", "levels"), SAME, ids=[str(n) for n in range(len(SAME))])
def test_labels_come_out_as_they_went_in(column, levels):
    schema = levels_of(levels)
    table = native_table(column)
    frame = nw.from_native(table, eager_only=True)
    coded = schema.coded(table)["y"]
    assert coded.tolist() == [1.0, 2.0, 1.0]
    made = schema.decoded("y", coded, like=frame["y"])
    assert made.name == "y"
    assert made.to_list() == frame["y"].to_list()
    assert schema.decoded("y", coded, like=frame["y"].to_native()).to_list() == made.to_list()
    assert len(schema.decoded("y", np.ones(7), like=frame["y"])) == 7
    before, after = frame["y"].to_native(), made.to_native()
    if isinstance(column, pa.ChunkedArray) and pa.types.is_dictionary(column.type):
        assert after.type.value_type == before.type.value_type
    elif isinstance(column, pa.ChunkedArray):
        assert after.type == before.type
    elif isinstance(getattr(before, "dtype", None), pd.CategoricalDtype):
        assert after.cat.categories.dtype == before.cat.categories.dtype
        assert after.cat.ordered == before.cat.ordered
        assert [str(level).lower().removesuffix(".0") for level in after.cat.categories] == [
            str(level).lower().removesuffix(".0") for level in levels
        ]
    elif isinstance(before.dtype, pl.Enum):
        assert after.dtype == pl.Enum(levels)
    else:
        assert after.dtype == before.dtype


GAPS = [
    pd.Series(["a", None, "b"]),
    pd.Series(["a", None, "b"], dtype=object),
    pd.Series(["a", None, "b"], dtype="category"),
    pl.Series(["a", None, "b"]),
    pl.Series(["a", None, "b"], dtype=pl.Categorical),
    pl.Series(["a", None, "b"], dtype=pl.Enum(["a", "b"])),
    pa.chunked_array([["a", None, "b"]]),
    pa.chunked_array([pa.array(["a", None, "b"]).dictionary_encode()]),
]


@pytest.mark.parametrize("column", GAPS, ids=[str(n) for n in range(len(GAPS))])
def test_empty_cells_are_a_level_and_come_out_empty(column):
    schema = levels_of(["a", "b"], missing=True)
    native = native_table(column)
    source = nw.from_native(native, eager_only=True)["y"]
    coded = schema.coded(native)["y"]
    assert coded.tolist() == [1.0, 3.0, 2.0]
    made = schema.decoded("y", coded, like=source)
    assert made.is_null().to_list() == [False, True, False]
    assert made.drop_nulls().to_list() == ["a", "b"]


def test_empty_cells_of_numbers_and_truth_values():
    for values, levels in [
        (pl.Series([1, None, 2]), [1, 2]),
        (pd.Series([1.0, None, 2.0]), [1, 2]),
        (pd.Series([1, None, 2], dtype="Int64"), [1, 2]),
        (pd.Series([True, None, False], dtype=object), [True, False]),
        (pl.Series([True, None, False]), [True, False]),
    ]:
        kind = pl.DataFrame if isinstance(values, pl.Series) else pd.DataFrame
        schema = levels_of(levels, missing=True)
        coded = schema.coded(kind({"y": values}))["y"]
        assert coded.tolist() == [1.0, 3.0, 2.0]
        made = schema.decoded("y", coded, like=values)
        assert made.is_null().to_list() == [False, True, False]
        assert made.drop_nulls().to_list() == levels
    schema = levels_of([1, 2], missing=True)  # A type without empty cells gets one that has them.
    made = schema.decoded("y", [1, 3], like=pd.Series([1, 2])).to_native()
    assert str(made.dtype) == "Int64"
    schema = levels_of([True, False], missing=True)
    made = schema.decoded("y", [1, 3], like=pd.Series([True, False])).to_native()
    assert str(made.dtype) == "boolean"


@pytest.mark.parametrize(
    ("levels", "cells", "made"),
    [
        (["1", "2"], [[1, 2], [1.0, 2.0], ["1", "2"], [1, None], [None, None]], pl.Int64),
        (["true", "false"], [[True, False], ["true", "false"], [None, True]], pl.Boolean),
        (["True", "False"], [[True, False], ["True", "False"]], pl.Boolean),
        (["007", "010"], [[7, 10], [7.0, None], ["007", "010"]], pl.String),
        (["1.50", "2"], [[1.5, 2.0], ["1.50", "2"], [1.5, None]], pl.String),
        (["1", str(2**70)], [["1", str(2**70)]], pl.String),
        (["1", "N"], [[1, 1], [1.0, None], ["1", "N"]], pl.String),
    ],
)
@pytest.mark.parametrize("kind", [pl.DataFrame, pd.DataFrame, pa.table])
def test_levels_come_out_as_the_schema_has_them_whatever_a_reader_made_of_cells(
    kind, levels, cells, made
):
    column = Column(model="nominal", levels=levels, missing=True)
    schema = Schema({"y": column})
    for values in cells:
        frame = kind({"y": values})
        coded = schema.coded(frame, by_schema=["y"])["y"]
        assert all(code == 3.0 for code, x in zip(coded, values, strict=True) if x is None)
        known = nw.from_native(frame, eager_only=True)["y"]
        back = schema.decoded("y", [1, 2, 3], like=released_type(column, known, by_schema=True))
        assert back.to_polars().dtype == made
        spelled = [x.lower() for x in levels] if made == pl.Boolean else levels
        assert back.to_polars().cast(pl.String).to_list() == [*spelled, None]
        assert [levels[int(c) - 1] for c in coded if c < 3] == [
            next(one for one in levels if one == str(x) or _alike(one, x))
            for x in values
            if x is not None
        ]


def _alike(level, cell):
    if isinstance(cell, bool):
        return level.lower() == str(cell).lower()
    return not isinstance(cell, str) and level != "N" and float(level) == cell


def test_a_lookup_takes_a_column_with_levels():
    """Of a number it has no place to look at, whatever its table is."""
    age = Column(model="truncated-normal", range=(15, 90), predictors=())
    for values in ({}, {"15": "young", "16": "old"}):
        band = Column(levels=("young", "old"), lookup={"age": values})
        with refused("lookup-without-levels"):
            Schema({"age": age, "band": band})


def test_a_run_takes_the_path_of_a_schema_and_counts_its_records(example, tmp_path):
    example.write(tmp_path / "s.toml")
    for named in (tmp_path / "s.toml", str(tmp_path / "s.toml"), example):
        assert RunSettings(schema=named, mechanism="lw").plan.schema == example
    assert RunSettings(schema=example, mechanism="lw").records is None  # It has public columns.
    size = Column(model="table", levels=("x", "y"))
    members = {"sizes": [1, 4], "summaries": {"persons": "size", "before": "count"}}
    units = Schema({"kind": size}, unit="home", members=members, records=30)
    assert RunSettings(schema=units, mechanism="sw").records == 30
    with refused("belongs-to-setting", name="types", needs="schema"):
        RunSettings(outcome="y", types="table", mechanism="lw")


def test_numbers_are_rounded_and_keep_their_type():
    def made(like, decimals, values, model="normal"):
        schema = Schema({"y": Column(model=model, decimals=decimals)})
        return schema.decoded("y", np.array(values), like=like).to_native()

    assert made(pl.Series([1]), 0, [1.4, -0.2]).to_list() == [1, 0]
    assert made(pl.Series([1], dtype=pl.UInt8), 0, [255.0]).dtype == pl.UInt8
    assert made(pl.Series([1], dtype=pl.UInt8), 0, [256.0]).to_list() == [256]
    assert made(pl.Series([1], dtype=pl.UInt8), 0, [-1.0]).to_list() == [-1]
    assert made(pl.Series([1]), None, [3.0], "poisson").dtype == pl.Int64
    assert made(pl.Series([1]), None, [3.5]).to_list() == [3.5]
    assert made(pl.Series([1.5], dtype=pl.Float32), 1, [3.26]).dtype == pl.Float32
    assert made(pd.Series([1.5]), 1, [3.26, -0.01]).tolist() == [3.3, 0.0]
    assert str(made(pd.Series([1], dtype="Int16"), 0, [3.2]).dtype) == "Int16"
    assert str(made(pd.Series([1]), 0, [3.2]).dtype) == "int64"
    assert made(pa.chunked_array([[1]]), 0, [3.2]).to_pylist() == [3]


def test_the_inputs_stay_as_they_are():
    levels, table = ["a", "b"], pd.DataFrame({"y": ["a", "b"]})
    schema = levels_of(levels)
    levels.append("c")
    assert schema.columns["y"].levels == ("a", "b")
    before = table.copy()
    schema.coded(table)
    pd.testing.assert_frame_equal(table, before)


def test_a_sum_with_a_part_that_can_be_missing_can_be_missing():
    parts = {"p": Column(model="poisson"), "q": Column(model="poisson", missing=True)}
    with refused("computed-may-be-missing", other="q"):
        Schema({**parts, "sum": Column(rule="= p + q", decimals=0)})
    assert Schema({**parts, "sum": Column(rule="= p + q", decimals=0, missing=True)}).derived == ()


@given(st.lists(st.tuples(st.integers(-99, 10**6), st.integers(1, 10**6)), min_size=1, max_size=30))
@settings(max_examples=50, derandomize=True)
def test_a_sum_of_cents_is_exact_but_for_last_bits(cents):
    """Without decimals the sum and the parts are floats, which differ in their last bits."""
    p, q = (np.array(part) / 100.0 for part in zip(*cents, strict=True))
    total = np.array([a + b for a, b in cents]) / 100.0
    schema = Schema(
        {"p": Column(model="normal"), "q": Column(model="normal"), "sum": Column(rule="= p + q")}
    )
    values = {"p": p, "q": q, "sum": total}
    assert not follows(schema, "sum", values).breaking.any()
    assert follows(schema, "sum", values | {"sum": total + 1e-5}).breaking.all()
