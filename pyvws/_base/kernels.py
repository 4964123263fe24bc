"""Compile numerical kernels with numba and keep them in the user's cache folder.

numba caches beside the source file by default, which may be a system folder, or one that a wheel
is later built from. A NUMBA_CACHE_DIR that is set already is respected.

numba takes a kernel as unchanged while its own file is, whatever became of the kernels that it
calls. So each state of the package's sources has a folder of its own.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
from platformdirs import user_cache_path

__all__ = [
    "callback",
    "compiling",
    "inlined_kernel",
    "kernel",
    "sources_digest",
    "told_of_compiling",
]

_PACKAGE = Path(__file__).parents[1]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_TELL: ContextVar[Callable[[], None] | None] = ContextVar("_TELL", default=None)
_UNUSED_SECONDS = 90 * 24 * 3600


@cache
def _cache_folder() -> Path:
    """The folder of these sources, made where it is not there; unused ones of others go."""
    folder = user_cache_path("pyvws", appauthor=False) / "numba" / sources_digest(_PACKAGE)
    if not folder.is_absolute():
        raise OSError("There is no home folder.")
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.utime(folder)
    for other in folder.parent.iterdir():
        if other.stat().st_mtime < time.time() - _UNUSED_SECONDS:
            shutil.rmtree(other, ignore_errors=True)
    return folder


def sources_digest(package: Path) -> str:
    """A name for the state of every module with kernels in a folder."""
    made = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if b"kernels" not in content:
            continue
        made.update(f"{path.relative_to(package)} {len(content)} ".encode())
        made.update(content)
    return made.hexdigest()[:24]


def kernel(function: _Function) -> _Function:
    """Compile `function` on first use; division by zero gives IEEE results and never raises."""
    return _compiled(function, forceinline=False)


def inlined_kernel(function: _Function) -> _Function:
    """A `kernel` that becomes part of the kernels that call it: a call costs more than its work."""
    return _compiled(function, forceinline=True)


def callback(function: Callable[..., Any], signature: Any, *, cached: bool) -> Any:
    """A C function of that numba signature, compiled now, with an `address` to call it at.

    Not to be `cached` where it calls what lies outside the package: changes there go unnoticed.
    """
    if cached:
        try:
            with _own_folder():
                if not _kept(function):
                    compiling()
                return numba.cfunc(signature, cache=True, error_model="numpy")(function)
        except (OSError, RuntimeError):
            pass  # No writable folder: the function is compiled anew in each process.
    compiling()
    return numba.cfunc(signature, error_model="numpy")(function)


def _kept(function: Callable[..., Any]) -> bool:
    """Whether numba has a function of that name on disk; another processor may need another."""
    folder: Any = numba.config
    name = f"*{function.__qualname__}-*.nbi"
    return next(Path(folder.CACHE_DIR).rglob(name), None) is not None


def _compiled(function: _Function, *, forceinline: bool) -> _Function:
    compiled: Any = numba.njit(error_model="numpy", nogil=True, forceinline=forceinline)(function)
    try:
        with _own_folder():
            compiled.enable_caching()
        _forgive(compiled._cache)
    except (OSError, RuntimeError):
        pass  # No writable folder: the kernel is compiled anew in each process.
    kept: _Function = compiled
    return kept


def _forgive(kept: Any) -> None:
    """A kernel that cannot be kept, on a full disk for one, is used all the same."""
    save = kept.save_overload

    def save_overload(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    kept.save_overload = save_overload


@contextmanager
def _own_folder() -> Iterator[None]:
    """numba keeps what is compiled meanwhile in the package's folder, unless told of another."""
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        if not before:
            config.CACHE_DIR = str(_cache_folder())
        yield
    finally:
        config.CACHE_DIR = before


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
