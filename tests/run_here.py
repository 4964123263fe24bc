"""Run the command line in this process."""

import io
import os
import signal
import sys
import tempfile
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pyvws.commands import cli

__all__ = ["Ended", "run_here"]

_LONGEST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: its exit code, or None after an exception, and what it printed."""

    code: int | None
    out: str
    err: str


def run_here(*words: object) -> Ended:
    """`pyvws WORDS` in this process, with what libraries write to the terminal themselves."""
    code: int | None = None
    before = sys.argv, signal.getsignal(signal.SIGALRM), dict(os.environ)
    with _captured() as (out, err):
        sys.argv = ["pyvws", *map(str, words)]
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
