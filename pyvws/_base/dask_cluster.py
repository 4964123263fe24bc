"""Send work to a running Dask cluster, and notice when the cluster loses the work."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import contextmanager
from itertools import islice
from typing import Any

from pyvws.errors import ClusterError, MissingDependencyError

_POLL_SECONDS = 0.05
_PATIENCE_SECONDS = (
    10.0  # Longest wait for an answer or a worker; an adaptive cluster starts a worker meanwhile.
)

Share = Callable[[Callable[..., Any], Sequence[tuple[Any, ...]], int | None], Generator[Any]]


@contextmanager
def on_cluster(scheduler: str) -> Iterator[Share]:
    """A function that calls another function on the cluster's workers, `jobs` calls at once.

    It takes a function, a list of arguments and `jobs`, and yields each result as soon as a worker
    returns it. Raises ClusterError without a scheduler or workers, now or later, and
    MissingDependencyError without Dask.
    """
    try:
        from distributed import Client
    except ImportError:
        raise MissingDependencyError(
            "backend='dask' needs Dask. Install it with: pip install 'dask[dataframe]' distributed"
        ) from None
    with _unlogged():
        try:
            client = Client(scheduler, timeout=_PATIENCE_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise ClusterError(
                f"No Dask scheduler answers at {scheduler} ({type(error).__name__}). Check the "
                "address."
            ) from None
        try:
            yield lambda function, calls, jobs: _results(client, scheduler, function, calls, jobs)
        finally:
            client.close(timeout=1)


def _results(
    client: Any,
    scheduler: str,
    function: Callable[..., Any],
    calls: Sequence[tuple[Any, ...]],
    jobs: int | None,
) -> Generator[Any]:
    from distributed import as_completed

    def submitted(call: tuple[Any, ...]) -> Any:
        return client.submit(function, *call, pure=False)

    waiting = iter(calls)
    under_way = as_completed(map(submitted, islice(waiting, jobs)), loop=client.loop)
    last_seen = time.monotonic()
    while not under_way.is_empty():
        finished = under_way.next_batch(block=False)
        for future in finished:
            yield _result(future, scheduler)
            under_way.update(map(submitted, islice(waiting, 1)))
        if finished or _workers(client):
            last_seen = time.monotonic()
        elif time.monotonic() - last_seen > _PATIENCE_SECONDS:
            raise _lost(client.status == "running", scheduler)
        if not finished:
            time.sleep(_POLL_SECONDS)


def _workers(client: Any) -> int:
    """Number of the scheduler's workers; 0 if the scheduler does not answer."""
    try:
        return len(client.ncores()) if client.status == "running" else 0
    except OSError:
        return 0


def _result(future: Any, scheduler: str) -> Any:
    from distributed import KilledWorker

    try:
        return future.result()
    except (asyncio.CancelledError, CancelledError):
        raise _lost(False, scheduler) from None
    except KilledWorker:
        raise ClusterError(
            f"Workers of the Dask cluster at {scheduler} ended over one replicate, for want of "
            "memory perhaps."
        ) from None


def _lost(answers: bool, scheduler: str) -> ClusterError:
    if answers:
        return ClusterError(
            f"The Dask cluster at {scheduler} has no workers. Start some: dask worker {scheduler}."
        )
    return ClusterError(f"The Dask scheduler at {scheduler} answers no more.")


@contextmanager
def _unlogged() -> Iterator[None]:
    """Silence Dask's log of lost connections: this module reports each loss in one line."""
    names = [name for name in logging.root.manager.loggerDict if name.startswith("distributed")]
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)
