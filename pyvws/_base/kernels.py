"""Compile numerical kernels with numba and keep them in the user's cache folder.

By default numba caches beside the source file. The source may lie in a system folder, or in a
folder that a wheel is later built from. The package respects a NUMBA_CACHE_DIR of the user.

numba reloads a kernel while the kernel's own file is unchanged, even if the kernels that it calls
have changed. So each state of the package's sources has a cache folder of its own.
"""

from __future__ import annotations

import gc
import hashlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cache, cached_property
from pathlib import Path
from threading import Lock
from typing import Any, Final, TypeVar

import numba
from numba.core import event
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.typing.templates import Signature
from platformdirs import user_cache_path

_PACKAGE = Path(__file__).parents[1]
_Function = TypeVar("_Function", bound=Callable[..., Any])
_TELL: ContextVar[Callable[[], None] | None] = ContextVar("_TELL", default=None)
_UNUSED_SECONDS = 90 * 24 * 3600
_OPTIONS: Final[dict[str, Any]] = {"error_model": "numpy", "nogil": True, "no_cfunc_wrapper": True}


class _Uncollected(event.Listener):
    """Python's garbage collector waits while numba compiles, which keeps most of what it makes."""

    def __init__(self) -> None:
        self._lock, self._compiling, self._paused = Lock(), 0, False

    def on_start(self, event: object) -> None:
        with self._lock:
            self._compiling += 1
            if self._compiling == 1 and gc.isenabled():
                self._paused = True
                gc.disable()

    def on_end(self, event: object) -> None:
        with self._lock:
            self._compiling -= 1
            if self._compiling == 0 and self._paused:
                self._paused = False
                gc.enable()


event.register("numba:compiler_lock", _Uncollected())


@cache
def _cache_folder() -> Path:
    """The cache folder of these sources, made if missing; removes unused folders of others."""
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
    """A digest that names the state of all modules with kernels in a folder."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        content = path.read_bytes()
        if b"kernels" not in content:
            continue
        digest.update(f"{path.relative_to(package)} {len(content)} ".encode())
        digest.update(content)
    return digest.hexdigest()[:24]


def kernel(function: _Function) -> _Function:
    """Compile `function` on first use; division by zero gives IEEE results and never raises.

    Kernels that call a kernel are compiled and kept together with it. Python that calls it gets it
    compiled for that, and kept.
    """
    return _made(function)


def inlined_kernel(function: _Function) -> _Function:
    """Compile a small `kernel` into each kernel that calls it: a call would cost more."""
    return _made(function, forceinline=True)


def summing_kernel(function: _Function) -> _Function:
    """Compile as an `inlined_kernel`, and take its sums in any order: several terms at once."""
    return _made(function, forceinline=True, fastmath={"reassoc", "nsz"})


def kernel_of_kernels(function: _Function) -> _Function:
    """Compile, for this process alone, a function that closes over a kernel."""
    compiled: Any = numba.njit(error_model="numpy", nogil=True)(function)
    kept: _Function = compiled
    return kept


def callback(function: Callable[..., Any], signature: Signature, *, cached: bool) -> Any:
    """Compile `function` now into a C function of a numba signature, with an `address` for calls.

    A caller must not ask for `cached` where the function calls code outside the package, because
    numba does not notice changes of such code.
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
    """Whether numba has a function of that name on disk, perhaps for another processor."""
    folder: Any = numba.config
    name = f"*{function.__qualname__}-*.nbi"
    return next(Path(folder.CACHE_DIR).rglob(name), None) is not None


class _Kernel:
    """A function as a part of kernels that call it, and as one that Python calls."""

    def __init__(self, function: Callable[..., Any], options: dict[str, Any]) -> None:
        self.py_func, self._options = function, options
        part: Any = {**options, "no_cpython_wrapper": True, "pipeline_class": PartCompiler}
        self._part: Any = numba.njit(**part)(function)
        self._numba_type_ = self._part._numba_type_  # What numba takes such a global for.

    @cached_property
    def _from_python(self) -> Callable[..., Any]:
        return _kept_on_disk(self.py_func, self._options)

    def __call__(self, *arguments: Any) -> Any:
        return self._from_python(*arguments)


def _made(function: _Function, **further: Any) -> _Function:
    kernel_of_function: Any = _Kernel(function, {**_OPTIONS, **further})
    kept: _Function = kernel_of_function
    return kept


def _kept_on_disk(function: _Function, options: dict[str, Any]) -> _Function:
    compiled: Any = numba.njit(**options)(function)
    try:
        with _own_folder():
            compiled.enable_caching()
        _forgive(compiled._cache)
    except (OSError, RuntimeError):
        pass  # No writable folder: the kernel is compiled anew in each process.
    kept: _Function = compiled
    return kept


def _forgive(kept: Any) -> None:
    """Let a kernel run even where numba cannot keep it, such as on a full disk."""
    save = kept.save_overload

    def save_overload(*arguments: Any) -> None:
        with suppress(OSError):
            save(*arguments)

    kept.save_overload = save_overload


@contextmanager
def _own_folder() -> Iterator[None]:
    """Make numba cache in the package's folder during the `with` block, unless the user set one."""
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        if not before:
            config.CACHE_DIR = str(_cache_folder())
        yield
    finally:
        config.CACHE_DIR = before


def compiling() -> None:
    """Call the function that `announce_compiling` was given, if there is one."""
    tell = _TELL.get()
    if tell is not None:
        tell()


@contextmanager
def announce_compiling(tell: Callable[[], None]) -> Iterator[None]:
    """Call `tell` before each long compilation in the `with` block."""
    before = _TELL.set(tell)
    try:
        yield
    finally:
        _TELL.reset(before)


class PartCompiler(Compiler):
    """numba's compiler (its option `pipeline_class`) of functions that only compiled code calls."""

    def compile_extra(self, func: Callable[..., Any]) -> Any:
        self.state.library = _Part(self.state.targetctx.codegen(), func.__qualname__)
        return super().compile_extra(func)


class _Part(JITCodeLibrary):
    """A function's code and that of the functions it calls, for others to link."""

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:
        """No address: there is no machine code."""
        self._ensure_finalized()
        return 0

    @property
    def codegen(self) -> Any:
        return _NoMachineCode()


class _NoMachineCode:
    def set_env(self, _name: str, _environment: object) -> None:
        """Nothing to tell an environment to, which only code with Python objects would read."""
