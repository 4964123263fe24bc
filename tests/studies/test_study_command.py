"""pyvws study: its list, its help, and what it says to a wrong call."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pyvws.studies.registry import STUDIES


def _study(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "pyvws", "study", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_list_names_every_study_with_what_it_shows() -> None:
    run = _study("--list")
    assert run.returncode == 0
    listed = dict(line.split("  ", 1) for line in run.stdout.splitlines())
    for name, entry in STUDIES.items():
        assert listed[name].strip() == f"{entry.about}."


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ((), "Name a command", 2),
        (("risk-eficient", "--out", "OUT"), "Did you mean 'risk-efficient'?", 2),
        (("risk-efficient",), "Missing option '--out'", 2),
        (("risk-efficient", "--out", "OUT", "--replicates", "0"), "replicates must be a whole", 2),
        (("risk-efficient", "--out", "OUT", "--backend", "dask"), "address of a scheduler", 1),
    ],
)
def test_a_wrong_call_is_one_line_and_writes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], said: str, code: int
) -> None:
    out = tmp_path / "out"
    run = _study(*(str(out) if part == "OUT" else part for part in arguments))
    assert run.returncode == code
    assert said in run.stderr
    assert "Traceback" not in run.stderr
    assert not out.exists()
