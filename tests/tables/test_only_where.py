"""One of several missing codes occurs only where its rule says: which records follow from the
family, what synthetic values become, and what the schema makes of its columns."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws.tables.schema.column import Column, part_of
from pyvws.tables.schema.parts import finish_of, follows, is_drawn, modelled_schema
from pyvws.tables.schema.schema import Schema

KINDS: dict[str, dict[str, Any]] = {
    "levels": {"model": "nominal", "levels": ("11", "12", "20")},
    "table": {"model": "table", "levels": ("11", "12", "20")},
    "groups": {"model": "nominal", "levels": ("11", "12", "20"), "group_by": 1},
    "number": {"model": "normal", "range": (0, 20), "decimals": 0},
    "points": {"model": "normal", "range": (0, 20), "decimals": 0, "mass": (11, 12)},
}
CODES = st.permutations(["N", "-8", True]).flatmap(
    lambda codes: st.integers(2, 3).map(lambda many: tuple(codes[:many]))
)
LIMITS = st.lists(st.integers(5, 90), min_size=2, max_size=2)
AGES = [1.0, 30.0, 60.0, 95.0]


def schema_of(kind: str, codes: tuple[Any, ...], limits: Mapping[str, int], **rules: Any) -> Schema:
    said = tuple(f"{code} only where age < {limit}" for code, limit in limits.items())
    column = Column(missing=codes, **{"rule": said, **KINDS[kind], **rules})
    return Schema({"age": Column(role="public", range=(0, 100)), "x": column})


def drawn(schema: Schema, age: np.ndarray, rng: np.random.Generator) -> dict[str, np.ndarray]:
    """Values of all columns, of which each that a family draws has any of its codes or numbers."""
    values, whole = {"age": age}, modelled_schema(schema)
    for name in whole.synthesized:
        column, found = whole.columns[name], np.ones(len(age))
        if is_drawn(schema, name):
            many = column.n_drawn + 1 if column.categorical else 21
            found = rng.integers(1, many, len(age)).astype(float)
        finish = finish_of(schema, name)
        values[name] = found if finish is None else finish.settled(found, values)
    return values


@given(st.sampled_from(sorted(KINDS)), CODES, LIMITS, st.integers(1, 2), st.integers(0, 2**32 - 1))
@settings(max_examples=150)
def test_a_code_stands_where_its_rule_says_and_nowhere_else(kind, codes, limits, many, seed):
    rng = np.random.default_rng(seed)
    named = [code for code in codes if code is not True][:many]
    ruled = dict(zip(named, limits, strict=False))
    schema = schema_of(kind, codes, ruled)
    free = [None if code is True else code for code in codes if code not in ruled]
    age = np.repeat(AGES, 100)
    first = [next((code for code, end in ruled.items() if x < end), "") for x in age]

    values = drawn(schema, age, rng)
    like = pl.Series("x", ["11"])
    made = schema.decoded("x", values["x"], like=like, parts=values.get(part_of("x"))).to_list()
    for one, code in zip(made, first, strict=True):
        assert one == code if code else one not in ruled
    older = {one for one, code in zip(made, first, strict=True) if not code}
    assert {*free} <= older

    cells = rng.choice(np.array(["11", "12", "20", *free, *ruled], dtype=object), len(age))
    coded = schema.coded(pl.DataFrame({"age": age, "x": pl.Series(list(cells), dtype=pl.String)}))
    found = follows(schema, "x", coded)
    for place, (cell, code) in enumerate(zip(cells, first, strict=True)):
        assert found.breaking[place] == (cell != code if code else cell in ruled)
        assert found.modelled[place] == (not code and cell not in ruled)
    whole = modelled_schema(schema)
    for name in {*coded} - {"age"} & {*whole.columns}:
        if whole.columns[name].categorical and is_drawn(schema, name):
            assert (coded[name][found.modelled] <= whole.columns[name].n_drawn).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_schema_keeps_such_rules_in_its_file(kind: str, tmp_path: Path) -> None:
    schema = schema_of(kind, ("N", True, "-8"), {"N": 15, "-8": 5})
    schema.write(tmp_path / "schema.toml")
    assert Schema.read(tmp_path / "schema.toml") == schema
    assert schema.columns["x"].missing_codes == (None, "N", "-8")


def test_a_remark_in_a_condition_ends_with_it() -> None:
    rule = ("N only where age < 15 # children", "-8 only where age > 80")
    schema = schema_of("points", ("N", True, "-8"), {}, rule=rule)
    part = schema.columns["x"].category_of_parts
    assert part.levels == ("value", "11", "12", "empty")
    assert part.ruled == ("missing N", "missing -8")


@pytest.mark.parametrize("kind", ["levels", "number"])
@pytest.mark.parametrize(
    ("rule", "key"),
    [
        (("11 only where age < 3",), "only-without-missing"),
        (("R only where age < 3",), "rule-value-impossible"),
        (("N only where age < 3", "N where age > 9"), "only-where-twice"),
        (("N only where age < 3", "missing where age > 9"), "only-where-twice"),
        (("N only where age < 3", "missing only where age > 9"), "only-where-twice"),
        (("missing where age < 3", "N only where age > 9"), "only-where-twice"),
    ],
)
def test_what_such_a_rule_cannot_say(kind: str, rule: tuple[str, ...], key: str) -> None:
    with refused(key):
        schema_of(kind, ("N", "-8"), {}, rule=rule)


def test_a_code_among_levels_is_one_line() -> None:
    with refused("only-where-is-level"):
        Column(model="nominal", levels=("a", "b", "N"), missing="N", rule="N only where age < 15")
