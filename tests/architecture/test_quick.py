"""What make quick runs: tests that neither sample, nor start R, nor compile a Stan program."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from pyvws.r import bridge


@pytest.mark.parametrize(
    "use",
    [
        *(lambda name=name: import_module(name) for name in ("nutpie", "stan", "emcee")),
        lambda: bridge.call("rarith", "arithmetic_sum", {"x": [1.0]}),
    ],
    ids=["native", "pystan", "ensemble", "R"],
)
def test_a_quick_test_that_does_more_fails(use: Callable[[], Any]) -> None:
    with pytest.raises(pytest.fail.Exception, match="A quick test uses"):
        use()


@pytest.mark.runs
def test_an_engine_that_kept_its_sampler_is_seen_too(request: pytest.FixtureRequest) -> None:
    nutpie = import_module("nutpie")
    request.getfixturevalue("only_computing")
    with pytest.raises(pytest.fail.Exception, match="A quick test uses nutpie"):
        nutpie.sample()


def test_a_test_of_these_rooms_is_quick_without_further_ado(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is not None


@pytest.mark.runs
def test_a_test_marked_runs_is_not(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is None
