"""Units with members: what a schema may say of them, and summaries of the members before."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

from pyvws import Column, Schema
from pyvws.tables.schema.members import NONE, places_in

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
    with refused("units-of-other-sizes", wrong=2, low=1):
        whole.members.summarized(values, unit, whole.columns)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"sizes": [4, 1]}, "sizes-order"),
        ({"sizes": [1, 2.5]}, "sizes-not-whole"),
        ({"sizes": 3}, "sizes-not-whole"),
        ({"summaries": {"before": "count"}}, "summaries-without-size"),
        ({"size_shares": [0.5, 0.5]}, "size-shares-length"),
        ({"size_shares": [0.5, 0.5, -0.1, 0.1]}, "negative-number"),
        ({"size_shares": [0, 0, 0, 0]}, "not-above-0"),
        ({"size_shares": [1, 1, 1, "many"]}, "not-a-number"),
        ({"size_shares": 1}, "not-a-list"),
        ({"summaries": {"persons": "size", "last": "last"}}, "summary-unreadable"),
        ({"summaries": {"persons": "size", "n": "count age"}}, "summary-unreadable"),
        ({"summaries": {"persons": "size", "n": "last age"}}, "last-of-number"),
        ({"summaries": {"persons": "size", "n": "last ages"}}, "summary-unknown-column"),
        ({"summaries": {"persons": "size", "age": "count"}}, "summary-name-taken"),
        ({"of_unit": ["relation"]}, "unit-columns-order"),
        ({"of_unit": ["owner", "relation", "age"]}, "of-unit-every-column"),
        ({"of_unit": ["home"]}, "of-unit-unknown-column"),
        ({"impossible": ["relative == 1"]}, "impossible-unknown-column"),
        ({"impossible": ["relation == 7"]}, "rule-unknown-label"),
        ({"impossible": ["age + 1 == 7"]}, "rule-compares-more"),
        ({"other": 1}, "members-entry-unknown"),
        ({"summaries": 1}, "members-shape"),
    ],
)
def test_what_members_cannot_be_is_named(change, key):
    with refused(key):
        schema({**MEMBERS, "impossible": [], **change})


def test_members_need_a_unit_and_no_public_column():
    with refused("members-without-unit"):
        schema(unit=None)
    public = {**COLUMNS, "area": Column(role="public", levels=("a", "b"))}
    with refused("public-beside-units", name="area"):
        schema(columns=public)


def test_a_unit_s_column_knows_no_member():
    columns = {
        **COLUMNS,
        "owner": Column(model="table", levels=("no", "yes"), predictors=("last",)),
    }
    with refused("order-of-synthesis"):
        schema(columns=columns)
