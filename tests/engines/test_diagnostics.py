"""Diagnostics say what is wrong, and only then."""

from __future__ import annotations

import numpy as np
import pytest

from pyvws.engines.diagnostics import Diagnostics, diagnose


def test_independent_draws_have_no_problem() -> None:
    q = np.random.default_rng(1).normal(size=(4, 1000, 2))
    found = diagnose(q, 0)
    assert found.problems() == []
    assert 3000 < found.ess_bulk_min < 5000


def test_chains_apart_and_divergences_are_named() -> None:
    q = np.random.default_rng(1).normal(size=(4, 100, 1)) + np.arange(4)[:, None, None]
    problems = " ".join(diagnose(q, 3).problems())
    assert "R-hat reaches" in problems
    assert "bulk ESS" in problems
    assert "3 transitions diverged." in problems


def test_a_single_chain_is_judged_without_an_r_hat_across_chains() -> None:
    q = np.random.default_rng(1).normal(size=(1, 2000, 1))
    assert np.isfinite(diagnose(q, 0).rhat_max)
    assert diagnose(q, 0).problems() == []


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_that_is_no_number_counts_as_a_problem(value: float) -> None:
    assert len(Diagnostics(value, 4000.0, 4000.0, 0).problems()) == 1
    assert len(Diagnostics(1.0, float("nan"), 4000.0, 0).problems()) == 1
