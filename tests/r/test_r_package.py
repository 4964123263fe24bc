"""The R package: R's own check of it, its figures by hand-made tests, and one interface."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT

_PACKAGE = ROOT / "r_package/pyvws"
_NEEDED = ("reticulate", "testthat", "knitr", "markdown")


@pytest.fixture
def r() -> str:
    """R, with what R's check of a package needs."""
    found = shutil.which("R")
    asks = "; ".join(f"cat(nzchar(system.file(package = '{name}')), '')" for name in _NEEDED)
    done = (
        subprocess.run(
            [str(found), "--slave", "-e", asks], capture_output=True, text=True, check=False
        )
        if found
        else None
    )
    if done is None or "FALSE" in done.stdout:
        reason = f"R or one of its packages {', '.join(_NEEDED)} is not installed. Run: make test"
        if os.environ.get("PYVWS_REQUIRE_R") == "1":
            pytest.fail(f"PYVWS_REQUIRE_R=1, but: {reason}", pytrace=False)
        pytest.skip(reason)
    return str(found)


@pytest.mark.slow
def test_r_s_check_finds_nothing(r: str, tmp_path: Path) -> None:
    """It runs each example of the help pages, the vignette and the tests of the package."""
    environment = {
        **os.environ,
        "RETICULATE_PYTHON": sys.executable,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        "_R_CHECK_CRAN_INCOMING_": "false",
    }
    for words in (["build", str(_PACKAGE)], ["check", "--no-manual", "--ignore-vignettes"]):
        made = sorted(map(str, tmp_path.glob("pyvws_*.tar.gz")))
        done = subprocess.run(
            [r, "CMD", *words, *made],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=900,
        )
        assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-1000:]
    assert done.stdout.rstrip().endswith("Status: OK"), done.stdout[-3000:]


def test_the_interface_stands_once() -> None:
    """The package has the file that Python's side hands to source()."""
    assert (_PACKAGE / "R/interface.R").is_symlink()
    assert (_PACKAGE / "R/interface.R").resolve() == ROOT / "pyvws/r/interface.R"
