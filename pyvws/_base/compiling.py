"""Word that something is being compiled, for who waits: once for each model, then it is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["compiling", "told_of_compiling"]

_TELL: ContextVar[Callable[[], None] | None] = ContextVar("_TELL", default=None)


def compiling() -> None:
    """Call what `told_of_compiling` was given, if anything."""
    tell = _TELL.get()
    if tell is not None:
        tell()


@contextmanager
def told_of_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """In here `tell` is called before anything is compiled that takes a while."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)
