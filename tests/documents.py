"""Examples in Markdown files: found in their order, run, compared with what the page shows.

A fence in python, sh or r is an example. A text fence titled "prints" right after it shows its
output: word by word. Where a sampler made the numbers, another machine's last bits may lead to
other draws: "prints about" lets numbers differ by a quarter, "prints roughly" by a factor of three.

`pyvws validate` runs here on a few cases of each kind: `tests/validation` judges every case.
"""

import contextlib
import glob
import io
import math
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from pyvws_validation import runner
from pyvws_validation.cases import CASES, measured_cases
from run_here import run_here

ROOT = Path(__file__).parents[1]

_FENCE = re.compile(
    r"^```(?P<language>\w+)(?P<rest>[^\n]*)\n(?P<code>.*?)^```$", flags=re.DOTALL | re.MULTILINE
)
_FRAMES = re.compile("[\u2500-\u257f]")
_WITHIN = {"about": 0.25, "roughly": 2 / 3}
_NEAR_ZERO = 0.02


@dataclass(frozen=True, slots=True)
class Example:
    """One fence: its language, code and first line, and the output that the page shows for it.

    Numbers of that output may differ by a share of `within`.
    """

    language: str
    code: str
    line: int
    shown: str | None
    within: float


def blocks(text: str, language: str) -> list[str]:
    """The code of every fence in a language."""
    return [found["code"] for found in _FENCE.finditer(text) if found["language"] == language]


def examples(text: str) -> list[Example]:
    """Every fence in python, sh or r, in order."""
    fences = list(_FENCE.finditer(text))
    found = []
    for place, fence in enumerate(fences):
        if fence["language"] not in ("python", "sh", "r"):
            continue
        after = fences[place + 1] if place + 1 < len(fences) else None
        shows = after is not None and after["language"] == "text" and "prints" in after["rest"]
        title = after["rest"] if shows else ""
        within = max((size for word, size in _WITHIN.items() if word in title), default=0.0)
        found.append(
            Example(
                fence["language"],
                fence["code"],
                text.count("\n", 0, fence.start()) + 1,
                after["code"] if shows else None,
                within,
            )
        )
    return found


def command_lines(code: str) -> list[str]:
    """The commands of a shell example: continued lines joined, comments taken off."""
    lines = [line.split("#")[0].strip() for line in code.replace("\\\n", " ").splitlines()]
    return [line for line in lines if line]


def commands(text: str) -> list[str]:
    """The commands of all shell examples of a text."""
    return [line for code in blocks(text, "sh") for line in command_lines(code)]


def run_pyvws(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command `pyvws` in a folder, in this process, which has imported it."""
    parts = shlex.split(command, comments=True)[1:]
    found = [sorted(glob.glob(part, root_dir=folder)) if "*" in part else [part] for part in parts]
    with contextlib.chdir(folder):
        ended = run_here(*(part for own in found for part in own))
    code = 1 if ended.code is None else ended.code
    return subprocess.CompletedProcess(command, code, ended.out, ended.err)


def run(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A shell command in a folder, with this environment's programs first."""
    if command.startswith("pyvws ") and not re.search("[|<>&;$`]", command):
        return run_pyvws(command, folder)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


def validate_a_few(command: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """A command `pyvws validate`, on the first case of each quantity and allowed difference."""
    few = {(case.id.split("/")[0], case.tolerance > 0): case for case in reversed(CASES)}
    measured = {
        (case.kind, case.id.split("/")[1].split("-")[0]): case
        for case in reversed(measured_cases())
        if case.id.split("/")[1].split("-")[0] not in ("tester", "counts")
    }
    with (
        patch.object(runner, "CASES", tuple(few.values())),
        patch.object(runner, "measured_cases", lambda: tuple(measured.values())),
    ):
        return run_pyvws(command, folder)


def printed_by(example: Example, folder: Path, names: dict[str, Any], place: str) -> str:
    """What a python or sh example prints; `names` is the namespace of the page's Python."""
    if example.language == "python":
        made = io.StringIO()
        with contextlib.chdir(folder), contextlib.redirect_stdout(made):
            exec(compile(example.code, place, "exec"), names)
        return made.getvalue()
    out = []
    for command in command_lines(example.code):
        if command.startswith("pip install "):
            continue  # What it installs is checked by name: tests need no network.
        dry = command.replace("make ", f"make -n -C {ROOT} ", 1)
        if command.startswith("pyvws validate "):
            done = validate_a_few(command, folder)
        else:
            done = run(dry if command.startswith("make ") else command, folder)
        assert done.returncode == 0, f"{place}: {command}\n{done.stderr[-2000:]}"
        out.append("" if command.startswith("make ") else done.stdout)
    return "".join(out)


def words(text: str) -> list[str | float]:
    """Words and numbers of an output, without frames of tables and brackets of lists."""
    plain = re.sub(r"(?m)^ *\[\d+\]", " ", _FRAMES.sub(" ", text))
    return [_read(word) for word in re.sub(r"[\[\]\"',{}]", " ", plain).split()]


def differences(shown: str, printed: str, *, within: float = 0.0) -> Iterator[str]:
    """Each place in which two outputs differ."""
    first, second = words(shown), words(printed)
    if len(first) != len(second):
        yield f"{len(first)} words are shown and {len(second)} were printed:\n{printed}"
        return
    for one, other in zip(first, second, strict=True):
        if one == other:
            continue
        numbers = isinstance(one, float) and isinstance(other, float)
        least = _NEAR_ZERO if within else 0.0
        if not (numbers and math.isclose(one, other, rel_tol=within, abs_tol=least)):
            yield f"{one} is shown, {other} was printed"


def figures(shown: str, printed: str) -> Iterator[tuple[float, float]]:
    """Each number that a page shows, and the one printed in its place."""
    for one, other in zip(words(shown), words(printed), strict=False):
        if isinstance(one, float) and isinstance(other, float):
            yield one, other


def _read(word: str) -> str | float:
    try:
        return float(word)
    except ValueError:
        return word
