"""Utility of tables: a permuted column, a second sample, kinds, missing values, and messages."""

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from refusals import refused
from small_tables import SMALL, small_tables

import pyvws as vws
from pyvws import Column, InputError, Schema, table_risk, table_utility

pytestmark = pytest.mark.runs  # seconds of work


def people(n=2000, seed=1):
    """Income follows age and school, and is missing for the young."""
    rng = np.random.default_rng(seed)
    age = rng.integers(10, 90, n)
    school = rng.choice(["low", "mid", "high"], n, p=[0.3, 0.5, 0.2])
    income = np.exp(8 + age / 40 + (school == "high") + 0.3 * rng.normal(size=n)).round()
    return pl.DataFrame(
        {"age": age, "school": school, "income": income, "region": rng.integers(1, 5, n)}
    ).with_columns(income=pl.when(pl.col("age") < 16).then(None).otherwise(pl.col("income")))


def permuted(table, name, seed=2):
    values = table[name].to_list()
    order = np.random.default_rng(seed).permutation(len(values))
    return table.with_columns(pl.Series(name, [values[k] for k in order]))


def by_name(found):
    return {score.name: score for score in found.scores}


def test_four_records_by_hand():
    original = pl.DataFrame({"a": list("xxyy"), "b": list("uvvv")})
    synthetic = pl.DataFrame({"a": list("xyyy"), "b": ["u", "v", "v", None]})
    found = table_utility(original, [synthetic])
    # Cells xu, xv, yv, y-: shares 1/4, 1/4, 1/2, 0 against 1/4, 0, 1/2, 1/4.
    assert found.k_marginal == 750.0
    assert [one.margin for one in found.columns] == [0.25, 0.25]
    # b: expected V^2 = chi^2 / 4: counts 1 1 0 2, expected .5 1.5 .5 1.5: chi^2 = 4/3.
    assert found.associations.original[0, 1] == pytest.approx(3**-0.5)
    assert found.columns[1].missing_synthetic == 0.25
    assert by_name(found)["missing"].value == 0.25
    assert by_name(found)["margins"].value == 0.25


def test_a_permuted_column_gets_the_scores_of_independent_columns():
    """The margins agree, and every score that sees two columns says so."""
    table = people()
    found = table_utility(table, [permuted(table, "income")])
    scores = by_name(found)
    assert scores["margins"].value == 0.0
    income = found.columns[2]
    assert income.margin == 0.0
    assert income.associations_kept < 0.1
    assert min(one.associations_kept for one in found.columns) == income.associations_kept
    place = found.associations.names.index("income")
    kept = abs(found.associations.synthetic[place, [0, 1]])
    assert (kept < 0.1).all()
    assert abs(found.associations.original[place, 0]) > 0.5
    assert found.associations.largest(1)[0][:2] == ("age", "income")
    assert found.k_marginal_independent < found.k_marginal < found.k_marginal_bootstrap
    assert found.s_pmse > 10 > 2 > scores["s_pmse"].bootstrap
    apart = found.associations.original[0, place] - found.associations.independent[0, place]
    assert found.associations.difference[0, place] == pytest.approx(-apart, abs=0.1)
    # All three permuted: no pair is left, and the table scores as independent columns do.
    none = table
    for name in ("income", "age", "school"):
        none = permuted(none, name, seed=10 + len(none) + ord(name[0]))
    worst = by_name(table_utility(table, [none]))
    for name in ("k_marginal", "associations", "s_pmse"):
        assert worst[name].value == pytest.approx(worst[name].independent, rel=0.15)


def test_a_copy_is_best_and_a_second_sample_is_near_the_bootstrap():
    table = people()
    copy = table_utility(table, [table.sample(fraction=1.0, shuffle=True, seed=1)], trees=True)
    for score in copy.scores:
        assert score.value == pytest.approx(score.best, abs=1e-9)
    other = by_name(table_utility(table, [people(seed=5)]))
    assert other["s_pmse"].value < 4
    # Two samples differ by the root of two times what a bootstrap differs by.
    assert other["associations"].value < 4 * other["associations"].bootstrap
    assert other["margins"].value < 4 * other["margins"].bootstrap


@given(small_tables(), st.integers(0, 99))
@settings(max_examples=15, derandomize=True)
def test_scores_stay_within_their_ends(table, seed):
    """Whatever the tables; labels, the order of rows and the kind of frame change nothing."""
    half = table.sample(fraction=0.5, seed=seed)
    if len(set(half["g"])) + len(set(half["k"])) + half["x"].n_unique() < 5:
        return
    found = table_utility(table, [half], schema=SMALL)
    for score in found.scores:
        low, high = sorted([score.best, score.worst])
        for value in (*score.by_dataset, score.bootstrap, score.independent):
            assert low - 1e-9 <= value <= high * (1 + 1e-9) + 1e-9, score
        assert score.blind
    shuffled = half.sample(fraction=1.0, shuffle=True, seed=seed + 1).to_pandas()
    again = table_utility(table.to_arrow(), [shuffled], schema=SMALL)
    for first, second in zip(found.scores, again.scores, strict=True):
        assert second.value == pytest.approx(first.value, rel=1e-6, abs=1e-9), first.name


def test_missing_values_are_judged_by_column_and_by_pair():
    table = people()
    filled = table.with_columns(pl.col("income").fill_null(0.0))
    found = table_utility(table, [filled, table])
    share = float(table["income"].is_null().mean())
    income = found.columns[2]
    assert (income.missing, income.missing_synthetic) == (share, pytest.approx(share / 2))
    assert by_name(found)["missing"].by_dataset == (pytest.approx(share), 0.0)
    assert found.missing_pairs[0, 2, 2] == pytest.approx(share)
    assert found.missing_pairs[1, 2, 2] == pytest.approx(share / 2)
    assert found.missing_pairs[0, 2, 0] == 0.0
    assert "missing" not in by_name(table_utility(filled, [filled]))


def test_codes_of_missing_values_come_from_the_schema_or_from_text_among_numbers():
    table = people()
    coded = table.with_columns(pl.col("income").cast(pl.Int64).cast(pl.String).fill_null("N"))
    by_text = table_utility(coded, [coded])
    assert by_text.columns[2].kind == "number"
    assert by_text.columns[2].missing > 0.05
    given = Schema(
        columns={
            "school": vws.Column(model="nominal", levels=("low", "mid", "high")),
            "age": vws.Column(role="public"),
            "income": vws.Column(model="normal", missing="-1", mass=(5000,)),
        }
    )
    numbers = table.with_columns(pl.col("income").fill_null(-1.0))
    found = table_utility(numbers, [numbers], schema=given)
    assert [one.name for one in found.columns] == ["age", "school", "income"]
    assert found.left_out == ("region",)
    assert found.columns[2].missing == by_text.columns[2].missing
    assert found.by_data == ("age", "income")
    assert table_utility(table, [table], bins={"age": [18, 65]}).by_data == ("income",)


def test_ids_and_what_members_are_given_are_no_columns_to_judge():
    column = vws.Column(model="table", levels=("a", "b"))
    members = {"sizes": [1, 4], "summaries": {"persons": "size", "before": "count"}}
    columns = {"home": vws.Column(role="id"), "x": column, "y": column}
    schema = vws.Schema(columns, unit="home", members=members)
    table = pd.DataFrame({"home": [1, 1, 2, 2], "x": list("abba"), "y": list("abab")})
    with_ids = vws.table_utility(table, [table], schema=schema)
    without = vws.table_utility(table[["x", "y"]], [table], schema=schema)
    assert with_ids.left_out == ("home",)
    assert without.left_out == ()
    assert [one.name for one in with_ids.columns] == ["x", "y"]
    assert (with_ids.unit, without.unit) == ("home", None)
    for one, other in zip(with_ids.scores, without.scores, strict=True):
        assert (one.value, one.independent) == (other.value, other.independent)


def test_any_labels_and_row_counts_are_compared():
    table = people(300)
    text = table.with_columns(pl.col("region").cast(pl.String)).to_pandas()
    found = table_utility(table.to_pandas(), [pd.concat([text, text])])
    assert found.k_marginal == pytest.approx(1000.0)
    assert found.s_pmse == pytest.approx(0.0, abs=1e-9)


def test_a_picture_of_the_associations():
    table = people(300)
    drawn = table_utility(table, [permuted(table, "income")]).associations.plot()
    assert [axis.get_title() for axis in drawn.axes[:3]] == ["data", "synthetic", "difference"]


@pytest.mark.parametrize(
    ("change", "options", "key"),
    [
        ({"income": ["x"] * 40}, {}, "cells-no-code"),
        ({}, {"columns": ["age", "incom"]}, "columns-lacking"),
        ({}, {"bins": {"age": [2, 1]}}, "bins-not-rising"),
        ({}, {"seed": -1}, "not-a-whole-number"),
    ],
)
def test_what_does_not_fit_is_named(change, options, key):
    table = people(40)
    changed = table.with_columns(**{n: pl.Series(v) for n, v in change.items()})
    with refused(key):
        table_utility(table, [changed], **options)
    with pytest.raises(InputError, match="Judge a single column"):
        table_utility(table, [table], columns=["age"])


def test_a_column_that_a_dataset_lacks_is_named():
    table = people(40)
    with refused("columns-lacking", role="synthetic dataset 2"):
        table_utility(table, [table, table.drop("age")])
    with refused("not-a-list-of-datasets"):
        table_utility(table, 5)


def test_scores_show_themselves_in_a_notebook():
    table = pl.DataFrame({"a<b": list("xxyy"), "b": list("uvvv")})
    found = table_utility(table, [table], s_pmse=False)
    assert found.s_pmse is None
    shown = found._repr_html_()
    assert "<td>k_marginal</td><td>1000</td>" in shown
    assert "s_pmse" not in shown
    assert len(found.plot().axes) == len(found.associations.plot().axes)


def test_dates_count_as_days():
    """With a schema and without, and whatever their type."""
    rng = np.random.default_rng(4)
    start = np.datetime64("2001-03-01")
    tables = []
    for _ in range(2):
        days = rng.integers(0, 2000, 300)
        since = pl.Series(start + days).cast(pl.Date)
        tables.append(pl.DataFrame({"since": since, "pay": days + rng.integers(0, 50, 300) + 0.5}))
    spelled = [table.with_columns(pl.col("since").cast(pl.String)) for table in tables]
    schema = Schema(
        {
            "since": Column(
                role="public", days_since="2000-01-01", range=("2001-01-01", "2007-12-31")
            ),
            "pay": Column(model="normal", range=(0, 4000)),
        }
    )
    found = [
        table_utility(*(one, [other]), schema=given, seed=1, s_pmse=False)
        for one, other in (tables, spelled)
        for given in (schema, None)
    ]
    assert {one.left_out for one in found} == {()}
    assert {tuple(column.kind for column in one.columns) for one in found} == {("number",) * 2}
    assert len({one.k_marginal for one in found}) == 1
    assert found[0].associations.original[0, 1] > 0.9
    for table, other in (tables, spelled):
        assert table_risk(table, [other], keys=["since"], target="pay", schema=schema).disco
