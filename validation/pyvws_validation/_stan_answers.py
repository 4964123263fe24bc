"""What Stan says of a density: Stan itself now, or its stored answers where there is no Stan.

Stored answers are in ``validation/expected/stan.json``. A case has the SHA-256 of its program and,
for each question, the SHA-256 of the data and points and Stan's numbers. An answer is stale if the
program, the data or the points have changed since. A stale answer is a failure.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar, Final, NamedTuple, Protocol

import numpy as np

from pyvws._base import resources as _resources
from pyvws._base.checks import Floats
from pyvws_validation._draws import digest
from pyvws_validation.expected import REFRESH, StaleError, decode, encode

_FILE: Final = "stan.json"
_STORED_POINTS: Final = 3
# Where exp and log differ between machines, outcomes differ in the last bit. Rounded ones do not.
_DECIMALS: Final = 9
# What the package computes itself is compared, so a wrong value is no change of the question.
_COMPUTED: Final = "shift"


class Densities(NamedTuple):
    """Log densities (P,), gradients (P, D), and log_lik (P, N), or (P, 0) where unasked."""

    value: Floats
    gradient: Floats
    log_lik: Floats


class Answers(Protocol):
    """Who answers: `most` is the largest number of points to ask about at once, None for any."""

    @property
    def most(self) -> int | None: ...

    def densities(self, *question: Any, log_lik: bool = True) -> Densities:
        """What Stan says of a question: program, data and points (P, D)."""

    def number(self, make: Callable[[], float]) -> float:
        """A number that belongs to a question: made now, or as it was when Stan was asked."""


class LiveStan:
    """Stan itself, which compiles a program on first use."""

    most: int | None = None

    def __init__(self, engine: str) -> None:
        self._engine = engine

    def densities(self, *question: Any, log_lik: bool = True) -> Densities:
        stan = import_module(f"pyvws.engines.{self._engine}")
        value, gradient, written = stan.densities(*question)
        terms = written["log_lik"] if log_lik else np.empty((len(value), 0))
        return Densities(value, gradient, terms)

    def number(self, make: Callable[[], float]) -> float:
        return make()


class Recorder(LiveStan):
    """Stan itself, asked about few points; `entry` is what the file keeps."""

    most: int | None = _STORED_POINTS

    def __init__(self, engine: str) -> None:
        super().__init__(engine)
        self.entry: dict[str, Any] = {"program_sha256": "", "numbers": [], "answers": []}

    def densities(self, *question: Any, log_lik: bool = True) -> Densities:
        answers = super().densities(*question, log_lik=log_lik)
        self.entry["program_sha256"] = _program_digest(question[0])
        answer = [_question_digest(*question[1:]), *map(encode, answers)]
        self.entry["answers"].append(answer)
        return answers

    def number(self, make: Callable[[], float]) -> float:
        number = make()
        self.entry["numbers"].append(float(number).hex())
        return number


class StoredStan:
    """Stan's stored answers of one case, in the order in which Stan was asked."""

    most: ClassVar[int | None] = _STORED_POINTS

    def __init__(self, case: str, engine: str, folder: Path | None = None) -> None:
        path = _place(folder)
        content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {"cases": {}}
        entry = content["cases"].get(case)
        if entry is None:
            raise StaleError(f"No answer of Stan is stored for this case. {REFRESH}")
        self.version = str(content["versions"][engine])
        self._program = entry["program_sha256"]
        self._numbers, self._answers = iter(entry["numbers"]), iter(entry["answers"])

    def densities(self, *question: Any, log_lik: bool = True) -> Densities:
        if self._program != _program_digest(question[0]):
            raise StaleError(f"The Stan program has changed since Stan was asked. {REFRESH}")
        asked, *answer = next(self._answers, ("",))
        if asked != _question_digest(*question[1:]):
            raise StaleError(f"The data or points have changed since Stan was asked. {REFRESH}")
        return Densities(*map(decode, answer))

    def number(self, make: Callable[[], float]) -> float:
        return float.fromhex(next(self._numbers))


def save_answers(
    recorders: Mapping[str, Recorder], versions: Mapping[str, str], folder: Path | None = None
) -> Path:
    """Write the answers of cases, by id, with the versions of the engines; return the file."""
    content = {
        "versions": dict(versions),
        "cases": {case: recorder.entry for case, recorder in recorders.items()},
    }
    path = _place(folder)
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    return path


def _place(folder: Path | None) -> Path:
    return (folder or _resources.folder("validation") / "expected") / _FILE


def _program_digest(program: str) -> str:
    return hashlib.sha256(program.encode("utf-8")).hexdigest()


def _question_digest(data: dict[str, Any], points: Floats) -> str:
    asked = {name: value for name, value in data.items() if name != _COMPUTED}
    return digest({name: _rounded(value) for name, value in (asked | {"points": points}).items()})


def _rounded(value: object) -> Any:
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return np.round(value, _DECIMALS) + 0.0  # No -0.0.
    return value
