"""Checked arguments: what passes, and the key and fields of each refusal."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused

import pyvws as vws
from pyvws import InputError, PyvwsError, SamplerSettings
from pyvws._base import checks as _checks
from pyvws.mechanisms.registry import make_mechanism
from pyvws.models.registry import find_model


def test_positions_count_from_one_and_shorten():
    def said(*rows: int) -> str:
        bad = np.zeros(20, dtype=bool)
        bad[list(rows)] = True
        return _checks.positions(bad)

    assert said(4) == "1 (row 5)"
    assert said(0, 1) == "2 (rows 1 and 2)"
    assert said(1, 6, 8) == "3 (rows 2, 7 and 9)"
    assert said(*range(5)) == "5 (rows 1, 2, 3, 4 and 5)"
    assert said(*range(19)) == "19 (first rows 1, 2, 3, 4, 5)"


def test_values_pass_through_as_floats():
    for column in ([1, 2], (1, 2), pd.Series([1, 2], index=[5, 5]), pl.Series([1, 2])):
        checked = _checks.weight_vector(np.asarray(column) / 2)
        assert checked.dtype == np.float64
        assert checked.tolist() == [0.5, 1.0]
        assert _checks.vector(column, "x").tolist() == [1.0, 2.0]
    assert _checks.vector([1, None], "x")[0] == 1.0  # missing values are for finite_vector to see
    assert _checks.log_lik_matrix(pl.DataFrame({"a": [5, 2], "b": [3, 4]})).tolist() == [
        [5.0, 3.0],
        [2.0, 4.0],
    ]
    assert _checks.log_lik_matrix([[-math.inf]]).shape == (1, 1)


def test_edges_of_the_ranges():
    assert _checks.threshold_level(1) == 1.0
    assert _checks.threshold_level(1e-9) == 1e-9
    assert _checks.non_negative(0, "c") == 0.0
    assert _checks.finite_number(-3, "g") == -3.0
    assert _checks.open_unit_interval(0.5, "k") == 0.5
    assert _checks.weight_vector([0, 1]).tolist() == [0.0, 1.0]
    assert _checks.choice("b", "way", ("a", "b")) == "b"


def test_whole_floats_are_whole_numbers():
    """R passes 5 as 5.0."""
    for value in (5, 5.0, np.int64(5), np.float32(5.0)):
        found = _checks.whole_number(value, "datasets", least=1)
        assert (found, type(found)) == (5, int)


def test_every_setting_keeps_the_whole_number_and_not_the_float():
    settings = vws.Synthesizer(
        outcome="y",
        datasets=5.0,
        settings=SamplerSettings(draws=400.0, warmup=100.0, chains=2.0),
        mechanism="lw",
    )
    kept = [settings.datasets]
    kept += [settings.settings.draws, settings.settings.warmup, settings.settings.chains]
    assert kept == [5, 400, 100, 2]
    assert {type(value) for value in kept} == {int}
    bins = make_mechanism("perturbed-histogram", epsilon=5.0, range=(0.0, 1.0), bins=7.0).bins
    assert type(bins) is int
    assert type(find_model("normal-mixture", components=3.0).components) is int
    for draws in ("rnorm", "rexp"):
        assert len(getattr(vws.RRandom(1.0), draws)(3.0)) == 3
    assert vws.RRandom(1.0).rpois(3.0, 5).tolist() == vws.RRandom(1).rpois(3, 5).tolist()
    assert vws.RRandom(1.0).rmultinom(2.0, 4.0, [0.5, 0.5]).shape == (2, 2)
    assert len(vws.RRandom(1.0).sample_int(5.0, 2.0)) == 2


MESSAGES = [
    (lambda: _checks.vector([[1.0]], "x"), refused("not-a-vector", name="x")),
    (lambda: _checks.vector(5, "x"), refused("not-a-vector", name="x")),
    (
        lambda: _checks.vector(["12000 euro"], "income"),
        refused("values-not-numeric", name="income"),
    ),
    (
        lambda: _checks.finite_vector([1, None, math.inf, 4], "y"),
        refused("values-missing-or-infinite", name="y"),
    ),
    (
        lambda: _checks.weight_vector([0.5, -0.25, 1.5]),
        refused("outside-0-to-1", name="weights", bad="2 (rows 2 and 3)"),
    ),
    (
        lambda: _checks.same_length(np.ones(2), np.ones(3), ("weights", "by_record")),
        refused("unequal-lengths", names="weights", names2="by_record"),
    ),
    (lambda: _checks.log_lik_matrix([1.0, 2.0]), refused("log-lik-shape")),
    (lambda: _checks.log_lik_matrix(np.empty((0, 3))), refused("log-lik-shape")),
    (lambda: _checks.log_lik_matrix([[1.0], [1.0, 2.0]]), refused("log-lik-not-numeric")),
    (lambda: _checks.positive(0, "radius"), refused("not-above-0", name="radius")),
    (
        lambda: _checks.positive("wide", "radius"),
        refused("not-a-number", name="radius", value="'wide'"),
    ),
    (
        lambda: _checks.positive(None, "radius"),
        refused("not-a-number", name="radius", value="None"),
    ),
    (lambda: _checks.positive(math.nan, "radius"), refused("not-finite", name="radius")),
    (lambda: _checks.non_negative(-0.5, "c"), refused("negative-number", name="c", number=-0.5)),
    (lambda: _checks.finite_number(math.inf, "g"), refused("not-finite", name="g")),
    (lambda: _checks.open_unit_interval(1, "k"), refused("not-strictly-between-0-and-1", name="k")),
    (lambda: _checks.threshold_level(0), refused("threshold-range")),
    (lambda: _checks.threshold_level(1.5), refused("threshold-range", number=1.5)),
    *(
        (
            lambda bad=bad: _checks.whole_number(bad, "seed", least=0),
            refused("not-a-whole-number", name="seed", least=0),
        )
        for bad, said in (
            *((1.5, "1.5"), (math.nan, "nan"), (math.inf, "inf"), (True, "True"), (-1.0, "-1")),
            *(("1", "'1'"), (None, "None")),
        )
    ),
    (
        lambda: _checks.choice("c", "way", ("a", "b")),
        refused("not-a-choice", name="way", value="'c'"),
    ),
]


@pytest.mark.parametrize(("call", "refusal"), MESSAGES)
def test_messages(call, refusal):
    with refusal as caught:
        call()
    assert isinstance(caught.value, PyvwsError)
    assert isinstance(caught.value, ValueError)
    assert caught.value.__cause__ is None


def test_input_is_left_unchanged():
    values = np.array([0.25, 0.5])
    values.flags.writeable = False
    _checks.weight_vector(values)
    _checks.finite_vector(values, "y")
    assert values.tolist() == [0.25, 0.5]


@pytest.mark.parametrize("kind", [np.array, pd.Series, pl.Series])
def test_data_in_the_place_of_a_setting_is_not_shown(kind):
    data = kind([86_753_098.0, 3.0])
    calls = [
        lambda: _checks.positive(data, "target"),
        lambda: _checks.whole_number(data, "n", least=1),
        lambda: vws.censored_share([[1.0, 2.0]], epsilon=data),
        lambda: find_model("ordinal", levels=kind([86_753_098.5, 3.0])),
        lambda: find_model("beta", range=data),
    ]
    for call in calls:
        with pytest.raises(
            InputError, match=f"Got a value of type {type(data).__name__}"
        ) as caught:
            call()
        assert "86" not in str(caught.value)
