"""Rules read, where their conditions hold, and what a schema makes of them."""

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Column, InputError, Schema
from pyvws.tables.schema.parts import finish_of, follows
from pyvws.tables.schema.read_values import at_decimals
from pyvws.tables.schema.rules import Bound, Fixed, read_rule

COLUMNS = {
    "age": Column(role="public", range=(0, 100)),
    "band": Column(role="public", levels=("0", "5", "10"), missing="N"),
    "area": Column(role="public", levels=("a", "b")),
    "my age": Column(role="public", range=(0, 100)),
}
VALUES = {
    "age": np.array([3.0, 15.0, np.nan, 40.0]),
    "band": np.array([1.0, 2.0, 3.0, 4.0]),
    "area": np.array([1.0, 2.0, 1.0, 2.0]),
    "my age": np.array([3.0, 16.0, 1.0, 40.0]),
}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("age < 15", [1, 0, 0, 0]),
        ("age <= 15", [1, 1, 0, 0]),
        ("not age <= 15", [0, 0, 1, 1]),
        ("3 <= age < 16", [1, 1, 0, 0]),
        ("age == 15", [0, 1, 0, 0]),
        ("age != 15", [1, 0, 1, 1]),
        ("age == missing", [0, 0, 1, 0]),
        ("age > -1", [1, 1, 0, 1]),
        ("band < 10", [1, 1, 0, 0]),
        ("band == 5", [0, 1, 0, 0]),
        ("band == '5'", [0, 1, 0, 0]),
        ("band == missing", [0, 0, 0, 1]),
        ("band == 'N'", [0, 0, 0, 1]),
        ("band in [0, '10']", [1, 0, 1, 0]),
        ("band not in (0, 10)", [0, 1, 0, 1]),
        ("area == 'a' and age < 10", [1, 0, 0, 0]),
        ("area == 'b' or age < 10", [1, 1, 0, 1]),
        ("age < `my age`", [0, 1, 0, 0]),
        ("`my age` > band", [1, 1, 0, 0]),
    ],
)
def test_where_a_condition_holds(condition, holds):
    rule = read_rule(f"missing where {condition}")
    assert rule.condition.holds(VALUES, COLUMNS).tolist() == list(map(bool, holds))


def test_rules_as_they_are_read():
    fixed = read_rule("0 where age < 15 or `my age` < 15")
    assert (fixed.value, fixed.only, fixed.columns) == ("0", False, ("age", "my age"))
    only = read_rule(" missing only where age<15 ")
    assert isinstance(only, Fixed)
    assert (only.value, only.only) == (None, True)
    assert [read_rule(f"{said} where age < 1").value for said in ("1.0", "'1.0'", "no way")] == [
        *("1", "1.0", "no way")
    ]
    assert read_rule(">= `my age`") == Bound("my age", lower=True)
    assert read_rule("<= age") == Bound("age", lower=False)
    assert read_rule("> age") == Bound("age", lower=True, strict=True)
    assert read_rule("< `my age`") == Bound("my age", lower=False, strict=True)
    born = read_rule("= 2020 - age + 1")
    assert born.columns == ("age",)
    assert born.arithmetic.of(VALUES, COLUMNS)[[0, 1]].tolist() == [2018.0, 2006.0]
    for wrong in (
        "> age + 1",
        "< -age",
        "= 3",
        "= age - True",
        "> age - `my age`",
        "= 1e999 + age",
    ):
        with pytest.raises(InputError, match="rule"):
            read_rule(wrong)
    total = read_rule("= age + `my age` - band")
    assert total.columns == ("age", "my age", "band")
    assert total.arithmetic.of(VALUES, COLUMNS)[[0, 1]].tolist() == [6.0, 26.0]


@pytest.mark.parametrize(
    ("condition", "key"),
    [
        ("area == 'c'", "rule-unknown-label"),
        ("area < 3", "compared-levels-not-numbers"),
        ("age < 'old'", "rule-orders-no-number"),
    ],
)
def test_conditions_that_columns_do_not_fit(condition, key):
    rule = read_rule(f"0 where {condition}")
    with refused(key):
        rule.condition.holds(VALUES, COLUMNS)


@given(st.text(max_size=30))
@settings(max_examples=300)
def test_any_text_is_a_rule_or_one_line_that_says_why_not(text):
    for said in (text, f"0 where {text}", f"= {text}", f">= {text}", f"< {text}"):
        lines = []
        try:
            lines = list(read_rule(said).columns)[:1]
        except InputError as error:
            lines = str(error).splitlines()
        assert len(lines) == 1


@pytest.mark.parametrize("model", ["normal", "poisson"])
@given(
    rule=st.sampled_from([">= x", "<= x", "> x", "< x"]),
    decimals=st.integers(0, 3),
    ends=st.lists(st.floats(-5, 5), min_size=2, max_size=2, unique=True),
    rows=st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9)), min_size=1, max_size=20),
)
@settings(max_examples=100)
def test_rounded_numbers_keep_bounds_of_more_decimals(model, rule, decimals, ends, rows):
    whole = model == "poisson"
    column = Column(
        model=model, rule=rule, range=sorted(ends), decimals=None if whole else decimals
    )
    schema = Schema({"x": Column(role="public"), "y": column})
    x, y = np.array(rows).T
    y = np.round(y, 0 if whole else 15)
    finish = finish_of(schema, "y")
    values = {"x": x} | {"y": finish.settled(finish.rounded(y), {"x": x})}
    kept = ~finish.broken(values)
    made = schema.decoded("y", values["y"], like=pl.Series("y", [1 if whole else 1.0])).to_numpy()
    low, high = sorted(ends)
    for one, other in zip(made[kept], x[kept], strict=True):
        assert low <= one <= high
        assert {">=": one >= other, "<=": one <= other, "> ": one > other, "< ": one < other}[
            rule[:2]
        ]


def test_a_strict_bound_refuses_equal_numbers_and_is_kept() -> None:
    table = pl.DataFrame({"begin": [3.0, 3.0, 5.0, None], "end": [3.0, 4.0, 4.0, 1.0]})
    end = {"model": "normal", "missing": True, "range": (0, 10)}
    whole = {"x": {"decimals": 0}, "y": {}}
    for more in whole.values():
        columns = {
            "begin": Column(model="normal", missing=True),
            "end": Column(rule="> begin", **end, **more),
        }
        schema = Schema(columns)
        values = schema.coded(table)
        assert follows(schema, "end", values).breaking.tolist() == [True, False, True, False]
        drawn = np.array([3.0, 9.0, 2.0, 1.0])
        made = finish_of(schema, "end").settled(drawn, values)
        assert (made[:3] > table["begin"].to_numpy()[:3]).all()
        assert made[1] == 9.0


def test_a_category_may_be_another_one() -> None:
    area = Column(model="nominal", levels=("a", "b"), missing="N")
    columns = {"area": area, "same": Column(levels=("N", "b", "a"), rule="= area")}
    schema = Schema(columns)
    assert schema.computed == {"same"}
    table = pl.DataFrame({"area": ["a", "b", "N", "a"], "same": ["a", "b", "N", "b"]})
    values = schema.coded(table)
    assert follows(schema, "same", values).breaking.tolist() == [False, False, False, True]
    made = finish_of(schema, "same").settled(np.ones(4), values)
    assert schema.decoded("same", made, like=table["same"]).to_list() == ["a", "b", "N", "a"]
    for levels, rule in ((("a", "b"), "= area"), (("a", "b", "N"), "= area + 1")):
        with pytest.raises(InputError):
            Schema({"area": area, "same": Column(levels=levels, rule=rule)})


def test_a_column_may_have_the_name_of_parts_that_another_lacks() -> None:
    levels = {"model": "nominal", "levels": ("a", "b")}
    schema = Schema({"x": Column(**levels), "part of x": Column(**levels)})
    coded = schema.coded(pl.DataFrame({"x": ["a", "b"], "part of x": ["b", "b"]}))
    assert follows(schema, "x", coded).valued.all()


EXPRESSIONS = {
    "a + b - 3": lambda a, b: a + b - 3,
    "0.17 * a": lambda a, b: 0.17 * a,
    "-a * b": lambda a, b: -a * b,
    "a / (b + 1)": lambda a, b: a / (b + 1),
    "703 * a / b ** 2": lambda a, b: 703 * a / b**2,
    "(a - 50) ** 2 / 100": lambda a, b: (a - 50) ** 2 / 100,
    "a ** 0.5": lambda a, b: a**0.5,
    "exp(-a / 50)": lambda a, b: np.exp(-a / 50),
    "log(b) - log10(b)": lambda a, b: np.log(b) - np.log10(b),
    "log1p(sqrt(a))": lambda a, b: np.log1p(np.sqrt(a)),
}


@pytest.mark.parametrize("text", EXPRESSIONS)
@given(
    rows=st.lists(st.tuples(st.integers(0, 990), st.integers(5, 90)), min_size=1, max_size=9),
    decimals=st.sampled_from([None, 0, 2]),
    data=st.data(),
)
@settings(max_examples=10)
def test_arithmetic_is_what_python_says_within_the_range_of_its_parts(text, rows, decimals, data):
    columns = {
        "a": Column(role="public", range=(0, 99)),
        "b": Column(role="public", range=(0.5, 9), missing=True),
        "y": Column(rule=f"= {text}", decimals=decimals, missing=True),
    }
    schema = Schema(columns)
    a, b = np.array(rows).T / 10
    wanted = EXPRESSIONS[text](a, b)
    rule = schema.columns["y"].rules[0]
    low, high = rule.arithmetic.range_in(columns)
    slack = 1e-9 * max(abs(low), abs(high))
    assert (low - slack <= wanted).all()
    assert (wanted <= high + slack).all()
    made = finish_of(schema, "y").settled(
        np.ones(len(a)), {"a": a, "b": b, "part of y": 1.0 + 0 * a}
    )
    assert made == pytest.approx(wanted if decimals is None else np.round(wanted, decimals))
    values = {"a": a, "b": b, "y": made, "part of y": 1.0 + 0 * a}
    assert not follows(schema, "y", values).breaking.any()
    at = data.draw(st.integers(0, len(a) - 1))
    off = 1.01 * 10.0 ** -(decimals or 0) if decimals is not None else 1e-5 * (1 + abs(made[at]))
    wrong = np.where(np.arange(len(a)) == at, made + off, made)
    assert follows(schema, "y", {**values, "y": wrong}).breaking.tolist() == [
        k == at for k in range(len(a))
    ]
    gone = {**values, "b": np.where(np.arange(len(a)) == at, np.nan, b)}
    if "b" in rule.columns:
        assert follows(schema, "y", gone).breaking[at]
        assert np.isnan(finish_of(schema, "y").settled(made, gone)[at])
    of_four_bytes = made.astype("f4").astype("f8")
    single = {**values, "y": at_decimals(schema.columns["y"], of_four_bytes)}
    assert not follows(schema, "y", single).breaking.any()


def test_dates_and_labels_in_arithmetic() -> None:
    dates = {"days_since": "2000-01-01", "range": ("2000-01-01", "2009-12-31"), "role": "public"}
    columns = {
        "begin": Column(**dates),
        "end": Column(**dates),
        "grade": Column(role="public", levels=("1", "2", "9"), missing="N"),
        "area": Column(role="public", levels=("a", "b")),
    }
    rows = {"begin": [3.0, 4.0], "end": [5.0, 10.0], "grade": [3.0, 4.0], "area": [1.0, 2.0]}
    values = {name: np.array(own) for name, own in rows.items()}

    def made(rule: str, **more):
        schema = Schema({**columns, "y": Column(rule=rule, missing=True, **more)})
        return schema.columns["y"].rules[0].arithmetic.of(values, columns).tolist()

    assert made("= (end - begin) / 7") == pytest.approx([2 / 7, 6 / 7])
    assert made("= begin + 2 * (end - begin)", **{**dates, "role": "synthesize"}) == [7.0, 16.0]
    assert made("= grade ** 2") == pytest.approx([81.0, np.nan], nan_ok=True)
    for wrong in ("= 2 * begin", "= log(end)", "= end / begin", "= -begin", "= area * 2"):
        with pytest.raises(InputError, match=r"dates|not all of its levels are numbers"):
            made(wrong)
