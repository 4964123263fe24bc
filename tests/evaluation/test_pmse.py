"""pMSE: by hand, its null distribution, its extremes, and trees."""

import sys
from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.errors import MissingDependencyError
from pyvws.evaluation.pmse import logistic_pmse, pmse, tree_pmse

pytestmark = pytest.mark.runs  # seconds of work


def table(seed, n, centre=0.0):
    random = np.random.default_rng(seed)
    return pd.DataFrame(
        {"x": random.normal(centre, 1, n), "group": random.choice(["a", "b", "c"], n)}
    )


def test_two_groups_by_hand():
    # Group a holds 3 confidential and 1 synthetic record, b the reverse: p is 1/4 and 3/4.
    original = pd.DataFrame({"group": ["a", "a", "a", "b"]})
    synthetic = pd.DataFrame({"group": ["a", "b", "b", "b"]})
    found = pmse(original, synthetic)
    assert found.value == pytest.approx(1 / 16, rel=1e-12)
    assert found.null_mean == 1 / 64  # (2 - 1) (1/2)^3 / 8
    assert found.null_sd == pytest.approx(np.sqrt(2) / 64, rel=1e-15)
    assert found.ratio == pytest.approx(4.0, rel=1e-12)
    assert found.standardized == pytest.approx(3 / np.sqrt(2), rel=1e-12)


def test_a_dot_stands_for_all_columns():
    first, second = table(1, 80), table(2, 60, 0.5)
    assert pmse(first, second, formula="~ .") == pmse(first, second)
    pairs = pmse(first, second, formula="~ .^2")
    assert pairs == pmse(first, second, formula="~ (x + group)^2")
    assert pairs != pmse(first, second)


@given(st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=2, max_size=4))
@settings(max_examples=40, derandomize=True)
def test_groups_against_their_shares(counts):
    """A model of one group each fits the groups' own shares of synthetic records."""
    first, second = (
        pd.DataFrame({"group": np.repeat(list("abcd")[: len(counts)], column)})
        for column in zip(*counts, strict=True)
    )
    N, synthetic = len(first) + len(second), len(second)
    c = Fraction(synthetic, N)
    value = sum((n + s) * (Fraction(s, n + s) - c) ** 2 for n, s in counts) / N
    scale = (1 - c) ** 2 * c / N
    designs = [
        np.column_stack([np.ones(len(frame)), *(frame["group"] == name for name in "bcd")])
        for frame in (first, second)
    ]
    used = len(counts)
    by_design = logistic_pmse(designs[0][:, :used], designs[1][:, :used])
    tree = tree_pmse(*(design[:, :used] for design in designs), leaf=1, permutations=2)
    assert tree.value == pytest.approx(float(value), rel=1e-9, abs=1e-15)
    for found in (pmse(first, second), by_design):
        assert found.value == pytest.approx(float(value), rel=1e-9, abs=1e-15)
        assert found.null_mean == pytest.approx(float((used - 1) * scale), rel=1e-14)
        assert found.null_sd**2 == pytest.approx(float(2 * (used - 1) * scale**2), rel=1e-14)


def test_null_distribution():
    """200 tables resampled from a confidential one: mean and spread within four standard errors."""
    random = np.random.default_rng(8)
    original = np.column_stack([np.ones(300), random.normal(size=(300, 3))])
    scores = [logistic_pmse(original, original[random.integers(0, 300, 200)]) for _ in range(200)]
    ratios = np.array([score.ratio for score in scores])
    # 3 times the ratio is chi-square with 3 degrees of freedom: sd of the ratio root(2/3).
    assert abs(ratios.mean() - 1) < 4 * np.sqrt(2 / 3) / np.sqrt(200)
    standardized = np.array([score.standardized for score in scores])
    # The fourth moment of chi-square with 3 is 3 + 12/3 times sd^4.
    assert abs(standardized.var() - 1) < 4 * np.sqrt(6 / 200)


def test_extremes_and_order():
    first, second = table(1, 80), table(2, 60)
    assert pmse(first, first).value < 1e-20
    apart = pmse(first, table(2, 60, centre=100.0), formula="~ x")
    assert apart.value == pytest.approx(60 / 140 * 80 / 140, rel=1e-6)
    far, near = pmse(first, table(2, 60, centre=2.0)), pmse(first, second)
    assert far.value > near.value
    assert pmse(first.iloc[::-1], second).value == pytest.approx(near.value, rel=1e-9)
    scaled = pmse(first.assign(x=first.x * 8), second.assign(x=second.x * 8))
    assert scaled.value == pytest.approx(near.value, rel=1e-9)
    assert pmse(first, second, formula="~ x").null_mean < near.null_mean


def test_tables_of_any_kind():
    wanted = pmse(table(1, 40), table(2, 50))
    found = pmse(pl.from_pandas(table(1, 40)), pl.from_pandas(table(2, 50)))
    assert found == wanted
    turned = pmse(table(1, 40), table(2, 50)[["group", "x"]])
    assert turned.value == wanted.value


def test_trees():
    pytest.importorskip("sklearn")
    first, far = table(1, 150), table(2, 150, centre=3.0)
    options = {"model": "tree", "permutations": 20, "seed": 4}
    score = pmse(first, far, **options)
    assert score == pmse(first, far, **options)
    assert 0.1 < score.value <= 0.25
    assert score.standardized > 10
    # One distribution: within five permutation standard deviations.
    assert abs(pmse(first, table(3, 150), **options).standardized) < 5
    # A tree sees what main effects cannot: one table has x and its sign switched in half the rows.
    coin = np.repeat([-1.0, 1.0], 75)
    original = pd.DataFrame({"x": coin, "z": coin})
    crossed = pd.DataFrame({"x": coin, "z": -coin})
    assert pmse(original, crossed).value < 1e-20
    assert pmse(original, crossed, model="tree", permutations=2).value == 0.25


# rpart 4.1.19 on the tables of `two_samples`, stacked, with the label in t:
#   tree <- rpart(t ~ a + b + c, method = "anova", control = rpart.control(
#     minbucket = 20, minsplit = 2, cp = -1, xval = 0, maxdepth = 30))
#   mean((predict(tree) - 4 / 7)^2)
RPART = {
    (1, False): 0.068402191634718598,
    (2, False): 0.063923716001045197,
    (4, True): 0.037265612366077942,
    (5, True): 0.050441508516525901,
}


def two_samples(seed, ties):
    rng = np.random.default_rng(seed)
    first, second = rng.normal(size=(300, 3)), rng.normal(size=(3, 400))
    second[0] = 0.3 + 1.2 * second[0]
    second[2] += 0.8 * second[1]
    return [table.round(1) if ties else table for table in (first, second.T)]


@pytest.mark.parametrize(("seed", "ties"), RPART)
def test_a_tree_is_that_of_rpart(seed, ties):
    pytest.importorskip("sklearn")
    found = tree_pmse(*two_samples(seed, ties), leaf=20, permutations=2)
    assert found.value == pytest.approx(RPART[seed, ties], rel=1e-12)


def test_the_null_of_trees_is_that_of_every_permutation():
    """Six records in two groups: all 20 ways to label three of them synthetic, by hand."""
    pytest.importorskip("sklearn")
    group = np.array([0, 0, 1, 0, 1, 1])
    values = []
    for chosen in combinations(range(6), 3):
        labels = np.isin(np.arange(6), chosen)
        shares = np.array([labels[group == g].mean() for g in group])
        values.append(((shares - 0.5) ** 2).mean())
    tables = [pd.DataFrame({"group": group[part]}) for part in (slice(3), slice(3, 6))]
    found = pmse(*tables, model="tree", leaf=1, permutations=1500, seed=2)
    assert found.value == pytest.approx(1 / 36, rel=1e-12)  # shares 1/3 and 2/3
    error = np.std(values) / np.sqrt(1500)
    assert found.null_mean == pytest.approx(np.mean(values), abs=4 * error)
    assert found.null_sd == pytest.approx(np.std(values), rel=0.2)


def test_trees_of_one_distribution_are_standardized():
    """Exchangeable labels: the value is one more draw of the null, within four standard errors."""
    pytest.importorskip("sklearn")
    scores = [
        pmse(table(2 * k, 60), table(2 * k + 1, 60), model="tree", leaf=10, permutations=30)
        for k in range(80)
    ]
    standardized = np.array([score.standardized for score in scores])
    assert abs(standardized.mean()) < 4 * standardized.std() / np.sqrt(80)
    assert 0.75 < standardized.std() < 1.35


def test_trees_that_cannot_split_have_nothing_to_compare_with():
    found = pmse(table(1, 30), table(2, 30), model="tree", leaf=31, permutations=5)
    assert (found.value, found.null_mean, found.null_sd) == (0.0, 0.0, 0.0)
    for name in ("ratio", "standardized"):
        with refused("null-distribution-constant"):
            getattr(found, name)


def test_trees_without_scikit_learn(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.tree", None)
    with pytest.raises(MissingDependencyError) as caught:
        pmse(table(1, 30), table(2, 30), model="tree")
    assert str(caught.value) == (
        "Trees need scikit-learn. Run: pip install scikit-learn, or use model='logistic'."
    )


@pytest.mark.parametrize(
    ("change", "options", "key"),
    [
        (lambda t: t.rename(columns={"x": "y"}), {}, "tables-differ-in-columns"),
        (lambda t: t.assign(x=np.nan), {}, "column-missing-at-rows"),
        (lambda t: t, {"model": "forest"}, "not-a-choice"),
        (lambda t: t, {"formula": "~ 1"}, "formula-of-constant"),
        (lambda t: t, {"model": "tree", "leaf": 0}, "not-a-whole-number"),
    ],
)
def test_bad_input(change, options, key):
    with refused(key):
        pmse(table(1, 30), change(table(2, 30)), **options)
