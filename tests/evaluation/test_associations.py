"""Associations: by hand, by loops over all cells and pairs, against scipy, and their symmetries."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused
from scipy import stats

from pyvws.evaluation.associations import (
    associations,
    correlation_ratio,
    cramers_v,
    rank_correlation,
)

few = settings(max_examples=60, derandomize=True)
_ROWS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from("xyz"), st.integers(-4, 4)),
    min_size=2,
    max_size=25,
)


@given(_ROWS)
@few
def test_v_against_loops_over_the_cells(rows):
    first, second, _ = (list(column) for column in zip(*rows, strict=True))
    found = cramers_v(first, second)
    levels, others = sorted(set(first)), sorted(set(second))
    smaller = min(len(levels), len(others))
    if smaller < 2:
        assert math.isnan(found)
        return
    chi_squared = 0.0
    for a in levels:
        for b in others:
            count = sum(pair == (a, b) for pair in zip(first, second, strict=True))
            expected = first.count(a) * second.count(b) / len(rows)
            chi_squared += (count - expected) ** 2 / expected
    assert found == pytest.approx(math.sqrt(chi_squared / len(rows) / (smaller - 1)), rel=1e-12)
    own = stats.chi2_contingency(pd.crosstab(np.array(first), np.array(second)), correction=False)
    assert found**2 * len(rows) * (smaller - 1) == pytest.approx(own.statistic, rel=1e-9, abs=1e-12)


@given(_ROWS)
@few
def test_ratio_against_loops_over_the_records(rows):
    categories, _, numbers = (list(column) for column in zip(*rows, strict=True))
    found = correlation_ratio(categories, numbers)
    mean = sum(numbers) / len(rows)
    whole = sum((number - mean) ** 2 for number in numbers)
    groups = [[n for c, n in zip(categories, numbers, strict=True) if c == a] for a in "abc"]
    groups = [group for group in groups if group]
    if len(groups) < 2 or len(set(numbers)) < 2:
        assert math.isnan(found)
        return
    between = sum(len(group) * (sum(group) / len(group) - mean) ** 2 for group in groups)
    assert found**2 == pytest.approx(between / whole, rel=1e-10, abs=1e-14)
    ranks = correlation_ratio(categories, stats.rankdata(numbers))
    h = stats.kruskal(*groups).statistic
    assert (len(rows) - 1) * ranks**2 == pytest.approx(h, rel=1e-9, abs=1e-9)


@given(_ROWS)
@few
def test_ranks_against_a_double_loop(rows):
    x, y = [ord(row[0]) for row in rows], [row[2] for row in rows]
    found = rank_correlation(x, y)
    if len(set(x)) < 2 or len(set(y)) < 2:
        assert math.isnan(found)
        return
    sides = []
    for values in (x, y):
        sides.append([sum((v > w) - (v < w) for w in values) for v in values])
    product = sum(a * b for a, b in zip(*sides, strict=True))
    sizes = math.prod(math.sqrt(sum(a * a for a in side)) for side in sides)
    assert found == pytest.approx(product / sizes, rel=1e-12, abs=1e-14)
    assert found == pytest.approx(stats.spearmanr(x, y).statistic, rel=1e-12, abs=1e-14)


@given(_ROWS, st.integers(0, 2**32 - 1))
@few
def test_order_labels_copies_and_rising_functions_change_nothing(rows, seed):
    table = pl.DataFrame(rows, schema=["a", "b", "n"], orient="row")
    found = associations(table)
    assert found.names == ("a", "b", "n")
    assert found.categorical == (True, True, False)
    renamed = pl.DataFrame(
        {
            "a": table["a"].replace_strict({"a": 30, "b": 10, "c": 20}, return_dtype=pl.Int8),
            "b": table["b"].cast(pl.Categorical),
            "n": table["n"].cast(pl.Float64).exp(),
        }
    )
    mixed = pl.concat([renamed, renamed]).sample(fraction=1.0, shuffle=True, seed=seed)
    again = associations(mixed, categories=["a"])
    np.testing.assert_allclose(again.matrix, found.matrix, rtol=1e-9, atol=1e-9)
    for kind in (table.to_pandas(), table.to_arrow()):
        np.testing.assert_array_equal(associations(kind).matrix, found.matrix)


def test_each_pair_has_the_measure_of_its_kinds():
    rng = np.random.default_rng(1)
    a, x = rng.integers(0, 3, 50), rng.normal(size=50)
    y = x + rng.normal(size=50)
    table = pd.DataFrame({"a": a, "t": a > 0, "x": x, "y": y})
    found = associations(table, categories=["a"]).matrix
    assert found[0, 1] == cramers_v(a, a > 0)
    assert found[0, 2] == correlation_ratio(a, stats.rankdata(x))
    assert found[2, 3] == rank_correlation(x, y)
    assert (found == found.T).all()
    assert (np.diag(found) == 1.0).all()
    assert associations(table).matrix[0, 2] == rank_correlation(a, x)


def test_missing_numbers_leave_their_pairs_and_empty_categories_are_one_more():
    table = pl.DataFrame(
        {
            "a": ["u", "v", None, None, "u", "v"],
            "x": [1.0, 2.0, 3.0, None, 5.0, float("nan")],
            "y": [1.0, 3.0, 2.0, 9.0, 5.0, 0.0],
        }
    )
    found = associations(table).matrix
    kept = [0, 1, 2, 4]
    x, y = (table[name].to_numpy()[kept] for name in ("x", "y"))
    assert found[1, 2] == rank_correlation(x, y)
    assert found[0, 1] == correlation_ratio(["u", "v", "-", "u"], stats.rankdata(x))
    assert found[0, 2] == correlation_ratio(list("uv--uv"), stats.rankdata(table["y"]))


def test_a_column_of_one_value_goes_with_nothing_and_many_labels_need_no_table_of_pairs():
    table = pl.DataFrame({"one": ["u"] * 4, "same": [2.0] * 4, "x": [1.0, 2.0, 3.0, 4.0]})
    found = associations(table).matrix
    assert np.isnan(found[:2]).all()
    assert found[2, 2] == 1.0
    many = [str(i) for i in range(60_000)]  # 3.6e9 pairs of labels.
    assert cramers_v(many, many[::-1]) == pytest.approx(1.0, rel=1e-9)


def test_independent_columns_have_zero():
    a, b = (part.ravel() for part in np.meshgrid(range(3), range(4)))
    assert cramers_v(a, b) == 0.0
    assert correlation_ratio(a, b) == 0.0
    assert abs(rank_correlation(a, b)) < 1e-15


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: associations(pl.DataFrame({"a": [1]}), categories=["b"]), "columns-lacking"),
        (lambda: associations(pl.DataFrame({"d": [1]}).cast({"d": pl.Date})), "column-type"),
        (lambda: cramers_v([1, 2], [1]), "unequal-lengths"),
        (lambda: cramers_v("aabb", "aabb"), "not-labels-or-codes"),
        (lambda: cramers_v([], []), "not-labels-or-codes"),
        (lambda: correlation_ratio(["a", "b"], [1.0, np.nan]), "values-missing-or-infinite"),
        (lambda: rank_correlation([1.0], [1.0, 2.0]), "unequal-lengths"),
    ],
)
def test_bad_input_is_said(call, key):
    with refused(key):
        call()
