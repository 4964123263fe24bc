"""Rules that a proposal finds: those the table was made by, kept by each record, none by chance."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings

import pyvws as vws
from pyvws.tables.schema.decided import is_decided
from pyvws.tables.schema.rules import Fixed
from pyvws.tables.schema.schema import Schema

pytestmark = pytest.mark.usefixtures("rare_values_too")

N = 1200


def survey(seed: int = 0) -> pl.DataFrame:
    """Persons of whom some are not asked, and some have nothing."""
    rng = np.random.default_rng(seed)
    age = rng.integers(0, 90, N)
    area = rng.choice(["north", "two words", "it's"], N)
    works = np.where(age < 15, None, rng.choice(["yes", "no"], N))
    wage = np.where(works == "yes", rng.lognormal(9, 1, N).round(), 0.0)
    wage = np.where((age < 15) | (rng.random(N) < 0.1), np.nan, wage)
    joined = np.datetime64("2010-01-01") + rng.integers(0, 3000, N)
    club = np.where(joined > np.datetime64("2016-06-30"), "N", rng.choice(["a", "b", "N"], N))
    return pl.DataFrame(
        {
            "age at end": age,
            "area": area,
            "works": works,
            "wage": wage,
            "hours": np.where(works == "yes", rng.integers(1, 80, N), -9),
            "rent": np.where(area == "it's", 0.0, rng.lognormal(6, 1, N).round()),
            "joined": joined,
            "club": club,
            "noise": rng.choice(["1", "2", "3"], N),
        },
        strict=False,
    ).with_columns(pl.col("wage").fill_nan(None))


@pytest.mark.runs
def test_the_rules_of_a_survey_by_hand() -> None:
    table = survey()
    columns = Schema.propose(table).columns
    assert {name: one.rule for name, one in columns.items() if one.rule} == {
        "works": "missing only where `age at end` < 15",
        "wage": "missing where `age at end` < 15",
        "hours": "-9 only where works != 'yes'",
        "rent": '0 where area == "it\'s"',
        "club": "N where joined > '2016-06-30'",
    }
    assert all(("rule" in one.review) == bool(one.rule) for one in columns.values())
    assert Schema.propose(table.to_pandas()).columns["hours"].rule == columns["hours"].rule


def test_two_conditions_are_one_rule() -> None:
    table = survey().with_columns(
        pl.when((pl.col("age at end") < 15) | (pl.col("area") == "north"))
        .then(None)
        .otherwise(pl.col("noise"))
        .alias("asked")
    )
    rule, *never = Schema.propose(table).columns["asked"].rule or ()
    assert rule == "missing only where area == 'north' or `age at end` < 15"
    assert never == ["never 1 where noise != 1", "never 2 where noise != 2"]


def test_few_records_and_a_value_that_most_have_make_no_rule() -> None:
    rng = np.random.default_rng(3)
    rare = np.where(np.arange(N) < 4, "rare", rng.choice(["a", "b"], N))
    often = np.where((rare == "a") | (rng.random(N) < 0.97), "0", "1")
    table = pl.DataFrame(
        {
            "rare": rare,
            "often": often,
            "gone": np.where(rare == "rare", None, rng.choice(["x", "y", None], N)),
        },
        strict=False,
    )
    assert [one.rule for one in Schema.propose(table).columns.values()] == [None, None, None]


@st.composite
def tables(draw: st.DrawFn) -> pd.DataFrame:
    """A table of independent columns, and one that is missing or 0 where another is small."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n = draw(st.integers(60, 400))
    names = draw(st.permutations(["x", "class", "a b", "missing", "`", "where", "é", "not"]))
    labels = draw(st.lists(st.text(max_size=6), min_size=2, max_size=5, unique=True).filter(all))
    number = rng.normal(0, 10.0 ** draw(st.integers(-3, 6)), n)
    code = rng.integers(0, 40, n)
    few = draw(st.booleans())
    own = np.where(code < 12, np.nan, rng.lognormal(3, 1, n)) if few else rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            names[0]: rng.choice(labels, n),
            names[1]: number,
            names[2]: code,
            names[3]: np.where(number < 0, None, rng.choice(labels, n)),
            names[4]: own,
            names[5]: np.where(code > 30, labels[0], rng.choice(labels[1:], n)),
        }
    )


@pytest.mark.runs
@given(tables(), st.booleans())
def test_each_record_keeps_each_rule(table: pd.DataFrame, wide: bool) -> None:
    if wide:  # Too wide for regressions: numbers become levels of conditional tables.
        for step in (1, 7, 11, 13):
            table[f"wide {step}"] = [f"l{step * i % 29}" for i in range(len(table))]
    schema = Schema.propose(table)
    assert any(one.model == "table" for one in schema.columns.values()) == wide
    for place, (name, column) in enumerate(schema.columns.items()):
        values = Schema.coded(schema, table)
        for rule in column.rules:
            if not isinstance(rule, Fixed):
                continue
            assert set(rule.columns) <= set(list(schema.columns)[:place])
            holds = rule.condition.holds(values, schema.columns)
            cells = table[name][holds]
            assert len(cells) >= 2
            if rule.value is None:
                assert cells.isna().all()
                assert not rule.only or table[name][~holds].notna().all()
            elif column.categorical:
                assert (cells.astype(str) == rule.value).all()
            else:
                assert (cells == column.number_of(rule.value)).all()


@pytest.mark.runs
@given(st.integers(0, 2**32 - 1))
def test_columns_that_tell_nothing_of_each_other_have_no_rule(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(30, 600))
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "k": rng.integers(0, 50, n),
            "g": rng.choice(list("abcdefgh"), n),
            "y": np.where(rng.random(n) < rng.random(), np.nan, rng.normal(size=n)),
            "h": np.where(rng.random(n) < rng.random(), None, rng.choice(list("ab"), n)),
        }
    )
    assert [one.rule for one in Schema.propose(table).columns.values()] == [None] * 5


def test_levels_that_never_meet_are_barred_and_few_rules_say_so() -> None:
    rng = np.random.default_rng(8)
    marital = rng.choice(["single", "married", "widowed"], N)
    married = marital == "married"
    table = pl.DataFrame(
        {
            "marital": marital,
            "of head": np.where(married, rng.choice(["spouse", "head"], N), "head"),
            "kin": np.where(married, rng.choice(["a", "b"], N), rng.choice(["b", "c"], N)),
            "many": [f"l{int(u * 12)}" for u in rng.random(N)],
        }
    )
    columns = Schema.propose(table).columns
    assert {name: one.rule for name, one in columns.items() if one.rule} == {
        "of head": "head where marital != 'married'",
        "kin": ("never 'c' where marital == 'married'", "never 'a' where marital != 'married'"),
    }
    assert "rule" in columns["kin"].review


@given(st.integers(0, 2**32 - 1), st.integers(2, 6))
@settings(max_examples=10)
def test_never_is_no_chance_and_comes_from_no_household(seed: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    homes = np.repeat(np.arange(60), 20)
    of_home = rng.integers(0, levels, 60)[homes]  # One value a household: 60 units, not 1200.
    own = rng.integers(0, levels, len(homes))
    own[of_home == 0] = np.where(own[of_home == 0] == 1, 0, own[of_home == 0])
    table = pl.DataFrame(
        {
            "home": [f"h{x}" for x in homes],
            "tenure": [f"t{x}" for x in of_home],
            "kin": [f"k{x}" for x in own],
        }
    )
    columns = Schema.propose(table).columns
    said = [rule for one in columns.values() for rule in one.rules]
    assert len(said) <= 3
    alone = table.with_columns(pl.col("kin").shuffle(seed=1))
    assert [one.rule for one in Schema.propose(alone).columns.values()] == [None] * 3


@pytest.mark.parametrize("seed", range(3))
def test_the_chance_of_a_rule_counts_households_and_not_their_records(seed: int) -> None:
    """Four households of 20 have one code by chance; 80 records of as many persons would not."""
    rng = np.random.default_rng(seed)
    kind, code = np.where(np.arange(60) < 4, 0, rng.integers(1, 6, 60)), rng.integers(0, 3, 60)
    code[:4] = 0
    homes = np.repeat(np.arange(60), 20)
    table = pl.DataFrame(
        {
            "home": [f"h{x}" for x in homes],
            "kind": [f"k{x}" for x in kind[homes]],
            "code": [f"c{x}" for x in code[homes]],
        }
    )
    assert Schema.propose(table).unit == "home"
    assert Schema.propose(table).columns["code"].rule is None
    assert Schema.propose(table.drop("home")).columns["code"].rule is not None


@pytest.mark.runs
def test_rules_of_a_column_read_no_more_cases_than_counts_can_cross() -> None:
    rng = np.random.default_rng(12)
    n, levels = 6000, 110
    often = np.r_[0.3, np.full(levels - 1, 0.7 / (levels - 1))]
    codes = {name: rng.choice(levels, n, p=often) for name in "abc"}
    left = np.ones((n, 4))
    for barred, name in enumerate("abc", start=1):
        left[codes[name] == 0, barred] = 0.0
    y = (rng.random((n, 4)) * left).argmax(axis=1)
    table = pl.DataFrame({name: [f"{name}{x}" for x in own] for name, own in codes.items()})
    schema = Schema.propose(table.with_columns(y=pl.Series([f"y{x}" for x in y])))
    rules = schema.columns["y"].rules
    assert len(rules) == 2
    assert all(rule.bars for rule in rules)
    assert vws.NoisyCounts(epsilon=1.0, delta=1e-5, measure="pairs").workload(schema).columns


def test_no_rule_reads_a_column_that_rules_decide() -> None:
    rng = np.random.default_rng(14)
    what = rng.choice(["none", *"abcde"], N, p=[0.95, *[0.01] * 5])
    asked = pl.Series(what.tolist())
    table = pl.DataFrame({"what": asked.replace("none", None)}).with_columns(
        kind=pl.when(asked != "none").then(pl.lit("major")),
        told=pl.Series(np.where(what == "none", rng.choice(["0", "1"], N, p=[0.6, 0.4]), "1")),
    )
    schema = Schema.propose(table).accepted()
    decided = {x for x, one in schema.columns.items() if is_decided(one, {**schema.columns})}
    assert decided == {"kind"}
    assert not decided & {x for rule in schema.columns["told"].rules for x in rule.columns}
    assert vws.NoisyCounts(epsilon=1.0, delta=1e-5, measure="pairs").workload(schema).columns
