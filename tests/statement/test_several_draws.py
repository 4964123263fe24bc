"""Several draws of one strict fit: their cost is that of the worst mechanism of bounded range."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from statements import OF_A_CLAMP, statement

from pyvws import Synthesizer, epsilon_per_draw, total_epsilon
from pyvws.statement.several_draws import deltas_at, largest_delta
from pyvws.synthesis.settings_by_name import arranged

widths = st.floats(0.01, 6)
deltas = st.floats(1e-9, 0.2)


def delta_by_enumeration(t: float, total: float, width: float, m: int) -> float:
    """All outcomes of m draws, one after the other."""
    high = (1 - math.exp(t - width)) / (1 - math.exp(-width))
    points = ((high, t), (1 - high, t - width))
    shares = []
    for outcome in itertools.product(points, repeat=m):
        probability = math.prod(share for share, _ in outcome)
        loss = sum(ratio for _, ratio in outcome)
        shares.append(probability * max(0.0, 1 - math.exp(total - loss)))
    return sum(shares)


@given(widths, st.integers(1, 6), st.floats(0.001, 0.999), st.floats(0, 1))
def test_deltas_against_enumeration(width, m, place, share):
    total = share * m * width
    (found,) = deltas_at(np.array([place * width]), total, width, m)
    expected = delta_by_enumeration(place * width, total, width, m)
    assert found == pytest.approx(expected, rel=1e-9, abs=1e-13)


@given(widths, st.integers(1, 12), st.floats(0.01, 0.99))
def test_no_place_of_a_grid_has_a_larger_delta(width, m, share):
    """A grid understates: the closed form is above all its places."""
    total = share * m * width
    places = np.linspace(0, width, 203)[1:-1]
    on_a_grid = deltas_at(places, total, width, m).max()
    assert on_a_grid <= largest_delta(total, width, m) + 1e-15
    few = deltas_at(places[::40], total, width, m).max()
    assert few < largest_delta(total, width, m)


@given(widths, st.integers(1, 6), deltas, st.floats(0.001, 0.999))
def test_no_two_point_mechanism_loses_more(width, m, delta, place):
    total = total_epsilon(width, m, delta=delta)
    assert 0 <= total <= m * width
    assert delta_by_enumeration(place * width, total, width, m) <= delta * (1 + 1e-6)


@given(widths, st.integers(1, 5), deltas)
def test_some_two_point_mechanism_loses_as_much(width, m, delta):
    total = total_epsilon(width, m, delta=delta)
    if total == 0:
        return
    less = total - 1e-6 * width
    places = (less + np.arange(1, m + 2) * width) / (m + 1)
    worst = max(delta_by_enumeration(t, less, width, m) for t in places if t < width)
    assert worst > delta * (1 - 1e-4)


@given(widths, st.integers(1, 8), st.floats(0, 0.2))
def test_a_draws_epsilon_spends_the_total_and_no_more(total, m, delta):
    each = epsilon_per_draw(total, m, delta=delta)
    assert each >= total / m * (1 - 1e-12)
    assert total_epsilon(each, m, delta=delta) <= total * (1 + 1e-12)
    assert total_epsilon(each * (1 + 1e-6), m, delta=delta) > total * (1 - 1e-9)


@given(widths, st.integers(1, 30), deltas)
def test_more_draws_cost_more_and_a_larger_delta_less(width, m, delta):
    total = total_epsilon(width, m, delta=delta)
    assert total_epsilon(width, m + 1, delta=delta) >= total * (1 - 1e-6)
    assert total_epsilon(width, m, delta=2 * delta) <= total
    assert total_epsilon(width, m) == m * width


def test_figures_of_twenty_draws():
    found = [total_epsilon(width, 20, delta=1e-6) for width in (0.1, 0.5, 1, 2)]
    assert found == pytest.approx([0.926, 5.393, 12.021, 27.782], abs=5e-4)


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        ((0, 2, 0.1), "not-above-0"),
        ((1, 0, 0.1), "not-a-whole-number"),
        ((1, 2, 1), "not-strictly-between-0-and-1"),
        ((1, 2, -0.1), "not-strictly-between-0-and-1"),
    ],
)
def test_bad_input(arguments, key):
    epsilon, draws, delta = arguments
    with refused(key):
        total_epsilon(epsilon, draws, delta=delta)


def strict(**changes):
    return statement(**OF_A_CLAMP | changes)


def test_a_strict_statement_has_the_total_by_delta_and_no_other_has():
    released = strict().released()
    assert released["epsilon_total_by_delta"]["1e-06"] == 5.4
    replaced = released["epsilon_by_neighbours"]["replace-one"]
    assert replaced["total_by_delta"]["1e-06"] == pytest.approx(12.1)
    assert replaced["total_zcdp"] == 20 / 8
    assert strict(delta=1e-5).released()["epsilon_total_by_delta"].keys() == {
        *("1e-05", "1e-06", "1e-09")
    }
    named = 1.2345649e-6  # No shorter number stands for it: a smaller delta has a larger total.
    assert [float(at) for at in strict(delta=named).released()["epsilon_total_by_delta"]] == [
        *(named, 1e-6, 1e-9)
    ]
    for other in ({"data_weights": True}, {"enforced": False}, {"compared": True}):
        assert "epsilon_total_by_delta" not in strict(**other).released()


def test_a_stage_and_a_noisy_number_are_added_and_are_no_draws():
    alone, more = strict().exact(), strict(stage_epsilon=2.0, records_epsilon=0.5, records="noisy")
    for delta, total in alone["epsilon_total_by_delta"].items():
        assert more.exact()["epsilon_total_by_delta"][delta] == pytest.approx(total + 2.5)
    assert more.exact()["epsilon_by_neighbours"]["leave-one-out"]["total_zcdp"] == pytest.approx(
        20 * 0.25 / 8 + 4.0 / 8 + 0.25 / 2
    )


def test_a_total_sets_what_a_draw_costs():
    run = {"outcome": "y", "model": "poisson", "mechanism": "censored", "weights": "none"}
    made = Synthesizer(**arranged({**run, "total_epsilon": 6.0, "delta": 1e-6, "datasets": 8}))
    each = made.mechanism.epsilon
    assert each == epsilon_per_draw(6.0, 8, delta=1e-6)
    assert total_epsilon(each, 8, delta=1e-6) <= 6.0
    shared = {"total_epsilon": 6.0, "datasets": 8, "draws_per_release": 2}
    assert Synthesizer(**arranged({**run, **shared})).mechanism.epsilon == 3.0
    noisy = {"records": "noisy", "records_epsilon": 1.0}
    assert Synthesizer(**arranged({**run, **shared, **noisy})).mechanism.epsilon == 2.5
    again = {**run, "total_epsilon": 6.0, "delta": 1e-6, "datasets": 8, "epsilon": each}
    assert Synthesizer(**arranged(again)).mechanism.epsilon == each


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"mechanism": "lw"}, "total-epsilon-not-strict"),
        ({"mechanism": "unweighted"}, "total-epsilon-not-strict"),
        ({"mechanism": "lw", "epsilon": 2.0}, "total-epsilon-not-strict"),
        ({"mechanism": "sw", "match": 2.0}, "total-epsilon-not-strict"),
        (
            {"mechanism": "censored", "weights": "none", "compared": True},
            "total-epsilon-not-strict",
        ),
        (
            {"mechanism": "censored", "weights": "none", "downscale": True},
            "total-epsilon-not-strict",
        ),
        (
            {"mechanism": "censored", "weights": "none", "model": "ordinal"},
            "total-epsilon-not-strict",
        ),
        (
            {"mechanism": "censored", "weights": "none", "accept_unconverged": True},
            "total-epsilon-not-strict",
        ),
        ({"mechanism": "censored", "weights": "lw"}, "total-epsilon-not-strict"),
        ({"mechanism": "censored", "weights": "none", "epsilon": 2.0}, "epsilon-and-total"),
        (
            {"mechanism": "censored", "weights": "staged", "stage_epsilon": 7.0},
            "stage-and-rows-above-epsilon",
        ),
    ],
)
def test_a_total_without_draws_to_pay_is_refused(given, key):
    with refused(key):
        Synthesizer(**arranged({"outcome": "y", "total_epsilon": 6.0, **given}))
