"""Risks of tables: a copy, a second sample, keys and targets by kind, hold-outs, and messages."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from small_tables import SMALL, small_tables

from pyvws import Column, Schema, table_risk, table_utility

pytestmark = pytest.mark.runs  # seconds of work


def patients(n, seed):
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 90, n)
    town = rng.choice(["a", "b", "c", None], n)
    ill = np.where(age + rng.normal(0, 15, n) > 60, "yes", "no")
    return pl.DataFrame({"age": age, "town": town, "ill": ill, "cost": rng.gamma(2.0, age)})


def by_name(found):
    return {score.name: score for score in found.scores}


def test_four_records_by_hand():
    table = pl.DataFrame({"key": list("aabc"), "ill": list("nynn")})
    other = pl.DataFrame({"key": list("abbd"), "ill": list("ynny")})
    found = table_risk(table, [other], keys=["key"], target="ill")
    # b and c are alone in the data; a alone in the other is not. b says n, a says y of n and y.
    assert found.replicated_uniques == 0.0
    assert found.disco == {"ill": 0.5}
    # Rows ay, bn, bn of the other are records that are alone in the data.
    assert found.copies_of_uniques == 0.75
    assert by_name(found)["disco ill"].without_synthesis == 0.5
    assert "<td>disco ill</td><td>0.5</td><td>0.5</td>" in found._repr_html_()


def test_a_copy_has_the_risks_without_synthesis_and_a_second_sample_less():
    table = patients(400, 1)
    copy, fresh = table.sample(fraction=1.0, shuffle=True, seed=3), patients(400, 2)
    options = {"keys": ["age", "town"], "target": ["ill", "cost"]}
    found, other = (table_risk(table, [one], **options) for one in (copy, fresh))
    for score in found.scores:
        assert score.value == pytest.approx(score.without_synthesis, abs=1e-12)
    assert found.closest > 0.95
    assert found.copies_of_uniques == 1.0
    for score in other.scores:
        assert score.value < score.without_synthesis
    assert other.copies_of_uniques == 0.0
    assert other.closest == pytest.approx(0.5, abs=0.08)
    assert (found.exact, found.by_data) == (("age",), ("cost",))
    half = table_risk(table, [copy, fresh], **options)
    assert half.closest == pytest.approx((found.closest + other.closest) / 2)


def test_a_holdout_tells_a_copy_from_a_second_sample():
    table, holdout = patients(400, 1), patients(400, 9)
    copy = table_risk(table, [table], keys=["town"], holdout=holdout)
    fresh = table_risk(table, [patients(400, 2)], keys=["town"], holdout=holdout)
    assert copy.holdout
    assert copy.closest == 1.0
    assert fresh.closest == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda table: table.drop("ill"), "columns-lacking"),
        (lambda table: table.with_columns(cost=pl.lit("x")), "cells-no-code"),
        (lambda table: table.with_columns(ill=pl.struct("age")), "cells-not-labels"),
        (lambda table: table.head(0), "table-too-small"),
    ],
)
def test_messages_on_the_holdout_name_it(change, key):
    table, holdout = patients(40, 1), change(patients(40, 2))
    with refused(key):
        table_risk(table, [table], keys=["age"], holdout=holdout)


@given(small_tables(), st.integers(0, 99))
@settings(max_examples=25, derandomize=True)
def test_risks_stay_within_their_ends(table, seed):
    """Whatever the tables; the order of rows and the kind of frame change nothing."""
    options = {"schema": SMALL, "keys": ["g", "x"], "target": "k"}
    if table["x"].drop_nulls().is_empty():
        return
    half = table.sample(fraction=0.5, seed=seed)
    found = table_risk(table, [half], **options)
    for score in found.scores:
        assert score.blind
        for value in (score.value, score.without_synthesis, score.independent):
            assert 0.0 <= value <= 1.0
    assert found.replicated_uniques <= by_name(found)["replicated_uniques"].without_synthesis
    mixed = half.sample(fraction=1.0, shuffle=True, seed=seed + 1).to_arrow()
    again = table_risk(table.to_pandas(), [mixed], **options)
    for first, second in zip(found.scores, again.scores, strict=True):
        assert second.value == pytest.approx(first.value, abs=1e-12), first.name


def test_a_missing_key_is_a_value_and_bins_make_keys_coarse():
    table = patients(400, 1)
    other = table.with_columns(town=pl.col("town").fill_null("a"))
    found = table_risk(table, [other], keys=["town"], target="ill")
    assert found.disco["ill"] == 0.0
    fine = by_name(table_risk(table, [table], keys=["age", "town"]))["replicated_uniques"]
    coarse = table_risk(table, [table], keys=["age", "town"], bins={"age": [40, 65]})
    assert coarse.replicated_uniques < fine.value


@pytest.mark.parametrize(
    ("options", "refusal"),
    [
        ({"keys": []}, refused("keys-missing")),
        ({"keys": ["age"], "target": "age"}, refused("key-is-target")),
        ({"keys": ["agee"]}, refused("column-not-evaluated", name="agee")),
        ({"keys": ["age"], "target": ["same"]}, refused("column-not-evaluated", name="same")),
        ({"keys": ["age"], "seed": 0.5}, refused("not-a-whole-number")),
    ],
)
def test_what_does_not_fit_is_named(options, refusal):
    table = patients(40, 1).with_columns(same=pl.lit(1))
    with refusal:
        table_risk(table, [table], **options)


@pytest.mark.parametrize("kind", [pl.Date, pl.String])
@pytest.mark.parametrize("said", [True, False])
def test_dates_count_as_days_for_risks_and_utility(kind, said):
    """Whether a schema says so or the table."""
    rng = np.random.default_rng(6)
    days = pl.Series("born", 7300 + rng.integers(0, 9000, 120), dtype=pl.Int32)
    number = patients(120, 6).drop("town").with_columns(days)
    dates = number.with_columns(pl.col("born").cast(pl.Date).cast(kind))
    columns = {
        "age": Column(model="normal", range=(0, 120)),
        "ill": Column(model="table", levels=("no", "yes")),
        "cost": Column(model="gamma", range=(0, 1e6)),
    }
    born = Column(model="normal", days_since="1970-01-01", range=("1980-01-01", "2020-01-01"))
    schema = Schema({**columns, "born": born}) if said else None
    plain = Schema({**columns, "born": Column(model="normal", range=(0, 20000))})
    found = table_utility(dates, [dates[::-1]], schema=schema, s_pmse=False)
    same = table_utility(number, [number[::-1]], schema=plain, s_pmse=False)
    assert found.k_marginal == same.k_marginal
    risk = table_risk(dates, [dates[::-1]], keys=["born", "ill"], target="age", schema=schema)
    others = table_risk(number, [number[::-1]], keys=["born", "ill"], target="age", schema=plain)
    assert risk.replicated_uniques == others.replicated_uniques
    assert risk.closest == others.closest


@pytest.mark.parametrize("held", [False, True], ids=["left out in turn", "hold-out"])
def test_copies_by_chance_are_told_from_copies_of_the_records(held: bool) -> None:
    """Of six columns of five levels an independent sample has many lone records again."""
    rng = np.random.default_rng(8)

    def sample(n: int) -> pl.DataFrame:
        return pl.DataFrame({name: rng.binomial(4, 0.3, n).astype(str) for name in "abcdef"})

    original, holdout = sample(500), sample(500) if held else None
    more: dict[str, Any] = {"keys": ["a"], "holdout": holdout}
    for made, exceeds in ((sample(500), False), (original, True)):
        scores = table_risk(original, [made] * 2, **more).scores
        (copies,) = [score for score in scores if score.chance is not None]
        assert copies.name == "copies_of_uniques"
        assert copies.chance == pytest.approx(0.2, abs=0.08)
        assert copies.exceeds_chance == exceeds


def test_a_record_is_left_out_with_its_unit() -> None:
    """Two equal records of one household say nothing of the chance of another one's copy."""
    same = list("xxyyzz")
    table = pl.DataFrame({"home": list("112344"), "a": same, "b": same})
    columns = {name: Column(model="table", levels=tuple("xyz")) for name in "ab"}
    for unit, chance in (("home", 2 / 6), (None, 1.0)):
        dropped = Column(role="drop")
        schema = Schema({"home": dropped, **columns}, unit=unit)
        found = table_risk(table, [table], keys=["a"], schema=schema)
        (copies,) = [score for score in found.scores if score.chance is not None]
        assert copies.chance == pytest.approx(chance)
