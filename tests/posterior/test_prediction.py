"""Synthetic outcomes in steps are those of a loop over the steps, from one stream."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws import Normal, NormalMixture
from pyvws.models.sequence import DrawnColumn
from pyvws.posterior import prediction

DRAWS = {
    "normal": {"beta": np.array([[1.0, -2.0]]), "sigma": np.array([0.5])},
    "normal-mixture": {
        "beta": np.array([[[1.0, -2.0], [30.0, 1.0]]]),
        "sigma": np.array([[0.5, 0.2]]),
        "pi": np.array([[0.4, 0.6]]),
    },
}
FAMILIES = [Normal(), NormalMixture(components=2, labels="full-conditional")]


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
@given(n=st.integers(1, 40), step=st.integers(1, 45), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=30, derandomize=True)
def test_against_a_loop_over_steps(family, n, step, seed):
    draw = DRAWS[family.name]
    rng = np.random.default_rng(seed)
    design = np.column_stack([np.ones(n), rng.normal(size=n)])
    outcome = rng.choice([0.0, 30.0], n)
    expected, stream = [], np.random.default_rng(seed)
    for at in range(0, n, step):
        rows = slice(at, min(at + step, n))
        expected += list(family.predict(draw, design[rows], stream, outcome=outcome[rows]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "AT_ONCE", step)
        column = DrawnColumn("y", family, design, seen=outcome)
        found = prediction.predicted([column], draw, np.random.default_rng(seed), rows=n, public={})
    assert found["y"].tolist() == expected


@given(n=st.integers(1, 30), step=st.integers(1, 35), seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, derandomize=True)
def test_columns_follow_synthetic_values_row_by_row(n, step, seed):
    rng = np.random.default_rng(seed)
    public, rows = {"z": rng.normal(size=n)}, rng.integers(0, n, 2 * n)
    ones = np.ones((n, 1))

    def coded(values):
        return np.column_stack([values["z"], values["first"]])

    columns = [DrawnColumn("first", Normal(), ones, first=1.0)]
    columns.append(DrawnColumn("second", Normal(), np.full((n, 2), np.nan), coded=coded))
    draw = {"first.beta": np.array([[3.0]]), "first.sigma": np.array([1.0])}
    draw |= {"second.beta": np.array([[2.0, -1.0]]), "second.sigma": np.array([1e-9])}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(prediction, "AT_ONCE", step)
        found = prediction.predicted(
            columns, draw, np.random.default_rng(seed), rows=rows, public=public
        )
    assert found["second"] == pytest.approx(2.0 * public["z"][rows] - found["first"], abs=1e-6)
    stream = np.random.default_rng(seed)
    begin = Normal().predict(
        {"beta": np.array([[3.0]]), "sigma": np.array([1.0])}, ones[rows[:step]], stream
    )
    assert found["first"][:step] == pytest.approx(begin + 1.0, rel=1e-15)


def test_without_an_outcome_none_is_given():
    design = np.ones((3, 2))
    column = DrawnColumn("y", Normal(), design)
    draw, rng = DRAWS["normal"], np.random.default_rng(1)
    found = prediction.predicted([column], draw, rng, rows=np.array([2, 0]), public={})
    expected = Normal().predict(draw, design[:2], np.random.default_rng(1))
    assert found["y"].tolist() == expected.tolist()


class Even:
    """A rule that only even whole numbers keep, and none after `most`."""

    def __init__(self, most: float) -> None:
        self.most = most

    def rounded(self, found):
        return np.round(found)

    def refused(self, found, values):
        return np.zeros(len(found), dtype=np.bool_)

    def settled(self, found, values):
        return found

    def broken(self, values):
        return (values["y"] % 2 != 0) | (values["y"] > self.most)


@pytest.mark.parametrize("rows", [40, np.arange(40)[::-1]], ids=["all", "an order"])
def test_records_that_break_a_rule_are_drawn_again_as_a_whole(rows):
    rng = np.random.default_rng(2)
    public = {"z": rng.normal(size=40)}

    def coded(values):
        return np.column_stack([values["z"], values["first"]])

    columns = [DrawnColumn("first", Normal(), np.ones((40, 1)))]
    draw = {"first.beta": np.array([[3.0]]), "first.sigma": np.array([4.0])}
    draw |= {"y.beta": np.array([[10.0, 1.0]]), "y.sigma": np.array([1e-9])}
    columns.append(DrawnColumn("y", Normal(), np.empty((40, 0)), coded=coded, finish=Even(np.inf)))
    found = prediction.predicted(columns, draw, np.random.default_rng(1), rows=rows, public=public)
    assert (found["y"] % 2 == 0).all()
    of = public["z"] if isinstance(rows, int) else public["z"][rows]
    assert np.abs(found["y"] - 10.0 * of - found["first"]).max() <= 0.5 + 1e-6
    columns[1] = DrawnColumn("y", Normal(), np.empty((40, 0)), coded=coded, finish=Even(-1e9))
    with refused("rules-broken-after-draws", broken="y"):
        prediction.predicted(columns, draw, np.random.default_rng(1), rows=rows, public=public)
