"""R's arithmetic: by hand, against plain loops and exact fractions, and at its edges."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refused

from pyvws.r_numbers import rarith

few = settings(max_examples=60, derandomize=True)
numbers = st.lists(st.integers(-(10**6), 10**6).map(lambda v: v / 64), min_size=1, max_size=30)
shares = st.integers(0, 64).map(lambda v: v / 64)


def rows_of(n):
    return st.lists(st.integers(-4096, 4096).map(lambda v: v / 64), min_size=n, max_size=n)


@given(numbers, shares)
@few
def test_against_exact_fractions(x, p):
    exact = [Fraction(v) for v in x]
    n = len(x)
    mean = sum(exact) / n
    assert rarith.sum_in_order(x) == float(sum(exact))  # exact in 64 bits of mantissa
    assert rarith.mean(x) == pytest.approx(float(mean), rel=3e-16, abs=1e-12)
    if n > 1:
        var = sum((v - mean) ** 2 for v in exact) / (n - 1)
        assert rarith.var(x) == pytest.approx(float(var), rel=1e-12, abs=1e-12)
    ordered = sorted(exact)
    h = (n - 1) * Fraction(p)
    low = math.floor(h)
    value = ordered[low] + (h - low) * (ordered[min(low + 1, n - 1)] - ordered[low])
    assert rarith.quantile(x, p) == pytest.approx(float(value), rel=1e-14, abs=1e-9)


@given(st.integers(1, 6).flatmap(lambda n: st.lists(rows_of(n), min_size=1, max_size=8)))
@few
def test_columns_and_steps_against_loops(rows):
    table = np.array(rows)
    assert rarith.column_means(table).tolist() == [
        rarith.mean([row[j] for row in rows]) for j in range(len(rows[0]))
    ]
    for row in rows:
        assert float(rarith.extended_sum(np.array(row))) == float(sum(map(Fraction, row)))
        shares = rarith.ecdf_at(np.array(row), table[0])
        assert shares.tolist() == [sum(v <= point for v in row) / len(row) for point in rows[0]]


def test_adds_in_order_in_the_widest_type():
    x = np.random.default_rng(1).normal(size=1000) * 10.0 ** np.arange(-10, 10).repeat(50)
    total = np.longdouble(0)
    for value in x:
        total += np.longdouble(value)
    assert rarith.extended_sum(x) == total
    assert rarith.extended_sum(np.empty(0)) == 0
    wide = np.finfo(np.longdouble).nmant > 52
    assert rarith.sum_in_order([2.0**53, 1.0, -(2.0**53)]) == (1.0 if wide else 0.0)


def test_a_rounding_outside_is_the_end():
    """As sums of shares give it: R takes 1 + 2.2e-14 for 1 and refuses 1 + 2.3e-14."""
    x = [1.0, 2.0, 7.0]
    assert rarith.quantile(x, [sum([0.1] * 3) / 0.3, -2.2e-14]).tolist() == [7.0, 1.0]
    for outside in (1.0 + 2.3e-14, -2.3e-14):
        with refused("p-range"):
            rarith.quantile(x, outside)


@pytest.mark.r
def test_r_takes_the_same_roundings_for_the_ends():
    from pyvws.r.bridge import RError, call

    x = np.array([1.0, 2.0, 7.0])
    for p in (1.0 + 2.2e-14, -2.2e-14):
        there = call("rarith", "arithmetic_quantile", {"x": x, "p": p})
        assert there.tolist() == [rarith.quantile(x, p)]
    for p in (1.0 + 2.3e-14, -2.3e-14):
        with pytest.raises(RError):
            call("rarith", "arithmetic_quantile", {"x": x, "p": p})


def test_the_mean_corrects_itself_as_in_r():
    x = np.full(10**5, 0.1)
    if np.finfo(np.longdouble).nmant == 63:
        assert float(rarith.extended_sum(x) / np.longdouble(len(x))) == 0.1 - 2.0**-56
    assert rarith.mean(x) == 0.1


def test_infinite_values_follow_ieee_in_silence():
    assert rarith.quantile([1.0, math.inf], 0.5) == math.inf
    assert rarith.quantile([1.0, math.inf], 0.0) == 1.0
    assert rarith.quantile([1.0, math.inf, math.inf], 0.75) == math.inf
    assert math.isnan(rarith.quantile([-math.inf, math.inf], 0.5))
    assert math.isnan(rarith.mean([-math.inf, math.inf]))
    assert rarith.mean([1.0, -math.inf]) == -math.inf
    assert math.isnan(rarith.var([1.0, math.inf]))
    if np.finfo(np.longdouble).maxexp > 1024:
        assert rarith.mean([1e308, 1e308]) == 1e308


@pytest.mark.parametrize(
    ("call", "key"),
    [
        (lambda: rarith.var([1.0]), "variance-of-one"),
        (lambda: rarith.quantile([1.0], 1.01), "p-range"),
        (lambda: rarith.quantile([1.0], [0.5, -0.1]), "p-range"),
        (lambda: rarith.quantile([1.0, math.nan], 0.5), "quantile-of-missing"),
        (lambda: rarith.mean([]), "not-a-vector"),
        (lambda: rarith.mean(["a"]), "values-not-numeric"),
    ],
)
def test_bad_input(call, key):
    with refused(key):
        call()
