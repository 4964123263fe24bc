"""Cells begin where the conditions of rules change, and nowhere else."""

from __future__ import annotations

import pytest

from pyvws.mechanisms.counts.coding import counted_columns
from pyvws.tables.schema.column import Column
from pyvws.tables.schema.schema import Schema


@pytest.mark.parametrize(
    ("condition", "begins"),
    [
        ("x < 15", {15}),
        ("x >= 15", {15}),
        ("x > 15", {16}),
        ("x <= 15", {16}),
        ("15 > x", {15}),
        ("15 < x", {16}),
        ("x == 15", {15, 16}),
        ("x != -15", {-15, -14}),
        ("x in [3, 20]", {3, 4, 20, 21}),
        ("10 <= x < 20", {10, 20}),
        ("x < -7 or x > 7", {-7, 8}),
        ("x == missing", set()),
    ],
)
def test_a_cell_begins_where_a_condition_changes(condition: str, begins: set[int]) -> None:
    number = Column(
        model="normal", range=(-50, 50), decimals=0, cuts=[0], missing="N", predictors=[]
    )
    other = Column(model="table", levels=["a", "b"], predictors=[], rule=f"a where {condition}")
    edges = counted_columns(Schema({"x": number, "y": other}))["x"].edges
    assert set(edges) == {-50, 0, 50, *begins}


def test_a_number_that_a_rule_fixes_has_a_cell_of_its_own() -> None:
    level = Column(model="table", levels=["a", "b"], predictors=[])
    number = Column(
        model="normal", range=(0, 9), decimals=0, cuts=[5], predictors=[], rule="3 where y == 'a'"
    )
    assert list(counted_columns(Schema({"y": level, "x": number}))["x"].edges) == [0, 3, 4, 5, 9]
