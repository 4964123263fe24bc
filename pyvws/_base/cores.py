"""Processors: how many may be used, work shared out over them, sums that they do not change."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = ["one_core", "share_out", "steady_sums", "usable_cores"]

_Task = TypeVar("_Task")
_ALONE: ContextVar[bool] = ContextVar("_ALONE", default=False)
_BLAS = threading.Lock()


def usable_cores() -> int:
    """Processors for this process: by its affinity and its container's quota; 1 in `one_core`."""
    if _ALONE.get():
        return 1
    import joblib

    return int(joblib.cpu_count())


@contextmanager
def one_core() -> Iterator[None]:
    """What runs in here is one of several jobs, each of which keeps to one processor."""
    before = _ALONE.set(True)
    try:
        yield
    finally:
        _ALONE.reset(before)


@contextmanager
def steady_sums() -> Iterator[None]:
    """Matrix products in here have the same bits on any number of processors.

    BLAS adds up long columns in as many parts as it has threads, so it gets one. That is a setting
    of the whole process, so only one thread at a time changes it and puts it back.
    """
    from threadpoolctl import threadpool_limits

    with _BLAS, threadpool_limits(1, user_api="blas"):
        yield


def share_out(work: Callable[[_Task], None], tasks: Iterable[_Task]) -> None:
    """Do `work` on every task, on a thread for each usable core; tasks are made as they are needed.

    Results must not depend on the order. What a task raises ends all and is passed on.
    """
    cores = usable_cores()
    waiting = iter(tasks)
    if cores == 1:
        for task in waiting:
            work(task)
        return
    lock, stopped = threading.Lock(), threading.Event()

    def serve() -> None:
        try:
            while not stopped.is_set():
                with lock:
                    task = next(waiting, None)
                if task is None:
                    return
                work(task)
        except BaseException:
            stopped.set()
            raise

    with ThreadPoolExecutor(cores) as pool:
        served = [pool.submit(serve) for _ in range(cores)]
        try:
            for one in served:
                one.result()
        finally:
            stopped.set()
