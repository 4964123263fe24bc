"""S_pMSE of tables: pairs by their shares, chance, faults that margins hide, and many levels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.pmse import tree_score, two_way_pmse

pytestmark = pytest.mark.runs  # seconds of work


def test_products_of_near_columns_come_first_where_not_all_have_room():
    rng = np.random.default_rng(8)
    many = {f"c{k}": rng.integers(0, 2, 4000) for k in range(12)}
    found = two_way_pmse(many, many, most=37)
    # 1 + 12 + 24 coefficients: each column with its two neighbours on either side.
    assert found.unseen == 66 - 24
    assert found.score.null_mean * 8000 * 8 == pytest.approx(36.0)
    tied, apart = dict(many), dict(many)
    tied["c1"], apart["c6"] = many["c0"], many["c0"]
    assert two_way_pmse(many, tied, most=37).score.ratio > 10
    assert two_way_pmse(many, apart, most=37).score.ratio < 3
    assert two_way_pmse(many, apart).score.ratio > 10
    assert two_way_pmse(many, many).unseen == 0


CELLS = [(0, 0), (0, 1), (1, 0), (1, 1)]


def table(counts):
    """Two columns of 0 and 1 with so many records in each of the four cells."""
    rows = np.repeat(np.array(CELLS), counts, axis=0)
    return {"a": rows[:, 0], "b": rows[:, 1]}


COUNTS = st.lists(st.tuples(st.integers(1, 6), st.integers(1, 6)), min_size=4, max_size=4)


@given(COUNTS)
@settings(max_examples=40, derandomize=True)
def test_pairs_against_their_shares(counts):
    """Two columns of two levels with their product: p is each cell's share of synthetic records."""
    original, synthetic = zip(*counts, strict=True)
    N, c = sum(map(sum, counts)), sum(synthetic) / sum(map(sum, counts))
    value = sum((n + s) * (s / (n + s) - c) ** 2 for n, s in counts) / N
    first, second = table(original), table(synthetic)
    found = two_way_pmse(first, second).score
    assert found.value == pytest.approx(value, rel=1e-8, abs=1e-14)
    assert found.null_mean == pytest.approx(3 * (1 - c) ** 2 * c / N, rel=1e-12)
    tree = tree_score(first, second, leaf=1, permutations=40)
    # A tree fits the cells too: its null mean is 3 (1 - c) c / N under permuted labels.
    assert tree >= 0.0
    assert (tree == pytest.approx(0.0, abs=1e-9)) == (value == pytest.approx(0.0, abs=1e-12))


def test_tree_and_logit_have_one_scale():
    rng = np.random.default_rng(3)
    first, second = (table(rng.multinomial(400, [0.25] * 4)) for _ in range(2))
    found = two_way_pmse(first, second).score
    tree = tree_score(first, second, leaf=1, permutations=400)
    assert tree == pytest.approx(found.ratio, rel=0.2)


def test_a_second_sample_scores_about_1_whatever_the_columns():
    """Means over 60 bootstraps within four standard errors of 1."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=400)
    x[rng.random(400) < 0.2] = np.nan
    original = {"x": x, "y": rng.normal(size=400), "g": rng.integers(0, 3, 400)}
    scores = []
    for _ in range(60):
        again = rng.integers(0, 400, 400)
        scores.append(two_way_pmse(original, {n: v[again] for n, v in original.items()}).score)
    ratios = np.array([score.ratio for score in scores])
    degrees = scores[0].null_mean * 800 * 8  # (k - 1): c = 1/2.
    assert degrees == pytest.approx(13.0)  # x, missing, y, g twice; 8 products of different columns
    assert abs(ratios.mean() - 1.0) < 4 * ratios.std(ddof=1) / np.sqrt(60) + 0.1


def test_a_permuted_column_is_found_where_margins_agree():
    rng = np.random.default_rng(4)
    x = rng.normal(size=1000)
    original = {"x": x, "y": x + 0.5 * rng.normal(size=1000)}
    permuted = {**original, "y": rng.permutation(original["y"])}
    assert two_way_pmse(original, permuted).score.ratio > 20
    assert tree_score(original, permuted) > 3
    assert two_way_pmse(original, original).score.ratio < 1e-10


def test_missing_values_are_a_level_of_their_own():
    x = np.array([1.0, 2.0, 3.0, 4.0] * 25)
    gone = np.where(np.arange(100) % 2 == 0, np.nan, x)
    other = {"a": np.arange(100) % 3}
    assert two_way_pmse({"x": x, **other}, {"x": gone, **other}).score.ratio > 10


def test_many_levels_fold_into_as_many_as_there_is_room_for():
    rng = np.random.default_rng(6)
    wide = {name: rng.integers(0, 40, 20_000) for name in "abc"}
    found = two_way_pmse(wide, wide, most=100)
    assert found.folded == ("a", "b", "c")
    # Six levels a column: 1 + 15 + 75 = 91 coefficients; seven would need 1 + 18 + 108.
    assert found.score.null_mean * 40_000 * 8 == pytest.approx(90.0)
    assert two_way_pmse(table([3] * 4), table([4] * 4), most=4).folded == ()


def test_of_many_records_evenly_spaced_ones_are_taken():
    rng = np.random.default_rng(7)
    many = {"a": rng.integers(0, 2, 120_000), "b": rng.integers(0, 2, 120_000)}
    found = two_way_pmse(many, many).score
    assert found.null_mean == pytest.approx(3 / 8 / 100_000)
