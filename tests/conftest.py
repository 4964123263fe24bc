"""Tests marked `r` need R, and those that ask for `need(engine)` a Stan engine.

Without it they skip, or fail where that is forbidden: by PYVWS_REQUIRE_R=1, and by
PYVWS_REQUIRE_STAN, which lists engines, for example "rstan,pystan".

A warning of convergence is no error in tests marked `draws`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws.r.bridge import r_available


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of few draws a diagnostic may fall short on one machine and not on another."""
    few_draws = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
    for item in items:
        if item.get_closest_marker("draws") is not None:
            item.add_marker(few_draws)


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


@pytest.fixture(scope="session")
def rscript() -> Callable[[str, Path], subprocess.CompletedProcess[str]]:
    """A function that runs R code in a folder, this Python behind reticulate."""
    found = shutil.which("Rscript")
    look = [str(found), "-e", "cat(nzchar(system.file(package = 'reticulate')))"]
    done = subprocess.run(look, capture_output=True, text=True, check=False) if found else None
    if done is None or done.stdout != "TRUE":
        reason = "R's package reticulate is not installed. Run: apt-get install r-cran-reticulate"
        if os.environ.get("PYVWS_REQUIRE_R") == "1":
            pytest.fail(f"PYVWS_REQUIRE_R=1, but: {reason}", pytrace=False)
        pytest.skip(reason)

    def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(found), "-e", code],
            cwd=folder,
            env={**os.environ, "RETICULATE_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run
