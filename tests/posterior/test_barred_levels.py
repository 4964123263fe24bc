"""Draws among the levels that rules leave have the family's probabilities, rescaled."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws import Column, ConditionalTable, Logistic, Nominal, Ordinal, Schema
from pyvws.models.sequence import DrawnColumn
from pyvws.posterior.prediction import predicted
from pyvws.tables.design.cells import make_cells
from pyvws.tables.schema.parts import Finish

L = 4
_FAR = 5.0  # Standard errors.
KINDS = ("nominal", "ordinal", "logistic", "table")


def family_of(kind: str, rng: np.random.Generator, size: float) -> tuple[Any, Any, Any, float]:
    """A family with one draw, ten design rows, and its first level's value."""
    rows = np.column_stack([np.ones(10), rng.normal(size=10)])
    levels = tuple(map(str, range(L)))
    if kind == "nominal":
        return Nominal(levels=levels), {"beta": size * rng.normal(size=(1, L - 1, 2))}, rows, 1.0
    if kind == "ordinal":
        draw = {"beta": size * rng.normal(size=(1, 2)), "gaps": rng.exponential(size, (1, L - 2))}
        return Ordinal(levels=tuple(range(1, L + 1))), draw, rows, 1.0
    if kind == "logistic":
        return Logistic(), {"beta": size * rng.normal(size=(1, 2))}, rows, 0.0
    log_theta = np.log(rng.dirichlet(np.full(L, 0.5), (1, 10)) + 1e-30)
    log_theta -= np.logaddexp.reduce(log_theta, axis=2, keepdims=True)
    table = replace(ConditionalTable(levels=levels), patterns=10)
    return table, {"log_theta": log_theta}, np.arange(10.0)[:, None], 1.0


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 2**32 - 1), size=st.sampled_from([0.1, 1.0, 30.0]))
@settings(max_examples=30)
def test_shares_are_the_likelihoods_of_the_levels(kind: str, seed: int, size: float) -> None:
    family, draw, rows, first = family_of(kind, np.random.default_rng(seed), size)
    shares = family.log_shares(draw, rows)
    assert np.exp(shares).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for level in range(shares.shape[1]):
        cells = make_cells(np.full(len(rows), first + level), rows)
        likelihood = family.log_likelihood(draw, cells)[0][cells.cell_of_record]
        assert shares[:, level] == pytest.approx(likelihood, rel=1e-9, abs=1e-12)


def column_of(kind: str, draws: Any, n: int) -> tuple[DrawnColumn, Any]:
    """A column of which two levels, or one of two, are barred in every second row."""
    family, draw, rows, first = draws
    levels = tuple("abcd"[: 2 if kind == "logistic" else L])
    rule = "never b where x > 0" if kind == "logistic" else "never b, d where x > 0"
    schema = Schema(
        {
            "x": Column(role="public", range=(0, 1)),
            "y": Column(model="nominal", levels=levels, rule=rule),
        }
    )
    design = np.repeat(rows[:1], n, axis=0)
    return DrawnColumn("y", family, design, first=1.0 - first, finish=Finish("y", schema)), draw


@pytest.mark.parametrize("kind", KINDS)
def test_draws_have_the_shares_of_the_levels_that_are_left(kind: str) -> None:
    n = 20_000
    drawn = family_of(kind, np.random.default_rng(7), 1.0)
    column, draw = column_of(kind, drawn, n)
    x = np.arange(n) % 2.0
    stream = np.random.default_rng(8)
    made = predicted([column], draw, stream, rows=n, public={"x": x})["y"].astype(int)
    all_shares = np.exp(drawn[0].log_shares(draw, drawn[2][:1])[0])
    left = np.array([True, False, True, False])[: len(all_shares)]
    for at, shares in ((x == 0, all_shares), (x > 0, all_shares * left)):
        wanted = shares / shares.sum()
        found = np.bincount(made[at] - 1, minlength=len(shares)) / at.sum()
        assert (np.abs(found - wanted) <= _FAR * np.sqrt(wanted * (1 - wanted) / at.sum())).all()
        assert (found[wanted == 0.0] == 0.0).all()
    plain = replace(column, finish=None)
    same = predicted([plain], draw, np.random.default_rng(8), rows=n, public={"x": x})["y"]
    assert (made[x == 0] == same[x == 0]).all()  # Other rows are drawn as without the rule.


@pytest.mark.runs
def test_a_level_that_the_family_nearly_always_draws_can_be_barred(monkeypatch) -> None:
    n = 50
    surely_b = {"beta": np.array([[[60.0, 0.0], [0.0, 0.0], [1.0, 0.0]]])}
    rows = np.column_stack([np.ones(n), np.zeros(n)])
    column, draw = column_of("nominal", (Nominal(levels=tuple("abcd")), surely_b, rows, 1.0), n)
    public = {"x": np.ones(n)}

    def made() -> set[float]:
        stream = np.random.default_rng(1)
        return set(predicted([column], draw, stream, rows=n, public=public)["y"])

    assert made() == {1.0, 3.0}
    # A draw that forgets what is left is no draw that keeps the rule: nothing may leave then.
    monkeypatch.setattr(Finish, "left", lambda own, values: np.ones((len(values["x"]), L), bool))
    with refused("rules-broken-after-draws"):
        made()
    monkeypatch.setattr(Finish, "left", lambda own, values: None)
    with refused("rules-broken-after-draws"):
        made()


@pytest.mark.runs
def test_a_row_without_any_level_left_stops_the_run() -> None:
    levels = {"model": "nominal", "levels": ("a", "b")}
    number = Column(role="public", range=(0, 1))
    rules = ("never a where x <= z", "never b where x >= z")  # No schema can tell when both hold.
    schema = Schema({"x": number, "z": number, "y": Column(rule=rules, **levels)})
    column = DrawnColumn(
        "y", Nominal(levels=("a", "b")), np.ones((4, 1)), finish=Finish("y", schema)
    )
    draw = {"beta": np.zeros((1, 1, 1))}
    public = {"x": np.array([0.0, 1.0, 0.2, 0.3]), "z": np.full(4, 0.5)}
    rng = np.random.default_rng(1)
    assert predicted([column], draw, rng, rows=4, public=public)["y"].tolist() == [2, 1, 2, 2]
    with refused("rules-broken-after-draws", broken="y"):
        predicted([column], draw, rng, rows=4, public={**public, "z": public["x"]})
