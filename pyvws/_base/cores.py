"""Count the usable processors, share work over them, and keep sums the same on any number."""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from itertools import chain, islice
from typing import Any, TypeVar

_Task = TypeVar("_Task")
_ALONE: ContextVar[bool] = ContextVar("_ALONE", default=False)
_BLAS = threading.Lock()
_STEADY: list[Any] = []  # What restores the threads, and None for each further block.
_WARNINGS = threading.Lock()
_POLL_SECONDS = 0.1


def usable_cores() -> int:
    """Number of processors by the process's affinity and container's quota; 1 in `one_core`."""
    if _ALONE.get():
        return 1
    import joblib

    return int(joblib.cpu_count())


@contextmanager
def one_core() -> Iterator[None]:
    """Keep the code of the `with` block to one processor, as one of several parallel jobs."""
    before = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(before)


@contextmanager
def steady_sums() -> Iterator[None]:
    """Give matrix products in the `with` block the same bits on any number of processors.

    BLAS adds up long columns in as many parts as it has threads, so one thread is set. This setting
    is the whole process's, so it stands until the last of such blocks ends.
    """
    with _BLAS:
        _STEADY.append(None if _STEADY else _libraries(len(sys.modules)).limit(limits=1))
    try:
        yield
    finally:
        with _BLAS:
            limits = _STEADY.pop()
            if limits is not None:
                limits.restore_original_limits()


@lru_cache(maxsize=1)
def _libraries(_modules: int) -> Any:
    """The loaded BLAS libraries. A look takes 10 ms, so only more modules ask for another."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController().select(user_api="blas")


@contextmanager
def quietly(category: type[Warning] = Warning) -> Iterator[None]:
    """Ignore a category of warnings in the `with` block, in one thread at a time: filters are the
    process's.
    """
    with _WARNINGS, warnings.catch_warnings():
        warnings.simplefilter("ignore", category)
        yield


def share_out(work: Callable[[_Task], Iterable[None] | None], tasks: Iterable[_Task]) -> None:
    """Do `work` on every task in any order, one thread a usable core; an error ends all work.

    A single task takes no thread.
    Long work yields between its steps: there an error or an interrupt elsewhere ends it.
    """
    cores = usable_cores()
    waiting = iter(tasks)
    two = list(islice(waiting, 2))
    waiting = chain(two, waiting)
    if cores == 1 or len(two) < 2:
        for task in waiting:
            for _ in work(task) or ():
                pass
        return
    lock, stopped = threading.Lock(), threading.Event()

    def serve() -> None:
        try:
            while not stopped.is_set():
                with lock:
                    task = next(waiting, None)
                if task is None:
                    return
                for _ in work(task) or ():
                    if stopped.is_set():
                        return
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(cores) as pool:
        try:
            served = [pool.submit(serve) for _ in range(cores)]
            while wait(served, _POLL_SECONDS).not_done:  # An interrupt may not end a longer wait.
                pass
            for thread in served:
                thread.result()
        finally:
            stopped.set()
