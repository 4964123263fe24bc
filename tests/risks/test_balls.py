"""Balls of several outcomes: by hand, by loops, and what they collapse to."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws import InputError, identification_risk
from pyvws.risks.balls import amounts, count_inside, make_balls, near, outcomes

few = settings(max_examples=60, derandomize=True)
whole = st.integers(-4, 6).map(float)
tables = st.tuples(st.integers(1, 12), st.integers(1, 3)).flatmap(
    lambda shape: st.tuples(
        *(st.lists(whole, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]),) * 2,
        st.lists(st.integers(0, 2), min_size=shape[0], max_size=shape[0]),
        st.just(shape),
    )
)
shapes_of_balls = st.tuples(
    st.sampled_from(["percentage", "absolute"]),
    st.sampled_from([0.5, 1.0, 2.0]),
    st.sampled_from(["box", "euclidean"]),
    st.booleans(),
)


def is_inside(value, centre, reach, norm, closed):
    offs = np.abs(value - centre)
    if (reach == 0).any() and ((offs[reach == 0] > 0).any() or not closed):
        return False
    shares = np.array([o / r for o, r in zip(offs, reach, strict=True) if r > 0])
    size = max(shares, default=0.0) if norm == "box" else (shares**2).sum()
    return size <= 1 if closed else size < 1


@given(tables, st.sampled_from([list, pd.DataFrame, pl.DataFrame]), st.integers(0, 2))
@few
def test_outcomes_come_as_floats_or_are_refused(table, kind, bad):
    first, *_, shape = table
    rows = np.reshape(first, shape)
    made = rows.tolist() if kind is list else kind(rows)
    assert outcomes(made, "y").tolist() == rows.tolist()
    assert amounts(made, "y").tolist() == rows.tolist()
    assert outcomes(rows[:, 0].tolist(), "y").tolist() == [[v] for v in rows[:, 0]]
    spoiled = rows.copy()
    spoiled[-1, -1] = [np.nan, np.inf, -np.inf][bad]
    with refused("balls-missing-values"):
        outcomes(spoiled, "y")
    with pytest.raises(InputError):
        amounts(rows.astype(str), "y")


@pytest.mark.runs
@given(tables, shapes_of_balls)
@few
def test_against_loops(table, ball):
    """Whole numbers and reaches of halves: no rounding decides what lies on an edge."""
    first, second, codes, shape = table
    y, values, codes = (
        np.reshape(first, shape),
        np.reshape(second, shape),
        np.sort(codes).astype(np.intp),
    )
    kind, radius, norm, closed = ball
    balls = make_balls(y, radius, kind, norm)
    reach = radius * np.abs(y) if kind == "percentage" else np.full(shape, radius)
    if norm == "euclidean" and kind == "percentage":
        values = y + np.sign(values) * reach  # on the edge along an axis, or clearly off it
    n = len(y)
    inside = [
        [is_inside(values[h], y[i], reach[i], norm, closed) for h in range(n)] for i in range(n)
    ]
    counts = [sum(inside[i][h] for h in range(n) if codes[h] == codes[i]) for i in range(n)]
    assert count_inside(values, balls, codes, closed=closed).tolist() == counts
    assert balls.hold(values, closed=closed).tolist() == [inside[i][i] for i in range(n)]
    ordered = values[np.argsort(values[:, 0])]
    for i, (start, end) in enumerate(zip(*near(ordered, balls), strict=True)):
        for h in (*range(start), *range(end, n)):  # Nothing beyond the search is in the ball.
            assert not is_inside(ordered[h], y[i], reach[i], norm, closed)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ({"radius": [0.1, 0.2, 0.3]}, "radius-length"),
        ({"radius": [0.1, 0.0]}, "not-above-0"),
        ({"norm": "sphere"}, "not-a-choice"),
        ({"synthetic": [[1.0, 2.0]]}, "balls-unequal-outcomes"),
    ],
)
def test_bad_input(arguments, key):
    with refused(key):
        identification_risk([[1.0, 2.0], [3.0, 4.0]], **arguments)


def test_bad_outcomes():
    with refused("balls-not-numeric", name="x"):
        outcomes([["a", "b"]], "x")
    with refused("balls-missing-values", name="x", bad="1 (row 2)"):
        outcomes([[1.0, 2.0], [np.nan, 1.0]], "x")
    with refused("balls-empty", name="x"):
        outcomes(np.empty((0, 2)), "x")


def test_rows_of_several_lengths_are_refused_in_words() -> None:
    with refused("balls-shape"):
        outcomes([[1.0, 2.0], [3.0]], "original")
