"""Tests marked `r` need R, and those that ask for `need(engine)` a Stan engine.

Without it they skip, or fail where that is forbidden: by PYVWS_REQUIRE_R=1, and by
PYVWS_REQUIRE_STAN, which lists engines, for example "rstan,pystan".
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws.r.bridge import r_available


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("r") is None:
        return
    available, reason = r_available()
    if available:
        return
    if os.environ.get("PYVWS_REQUIRE_R") == "1":
        pytest.fail(f"PYVWS_REQUIRE_R=1, but: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def need() -> Callable[[str], str]:
    """Skip unless the named engine is installed; its version."""

    def check(engine: str) -> str:
        try:
            return engine_version(engine)
        except MissingDependencyError as missing:
            if engine in os.environ.get("PYVWS_REQUIRE_STAN", "").split(","):
                pytest.fail(f"PYVWS_REQUIRE_STAN names {engine}, but: {missing}", pytrace=False)
            pytest.skip(str(missing))

    return check
