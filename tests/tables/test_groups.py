"""Levels by the hundred: their groups, the places within, and how both come together again."""

from collections import Counter
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Column, Schema
from pyvws.tables.schema.category import Category
from pyvws.tables.schema.groups import (
    group_codes,
    group_of,
    grouped_categories,
    level_in,
    places_within,
)
from pyvws.tables.schema.parts import conditionals, finish_of, follows, is_drawn, modelled_schema

LEVELS = ("11", "12", "21", "22", "23", "30")
SCHEMA = Schema(
    {
        "sex": Column(role="public", levels=("f", "m")),
        "job": Column(model="nominal", levels=LEVELS, group_by=1, missing=("N", True)),
        "pay": Column(model="normal", range=(0, 9)),
    }
)
TABLE = pl.DataFrame(
    {"sex": ["f", "m", "f", "m"], "job": ["23", "30", "N", None], "pay": [1.0, 2.0, 3.0, 4.0]}
)


def test_by_hand() -> None:
    column = SCHEMA.columns["job"]
    assert column.groups == ("1", "2", "3", "missing N", "empty")
    assert group_codes(column).tolist() == [1, 1, 2, 2, 2, 3, 4, 5]
    assert places_within(column).tolist() == [1, 2, 1, 2, 3, 1, 1, 1]
    coded = SCHEMA.coded(TABLE)
    assert coded["job"].tolist() == [5.0, 6.0, 7.0, 8.0]
    assert coded["group of job"].tolist() == [2.0, 3.0, 4.0, 5.0]
    whole = modelled_schema(SCHEMA)
    made = ["sex", "group of job", "job in 1", "job in 2", "job", "pay"]
    assert list(whole.columns) == made
    drawn = [one for one in whole.synthesized if is_drawn(SCHEMA, one)]
    assert drawn == ["group of job", "job in 1", "job in 2", "pay"]
    assert whole.columns["job in 2"].levels == ("21", "22", "23")
    assert whole.predictors_of("job in 2") == ("sex",)
    assert whole.predictors_of("pay") == ("sex", "group of job")
    found = conditionals(SCHEMA, "job", coded, follows(SCHEMA, "job", coded))
    terms = {name: has.tolist() for name, (_, has) in found.items() if is_drawn(SCHEMA, name)}
    assert terms == {
        "group of job": [True] * 4,
        "job in 1": [False] * 4,
        "job in 2": [True, False, False, False],
    }
    assert found["job in 2"][0][0] == 3.0


@given(
    levels=st.lists(st.text("abc0", min_size=1, max_size=3), min_size=4, max_size=30, unique=True),
    group_by=st.integers(1, 2),
    missing=st.sampled_from([None, True, "0", ("x", True)]),
)
@settings(max_examples=150)
def test_a_level_comes_back_from_its_group_and_place(
    levels: list[str], group_by: int, missing: object
) -> None:
    sizes = Counter(one[:group_by] for one in levels if one not in (missing, "x"))
    hypothesis.assume(len(sizes) > 1 and max(sizes.values()) > 1)
    column = Column(model="table", levels=tuple(levels), group_by=group_by, missing=missing)  # type: ignore[arg-type]
    assert set(sizes) <= set(column.groups)
    schema = Schema({"y": column})
    codes = np.arange(1.0, len(column.coded_levels) + 1.0)
    values = {"y": codes, group_of("y"): group_codes(column)}
    for name, (places, has) in conditionals(
        schema, "y", values, follows(schema, "y", values)
    ).items():
        if name not in values:  # Other records' places in a group may be any.
            width = len(modelled_schema(schema).columns[name].levels or ())
            values[name] = np.where(has, places, float(width))
    finish = finish_of(schema, "y")
    assert finish is not None
    assert finish.settled(np.ones(len(codes)), values).tolist() == codes.tolist()


RULED = Schema(
    {
        "age": Column(role="public", range=(0, 99)),
        "job": Column(
            model="nominal",
            levels=LEVELS,
            group_by=1,
            missing="N",
            rule=("missing only where age < 16", "30 where age > 90"),
        ),
    }
)


def test_rules_fix_the_group_too() -> None:
    coded = RULED.coded(pl.DataFrame({"age": [10, 95, 40, 50], "job": ["N", "30", "N", "12"]}))
    found = follows(RULED, "job", coded)
    assert found.breaking.tolist() == [False, False, True, False]
    assert found.modelled.tolist() == [False, False, False, True]
    whole = modelled_schema(RULED)
    assert whole.columns["group of job"].n_drawn == 3
    values = {"age": coded["age"]}
    of_group, of_level = finish_of(RULED, "group of job"), finish_of(RULED, "job")
    assert of_group is not None
    assert of_level is not None
    values[group_of("job")] = of_group.settled(np.array([1.0, 1.0, 2.0, 2.0]), values)
    assert values[group_of("job")].tolist() == [4.0, 3.0, 2.0, 2.0]
    values[level_in("job", "1")] = np.ones(4)
    values[level_in("job", "2")] = np.array([1.0, 2.0, 3.0, 1.0])
    assert of_level.settled(np.ones(4), values).tolist() == [7.0, 6.0, 5.0, 3.0]
    assert finish_of(RULED, "job in 2") is None


def test_a_public_column_enters_by_its_group(tmp_path: Path) -> None:
    schema = Schema(
        {"area": Column(role="public", levels=LEVELS, group_by=1), "pay": Column(model="normal")}
    )
    schema.write(tmp_path / "s.toml")
    assert Schema.read(tmp_path / "s.toml") == schema
    assert modelled_schema(schema).predictors_of("pay") == ("group of area",)
    assert grouped_categories("area", schema.columns["area"]) == {
        "group of area": Category(role="public", levels=("1", "2", "3"))
    }


@pytest.mark.parametrize(
    ("entries", "refusal"),
    [
        ({"group_by": 0}, refused("not-a-whole-number")),
        ({"group_by": 2}, refused("group-by-parts-nothing", sizes=6)),
        ({"model": "ordinal", "group_by": 1}, refused("group-by-without-levels")),
        ({"model": "normal", "levels": None, "group_by": 1}, refused("group-by-without-levels")),
        (
            {"levels": [f"a{i}" for i in range(9)], "group_by": 1},
            refused("group-by-parts-nothing", sizes=1),
        ),
        (
            {"levels": [f"{i % 2}{i}" for i in range(602)], "group_by": 1},
            refused("group-too-large", sizes2=301),
        ),
        (
            {"levels": [f"{i}{x}" for i in range(100, 401) for x in "ab"], "group_by": 3},
            refused("group-too-large", sizes2=2),
        ),
    ],
)
def test_what_groups_cannot_be(entries: dict[str, object], refusal: object) -> None:
    with refusal:
        Column(**{"model": "nominal", "levels": LEVELS, **entries})  # type: ignore[arg-type]


def test_names_that_groups_take() -> None:
    with refused("column-name-of-parts", name="job", part="group of job"):
        modelled_schema(Schema({**SCHEMA.columns, "group of job": Column(role="public")}))
    with refused("formula-of-grouped-levels", wanted="job"):
        Schema({**SCHEMA.columns, "pay": Column(model="normal", formula="~ sex * job")})


def test_parts_of_two_columns_with_one_name_are_refused() -> None:
    """One conditional would stand in the place of the other."""
    levels = ("b in c1", "b in c2", "d in c1")
    both = {
        "a": Column(model="table", levels=levels, group_by=6),
        "a in b": Column(model="table", levels=("c1", "c2", "d1"), group_by=1),
    }
    with refused("column-name-of-parts", name="a in b", part="a in b in c"):
        modelled_schema(Schema(both))
