"""A process of its own for what is measured: its memory is its own, and it can be stopped."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.connection import Connection
from types import TracebackType
from typing import Any, Self

__all__ = ["JobFailedError", "OverTheCapError", "Worker"]

_GRACE = 10.0


class JobFailedError(Exception):
    """A job that raised, or that took its process with it."""


class OverTheCapError(Exception):
    """A job that was stopped because it took longer than it may."""


class Worker:
    """A fresh Python that runs one job after the other; a context, at whose end it is gone."""

    def __init__(self) -> None:
        context = get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process = context.Process(target=_serve, args=(theirs,))
        self._process.start()
        theirs.close()

    def ask(self, job: Callable[..., Any], *arguments: Any, cap: float | None = None) -> Any:
        """The value of a function of a module, run there.

        Raises OverTheCapError after `cap` seconds, which ends the worker and all that it started,
        and JobFailedError if the job fails.
        """
        self._pipe.send((job, arguments))
        if not self._pipe.poll(cap):
            self._kill()
            raise OverTheCapError(f"more than {cap:.0f} s")
        try:
            value, failure = self._pipe.recv()
        except EOFError:
            raise JobFailedError(f"{job.__name__} ended its process") from None
        if failure is not None:
            raise JobFailedError(f"{job.__name__} raised {failure}")
        return value

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._pipe.close()
        self._process.join(_GRACE)
        self._kill()

    def _kill(self) -> None:
        if self._process.is_alive() and self._process.pid is not None:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.join()


def _serve(pipe: Connection) -> None:
    """Run jobs until the other end is closed, as the head of a group of processes."""
    os.setsid()
    while True:
        try:
            job, arguments = pipe.recv()
        except EOFError:
            return
        try:
            value, failure = job(*arguments), None
        except Exception as error:
            value, failure = None, f"{type(error).__name__}: {error}"
        pipe.send((value, failure))
