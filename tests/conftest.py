"""Tests marked `r` need R: without it they skip, or fail where PYVWS_REQUIRE_R=1 forbids a skip."""

from __future__ import annotations

import os

import pytest

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
