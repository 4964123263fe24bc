"""Cells begin where the conditions of rules change, and nowhere else."""

import numpy as np
import pytest

from pyvws import Column, Schema
from pyvws.mechanisms.counts.by_rule import counted_columns
from pyvws.mechanisms.counts.skips import skips_of


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


def test_a_condition_on_a_point_of_mass_is_of_whole_cells() -> None:
    """Such as "card where tip > 0": the cell from 0 on has no 0, which is a point of its own."""
    tip = Column(
        model="normal", range=(0, 35), decimals=2, cuts=[1, 5], mass=[0], predictors=[], missing="N"
    )
    paid = Column(model="table", levels=["cash", "card"], predictors=[], rule="card where tip > 0")
    schema = Schema({"tip": tip, "paid": paid})
    columns = counted_columns(schema)
    low, high = columns["tip"].ends
    assert low.tolist()[2:] == [0.01, 1, 5]
    assert high.tolist()[2:] == [0.99, 4.99, 35]
    skip = skips_of(schema, columns)["paid"]
    assert skip.forced.tolist() == [-1, -1, 1, 1, 1]


@pytest.mark.parametrize("decimals", [0, 2, None])
@pytest.mark.parametrize("points", [[9], [8, 9], [0, 9]])
def test_a_condition_on_a_top_code_is_of_whole_cells(
    decimals: int | None, points: list[int]
) -> None:
    """Such as "old where age == 90": the last cell ends below 90, which is a point of its own."""
    age = Column(
        model="normal", range=(0, 9), decimals=decimals, cuts=[5], mass=points, predictors=[]
    )
    old = Column(model="table", levels=["yes", "no"], predictors=[], rule="yes where x == 9")
    schema = Schema({"x": age, "old": old})
    columns = counted_columns(schema)
    low, high = (end[len(points) :] for end in columns["x"].ends)
    forced = skips_of(schema, columns)["old"].forced
    assert forced[: len(points)].tolist() == [-1] * (len(points) - 1) + [0]
    assert (forced[len(points) :] == -1).all()
    assert (low <= high).all()
    assert low.max() < 9


@pytest.mark.parametrize(
    ("scale", "ends", "settings"),
    [
        ("log", (10, 90), {"outcome_unit": 50}),
        ("log", (0, 1.2e-4), {"outcome_unit": 2e-9}),
        ("log", (0, 4.5e13), {"outcome_unit": 2e8}),
        ("log", (200, 20_000), {"outcome_unit": 2_000}),
        (None, (999_999_999_996, 1_000_000_000_003), {}),
        (None, (1.5e9, 1.6e9), {}),
        (None, (-1.6e9, -1.5e9), {}),
        (None, (50_000, 90_000), {}),
    ],
)
def test_cells_without_cuts_part_the_numbers_of_a_narrow_or_a_long_range(
    scale: str | None, ends: tuple[float, float], settings: dict[str, float]
) -> None:
    """No cell has a third of the numbers around the scale's middle, or anywhere in the range."""
    column = Column(
        model="normal", outcome_scale=scale, range=ends, predictors=[], settings=settings
    )
    edges = counted_columns(Schema({"x": column}))["x"].edges
    rng = np.random.default_rng(1)
    if scale and ends[0] == 0:
        spread = np.log(ends[1] / settings["outcome_unit"]) / 3
        drawn = settings["outcome_unit"] * np.exp(spread * rng.normal(size=4000))
    else:
        drawn = rng.uniform(*ends, 4000)
    shares = np.histogram(drawn, edges)[0] / 4000
    assert shares.max() < 0.3
    assert len(edges) <= 60
