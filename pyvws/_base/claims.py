"""Folders that a running process holds, so that others can tell what a killed one left behind.

The holder keeps a lock on the folder, which its death takes away, and its number stands in the
folder's name. The number alone would not do: a container's processes all get the same few.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["abandoned", "claimed_folder", "lives"]

_YOUNG_SECONDS = 60.0  # A holder has its lock long before.


@contextmanager
def claimed_folder(path: Path) -> Iterator[None]:
    """Make a folder of mode 0700 and hold it; whatever becomes of it, the hold ends here."""
    path.mkdir(mode=0o700)
    handle = _locked(path)
    try:
        yield
    finally:
        if handle is not None:
            os.close(handle)


def abandoned(path: Path, owner: int, *, surely: bool = False) -> bool:
    """Whether the process of that number, which made the folder, no longer holds it.

    Never so of a link, or of what another user owns: neither is ours to remove, or to take for our
    own. Where a disk has no locks only the number tells, which `surely` does not accept.
    """
    try:
        found = path.lstat()
        if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
            return False
        handle = _locked(path)
        if handle is None:
            return not surely and not lives(owner)
        os.close(handle)
        if not lives(owner) or owner == os.getpid():
            return True
        return time.time() - found.st_ctime > _YOUNG_SECONDS
    except OSError:  # Held, or gone meanwhile.
        return False


def lives(pid: int) -> bool:
    """Whether a process of that number is there, ours or not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # It runs under another user.
    return True


def _locked(path: Path) -> int | None:
    """A handle that holds a lock on a folder; None where folders take none.

    Raises BlockingIOError where another process holds it.
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
