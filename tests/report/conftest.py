"""A browser for the pages."""

import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest


@pytest.fixture
def visit(browser: str, tmp_path: Path) -> Iterator[Callable[..., tuple[str, list[str]]]]:
    """A function: the page's DOM after its scripts ran, and what the console said."""

    def opened(path: Path, *options: str) -> tuple[str, list[str]]:
        run = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", f"--user-data-dir={tmp_path / 'profile'}",
             "--enable-logging=stderr", "--log-level=0", *options, "--dump-dom", path.as_uri()],
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        return run.stdout, [line for line in run.stderr.splitlines() if "CONSOLE" in line]

    yield opened
    shutil.rmtree(tmp_path / "profile", ignore_errors=True)
