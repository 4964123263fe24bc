"""Run the command line in this process and judge how it ended."""

from __future__ import annotations

import csv
import io
import json
import os
import random
import re
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broken_tables import canaries
from command_lines import CommandLine, command_line

from pyvws.commands import cli

__all__ = ["Ended", "finished_folder", "judge", "run_case", "run_here"]

_LONGEST_SECONDS = 300
_ODD = re.compile(r"Traceback|unexpected|panicked|\w+Warning:|Exception ignored|<class|object at")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code, or None after an exception, and what it printed."""

    code: int | None
    out: str
    err: str


def run_case(seed: int, number: int, folder: Path, finished: Path) -> tuple[CommandLine, Ended]:
    """The command line of that number, made and run in an empty folder."""
    line = command_line(random.Random(f"{seed}-{number}"), folder, finished)
    return line, run_here(line.words)


def finished_folder(folder: Path) -> Path:
    """An output folder of a run without faults."""
    table, out = folder / "whole.csv", folder / "whole"
    rng = random.Random(1)
    rows = "".join(f"{int(rng.expovariate(0.05))},{rng.choice('ab')}\n" for _ in range(40))
    table.write_text(f"y,g\n{rows}")
    ended = run_here(
        ["synthesize", str(table), "--out", str(out), "--outcome", "y", "--formula", "~ g",
         "--model", "poisson", "--draws", "100", "--warmup", "100", "--chains", "2",
         "--datasets", "2", "--seed", "1"]
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


def run_here(words: list[str]) -> Ended:
    """`pyvws WORDS` in this process, with what libraries write to the terminal themselves."""
    code: int | None = None
    before = sys.argv, signal.getsignal(signal.SIGALRM), dict(os.environ)
    with _captured() as (out, err):
        sys.argv = ["pyvws", *words]
        signal.signal(signal.SIGALRM, _too_long)
        signal.alarm(_LONGEST_SECONDS)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("default")
                cli.main()
        except SystemExit as left:
            code = left.code if isinstance(left.code, int) else 0
        except BaseException:  # nothing else may come out of it
            traceback.print_exc()
        finally:
            signal.alarm(0)
            sys.argv = before[0]
            signal.signal(signal.SIGALRM, before[1])
            os.environ.clear()
            os.environ.update(before[2])
            for number in (signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
    return Ended(code, *(text.decode("utf-8", "replace") for text in (out.pop(), err.pop())))


class _TooLong(BaseException):
    """A run that does not end."""


def _too_long(_number: int, _frame: Any) -> None:
    raise _TooLong


@contextmanager
def _captured() -> Iterator[tuple[list[bytes], list[bytes]]]:
    """What is written to standard output and error, by Python or past it."""
    found: tuple[list[bytes], list[bytes]] = ([], [])
    streams = sys.stdout, sys.stderr
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        kept = [os.dup(1), os.dup(2)]
        for stream in streams:
            stream.flush()
        os.dup2(out.fileno(), 1)
        os.dup2(err.fileno(), 2)
        sys.stdout, sys.stderr = _stream(1, "strict"), _stream(2, "backslashreplace")
        try:
            yield found
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            sys.stdout, sys.stderr = streams
            for number, handle in enumerate(kept, start=1):
                os.dup2(handle, number)
                os.close(handle)
            for file, texts in zip((out, err), found, strict=True):
                file.seek(0)
                texts.append(file.read())


def _stream(handle: int, errors: str) -> io.TextIOWrapper:
    return io.TextIOWrapper(io.FileIO(handle, "w", closefd=False), "utf-8", errors)
