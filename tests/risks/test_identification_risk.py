"""Identification risks: by hand, by a double loop, and what must not change them."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.errors import InputError
from pyvws.risks.identification_risk import identification_risk, paired_outcomes, pattern_codes

few = settings(max_examples=60, derandomize=True)
tables = st.integers(1, 15).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(-40, 200).map(float), min_size=n, max_size=n),
        st.lists(st.sampled_from("abc"), min_size=n, max_size=n),
        st.lists(st.integers(-40, 200).map(float), min_size=n, max_size=n),
    )
)
reaches = st.tuples(st.sampled_from(["percentage", "absolute"]), st.sampled_from([0.25, 1.0, 20.0]))


def by_loops(y, pattern, radius, kind, synthetic=None):
    values = y if synthetic is None else synthetic
    risks = []
    for i in range(len(y)):
        rho = radius * abs(y[i]) if kind == "percentage" else radius

        def outside(value, i=i, rho=rho):
            return value < y[i] - rho or value > y[i] + rho

        same = [h for h in range(len(y)) if pattern[h] == pattern[i]]
        share = sum(outside(values[h]) for h in same) / len(same)
        risks.append(share if synthetic is None or not outside(values[i]) else 0.0)
    return risks


@pytest.mark.parametrize(
    ("outside", "own_is_close", "risk"),
    [(10, True, 10 / 13), (5, True, 5 / 13), (5, False, 0.0), (10, False, 0.0)],
)
def test_betty_of_the_supplement(outside, own_is_close, risk):
    """Section 2 of the supplement: |M| = 13; 10, 5, 5 and 10 outside; T = 1, 1, 0 and 0."""
    far, close = [200.0] * outside, [100.0] * (13 - outside)
    synthetic = [*close, *far] if own_is_close else [*far, *close]
    others = [55.0, 66.0]  # of another pattern, who do not count
    known = ["p"] * 13 + ["q"] * 2
    found = identification_risk([100.0] * 13 + others, [synthetic + others], known=known)
    assert found[0] == risk


@given(tables, reaches)
@few
def test_against_a_double_loop(table, reach):
    y, pattern, synthetic = table
    kind, radius = reach
    options = {"radius": radius, "radius_kind": kind, "known": pattern}
    assert identification_risk(y, **options).tolist() == by_loops(y, pattern, radius, kind)
    found = identification_risk(y, [synthetic, y], **options)
    first = by_loops(y, pattern, radius, kind, synthetic)
    second = by_loops(y, pattern, radius, kind)
    np.testing.assert_allclose(found, np.add(first, second) / 2, rtol=1e-15)


@given(
    st.integers(1, 10).flatmap(
        lambda n: st.lists(
            st.lists(st.sampled_from(["a", "b", "a b"]), min_size=n, max_size=n)
            | st.lists(st.sampled_from([0.0, -0.0, 1.5, 1e300]), min_size=n, max_size=n)
            | st.lists(st.sampled_from(["x", 1, 2.5, ("y",)]), min_size=n, max_size=n),
            min_size=1,
            max_size=3,
        )
    )
)
@few
def test_patterns_against_pairs(columns):
    n = len(columns[0])
    known = {}
    for number, column in enumerate(columns):
        known[f"k{number}"] = np.empty(n, dtype=object)
        known[f"k{number}"][:] = column
    for given_as in (known, list(known.values())):
        codes = pattern_codes(given_as, n)
        for i in range(n):
            for j in range(n):
                same = all(column[i] == column[j] for column in columns)
                assert (codes[i] == codes[j]) == same
    assert pattern_codes(None, n).tolist() == [0] * n


@given(tables, st.integers(1, 3))
@few
def test_datasets_keep_their_records(table, datasets):
    y, _, synthetic = table
    rows = np.array(y)[:, None]
    found = paired_outcomes(rows, [synthetic] * datasets)
    assert [values.tolist() for values in found] == [[[v] for v in synthetic]] * datasets
    with pytest.raises(InputError):
        paired_outcomes(rows, [synthetic, [*synthetic, 1.0]])


def test_patterns_of_several_columns():
    one, two = ["a", "b", "a", "a"], [1, 1, 2, 1]
    truth = np.array([0, 1, 2, 0])
    for known in (
        [one, two],
        (pd.Series(one, index=[5, 5, 5, 6]), pl.Series(two)),
        pd.DataFrame({"one": one, "two": two}, index=[1, 1, 2, 0]),
        pl.DataFrame({"one": one, "two": two}),
        np.column_stack([[0, 1, 0, 0], two]),
    ):
        codes = pattern_codes(known, 4)
        same = codes[:, None] == codes[None, :]
        assert (same == (truth[:, None] == truth[None, :])).all()
    mixed = pattern_codes(np.array(["1", 1, "1", 2], dtype=object), 4)
    assert mixed[0] == mixed[2]
    assert len(set(mixed)) == 3
