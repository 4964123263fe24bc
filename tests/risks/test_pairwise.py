"""Pairwise weights: by hand, by loops in exact fractions, and what must not change them."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyvws_validation import expected
from pyvws_validation.cases import CASES
from refusals import refused

from pyvws.risks import pairwise
from pyvws.risks.pairwise import four_way_weights, pairwise_weights, three_way_weights

few = settings(max_examples=60, derandomize=True)
values = st.integers(-40, 200).map(float)
tables = st.integers(3, 12).flatmap(
    lambda n: st.tuples(
        st.lists(values, min_size=n, max_size=n),
        st.lists(st.sampled_from("abc"), min_size=n, max_size=n),
    )
)
reaches = st.tuples(st.sampled_from(["percentage", "absolute"]), st.sampled_from([0.25, 1.0, 20.0]))
functions = pytest.mark.parametrize(
    ("function", "order"), [(pairwise_weights, 2), (three_way_weights, 3), (four_way_weights, 4)]
)


def in_fractions(y, pattern, radius, kind, order=2):
    """1 minus the mean joint risk of the groups of `order` that hold i, as the definition says."""
    reach = [radius * abs(value) if kind == "percentage" else radius for value in y]
    outside = [[v < y[j] - reach[j] or v > y[j] + reach[j] for v in y] for j in range(len(y))]
    weights = []
    for i in range(len(y)):
        same = [h for h in range(len(y)) if pattern[h] == pattern[i]]
        total = groups = 0
        for others in combinations([j for j in same if j != i], order - 1):
            total += sum(all(outside[j][h] for j in (i, *others)) for h in same)
            groups += 1
        weights.append(float(1 - Fraction(total, len(same) * groups)) if groups else 0.0)
    return weights


@pytest.mark.runs
@functions
@few
@given(st.lists(st.tuples(values, st.sampled_from([1.0, 2.0, 3.0])), min_size=4, max_size=12))
def test_boxes_of_several_outcomes_cover_as_loops_say(function, order, rows):
    y, radius = np.array(rows), [0.3, 0.4]
    inside = (np.abs(y[:, None] - y) <= np.array(radius) * np.abs(y)).all(axis=2)
    expected_weights = []
    for i in range(len(y)):
        groups = list(combinations([j for j in range(len(y)) if j != i], order - 1))
        total = sum((~inside[:, [i, *others]]).all(axis=1).sum() for others in groups)
        expected_weights.append(1.0 - total / (len(y) * len(groups)))
    assert np.allclose(function(y, radius=radius), expected_weights)


@pytest.mark.runs
def test_counting_is_nearer_the_truth_than_adding_up():
    """R's sum of rounded quotients is off where the package gives the nearest double."""
    case = next(case for case in CASES if case.id == "pairwise/added-up")
    off = 0
    for cell, added_up in zip(case.cells(), expected.load(case).results, strict=True):
        y, radius = cell.arguments["original"], cell.arguments["radius"]
        truth = np.array(in_fractions(y, np.zeros(len(y)), radius, "percentage"))
        assert (case.python(cell) == truth).all()
        off += int((added_up != truth).sum())
    assert off > 0


def test_at_300_records_the_sum_stays_within_its_bound():
    """Rounded sums of R against the true fractions: off, by no more than 2 |M| ulp."""
    case = next(case for case in CASES if case.id == "pairwise/added-up-large")
    worst = 0.0
    for cell, added_up in zip(case.cells(), expected.load(case).results, strict=True):
        y, n = cell.arguments["original"], len(cell.arguments["original"])
        reach = cell.arguments["radius"] * np.abs(y)
        outside = ((y[:, None] < y - reach) | (y[:, None] > y + reach)).astype(np.int64)
        joint = outside.T @ outside
        count = joint.sum(axis=1) - np.diag(joint)
        truth = np.array([float(1 - Fraction(int(k), n * (n - 1))) for k in count])
        assert (case.python(cell) == truth).all()
        off = np.abs(added_up - truth) / np.spacing(truth)
        assert off.max() <= 2 * n
        worst = max(worst, off.max())
    assert 1 <= worst <= case.tolerance == 600


@functions
@given(table=tables, reach=reaches, unit=st.sampled_from([1.0, 2.0**900, 2.0**-900]))
@few
def test_against_every_pair(function, order, table, reach, unit):
    """Ties, zeros, negative values and patterns of one record, in any unit."""
    kind, radius = reach
    y, radius = np.array(table[0]) * unit, radius if kind == "percentage" else radius * unit
    truth = in_fractions(y.tolist(), table[1], radius, kind, order)
    options = {"radius": radius, "radius_kind": kind, "singletons": "weight-zero"}
    assert function(y, known=table[1], **options).tolist() == truth


def test_records_without_a_pair_take_the_weight_that_is_asked_for():
    y, known = [100.0, 110.0, 400.0], ["a", "a", "b"]
    for option, weight in (("weight-zero", 0.0), ("weight-one", 1.0)):
        found = pairwise_weights(y, known=known, c=0.5, g=0.1, singletons=option)
        assert found.tolist() == [0.6, 0.6, weight]
        triples = three_way_weights(y, known=known, singletons=option)
        assert triples.tolist() == [weight] * 3
        assert four_way_weights(y, singletons=option).tolist() == [weight] * 3


def test_whole_numbers_hold_many_records():
    n = 300_000
    y = np.arange(1.0, n + 1)
    # Balls of one point: counts of 9e10 and 2.7e16, past the whole numbers of a double.
    assert (pairwise_weights(y, radius=1e-9) == 2 / n).all()
    assert np.allclose(three_way_weights(y, radius=1e-9), 3 / n, rtol=1e-15, atol=0)
    most = pairwise.MOST_RECORDS[4]
    fours = four_way_weights(y[:most], radius=1e-9)
    assert np.allclose(fours, 4 / most, rtol=1e-15, atol=0)


@pytest.mark.parametrize(
    ("function", "order", "group"),
    [(three_way_weights, 3, "triple"), (four_way_weights, 4, "group of four")],
)
def test_too_many_records_or_too_few(monkeypatch, function, order, group):
    monkeypatch.setitem(pairwise.MOST_RECORDS, order, 4)
    assert len(function([1.0, 2.0, 3.0, 4.0])) == 4
    with refused("patterns-too-large", most_records=4):
        function([1.0, 2.0, 3.0, 4.0, 5.0])
    with refused("pattern-too-small", alone=2, y=2):
        function([1.0, 2.0])
