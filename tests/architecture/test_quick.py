"""What make quick runs: tests that neither sample, nor start R, nor compile a Stan program."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

import pyvws as vws
from pyvws.r import bridge


def _synthesize(engine: str) -> Any:
    table = pl.DataFrame({"y": [1, 2, 4]})
    return vws.synthesize(table, outcome="y", model="poisson", engine=engine, seed=1)


@pytest.mark.parametrize(
    "use",
    [
        *(lambda engine=engine: _synthesize(engine) for engine in ("native", "pystan", "ensemble")),
        lambda: bridge.call("rarith", "arithmetic_sum", {"x": [1.0]}),
    ],
    ids=["native", "pystan", "ensemble", "R"],
)
def test_a_quick_test_that_does_more_fails(use: Callable[[], Any]) -> None:
    with pytest.raises(pytest.fail.Exception, match="A quick test uses"):
        use()


def test_a_test_of_these_rooms_is_quick_without_further_ado(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is not None


@pytest.mark.runs
def test_a_test_marked_runs_is_not(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is None
