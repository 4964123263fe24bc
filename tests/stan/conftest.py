"""A test that needs a Stan skips where it is missing, or fails where that is forbidden.

PYVWS_REQUIRE_STAN lists the engines that must be there, for example "rstan,pystan".
"""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError


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
