"""Rules that bar levels: read, written back, refused in a line, and what they leave of draws."""

from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws import Column, InputError, Schema
from pyvws.tables.schema.parts import finish_of, follows
from pyvws.tables.schema.rules import Fixed, Never, read_rule

pytestmark = pytest.mark.usefixtures("rare_values_too")

LEVELS = ("single", "married", "widowed", "never seen")
AGE = Column(role="public", range=(0, 100), missing=True)


def schema_of(*rules: str, **entries: Any) -> Schema:
    marital = {"model": "nominal", "levels": LEVELS, "missing": "N", **entries}
    area = Column(model="nominal", levels=("a", "b"), rule="a where age < 5")
    return Schema({"age": AGE, "area": area, "marital": Column(rule=rules, **marital)})


def test_rules_as_they_are_read_and_written_back(tmp_path) -> None:
    for text, barred in (
        ("never married where age < 15", ("married",)),
        (" never  married,widowed  where age < 15", ("married", "widowed")),
        ("never 'a, b', 1.0, \"c d\", e f where x == 'y'", ("a, b", "1", "c d", "e f")),
        ("never missing where age < 15", (None,)),
        ("never 'only' where age < 15", ("only",)),
    ):
        rule = read_rule(text)
        assert isinstance(rule, Never)
        assert rule.barred == barred
    for text, value in (
        ("never where age < 15", "never"),
        ("never only where age < 15", "never"),
        ("'never married' where age < 15", "never married"),
    ):
        rule = read_rule(text)
        assert isinstance(rule, Fixed)
        assert rule.value == value
    for wrong in ("never a,,b where x < 1", "never 'a where x < 1", "never a where 3 < 1"):
        with pytest.raises(InputError, match=r"^rule [^\n]*$"):
            read_rule(wrong)
    schema = schema_of("never married, widowed where age < 15", "never single where area == 'b'")
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema


@pytest.mark.parametrize(
    ("rules", "entries", "key"),
    [
        (["never divorced where age < 15"], {}, "never-of-unknown-level"),
        (["never missing where age < 15"], {"missing": None}, "rule-says-missing"),
        (["never seen where age < 15"], {}, "never-ambiguous"),
        (
            ["never 0 where age < 15"],
            {"model": "normal", "levels": None, "mass": (0,)},
            "never-of-number",
        ),
        (
            ["never 1 where age < 15"],
            {"levels": ("11", "12", "20"), "group_by": 1},
            "never-of-grouped-levels",
        ),
        (
            [
                "never single, widowed, 'never seen', N where age < 15",
                "never married where age > 9",
            ],
            {},
            "never-leaves-nothing",
        ),
        (["single where age < 15", "never single where age < 3"], {}, "never-leaves-nothing"),
    ],
)
def test_rules_that_a_column_cannot_follow(rules, entries, key) -> None:
    with refused(key):
        schema_of(*rules, **entries)


def test_cases_that_another_rule_rules_out_are_no_contradiction() -> None:
    every = "never married, widowed, 'never seen', N where age < 5"
    assert schema_of(every, "never single where area == 'b'").columns  # Below 5 the area is a.
    with refused("never-leaves-nothing"):
        schema_of(every, "never single where area == 'a'")
    fixed_first = schema_of("N where age < 5", "never single, N where age >= 5")
    assert fixed_first.columns["marital"].n_drawn == len(LEVELS) + 1


RULES = ["never married, widowed where age < 15", "never single where area == 'b' and age > 60"]


@given(st.integers(0, 2**32 - 1), st.booleans())
@settings(max_examples=60)
def test_what_is_barred_breaks_the_rule_and_is_drawn_again(seed: int, fixed: bool) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 80))
    schema = schema_of(*(["N where age < 5"] if fixed else []), *RULES)
    age = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 100, n))
    values = {"age": age, "area": rng.integers(1, 3, n) * 1.0}
    own = rng.integers(1, 6, n) * 1.0
    given_by_rule = fixed & (age < 5)
    barred = ((age < 15) & np.isin(own, (2, 3))) | ((values["area"] == 2) & (age > 60) & (own == 1))
    found = follows(schema, "marital", {**values, "marital": own})
    assert found.breaking.tolist() == (barred | (given_by_rule & (own != 5))).tolist()
    assert found.modelled.tolist() == (~(given_by_rule | found.breaking)).tolist()
    finish = finish_of(schema, "marital")
    assert finish.refused(own, values).tolist() == (barred & ~given_by_rule).tolist()
    settled = finish.settled(own, values)
    assert (
        finish.broken({**values, "marital": settled}).tolist() == (barred & ~given_by_rule).tolist()
    )
    left = finish.left(values)
    assert left.shape == (n, 5)
    assert left[np.arange(n), own.astype(int) - 1].tolist() == (~barred).tolist()
    assert left.any(axis=1).all()
