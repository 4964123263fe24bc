"""Folders that a running process holds, so that other processes can find a killed one's folders.

The holder keeps a lock on the folder, and the folder's name has the holder's process number. The
system takes the lock away when the holder dies. The number alone would not do, because processes of
containers all get the same few numbers.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_YOUNG_SECONDS = 60.0  # A holder takes its lock much sooner.


@contextmanager
def claimed_folder(path: Path) -> Iterator[None]:
    """Make a folder of mode 0700 and hold it until the end of the `with` block."""
    path.mkdir(mode=0o700)
    handle = _locked(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def abandoned(path: Path, owner: int, *, surely: bool = False) -> bool:
    """Whether the process `owner`, which made the folder, no longer holds the folder.

    A link, or a folder of another user, never counts as abandoned, since the package must not
    remove or take over such a folder. Where a disk has no locks, only the number of the process
    tells; `surely` does not accept the number alone.
    """
    try:
        status = path.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            return False
        handle = _locked(path)
        if handle is None:
            return not surely and not lives(owner)
        os.close(handle)
        if not lives(owner) or owner == os.getpid():
            return True
        return time.time() - status.st_ctime > _YOUNG_SECONDS
    except OSError:  # A process holds the folder, or the folder is gone.
        return False


def lives(pid: int) -> bool:
    """Whether a process of that number runs, under any user."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # The process runs under another user.
    return True


def _locked(path: Path) -> int | None:
    """A handle that holds a lock on a folder; None where folders take no locks.

    Raises BlockingIOError where another process holds the lock.
    """
    try:
        import fcntl
    except ImportError:
        return None
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise
    except OSError:
        os.close(handle)
        return None
    return handle
