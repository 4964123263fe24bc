"""Scales of a continuous outcome: there and back, what they take, what they say of units."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyvws.errors import ConvergenceError, InputError
from pyvws.models._outcome_scale import (
    OUTCOME_SCALES,
    check_scale,
    decode,
    encode,
    known_scale,
    scale_caveats,
)
from pyvws.statement.words import caveat


def test_three_records_by_hand():
    y = np.array([np.e**2, 1.0, np.e - 1.0])
    assert encode(y, "identity").tolist() == y.tolist()
    np.testing.assert_allclose(encode(y, "log")[:2], [2.0, 0.0], rtol=1e-15)
    np.testing.assert_allclose(encode(-y, "signed-log")[1:], [-np.log(2.0), -1.0], rtol=1e-15)
    assert encode(np.zeros(1), "signed-log").tolist() == [0.0]


@given(st.sampled_from(OUTCOME_SCALES), st.floats(-1e12, 1e12, allow_subnormal=False))
def test_decode_undoes_encode(scale, value):
    y = np.array([abs(value) + 1e-9 if scale == "log" else value])
    # A rounding of the logarithm, of size up to 28, is passed on as a share of y.
    assert decode(encode(y, scale), scale)[0] == pytest.approx(y[0], rel=2e-14)


@given(st.sampled_from(OUTCOME_SCALES), st.floats(0.1, 1e6), st.floats(1.001, 10.0))
def test_order_is_kept(scale, value, ratio):
    low, high = encode(np.array([value, value * ratio]), scale)
    assert low < high


def test_the_logarithm_needs_values_above_zero():
    y = np.array([3.0, 0.0, -1.0])
    check_scale(y, "income", "identity", "normal")
    check_scale(y, "income", "signed-log", "normal")
    check_scale(y[:1], "income", "log", "normal")
    with pytest.raises(InputError) as caught:
        check_scale(y, "income", "log", "normal")
    assert str(caught.value) == (
        "Column 'income' has 2 values that are not above 0; normal with outcome scale log needs "
        "them above 0. Make 0 a point of mass in a schema (mass = [0]); for negative amounts use "
        "--outcome-scale identity (outcome_scale='identity' in Python)."
    )


def test_names():
    assert known_scale("signed_log") == "signed-log"
    with pytest.raises(InputError) as caught:
        known_scale("sqrt")
    assert str(caught.value) == (
        "outcome_scale must be one of identity, log, signed-log. Got 'sqrt'."
    )


@pytest.mark.parametrize("scale", ["log", "signed-log"])
def test_an_outcome_beyond_any_number_is_an_error(scale):
    with pytest.raises(ConvergenceError, match="predicts outcomes beyond any number"):
        decode(np.array([1.0, 800.0]), scale)


def test_only_the_logarithm_is_free_of_the_unit():
    said = {scale: [caveat(of) for of in scale_caveats(scale)] for scale in OUTCOME_SCALES}
    free = {scale: "does not depend" in said[scale][0] for scale in OUTCOME_SCALES}
    assert free == {"identity": False, "log": True, "signed-log": False}
    assert all("no upper limit" in said[scale][1] for scale in OUTCOME_SCALES)
