"""Scales of a continuous outcome: there and back, what they take, what they say of units."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused

import pyvws as vws
from pyvws.errors import ConvergenceError
from pyvws.models._outcome_scale import OUTCOME_SCALES, OutcomeScale
from pyvws.statement.words import caveat

NUMBERS = st.floats(-1e6, 1e6, allow_subnormal=False)
UNITS = st.floats(1e-3, 1e6)


@given(
    st.sampled_from(OUTCOME_SCALES), st.floats(-1e12, 1e12, allow_subnormal=False), NUMBERS, UNITS
)
def test_decode_undoes_encode(name, value, centre, unit):
    scale = OutcomeScale(name, centre, unit)
    y = np.array([centre + abs(value) + 1e-3 if name == "log" else value])
    # A rounding of the logarithm, of size up to 35, is passed on as a share of y - centre.
    room = 2e-14 * (abs(y[0]) + 2 * abs(centre))
    assert scale.decode(scale.encode(y))[0] == pytest.approx(y[0], rel=0.0, abs=room)


@given(st.sampled_from(OUTCOME_SCALES), st.floats(0.1, 1e6), st.floats(1.001, 10.0))
def test_order_is_kept(scale, value, ratio):
    low, high = OutcomeScale(scale).encode(np.array([value, value * ratio]))
    assert low < high


def test_the_logarithm_needs_values_above_zero():
    y = np.array([3.0, 0.0, -1.0])
    OutcomeScale().check(y, "income", "normal")
    OutcomeScale("signed-log").check(y, "income", "normal")
    OutcomeScale("log").check(y[:1], "income", "normal")
    OutcomeScale("log", -1.5).check(y, "income", "normal")
    with refused("log-values-too-low", column="income", too_low=2):
        OutcomeScale("log").check(y, "income", "normal")
    with refused("log-values-too-low", too_low=3, least="outcome_centre = 3"):
        OutcomeScale("log", 3.0).check(y, "income", "normal")
    with refused("values-beyond-units", column="income", too_large=1):
        OutcomeScale("identity", 0.0, 1e-300).check(np.array([1.0, 1e200]), "income", "normal")


def test_names():
    assert OutcomeScale("signed_log").name == "signed-log"
    with refused("not-a-choice", name="outcome_scale", value="'sqrt'"):
        OutcomeScale("sqrt")


@pytest.mark.parametrize("scale", ["log", "signed-log"])
def test_an_outcome_beyond_any_number_is_an_error(scale):
    with pytest.raises(ConvergenceError, match="predicts outcomes beyond any number"):
        OutcomeScale(scale).decode(np.array([1.0, 800.0]))


def test_only_the_priors_of_the_logarithm_see_the_unit():
    said = {scale: [caveat(of) for of in OutcomeScale(scale).caveats] for scale in OUTCOME_SCALES}
    priors = {scale: "through the priors alone" in said[scale][0] for scale in OUTCOME_SCALES}
    assert priors == {"identity": False, "log": True, "signed-log": False}
    assert all("no upper limit" in said[scale][1] for scale in OUTCOME_SCALES)


def test_the_statement_names_a_centre_and_a_unit():
    said = [caveat(of) for of in OutcomeScale("identity", 40.0, 2.5).caveats]
    assert len(said) == 3
    assert "outcome_centre and outcome_unit" in said[1]


@pytest.mark.parametrize("model", ["normal", "truncated-normal", "normal-mixture"])
@pytest.mark.parametrize(
    ("settings", "refusal"),
    [
        ({"outcome_unit": 0.0}, refused("not-above-0")),
        ({"outcome_unit": float("nan")}, refused("not-finite", name="outcome_unit")),
        ({"outcome_centre": float("inf")}, refused("not-finite", name="outcome_centre")),
    ],
)
def test_what_is_no_centre_and_no_unit(model, settings, refusal):
    with refusal:
        vws.synthesize(
            pd.DataFrame({"y": [1.0, 2.0]}), outcome="y", model=model, mechanism="lw", **settings
        )


@pytest.mark.runs
@pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("normal", {}),
        ("truncated-normal", {"range": (0.0, 4.0)}),
        ("normal-mixture", {"labels": "prior", "components": 2}),
    ],
)
def test_a_centre_and_a_unit_are_an_outcome_in_that_unit(model, settings):
    """The run equals, bit for bit, that on (y - 16) / 8: weights, bound, draws and datasets."""
    rng = np.random.default_rng(4)
    x = np.round(64 * np.clip(rng.normal(2.0, 0.6, 80), 0.1, 3.9)) / 64  # 16 + 8 x is exact.
    table = pd.DataFrame({"x": x, "g": rng.choice(["a", "b"], 80)})
    whole = table.assign(x=16.0 + 8.0 * x)
    quick = {"draws": 40, "warmup": 100, "chains": 2, "datasets": 2, "seed": 5}

    def run(frame, **own):
        return vws.synthesize(
            frame,
            outcome="x",
            formula="~ g",
            mechanism="lw",
            model=model,
            **{**settings, **own},
            **quick,
        )

    plain = run(table)
    moved = {"outcome_centre": 16.0, "outcome_unit": 8.0}
    if "range" in settings:
        moved["range"] = (16.0, 48.0)
    other = run(whole, **moved)
    assert other.privacy["lipschitz_bound"] == plain.privacy["lipschitz_bound"]
    for one, two in zip(plain.datasets, other.datasets, strict=True):
        np.testing.assert_allclose(two["x"], 16.0 + 8.0 * one["x"], rtol=1e-14)
    said = "outcome_centre and outcome_unit"
    assert [said in " ".join(run.privacy["caveats"]) for run in (plain, other)] == [False, True]
    stated = other.privacy["relies_on"]["public_settings"]
    assert (stated["outcome_centre"], stated["outcome_unit"]) == (16.0, 8.0)
