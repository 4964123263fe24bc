"""Keys that a schema proposes, and which key makes the risk, beside a count by hand."""

from collections import Counter
from itertools import combinations

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from refusals import refused

import pyvws as vws
from pyvws import Column, Schema
from pyvws.evaluation.known_keys import key_contributions, proposed_keys

COLUMNS = {
    "person": Column(role="id", prefix="P"),
    "sex": Column(role="public", levels=("f", "m")),
    "age": Column(model="normal", range=(0, 90), decimals=0),
    "page": Column(model="normal", range=(0, 90)),
    "town": Column(model="table", levels=tuple(map(str, range(30)))),
    "ill": Column(model="table", levels=("no", "yes")),
    "same": Column(model="table", levels=("one",)),
    "left": Column(role="drop", levels=("f", "m")),
}


def proposed(but=(), **changes):
    columns = {name: changes.get(name, column) for name, column in COLUMNS.items()}
    return proposed_keys(Schema(columns), list(columns), but=but)


def test_keys_are_categories_of_few_levels_and_ages():
    found = proposed()
    assert found.keys == ("sex", "age", "ill")
    assert list(found.bins) == ["age"]
    assert found.bins["age"][:2] == (10.0, 20.0)
    assert "columns of at most 20 levels, and age by tens" in found.words
    assert proposed(but=["ill"]).keys == ("sex", "age")
    assert proposed(sex=Column(role="public", levels=("f", "m"), known=False)).keys == (
        "age",
        "ill",
    )


def test_known_columns_go_before_others():
    town = Column(model="table", levels=COLUMNS["town"].levels, known=True)
    page = Column(model="normal", range=(0, 90), cuts=(20, 60), known=True)
    found = proposed(town=town, page=page)
    assert found.keys == ("page", "town")
    assert found.bins == {"page": (20.0, 60.0)}
    assert "by known = true" in found.words
    again = Schema(COLUMNS | {"town": town}).columns["town"]
    assert again.given["known"] is True
    with refused("known-words"):
        Column(role="public", levels=("f", "m"), known="yes")


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 30))
@settings(max_examples=40, derandomize=True)
def test_wide_tables_have_ten_keys_at_most_and_the_rest_is_told(sizes, there):
    columns = {
        f"c{i:02d}": Column(model="table", levels=tuple(map(str, range(size))))
        for i, size in enumerate(sizes)
    }
    few = [name for name, size in list(zip(columns, sizes, strict=True))[:there] if 2 <= size <= 20]
    found = proposed_keys(Schema(columns), list(columns)[:there]) if columns else None
    assert (found.keys if found else ()) == tuple(few[:10])
    if len(few) > 10:
        assert f"It has {len(few) - 10} more such columns." in found.words


@pytest.mark.parametrize("name", ["age", "Age", "AGEP", "age_years", "ages", "persons.age"])
def test_ages_by_their_names(name):
    columns = {name: Column(model="normal", range=(0, 90))}
    assert proposed_keys(Schema(columns), [name]).keys == (name,)


@pytest.mark.parametrize("name", ["page", "agent", "wage", "manager", "agency"])
def test_other_numbers_are_no_ages(name):
    assert proposed_keys(Schema({name: Column(model="normal", range=(0, 90))}), [name]) is None


def alone(rows):
    counts = Counter(rows)
    return {i for i, row in enumerate(rows) if counts[row] == 1}


def by_hand(first, second):
    """The contributions with sets and counters."""
    K = len(first)

    def rows(codes, keys):
        return [tuple(codes[k][i] for k in keys) for i in range(codes.shape[1])]

    whole = range(K)
    lone = alone(rows(first, whole))
    theirs = Counter(rows(second, whole))
    both = {i for i in lone if theirs[rows(first, whole)[i]] == 1}
    sets = {
        (keys, i)
        for size in range(1, min(3, K) + 1)
        for keys in combinations(whole, size)
        for i in alone(rows(first, keys))
        if not any(i in alone(rows(first, part)) for part in combinations(keys, size - 1) if part)
    }
    found = []
    for k in whole:
        others = [j for j in whole if j != k]
        mine, their = rows(first, others), Counter(rows(second, others))
        still = alone(mine)
        of_both = {i for i in both if i in still and their[mine[i]] == 1}
        found.append(
            (
                len(lone - still) / len(lone) if lone else 0.0,
                sum(k in keys for keys, _ in sets) / len(sets) if sets else 0.0,
                len(both - of_both) / len(both) if both else 0.0,
            )
        )
    return found


@given(
    st.integers(2, 4).flatmap(
        lambda K: st.tuples(
            *(
                st.integers(1, 9).flatmap(
                    lambda n: arrays(np.int64, (K, n), elements=st.integers(0, 3))
                )
                for _ in range(2)
            )
        )
    )
)
@settings(max_examples=150, derandomize=True)
def test_contributions_are_those_counted_by_hand(pair):
    names = [f"k{i}" for i in range(len(pair[0]))]
    found, largest = key_contributions(names, [pair])
    assert largest == min(3, len(names))
    assert [(x.alone, x.minimal, x.replicated) for x in found] == [
        pytest.approx(own) for own in by_hand(*pair)
    ]


def test_a_key_that_tells_all_apart_makes_the_risk():
    table = pl.DataFrame({"sex": ["f", "m"] * 10, "age": list(range(20)), "ill": ["y", "n"] * 10})
    found = vws.table_risk(table, [table], keys=["sex", "age"])
    sex, age = found.contributions
    assert (sex.alone, sex.minimal, sex.replicated) == (0.0, 0.0, 0.0)
    assert (age.alone, age.minimal, age.replicated) == (1.0, 1.0, 1.0)
    assert [row[0] for row in found.by_key.rows] == ["age", "sex"]
    assert found.by_key.facts["keys"]["age"]["alone"] == 1.0


def test_many_keys_and_records_look_at_smaller_sets():
    codes = np.random.default_rng(1).integers(0, 5, (6, 100))
    names = list("abcdef")
    for cells, size in ((10**6, 3), (100 * 21, 2), (1, 1)):
        found, largest = key_contributions(names, [(codes, codes)], most_cells=cells)
        assert largest == size
    again, _ = key_contributions(names, iter([(codes, codes), None]), most_cells=1)
    assert again == found  # One dataset is enough.


def test_a_schema_proposes_the_keys_of_risks():
    rng = np.random.default_rng(3)
    table = pl.DataFrame({"sex": rng.choice(["f", "m"], 60), "age": rng.integers(0, 80, 60)})
    columns = {name: COLUMNS[name] for name in ("sex", "age")}
    found = vws.table_risk(table, [table], schema=Schema(columns))
    binned = vws.table_risk(table, [table], keys=["sex", "age"], bins={"age": range(10, 120, 10)})
    assert found.known.keys == ("sex", "age")
    assert found.replicated_uniques == binned.replicated_uniques
    assert any("The schema proposes the keys" in note for note in found.sheet.notes)
    assert not any("proposes" in note for note in binned.sheet.notes)
    with refused("keys-missing"):
        vws.table_risk(table, [table])
