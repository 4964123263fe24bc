"""Diagnostics say what is wrong, and only then."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import ndtri
from scipy.stats import rankdata

from pyvws.posterior.draws import (
    Diagnostics,
    diagnose,
    independent_draws,
    resampled_draws,
    together,
)


def r_hat(chains):
    """Rank-normalised split R-hat, the larger of draws and of their distances from the median."""

    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])

    def compared(values):
        scores = ndtri((rankdata(values).reshape(values.shape) - 3 / 8) / (values.size + 1 / 4))
        within = np.mean([np.var(part, ddof=1) for part in scores])
        between = np.var([np.mean(part) for part in scores], ddof=1)
        return np.sqrt((half - 1) / half + between / within)

    return max(compared(halves), compared(np.abs(halves - np.median(halves))))


@pytest.mark.runs
@given(
    st.integers(1, 4),
    st.integers(20, 60),
    st.integers(1, 3),
    st.sampled_from([0.0, 1.0]),
    st.integers(0, 2**32 - 1),
)
@settings(max_examples=40, derandomize=True)
def test_the_worst_r_hat_by_its_definition(chains, draws, parameters, apart, seed) -> None:
    """One chain is compared with itself: its halves are taken for two."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(chains, draws, parameters))
    q += apart * rng.normal(size=(chains, 1, parameters))
    compared = q
    if chains == 1:
        even = q[0, draws % 2 :]
        compared = np.stack([even[: len(even) // 2], even[len(even) // 2 :]])
    worst = max(r_hat(compared[:, :, place]) for place in range(parameters))
    assert diagnose(q, 0).rhat_max == pytest.approx(worst, rel=1e-10)


W = np.full(9, 1 / 9)


def test_effective_sizes_are_those_of_the_slowest_parameter() -> None:
    rng, rho = np.random.default_rng(2), 0.8
    q = rng.normal(size=(4, 5000, 2))
    for at in range(1, 5000):
        q[:, at, 1] = rho * q[:, at - 1, 1] + np.sqrt(1 - rho**2) * q[:, at, 1]
    found = diagnose(q, 0)
    assert found.ess_bulk_min == pytest.approx(20_000 * (1 - rho) / (1 + rho), rel=0.15)
    assert found.ess_bulk_min < found.ess_tail_min < 0.5 * diagnose(q[:, :, :1], 0).ess_tail_min


def test_limits_are_no_problem_and_what_is_beyond_is() -> None:
    assert Diagnostics(1.01, 400.0, 400.0, 0).problems() == []
    for beyond in ((1.0101, 400, 400, 0), (1.01, 399, 400, 0), (1.01, 400, 399, 0)):
        assert len(Diagnostics(*beyond).problems()) == 1
    assert Diagnostics(1.0, 900.0, 800.0, 2).as_dict() == {
        "rhat_max": 1.0, "ess_bulk_min": 900.0, "ess_tail_min": 800.0, "divergences": 2,
    }  # fmt: skip


def test_of_several_columns_the_worst_is_named() -> None:
    fits = [Diagnostics(1.02, 500.0, 600.0, 1), independent_draws(800), resampled_draws(W, 0.6, 9)]
    found = together(fits, ["a", "b", "c"])
    assert (found.rhat_max, found.column, found.divergences, found.khat) == (1.02, "a", 1, 0.6)
    assert found.problems()[0] == "R-hat of a reaches 1.0200, above 1.01."
    bad = Diagnostics(float("nan"), 500.0, 500.0, 0)
    assert together([*fits, bad], ["a", "b", "c", "d"]).column == "d"
    assert together(fits[1:], ["b", "c"]).column is None
    assert together(fits, ["5179", "b", "c"]).column == "column 1"  # It may be a value.


def test_chains_apart_and_divergences_are_named() -> None:
    q = np.random.default_rng(1).normal(size=(4, 100, 1)) + np.arange(4)[:, None, None]
    problems = " ".join(diagnose(q, 3).problems())
    assert "R-hat reaches" in problems
    assert "bulk ESS" in problems
    assert "3 transitions diverged." in problems


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_counts_as_a_problem(value: float) -> None:
    assert len(Diagnostics(value, 4000.0, 4000.0, 0).problems()) == 1
    assert len(Diagnostics(1.0, float("nan"), 4000.0, 0).problems()) == 1
