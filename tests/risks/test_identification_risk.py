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


def test_three_records_by_hand():
    y = [100.0, 120.0, 400.0]
    # Balls of 20 %: [80, 120], [96, 144], [320, 480]; the ends count as inside.
    assert identification_risk(y).tolist() == [1 / 3, 1 / 3, 2 / 3]
    assert identification_risk(y, radius=19.0, radius_kind="absolute").tolist() == [2 / 3] * 3
    assert identification_risk(y, known=["a", "a", "b"]).tolist() == [0.0, 0.0, 0.0]
    assert identification_risk(y, known=["a", "b", "a"]).tolist() == [0.5, 0.0, 0.5]
    # Record 1 left its ball, 2 stayed with a third inside, 3 stayed alone.
    assert identification_risk(y, [[121.0, 100.0, 330.0]]).tolist() == [0.0, 1 / 3, 2 / 3]
    # Each at an end of its ball, the others outside.
    assert identification_risk(y, [[80.0, 144.0, 480.0]]).tolist() == [2 / 3] * 3
    assert identification_risk(y, [[80.0, 144.0, 320.0]]).tolist() == [2 / 3] * 3


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


@given(tables, st.sampled_from([2.0**960, 2.0**-960, -1.0]))
@few
def test_any_magnitude_has_the_same_risk(table, unit):
    y, pattern, synthetic = (np.array(column) for column in table)
    for radius in (0.25, 20.0):
        found = identification_risk(y * unit, [synthetic * unit], radius=radius, known=pattern)
        assert (found == identification_risk(y, [synthetic], radius=radius, known=pattern)).all()


@given(tables, st.integers(1, 3))
@few
def test_datasets_keep_their_records(table, datasets):
    y, _, synthetic = table
    rows = np.array(y)[:, None]
    found = paired_outcomes(rows, [synthetic] * datasets)
    assert [values.tolist() for values in found] == [[[v] for v in synthetic]] * datasets
    with pytest.raises(InputError):
        paired_outcomes(rows, [synthetic, [*synthetic, 1.0]])


@given(tables, reaches, st.integers(0, 2**32 - 1))
@few
def test_order_units_and_radius(table, reach, seed):
    y, pattern = np.array(table[0]), np.array(table[1])
    kind, radius = reach
    options = {"radius": radius, "radius_kind": kind}
    found = identification_risk(y, known=pattern, **options)
    order = np.random.default_rng(seed).permutation(len(y))
    moved = identification_risk(y[order], known=pattern[order], **options)
    assert (moved == found[order]).all()
    wider = {**options, "radius": 2 * radius}
    assert (identification_risk(y, known=pattern, **wider) <= found).all()
    if kind == "percentage":
        assert (identification_risk(4.0 * y, known=pattern, **options) == found).all()
        assert (identification_risk(-y, known=pattern, **options) == found).all()
    else:
        assert (identification_risk(y + 64.0, known=pattern, **options) == found).all()
    twice = identification_risk(np.tile(y, 2), known=np.tile(pattern, 2), **options)
    assert (twice == np.tile(found, 2)).all()
    assert ((found >= 0) & (found < 1)).all()  # a record is inside its own ball


def test_special_cases_collapse():
    y = np.random.default_rng(5).normal(50, 20, 40)
    assert (identification_risk(y, radius=1e6, radius_kind="fixed") == 0).all()
    assert (identification_risk(y, known=np.arange(40)) == 0).all()
    assert (identification_risk(y, [y, y]) == identification_risk(y)).all()
    assert (
        identification_risk(y, radius=3, radius_kind="fixed")
        == identification_risk(y, radius=3, radius_kind="absolute")
    ).all()


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
