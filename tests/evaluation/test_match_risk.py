"""Match risks: by hand, by a double loop, and open against closed balls."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.evaluation.match_risk import match_risk

few = settings(max_examples=60, derandomize=True)
values = st.integers(-10, 30).map(float)
tables = st.integers(1, 12).flatmap(
    lambda n: st.tuples(
        st.lists(values, min_size=n, max_size=n),
        st.lists(values, min_size=n, max_size=n),
        st.lists(st.sampled_from("ab"), min_size=n, max_size=n),
    )
)


def test_four_records_by_hand():
    y = [100.0, 110.0, 400.0, 50.0]
    synthetic = [105.0, 400.0, 390.0, 90.0]
    # Balls (80, 120), (88, 132), (320, 480), (40, 60) hold {1, 4}, {1, 4}, {2, 3}, nobody.
    found = match_risk(y, [synthetic])
    assert found.expected.tolist() == [1.0]
    assert found.by_record.tolist() == [0.5, 0.0, 0.5, 0.0]
    assert found.true_rate.tolist() == [0.0]
    assert np.isnan(found.false_rate).all()
    assert found.mean_false_rate is None
    # A dataset without a single match has no part in the average: the ball of 400 alone holds 400.
    found = match_risk(y, [synthetic, [1.0, 400.0, 1.0, 1.0]])
    assert found.false_rate.tolist() == pytest.approx([np.nan, 1.0], nan_ok=True)
    assert found.mean_false_rate == 1.0
    # Patterns a: 1 and 2; b: 3 and 4. The balls hold {1}, {1}, {3}, nobody.
    found = match_risk(y, [synthetic], known=["a", "a", "b", "b"])
    assert found.expected.tolist() == [2.0]
    assert found.true_rate.tolist() == [0.5]
    assert found.false_rate.tolist() == [1 / 3]


def test_edge_of_the_ball():
    y, synthetic = [100.0, 1000.0], [[120.0, 800.0]]
    assert match_risk(y, synthetic).expected.tolist() == [0.0]
    assert match_risk(y, synthetic, ball="closed").expected.tolist() == [2.0]
    # A ball of radius 0 is empty when open and one point when closed.
    assert match_risk([0.0, 0.0], [[0.0, 0.0]]).expected.tolist() == [0.0]
    assert match_risk([0.0, 0.0], [[0.0, 0.0]], ball="closed").expected.tolist() == [1.0]


@given(tables, st.sampled_from(["open", "closed"]), st.sampled_from([1.0, 4.0]))
@few
def test_against_a_double_loop(table, ball, radius):
    y, synthetic, pattern = table
    options = {"radius": radius, "radius_kind": "absolute", "known": pattern, "ball": ball}
    expected, unique_true, unique_false = 0.0, 0, 0
    for i in range(len(y)):
        inside = [
            h
            for h in range(len(y))
            if pattern[h] == pattern[i]
            and (
                abs(synthetic[h] - y[i]) < radius
                or (ball == "closed" and abs(synthetic[h] - y[i]) == radius)
            )
        ]
        own = i in inside
        expected += own / len(inside) if inside else 0.0
        unique_true += len(inside) == 1 and own
        unique_false += len(inside) == 1 and not own
    found = match_risk(y, [synthetic, synthetic], **options)
    assert found.expected == pytest.approx([expected] * 2, rel=1e-14)
    assert found.by_record.sum() == pytest.approx(expected, rel=1e-13)
    assert found.true_rate.tolist() == [unique_true / len(y)] * 2
    single = unique_true + unique_false
    wanted = unique_false / single if single else np.nan
    np.testing.assert_array_equal(found.false_rate, [wanted] * 2)
