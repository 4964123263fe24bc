"""Compile numerical kernels with numba and keep them in the user's cache folder.

numba caches beside the source file by default, which may be a system folder, or one that a wheel
is later built from. A NUMBA_CACHE_DIR that is set already is respected.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numba
from platformdirs import user_cache_path

__all__ = ["inlined_kernel", "kernel"]

_Function = TypeVar("_Function", bound=Callable[..., Any])


def kernel(function: _Function) -> _Function:
    """Compile `function` on first use; division by zero gives IEEE results and never raises."""
    return _compiled(function, forceinline=False)


def inlined_kernel(function: _Function) -> _Function:
    """A `kernel` that becomes part of the kernels that call it: a call costs more than its work."""
    return _compiled(function, forceinline=True)


def _compiled(function: _Function, *, forceinline: bool) -> _Function:
    compiled: Any = numba.njit(error_model="numpy", nogil=True, forceinline=forceinline)(function)
    config: Any = numba.config
    before = config.CACHE_DIR
    try:
        if not before:
            folder = user_cache_path("pyvws", appauthor=False) / "numba"
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            config.CACHE_DIR = str(folder)
        compiled.enable_caching()
    except (OSError, RuntimeError):
        pass  # No writable folder: the kernel is compiled anew in each process.
    finally:
        config.CACHE_DIR = before
    kept: _Function = compiled
    return kept
