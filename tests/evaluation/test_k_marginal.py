"""The k-marginal score: by hand, by double loops, at its ends, and on the ACS excerpt's figures."""

from itertools import combinations, product

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from refusals import refused

from pyvws.evaluation.k_marginal import (
    chained_k_marginal,
    coded_k_marginal,
    k_marginal,
    pair_distances,
    share_of_the_way,
    standing,
    worse_than_independent,
)


def test_three_columns_by_hand():
    original = pl.DataFrame({"a": [1, 1, 2, 2], "b": ["x", "x", "y", "y"], "c": [0.5] * 4})
    synthetic = pl.DataFrame({"a": [1, 2], "b": ["x", "x"], "c": [0.5, 0.5]})
    found = k_marginal(original, [synthetic])
    # a and b: shares 1/2, 0, 0, 1/2 against 1/2, 1/2, 0, 0. a and c agree. b: 1/2, 1/2 and 1, 0.
    assert dict(found.by_pair) == {("a", "b"): 1.0, ("a", "c"): 0.0, ("b", "c"): 1.0}
    assert found.score == pytest.approx((2 - 2 / 3) * 500, rel=1e-14)
    assert found.by_dataset == (found.score,)
    # Each half of the original has one of its two pairs; both halves together are the original.
    two = k_marginal(original, [original[:2], original[2:]])
    assert two.by_dataset == (500.0, 500.0)
    assert two.together == 1000.0


CODES = st.integers(1, 4).flatmap(
    lambda width: st.tuples(
        *(
            st.lists(
                st.lists(st.integers(0, 3), min_size=width + 1, max_size=width + 1),
                min_size=1,
                max_size=9,
            )
            for _ in range(2)
        )
    )
)


@given(CODES)
@settings(max_examples=80)
def test_double_loops_give_the_same(tables):
    first, second = (np.array(rows) for rows in tables)
    by_loops = []
    for a, b in combinations(range(first.shape[1]), 2):
        total = 0.0
        for x, y in product(range(4), repeat=2):
            p = sum(row[a] == x and row[b] == y for row in first) / len(first)
            q = sum(row[a] == x and row[b] == y for row in second) / len(second)
            total += abs(p - q)
        by_loops.append(total)
    found = pair_distances(first, second)
    assert found.distances == pytest.approx(by_loops, abs=1e-14)
    assert found.score == pytest.approx(500 * (2 - np.mean(by_loops)), abs=1e-10)
    assert 0.0 <= found.score <= 1000.0 + 1e-9
    assert pair_distances(second, first).score == pytest.approx(found.score)
    twice, shuffled = np.repeat(second, 2, axis=0), second[::-1]
    assert pair_distances(first, twice).score == pytest.approx(found.score)
    assert pair_distances(first, shuffled).score == pytest.approx(found.score)
    assert pair_distances(first * 50_000, second * 50_000).score == pytest.approx(found.score)


@given(CODES, st.booleans())
@settings(max_examples=40)
def test_labels_of_any_kind_against_codes(tables, as_text):
    """A code as text, as a number or as a bin of numbers gives the codes' own score."""
    first, second = (np.array(rows) for rows in tables)
    names = [f"x{place}" for place in range(first.shape[1])]
    original, synthetic = (
        pl.DataFrame(dict(zip(names, rows.T, strict=True))) for rows in (first, second)
    )
    if as_text:
        synthetic = synthetic.cast(pl.String)
    wanted = pair_distances(first, second)
    found = k_marginal(original, [synthetic], replicates=1)
    assert found.score == pytest.approx(wanted.score)
    assert list(found.by_pair.values()) == pytest.approx(wanted.distances.tolist())
    assert coded_k_marginal(first, [second], names, replicates=1).score == found.score
    halves = (original + 0.5).cast(pl.Float64)
    binned = k_marginal(
        halves, [synthetic], bins={name: range(1, 4) for name in names}, replicates=1
    )
    assert binned.score == pytest.approx(wanted.score)


def test_a_copy_scores_1000_and_other_values_score_0():
    original = pd.DataFrame({"a": ["x", "y"], "b": [1, 2]})
    other = pd.DataFrame({"a": ["z", "z"], "b": [3, 4]})
    found = k_marginal(original, [original, other])
    assert found.by_dataset == (1000.0, 0.0)
    assert found.score == 500.0


def test_independent_columns_and_a_bootstrap_lie_where_they_must():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 5, 4000)
    tied = pl.DataFrame({"x": x, "y": x})
    found = k_marginal(tied, [tied])
    # Five equal cells against 25: each of the five pairs loses 4/5 of its share.
    assert found.independent == pytest.approx((2 - 1.6) * 500, abs=10)
    assert 980 < found.bootstrap < 1000
    assert found == k_marginal(tied, [tied])
    assert found.bootstrap != k_marginal(tied, [tied], seed=2).bootstrap


def test_bins_hold_their_lower_edge_and_leave_codes_alone():
    original = pl.DataFrame({"age": ["0", "4", "5", "99", "N", None], "b": ["s"] * 6})
    numbers = original.with_columns(pl.col("age").cast(pl.Float64, strict=False))
    same = pl.DataFrame({"age": ["3", "1", "7", "12", "N", None], "b": ["s"] * 6})
    assert k_marginal(original, [same], bins={"age": [0, 5, 10]}).score == 1000.0
    same = pl.DataFrame({"age": [2.0, 4.9, 9.9, 10.0, None, None], "b": ["s"] * 6})
    assert k_marginal(numbers, [same], bins={"age": [0, 5, 10]}).score == 1000.0
    below = same.with_columns(pl.Series("age", [-0.1, 4.9, 9.9, 10.0, None, None]))
    expected = (2 - 2 / 6) * 500
    assert k_marginal(numbers, [below], bins={"age": [0, 5, 10]}).score == pytest.approx(expected)


def test_kinds_of_tables_and_types_of_labels_are_alike():
    columns = {"a": [1, 2, 2], "b": [True, False, True], "c": ["x", None, "y"]}
    other = {"a": ["1", "2", "1"], "b": ["true", "false", "true"], "c": ["x", None, "x"]}
    original, synthetic = pl.DataFrame(columns), pl.DataFrame(other)
    found = k_marginal(original, [synthetic])
    assert found == k_marginal(original.to_pandas(), [pd.DataFrame(other)])
    assert found == k_marginal(pa.table(columns), [pa.table(other)])
    assert found.by_pair["b", "c"] == pytest.approx(2 / 3)


def test_bad_arguments_are_said_without_a_value():
    table = pl.DataFrame({"a": [1, 2], "b": [3, 4]})
    for call, refusal in [
        (lambda: k_marginal(table, [table], columns=["a"]), refused("too-few-columns")),
        (
            lambda: k_marginal(table, [table], columns=["a", "c"]),
            refused("columns-lacking", role="original"),
        ),
        (
            lambda: k_marginal(table, [table.select("a")]),
            refused("columns-lacking", role="synthetic dataset 1"),
        ),
        (lambda: k_marginal(table, [table], bins={"a": [5, 0]}), refused("bins-not-rising")),
        (
            lambda: k_marginal(table, [table], bins={"c": [0, 5]}),
            refused("columns-lacking", role="original"),
        ),
        (lambda: k_marginal(table, [table], replicates=0), refused("not-a-whole-number")),
        (lambda: k_marginal(table, []), refused("no-dataset")),
        (lambda: k_marginal(table, table.to_pandas()), refused("not-a-list-of-datasets")),
    ]:
        with refusal:
            call()


def test_a_sample_of_independent_columns_is_not_worse_than_independent_ones() -> None:
    """Their own margins are right, which no sample's are; only more than chance counts."""
    rng = np.random.default_rng(2)
    for _ in range(40):
        shares = [rng.dirichlet(np.ones(4)) for _ in range(4)]
        data, *made = (np.column_stack([rng.choice(4, 500, p=p) for p in shares]) for _ in range(3))
        found = coded_k_marginal(data, made, list("abcd"))
        assert not found.worse_than_independent
        far = coded_k_marginal(data, [np.zeros_like(data)], list("abcd"))
        assert far.worse_than_independent == (far.score < far.independent)


@given(*[st.floats(0, 1000)] * 3)
@settings(max_examples=100, derandomize=True)
def test_what_is_worse_lacks_more_than_independent_columns_and_a_bootstrap(one, apart, again):
    if worse_than_independent(one, apart, again):
        assert one < min(apart, again)
    assert not worse_than_independent(apart, apart, again)


def test_a_chain_of_columns_has_all_that_pairs_in_a_chain_tell() -> None:
    rng = np.random.default_rng(8)
    a = rng.integers(0, 5, 4000)
    b = (a + (rng.random(4000) < 0.2)) % 5
    c = (b + (rng.random(4000) < 0.2)) % 5
    codes = np.column_stack([a, b, c])
    found = coded_k_marginal(codes, [codes], list("abc"))
    assert chained_k_marginal(codes) == pytest.approx(found.bootstrap, abs=5.0)
    assert found.independent < 600.0
    apart = np.column_stack([a, b, (a * b) % 5])  # Of both: no column alone has it.
    both = coded_k_marginal(apart, [apart], list("abc"))
    assert both.independent < chained_k_marginal(apart) < both.bootstrap - 20.0


@given(st.integers(0, 2**32 - 1), st.integers(2, 4), st.integers(2, 4))
@settings(max_examples=30, derandomize=True)
def test_a_chain_draws_from_what_an_earlier_column_tells(seed: int, D: int, levels: int) -> None:
    """A copied column follows whatever else there is, so its pairs are those of its source."""
    rng = np.random.default_rng(seed)
    first = rng.integers(0, levels, (300, D - 1))
    codes = np.column_stack([first, first[:, 0]])
    score = chained_k_marginal(codes, replicates=2, seed=1)
    assert score == chained_k_marginal(codes, replicates=2, seed=1)
    assert 0.0 <= score <= 1000.0
    pair = codes[:, [0, -1]]
    copied = chained_k_marginal(pair, replicates=5, seed=1)
    shares = np.bincount(pair[:, 0]) / 300  # A bootstrap of one column, by its expected distance.
    expected = np.sqrt(2.0 / np.pi * shares * (1.0 - shares) / 300).sum()
    assert copied == pytest.approx(1000.0 - 500.0 * expected, abs=25.0)


_SCORES = st.floats(500.0, 1000.0)


@given(_SCORES, _SCORES, _SCORES, st.floats(0.0, 20.0))
@settings(max_examples=300, derandomize=True)
def test_a_standing_needs_a_fifth_of_the_way_and_more_than_chance(
    score: float, apart: float, again: float, margin: float
) -> None:
    where, share = standing(score, apart, again, margin), share_of_the_way(score, apart, again)
    if where == "better":
        assert score - apart >= margin
        assert share >= 0.2 - 1e-9
    if where == "untied":
        assert again - apart <= margin
    if where == "hardly better" and again - apart > margin:
        assert share < 0.2 + 1e-9 or score - apart < margin
    assert (where == "worse") == worse_than_independent(score, apart, again)
