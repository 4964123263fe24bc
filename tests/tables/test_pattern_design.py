"""Patterns of conditional tables: categories by level, numbers by public cut points, lookups."""

import itertools

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws import Column, Schema
from pyvws.tables.design.public import pattern_design, public_design
from pyvws.tables.schema.parts import follows, modelled_schema

SCHEMA = Schema(
    {
        "age": Column(role="public", range=(0, 100), cuts=(16, 65)),
        "kids": Column(model="table", levels=tuple("0123"), missing="N", cuts=(1,)),
        "wage": Column(
            model="normal",
            range=(0, 1e6),
            mass=(0,),
            cuts=(1000,),
            part={"model": "table", "predictors": ["age"], "concentration": 0.5},
        ),
        "work": Column(model="table", levels=("y", "n"), predictors=("age", "kids", "wage")),
    }
)


def test_the_part_of_a_number_has_entries_of_its_own() -> None:
    whole = modelled_schema(SCHEMA)
    assert whole.columns["part of wage"].model == "table"
    assert whole.predictors_of("part of wage") == ("age",)
    assert whole.columns["part of wage"].settings == {"concentration": 0.5}
    assert whole.columns["wage"].model == "normal"
    assert whole.predictors_of("wage") == ("age", "kids")


def test_a_category_with_cut_points_enters_a_regression_by_intervals() -> None:
    age = Column(role="public", levels=tuple(map(str, range(90))), missing=True, cuts=(16, 65, 99))
    design = public_design(Schema({"age": age, "y": Column(model="normal")}), "y")
    assert design.names == ("(Intercept)", "age16 to 65", "age65 to 99", "ageNA")
    values = np.array([1.0, 17.0, 66.0, 90.0, 91.0])
    assert design.matrix({"age": values}).tolist() == [
        [1.0, 0.0, 0.0, 0.0],
        [1.0, 1.0, 0.0, 0.0],
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 1.0, 0.0],
        [1.0, 0.0, 0.0, 1.0],
    ]


@given(
    sizes=st.lists(st.integers(2, 4), min_size=1, max_size=3),
    cuts=st.lists(st.integers(-3, 3), unique=True, max_size=3).map(sorted),
)
@settings(max_examples=40)
def test_every_combination_of_places_is_one_pattern(sizes: list[int], cuts: list[int]) -> None:
    columns = {
        f"c{i}": Column(role="public", levels=tuple("abcd"[:size])) for i, size in enumerate(sizes)
    }
    columns["x"] = Column(role="public", cuts=tuple(cuts))
    columns["y"] = Column(model="table", levels=("0", "1"))
    design = pattern_design(Schema(columns), "y")
    numbers = [*(cut - 0.5 for cut in cuts), 9.0]
    each = list(itertools.product(*(range(1, size + 1) for size in sizes), numbers))
    values = {name: np.array([row[i] for row in each]) for i, name in enumerate([*columns][:-1])}
    assert design.matrix(values)[:, 0].tolist() == list(range(design.patterns))
    for cut in cuts:  # A cut point begins its interval.
        at = {name: np.ones(2) for name in values} | {"x": np.array([cut, cut - 1e-9])}
        after, before = design.matrix(at)[:, 0]
        assert after == before + 1


@pytest.mark.parametrize(
    ("entries", "key"),
    [
        ({"predictors": ("x",)}, "predictor-without-cuts"),
        ({"formula": "~ x"}, "formula-of-table-model"),
    ],
)
def test_predictors_that_make_no_pattern(entries: dict[str, object], key: str) -> None:
    columns = {
        "x": Column(role="public", range=(0, 1)),
        "y": Column(model="table", levels=("0", "1"), **entries),  # type: ignore[arg-type]
    }
    with refused(key):
        pattern_design(Schema(columns), "y")


@pytest.mark.parametrize(
    ("entries", "key"),
    [
        ({"role": "public", "cuts": (2, 1)}, "cuts-not-rising"),
        ({"role": "public", "levels": ("a", "b"), "cuts": (1,)}, "compared-levels-not-numbers"),
        ({"model": "normal", "part": {"model": "table"}}, "part-without-parts"),
        ({"model": "normal", "mass": (0,), "part": {"model": "normal"}}, "family-of-part"),
        ({"model": "normal", "mass": (0,), "part": {"model": "ordinal"}}, "family-of-part"),
        ({"model": "normal", "mass": (0,), "part": {"depth": 1}}, "entry-unknown"),
        ({"lookup": {"a": 1}}, "lookup-shape"),
        ({"lookup": {"a": {"x": "y"}}}, "rule-value-impossible"),
        ({"lookup": {"a": {"x": 1}}, "model": "normal"}, "computed-with-more"),
        ({"lookup": {"a": {"x": 1}}, "missing": "N"}, "lookup-not-numbers"),
        ({"lookup": {"a": {"x": 7}}, "range": (0, 1)}, "range-below-points"),
        ({"lookup": {"a": {"x": 7}}, "role": "public"}, "rule-of-other-role"),
    ],
)
def test_columns_that_cannot_be(entries: dict[str, object], key: str) -> None:
    with refused(key):
        Column(**entries)  # type: ignore[arg-type]


LOOKUP = Schema(
    {
        "area": Column(model="table", levels=("a", "b"), missing=True),
        "density": Column(lookup={"area": {"a": 1.5, "b": 7, "missing": 0}}),
        "coast": Column(
            levels=("yes", "no"), lookup={"area": {"a": "yes", "b": "no", "missing": "no"}}
        ),
    }
)


def test_a_lookup_is_followed_and_a_record_that_breaks_it_is_counted() -> None:
    values = LOOKUP.coded(
        pl.DataFrame(
            {"area": ["a", "b", None], "density": [1.5, 6, 0], "coast": ["no", "no", "no"]}
        )
    )
    assert follows(LOOKUP, "density", values).breaking.tolist() == [False, True, False]
    assert follows(LOOKUP, "coast", values).breaking.tolist() == [True, False, False]
    with refused("lookup-incomplete", other="area"):
        Schema(
            {
                "area": Column(role="public", levels=("a", "b")),
                "x": Column(lookup={"area": {"a": 1}}),
            }
        )
    with refused("schema-column-unknown"):
        Schema({"x": Column(lookup={"area": {"a": 1}})})


def test_tables_within_a_column_are_the_same_after_the_file(tmp_path) -> None:  # type: ignore[no-untyped-def]
    for schema in (SCHEMA, LOOKUP):
        schema.write(tmp_path / "schema.toml")
        assert Schema.read(tmp_path / "schema.toml") == schema
