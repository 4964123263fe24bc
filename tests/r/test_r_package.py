"""The R package: R's own check of it, its figures by hand-made tests, and one interface."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from documents import ROOT, blocks

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


def _environment() -> dict[str, str]:
    path = os.pathsep.join(filter(None, sys.path))
    return {**os.environ, "RETICULATE_PYTHON": sys.executable, "PYTHONPATH": path}


@pytest.mark.slow
def test_r_s_check_finds_nothing(r: str, tmp_path: Path) -> None:
    """It runs each example of the help pages, the vignette and the tests of the package."""
    environment = {**_environment(), "_R_CHECK_CRAN_INCOMING_": "false"}
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


@pytest.mark.slow
def test_the_lines_of_vignette_and_page_run_in_a_fresh_r(r: str, tmp_path: Path) -> None:
    """In an empty folder, with the package installed from its source."""
    pytest.importorskip("opendp")
    library, home = tmp_path / "library", tmp_path / "home"
    library.mkdir()
    home.mkdir()
    command = [r, "CMD", "INSTALL", "--no-docs", f"--library={library}", str(_PACKAGE)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    page = (ROOT / "docs/migrate.md").read_text(encoding="utf-8")
    lines = blocks(page, "r")[0]
    assert lines.startswith("library(pyvws)\n")
    code = (
        f'.libPaths(c("{library}", .libPaths()))\nstopifnot(pyvws::vws_available())\n'
        f'knitr::purl("{_PACKAGE}/vignettes/agency.Rmd", "{tmp_path}/agency.R", quiet = TRUE)\n'
        f'source("{tmp_path}/agency.R", echo = TRUE)\n{lines}'
    )
    (tmp_path / "lines.R").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [r, "--slave", "--vanilla", "-f", str(tmp_path / "lines.R")],
        cwd=home,
        env={**_environment(), "LANG": "C.UTF-8"},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert "approximate-dp: epsilon 1 for all of them" in done.stdout
    assert done.stdout.count("tenant") >= 2
    assert list(home.iterdir()) == []


def test_the_interface_stands_once() -> None:
    """The package has the file that Python's side hands to source()."""
    assert (_PACKAGE / "R/interface.R").is_symlink()
    assert (_PACKAGE / "R/interface.R").resolve() == ROOT / "pyvws/r/interface.R"
