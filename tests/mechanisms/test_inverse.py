"""The inverse map: weights by a record's own bound and a public t, and what it refuses."""

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_runs import MAXIMA, labels, run

import pyvws as vws
from pyvws import InputError, InverseWeighted
from pyvws.mechanisms.registry import make_mechanism
from pyvws.weights.weights import inverse_weights, scaled_bounds

few = settings(max_examples=60, derandomize=True)
a_bound = st.just(0.0) | st.floats(5e-324, 1e300) | st.just(math.inf)
bounds_lists = st.lists(a_bound, min_size=1, max_size=12).filter(lambda own: min(own) < math.inf)
above_0 = st.floats(1e-3, 1e3)


@pytest.mark.quick
@given(bounds_lists, above_0, st.sampled_from([0.5, 1.0, 2.0]) | above_0)
@few
def test_against_a_loop_and_no_other_record_counts(
    bounds: list[float], t: float, power: float
) -> None:
    found = inverse_weights(bounds, t=t, power=power)
    by_hand = [min(1.0, t / bound) if bound else 1.0 for bound in bounds]
    assert found == pytest.approx([weight**power for weight in by_hand], rel=1e-12)
    assert ((found >= 0) & (found <= 1)).all()
    assert (np.diff(found[np.argsort(bounds, kind="stable")]) <= 0).all()
    for more in (0.0, 2.0 * t, math.inf):  # One record more moves no other's weight.
        assert inverse_weights([*bounds, more], t=t, power=power)[:-1].tolist() == found.tolist()
    if power == 1.0:
        kept = found > 0
        assert (found[kept] * np.array(bounds)[kept] <= t * (1 + 2.0**-51)).all()


@pytest.mark.quick
@pytest.mark.parametrize(
    ("key", "call"),
    [
        *(
            ("by-record-values", lambda bad=bad: inverse_weights([1.0, bad], t=1.0))
            for bad in (-1.0, math.nan, -math.inf)
        ),
        ("no-finite-record", lambda: inverse_weights([math.inf], t=1.0)),
        *(("not-above-0", lambda bad=bad: InverseWeighted(t=bad)) for bad in (0.0, -2.0)),
        ("not-above-0", lambda: InverseWeighted(t=1.0, power=0.0)),
        ("not-finite", lambda: inverse_weights([1.0], t=math.inf)),
        ("not-finite", lambda: InverseWeighted(t=math.nan)),
        ("t-or-search-t", lambda: InverseWeighted()),
        ("t-or-search-t", lambda: InverseWeighted(t=1.0, search_t=True)),
        ("match-of-public-constant", lambda: make_mechanism("inverse", t=1.0, match="lw")),
    ],
)
def test_what_is_refused_by_key(key: str, call: Any) -> None:
    with pytest.raises(InputError) as refused:
        call()
    assert refused.value.key == key


@pytest.mark.quick
@pytest.mark.parametrize(
    ("key", "given"),
    [("target-of-public-constant", {"t": 1.0}), ("search-without-target", {"search_t": True})],
)
def test_no_target_decides_a_public_t(key: str, given: Any) -> None:
    own: Any = {"mechanism": InverseWeighted(**given), "epsilon": 4.0, "downscale": True}
    with pytest.raises(InputError) as refused:
        vws.Synthesizer(outcome="y", model="poisson", **own)
    assert refused.value.key == key


@pytest.mark.runs
@pytest.mark.parametrize("power", [1.0, 0.5])
def test_one_fit_at_the_public_t(power: float) -> None:
    maxima = np.array([2.0, 3.0, 3.0, 6.0, np.inf, 10.0])
    made, loop = run(InverseWeighted(t=3.0, power=power), maxima=maxima, growth=0.1)
    assert labels(loop) == ["unweighted", "Inverse"]
    expected = [min(1.0, 3.0 / bound) ** power for bound in maxima]
    assert made.fit.weights.tolist() == pytest.approx(expected, rel=1e-15)
    assert made.risk.tolist() == scaled_bounds(maxima).tolist()
    assert (made.constants, made.clamp) == ({}, None)
    assert made.fit.bounds.epsilon > 6.0  # Of the refit, so it is stated and not t's.


@pytest.mark.runs
def test_records_of_one_bound_have_one_weight() -> None:
    """LW has no scale there, and gives weights 1 and 0 where the bounds hardly differ."""
    alike, _ = run(InverseWeighted(t=1.5), maxima=np.full(6, 3.0))
    assert alike.fit.weights.tolist() == [0.5] * 6
    nearly, _ = run(InverseWeighted(t=1.5), maxima=np.array([3.0, 3.0, 3.0, 3.0, 3.0, 3.003]))
    assert np.ptp(nearly.fit.weights) < 0.001


@pytest.mark.runs
def test_a_searched_t_meets_its_epsilon_from_below_and_follows_the_table() -> None:
    mechanism, epsilon = InverseWeighted(search_t=True, power=0.5), 5.0
    made, _ = run(mechanism, growth=0.008, epsilon=epsilon)
    assert 0.95 * epsilon <= made.fit.bounds.epsilon <= epsilon
    assert made.fit.confirmed
    t = made.constants["t"]
    expected = inverse_weights(MAXIMA, t=t, power=0.5)
    np.testing.assert_array_equal(made.fit.weights, expected)
    far = np.array([*MAXIMA[:-1], 1000.0])  # One record has another bound.
    moved, _ = run(mechanism, maxima=far, epsilon=epsilon)
    assert moved.constants["t"] < 0.1 * t
    assert (moved.fit.weights[:-1] < 0.5 * made.fit.weights[:-1]).all()
    with pytest.raises(InputError) as refused:
        run(mechanism, epsilon=20.0)
    assert refused.value.key == "match-above-unweighted"


@pytest.mark.quick
def test_the_caveats_say_what_t_is() -> None:
    public, searched = InverseWeighted(t=2.0).facts, InverseWeighted(search_t=True).facts
    assert [one.key for one in public.caveats] == ["inverse-map", "public-t"]
    assert [one.key for one in searched.caveats] == ["inverse-map", "searched-t"]
    assert (public.takes_target, searched.takes_target) == (False, True)
