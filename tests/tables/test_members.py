"""Units with members: what a schema may say of them, and summaries of the members before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from pyvws.errors import InputError
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.members import NONE, places_in
from pyvws.tables.schema.schema import Schema

few = settings(max_examples=60, derandomize=True)
RELATION = Column(model="table", levels=("1", "2", "3"), missing="NA")
COLUMNS = {
    "home": Column(role="id"),
    "owner": Column(model="table", levels=("no", "yes")),
    "relation": RELATION,
    "age": Column(model="normal", range=(0, 99)),
}
MEMBERS = {
    "sizes": [1, 4],
    "of_unit": ["owner"],
    "impossible": ["relation == 1 and ones > 0", "relation == 2 and age + 1 < 16 - 1"],
    "summaries": {
        "persons": "size",
        "before": "count",
        "ones": "count where relation == 1 or age > 60",
        "last": "last relation",
        "elder": "last relation where age > 60",
    },
}


def schema(members=MEMBERS, columns=COLUMNS, **entries):
    return Schema(columns, **{"unit": "home", "members": members, **entries})


def test_the_schema_is_written_and_read_again(tmp_path):
    first = schema()
    for made in (first, schema({**MEMBERS, "size_shares": [0.5, 0.25, 0.25, 0]})):
        made.write(tmp_path / "schema.toml")
        assert Schema.read(tmp_path / "schema.toml") == made
    assert list(first.columns)[:6] == ["persons", "owner", "before", "ones", "last", "elder"]
    assert first.synthesized == ("persons", "owner", "relation", "age")
    assert first.public == ()
    assert first.predictors_of("persons") == ()
    assert first.predictors_of("owner") == ("persons",)
    assert first.predictors_of("relation") == (
        *("before", "ones", "last", "elder", "persons", "owner"),
    )


@st.composite
def units(draw):
    N = draw(st.integers(1, 9))
    raw = draw(arrays(np.intp, N, elements=st.integers(0, 4)))
    _, unit = np.unique(raw, return_inverse=True)
    relation = draw(arrays(np.float64, N, elements=st.integers(1, 4).map(float)))
    age = draw(arrays(np.float64, N, elements=st.sampled_from([20.0, 70.0, np.nan])))
    return unit, relation, age


@given(units())
@few
def test_summaries_against_a_loop_over_the_members_before(found):
    unit, relation, age = found
    whole = schema({**MEMBERS, "sizes": [1, 9]})
    values = {"relation": relation, "age": age, "owner": np.ones(len(unit))}
    made = whole.members.summarized(values, unit, whole.columns)
    levels = whole.columns["last"].coded_levels
    for i, of in enumerate(unit):
        before = [j for j in range(i) if unit[j] == of]
        counted = [j for j in before if relation[j] == 1 or age[j] > 60]
        elders = [j for j in before if age[j] > 60]
        assert made["persons"][i] == (unit == of).sum()
        assert made["before"][i] == 1 + len(before) == places_in(unit)[i] + 1
        assert made["ones"][i] == 1 + len(counted)
        for name, among in (("last", before), ("elder", elders)):
            code = int(relation[among[-1]]) - 1 if among else None
            label = NONE if code is None else RELATION.coded_levels[code]
            assert levels[int(made[name][i]) - 1] == label


def test_members_that_are_impossible_are_found():
    whole = schema()
    values = {
        "relation": np.array([1.0, 1.0, 2.0, 2.0, 2.0, 3.0]),
        "ones": np.array([1.0, 2.0, 3.0, 1.0, 1.0, 2.0]),
        "age": np.array([3.0, 3.0, 13.0, 14.0, np.nan, 3.0]),
    }
    found = whole.members.breaking(values, whole.columns)
    assert found.tolist() == [False, True, True, False, False, False]


def test_sizes_beyond_the_public_ones_are_counted():
    whole, unit = schema(), np.repeat([0, 1, 2], [1, 5, 6])
    values = {"relation": np.ones(12), "age": np.ones(12)}
    with pytest.raises(InputError, match="2 units have fewer records than 1 or more than 4"):
        whole.members.summarized(values, unit, whole.columns)


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"sizes": [4, 1]}, "least and the largest"),
        ({"sizes": [1, 2.5]}, "two whole numbers"),
        ({"sizes": 3}, "two whole numbers"),
        ({"summaries": {"before": "count"}}, 'one "size"'),
        ({"size_shares": [0.5, 0.5]}, "4 shares"),
        ({"size_shares": [0.5, 0.5, -0.1, 0.1]}, "must not be negative"),
        ({"size_shares": [0, 0, 0, 0]}, "must be above 0"),
        ({"size_shares": [1, 1, 1, "many"]}, "must be a number"),
        ({"size_shares": 1}, "must be a list"),
        ({"summaries": {"persons": "size", "last": "last"}}, "cannot be read"),
        ({"summaries": {"persons": "size", "n": "count age"}}, "cannot be read"),
        ({"summaries": {"persons": "size", "n": "last age"}}, "which is a number"),
        ({"summaries": {"persons": "size", "n": "last ages"}}, "Did you mean 'age'"),
        ({"summaries": {"persons": "size", "age": "count"}}, "name of a column"),
        ({"of_unit": ["relation"]}, "above the others"),
        ({"of_unit": ["owner", "relation", "age"]}, "names every column"),
        ({"of_unit": ["home"]}, "no column to synthesize"),
        ({"impossible": ["relative == 1"]}, "Did you mean 'relation'"),
        ({"impossible": ["relation == 7"]}, "label"),
        ({"impossible": ["age + 1 == 7"]}, "something else"),
        ({"other": 1}, "no entry of members"),
        ({"summaries": 1}, "must be a table"),
    ],
)
def test_what_members_cannot_be_is_named(change, named):
    with pytest.raises(InputError) as caught:
        schema({**MEMBERS, "impossible": [], **change})
    assert named in str(caught.value)


def test_members_need_a_unit_and_no_public_column():
    with pytest.raises(InputError, match="ids as unit"):
        schema(unit=None)
    public = {**COLUMNS, "area": Column(role="public", levels=("a", "b"))}
    with pytest.raises(InputError, match="'area' is public"):
        schema(columns=public)


def test_a_unit_s_column_knows_no_member():
    columns = {
        **COLUMNS,
        "owner": Column(model="table", levels=("no", "yes"), predictors=("last",)),
    }
    with pytest.raises(InputError, match="comes later"):
        schema(columns=columns)
