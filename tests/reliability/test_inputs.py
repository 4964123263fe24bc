"""Malformed inputs of the command line end in a one-line error or a right result."""

import random
from pathlib import Path

import pytest
from command_lines import CommandLine
from judged_runs import finished_folder, judge, run_case
from run_here import Ended, run_here

_SEED = 2024
_BATCHES, _BATCH = 8, 25


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return finished_folder(tmp_path_factory.mktemp("finished"))


@pytest.mark.parametrize("batch", range(_BATCHES))
def test_generated_inputs(batch: int, finished: Path, tmp_path: Path) -> None:
    for number in range(batch * _BATCH, (batch + 1) * _BATCH):
        folder = tmp_path / str(number)
        folder.mkdir()
        line, ended = run_case(_SEED, number, folder, finished)
        assert judge(line, ended, folder) is None, (line.words, ended.err)


def test_a_header_of_100_000_columns(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    names = ",".join(f"v{k}" for k in range(100_000))
    rng = random.Random(1)
    rows = (f"{rng.randrange(9)}{',1' * 100_000}" for _ in range(3))
    table.write_text("\n".join([f"y,{names}", *rows]) + "\n")
    words = ["synthesize", str(table), "--outcome", "y", "--out", str(tmp_path / "out")]
    ended = run_here(*words, "--mechanism", "lw", "--formula", "~ w1")
    assert (ended.code, ended.err.count("\n")) == (1, 1)
    assert "Error: formula names column 'w1', which the table lacks." in ended.err


@pytest.mark.parametrize(
    ("ended", "problem"),
    [
        (Ended(None, "", ""), "an exception passed the command line"),
        (Ended(1, "", "Traceback (most recent call last):\nError: x"), "printed 'Traceback'"),
        (Ended(1, "", "Error: An unexpected KeyError"), "printed 'unexpected'"),
        (Ended(1, "", "Error: value 86753098"), "printed ['86753098']"),
        (Ended(1, "", "x.py:1: RuntimeWarning: odd\nError: x"), "printed 'RuntimeWarning:'"),
        (Ended(1, "", "something"), "no line that begins with 'Error: ' at the end"),
        (Ended(3, "", "Error: x"), "exit code 3"),
        (Ended(1, "", "Error: x\nError: y"), "more than one error"),
        (Ended(1, "", "Error: x"), None),
    ],
)
def test_the_judge_sees_what_it_should(tmp_path: Path, ended: Ended, problem: str | None) -> None:
    assert judge(CommandLine(["init"], None), ended, tmp_path) == problem
