"""What make quick runs: tests that neither sample, nor start R, nor compile a Stan program."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import pytest

from pyvws.engines.nuts import NativeEngine
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.models.registry import find_model
from pyvws.posterior.pseudo_posterior import of_one_record
from pyvws.r import bridge

_FEW = SamplerSettings(draws=4, warmup=100, chains=1)


@pytest.mark.parametrize(
    "use",
    [
        lambda: import_module("stan"),
        lambda: NativeEngine().sample(of_one_record(find_model("poisson")), _FEW, seed=1),
        lambda: bridge.call("rarith", "arithmetic_sum", {"x": [1.0]}),
    ],
    ids=["pystan", "native", "R"],
)
def test_a_quick_test_that_does_more_fails(use: Callable[[], Any]) -> None:
    with pytest.raises(pytest.fail.Exception, match="A quick test uses"):
        use()


def test_a_test_of_these_rooms_is_quick_without_further_ado(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is not None


@pytest.mark.runs
def test_a_test_marked_runs_is_not(request: pytest.FixtureRequest) -> None:
    assert request.node.get_closest_marker("quick") is None
