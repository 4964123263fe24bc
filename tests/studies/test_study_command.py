"""pyvws study: its list, its help, and what it says to a wrong call."""

from pathlib import Path

import pytest
from pyvws_studies.registry import STUDIES
from run_here import run_here


def test_the_list_names_every_study_with_what_it_shows() -> None:
    run = run_here("study", "--list")
    assert run.code == 0
    listed = dict(line.split("  ", 1) for line in run.out.splitlines())
    for name, entry in STUDIES.items():
        assert listed[name].strip() == f"{entry.about}."


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ((), "Name a command", 2),
        (("risk-eficient", "--out", "OUT"), "Did you mean 'risk-efficient'?", 2),
        (("risk-efficient",), "Missing option '--out'", 2),
        (("risk-efficient", "--out", "OUT", "--replicates", "0"), "replicates must be a whole", 2),
    ],
)
def test_a_wrong_call_is_one_line_and_writes_nothing(
    tmp_path: Path, arguments: tuple[str, ...], said: str, code: int
) -> None:
    out = tmp_path / "out"
    run = run_here("study", *(out if part == "OUT" else part for part in arguments))
    assert run.code == code
    assert said in run.err
    assert "Traceback" not in run.err
    assert not out.exists()
