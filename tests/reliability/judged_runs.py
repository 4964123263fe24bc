"""Judge how a run of the command line ended."""

import csv
import json
import random
import re
from pathlib import Path

from broken_tables import canaries
from command_lines import CommandLine, command_line
from run_here import Ended, run_here

__all__ = ["finished_folder", "judge", "run_case"]

_ODD = re.compile(r"Traceback|unexpected|panicked|\w+Warning:|Exception ignored|<class|object at")


def run_case(seed: int, number: int, folder: Path, finished: Path) -> tuple[CommandLine, Ended]:
    """The command line of that number, made and run in an empty folder."""
    line = command_line(random.Random(f"{seed}-{number}"), folder, finished)
    return line, run_here(*line.words)


def finished_folder(folder: Path) -> Path:
    """An output folder of a run without faults."""
    table, out = folder / "whole.csv", folder / "whole"
    rng = random.Random(1)
    rows = "".join(f"{int(rng.expovariate(0.05))},{rng.choice('ab')}\n" for _ in range(40))
    table.write_text(f"y,g\n{rows}")
    ended = run_here(
        "synthesize", str(table), "--out", str(out), "--outcome", "y", "--formula", "~ g",
         "--model", "poisson", "--mechanism", "lw", "--draws", "100", "--warmup", "100",
         "--chains", "2",
         "--datasets", "2", "--seed", "1",
    )  # fmt: skip
    assert ended.code == 0, ended.err
    return out


def judge(line: CommandLine, ended: Ended, folder: Path) -> str | None:
    """What is wrong with the end of a run; None if it is a one-line error or a right result."""
    last = (ended.err.strip().splitlines() or [""])[-1]
    said = ended.err if line.prints_data else ended.out + ended.err
    leaked = [canary for canary in canaries() if canary in said.lower()]
    if ended.code is None:
        return "an exception passed the command line"
    if leaked:
        return f"printed {leaked}"
    if found := _ODD.search(ended.err):
        return f"printed {found[0]!r}"
    if ended.code not in (0, 1, 2):
        return f"exit code {ended.code}"
    if ended.code and not last.startswith("Error: "):
        return "no line that begins with 'Error: ' at the end"
    if ended.code and sum(row.startswith("Error:") for row in ended.err.splitlines()) != 1:
        return "more than one error"
    if hidden := [path.name for path in folder.rglob(".*") if ".partial" in path.name]:
        return f"left {hidden} behind"
    if line.command == "synthesize" and line.out is not None:
        return _judge_folder(line, ended, folder)
    return None


def _judge_folder(line: CommandLine, ended: Ended, folder: Path) -> str | None:
    out = line.out
    assert out is not None
    if ended.code:
        new = out.name in ("out", "ü", "o\nut") and out.exists()
        kept = (folder / "full" / "kept").exists() and (folder / "file").exists()
        return None if kept and not new else "a failed run changed the folder"
    if "--help" in line.words:
        return None
    privacy = json.loads((out / "release" / "privacy.json").read_text())
    files = sorted((out / "release").glob("synthetic-*"))
    if len(files) != privacy["datasets"]:
        return "another number of datasets than the statement has"
    if files[0].suffix == ".csv" and privacy["neighbours"] != "leave-one-out-histogram":
        with files[0].open(newline="") as file:
            rows = sum(1 for _ in csv.reader(file)) - 1
        if rows < 1:
            return "a dataset without records"
    return None
