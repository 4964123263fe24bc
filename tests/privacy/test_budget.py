"""The budget of noisy counts: computed losses against sums over the noise itself."""

import math
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pyvws.errors import InputError
from pyvws.privacy import discrete_noise
from pyvws.privacy.budget import Budget, epsilon_of, noise_of, noise_of_lists
from pyvws.privacy.discrete_noise import (
    chosen_delta,
    composed_delta,
    delta_of_rho,
    normal_delta,
    squared_shift,
    told_apart,
)

_SUM = 1e-11  # A direct sum over thousands of outcomes, and the rounding that is added on purpose.
_KEPT = 0.985  # The least share of a claim that a computed loss must reach.


def pmf(sigma: float, reach: int) -> np.ndarray:
    z = np.arange(-reach, reach + 1)
    weight = np.exp(-(z**2) / (2.0 * sigma**2))
    return weight / weight.sum()


def summed_delta(sigmas: list[float], epsilon: float, reach: int = 40) -> float:
    """sum_z max(0, P(z) - exp(epsilon) P'(z)) over all outcomes z of the noisy counts."""
    total = 0.0
    tables = [pmf(sigma, reach) for sigma in sigmas]
    for z in product(range(2 * reach), repeat=len(sigmas)):
        p = math.prod(table[k] for table, k in zip(tables, z, strict=True))
        moved = math.prod(table[k + 1] for table, k in zip(tables, z, strict=True))
        total += max(0.0, moved - math.exp(epsilon) * p)
    return total


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, 3), min_size=1, max_size=2), st.floats(0.05, 2.0), st.floats(0.05, 3.0)
)
def test_composed_delta_is_the_sum_over_the_noise(weights, u, epsilon):
    sigmas = [1.0 / math.sqrt(weight * u) for weight in weights]
    direct = summed_delta(sigmas, epsilon)
    assert composed_delta(u, weights, epsilon) == pytest.approx(direct, abs=_SUM)


@settings(max_examples=20)
@given(
    st.lists(st.integers(1, 20), min_size=1, max_size=40),
    st.floats(1e-6, 1e-4),
    st.floats(0.05, 0.5),
)
def test_normal_noise_costs_hardly_more_than_large_noise_does(weights, u, epsilon) -> None:
    exact = composed_delta(u, weights, epsilon), chosen_delta(u, 8, [weights], epsilon)
    normal = normal_delta(math.sqrt(squared_shift(u * np.array(weights))), epsilon)
    assert exact[0] <= normal + _SUM
    assert told_apart(u, weights, epsilon)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(discrete_noise, "MOST_RING", 2)
        assert not told_apart(u, weights, epsilon)
        near = composed_delta(u, weights, epsilon), chosen_delta(u, 8, [weights], epsilon)
    assert near[0] == normal
    for told, above in zip(exact, near, strict=True):
        assert told - _SUM <= above <= 1.1 * told + _SUM


def test_losses_that_no_machine_tells_apart_are_those_of_normal_noise() -> None:
    many = noise_of(Budget(epsilon=0.01, delta=1e-5), dict.fromkeys(map(str, range(4000)), 1.0))
    assert many.conversion == "normal"
    assert epsilon_of(many.budget, many.scales.values()) == pytest.approx(0.01, rel=1e-3)


@settings(max_examples=20)
@given(st.integers(1, 3), st.lists(st.integers(1, 3), min_size=2, max_size=3), st.floats(0.1, 1.5))
def test_chosen_delta_is_that_of_the_worst_choice_by_the_first_count(first, lists, u):
    """Against a sum over all outcomes of two counts, where the first chooses the second's noise."""
    reach, epsilon = 40, 0.7
    one, *others = (pmf(1.0 / math.sqrt(w * u), reach) for w in (first, *lists))
    total = 0.0
    for p, moved in pairwise(one):
        worst = (moved * own[1:] - math.exp(epsilon) * p * own[:-1] for own in others)
        total += max(float(np.maximum(gap, 0.0).sum()) for gap in worst)
    found = chosen_delta(u, first, [[w] for w in lists], epsilon)
    assert found == pytest.approx(total, abs=1e-9)
    assert found >= max(composed_delta(u, [first, w], epsilon) for w in lists) - _SUM


def test_the_formula_of_a_continuous_gaussian_would_be_too_small():
    """At sigma 1/2 one count costs more than continuous noise: delta .603 and not .510 at 1."""
    assert composed_delta(4.0, [1], 1.0) == pytest.approx(summed_delta([0.5], 1.0), abs=_SUM)
    assert composed_delta(4.0, [1], 1.0) > 0.6


def test_forty_five_counts_of_sigma_25():
    """Nearly continuous noise: epsilon 1 at delta 1e-5, where rho alone says 1.092."""
    u = 1.0 / 25.03**2
    assert composed_delta(u, [1] * 45, 1.0) < 1e-5 < composed_delta(u, [1] * 45, 0.999)
    assert delta_of_rho(45 * u / 2, 1.091) > 1e-5 > delta_of_rho(45 * u / 2, 1.093)


def named(shares):
    return {str(place): share for place, share in enumerate(shares)}


@settings(max_examples=25)
@given(
    st.lists(st.floats(0.1, 10.0), min_size=1, max_size=6),
    st.floats(0.1, 8.0),
    st.sampled_from(["loo", "replace"]),
    st.integers(1, 5),
)
def test_laplace_scales_spend_epsilon_and_no_more(shares, epsilon, neighbours, cap):
    noise = noise_of(Budget(epsilon=epsilon, neighbours=neighbours, cap=cap), named(shares))
    moved = cap * (2 if neighbours == "replace" else 1)
    spent = sum(Fraction(moved) / Fraction(scale) for scale in noise.scales.values())
    assert _KEPT * epsilon <= spent <= Fraction(epsilon)


@pytest.mark.parametrize("shares", [[1], [1, 1], [1, 3], [1, 1, 2]])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-5), (4.0, 1e-6)])
@pytest.mark.parametrize("neighbours", ["loo", "replace"])
def test_gaussian_scales_spend_delta_and_no_more(shares, epsilon, delta, neighbours):
    budget = Budget(epsilon=epsilon, delta=delta, neighbours=neighbours)
    noise = noise_of(budget, named(shares))
    moved, scales = 2 if neighbours == "replace" else 1, np.array([*noise.scales.values()])
    u, weights = scales.max() ** -2.0, shares * moved
    assert scales**-2.0 == pytest.approx(u * np.array(shares), rel=1e-9)
    assert composed_delta(u, weights, epsilon) <= delta + _SUM
    assert composed_delta(u, weights, _KEPT * epsilon) > delta
    assert noise.rho == pytest.approx(0.5 * u * sum(weights))
    assert delta_of_rho(noise.rho, epsilon) >= delta  # The exact conversion needs less noise.
    assert _KEPT * epsilon < epsilon_of(budget, scales) < epsilon * (1 + 1e-4)


def test_a_unit_of_several_records_costs_the_square():
    """Twice the records of a unit want twice the noise: rho is U^2 that of one record."""
    one, two = (noise_of(Budget(epsilon=1, delta=1e-5, cap=cap), named([1, 1])) for cap in (20, 40))
    assert two.scales["1"] == pytest.approx(2.0 * one.scales["1"], rel=1e-3)
    assert one.rho == pytest.approx(20**2 * sum(0.5 / x**2 for x in one.scales.values()), rel=1e-6)


def delta_of_moves(moves: tuple[int, ...], sigma: float, epsilon: float) -> float:
    """sum_z max(0, P(z) - exp(epsilon) P'(z)) of counts that move by whole numbers."""
    here, there = np.ones(1), np.ones(1)
    for move in moves:
        reach = math.ceil(9.0 * sigma) + abs(move)
        weight = pmf(sigma, reach)
        own = weight[abs(move) :], weight[: len(weight) - abs(move)]
        there, here = (
            np.multiply.outer(x, y).ravel() for x, y in zip((there, here), own, strict=True)
        )
    return float(np.maximum(there - math.exp(epsilon) * here, 0.0).sum())


@pytest.mark.parametrize(
    ("neighbours", "cap", "sets", "ways"),
    [
        ("loo", 2, 1, [(2,), (1, 1)]),
        ("loo", 3, 1, [(3,), (2, 1), (1, 1, 1)]),
        ("loo", 2, 2, [(2, 2), (2, 1, 1)]),
        ("replace", 2, 1, [(2, -2), (2, -1, -1), (1, 1, -2)]),
    ],
)
@pytest.mark.parametrize("claim", [(1.5, 1e-3), (4.0, 1e-5), (9.0, 1e-4)])
def test_every_move_of_a_unit_keeps_delta(neighbours, cap, sets, ways, claim):
    """All ways in which a small unit moves counts, by the noise's own probabilities."""
    epsilon, delta = claim
    budget = Budget(epsilon=epsilon, delta=delta, neighbours=neighbours, cap=cap)
    noise = noise_of(budget, named([1] * sets))
    sigma = noise.scales["0"]
    worst = max(delta_of_moves(moves, sigma, epsilon) for moves in ways)
    assert worst <= delta
    assert max(delta_of_moves(moves, 0.8 * sigma, epsilon) for moves in ways) > delta


@pytest.mark.parametrize(("epsilon", "conversion"), [(1.0, "normal"), (20.0, "zcdp")])
def test_units_take_the_conversion_that_needs_less_noise(epsilon, conversion):
    budget = Budget(epsilon=epsilon, delta=1e-5, cap=2)
    noise = noise_of(budget, named([1]))
    assert noise.conversion == conversion
    assert epsilon_of(budget, noise.scales.values()) == pytest.approx(epsilon, rel=1e-4)
    spent = delta_of_rho(noise.rho, epsilon)
    assert spent > 2e-5 if conversion == "normal" else spent <= 1e-5


@given(st.floats(0.001, 2.0), st.floats(0.1, 5.0))
def test_delta_of_rho_covers_the_gaussian_itself(rho, epsilon):
    assert delta_of_rho(rho, epsilon) >= composed_delta(2.0 * rho, [1], epsilon) - _SUM


@pytest.mark.parametrize(
    "wrong", [{"epsilon": 0}, {"delta": 1e-12}, {"delta": 1.0}, {"neighbours": "both"}, {"cap": 0}]
)
def test_a_budget_out_of_range_is_refused(wrong):
    with pytest.raises(InputError):
        Budget(**{"epsilon": 1.0, **wrong})


@pytest.mark.parametrize("shares", [[], [1.0, 0.0], [float("inf")]])
def test_shares_that_are_none_are_refused(shares):
    with pytest.raises(InputError):
        noise_of(Budget(epsilon=1.0), named(shares))


@settings(max_examples=8)
@given(
    st.lists(st.lists(st.floats(0.1, 9.0), min_size=1, max_size=5), min_size=1, max_size=3),
    st.sampled_from([(0.5, 0.0, 1), (1.0, 1e-5, 1), (1.0, 1e-5, 3)]),
)
def test_each_of_several_lists_costs_the_budget_with_the_count_that_chooses_it(lists, claim):
    epsilon, delta, cap = claim
    budget = Budget(epsilon=epsilon, delta=delta, cap=cap)
    asked = {str(k): named(shares) for k, shares in enumerate(lists)}
    made = noise_of_lists(budget, "number", asked)
    assert {own.scales["number"] for own in made.values()} == {made["0"].scales["number"]}
    for name, own in made.items():
        assert own.scales.keys() == {"number", *asked[name]}
        cost = epsilon_of(budget, own.scales.values())
        assert 0.98 * epsilon <= cost <= epsilon * (1.0 + 1e-4)


@given(st.floats(1.6, 3_000.0), st.integers(1, 20), st.floats(0.2, 3.0))
def test_normal_noise_within_bounds_discrete_noise(scale: float, counts: int, epsilon: float):
    mu = math.sqrt(counts / (scale**2 - 2.0))
    assert normal_delta(mu, 1.1 * epsilon) <= normal_delta(mu, epsilon)
    assert normal_delta(mu, epsilon) <= normal_delta(2.0 * mu, epsilon)
    exact = composed_delta(1.0 / scale**2, [1] * counts, epsilon)
    assert normal_delta(mu, epsilon) >= exact - 1e-11
