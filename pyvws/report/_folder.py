"""Write a folder whole or not at all: built beside its place under a private name, then renamed."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyvws.errors import OutputError

__all__ = ["check_folder", "lives", "private_write", "umask", "whole_folder"]

_MARK = "partial"


def check_folder(folder: Path, *, overwrite: bool, source: Path | None = None) -> None:
    """Raise OutputError now if `whole_folder` could not write there later.

    `source` is the input file, which a replaced folder must not contain.
    """
    place = folder.resolve()
    parent = place.parent
    _sweep(place)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file. Name a folder for the output.")
    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            raise OutputError(
                f"{folder} is not empty. Name another folder, or use --overwrite "
                "(overwrite=True in Python) to replace it whole."
            )
        inside = [Path.cwd().resolve(), *([source.resolve()] if source else [])]
        if any(place == other or place in other.parents for other in inside):
            raise OutputError(
                f"{folder} holds the working folder or the input, so it is not replaced. Name "
                "another folder."
            )
    while not parent.exists():
        parent = parent.parent
    if not os.access(parent, os.W_OK | os.X_OK) or not parent.is_dir():
        raise OutputError(
            f"{parent} cannot be written to. Name another folder, or change its rights."
        )


@contextmanager
def whole_folder(folder: Path, *, overwrite: bool) -> Iterator[Path]:
    """Yield a private folder to fill; rename it to `folder` at the end, remove it on any failure.

    A run that was killed leaves such a folder behind; the next check of the same place removes it.
    """
    place = folder.resolve()
    check_folder(folder, overwrite=overwrite)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        partial = _beside(place, _MARK)
        partial.mkdir(mode=0o700)
    except OSError as error:
        raise _output_error(folder, error) from None
    try:
        yield partial
        partial.chmod(0o777 & ~umask())
        _put(partial, place)
    except OutputError:
        raise
    except OSError as error:
        raise _output_error(folder, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _put(partial: Path, place: Path) -> None:
    if not place.exists():
        partial.rename(place)
        return
    old = _beside(place, "old")
    place.rename(old)
    try:
        partial.rename(place)
    except BaseException:
        old.rename(place)
        raise
    shutil.rmtree(old)


def _beside(place: Path, mark: str) -> Path:
    return place.parent / f".{place.name}.{os.getpid()}-{secrets.token_hex(4)}.{mark}"


def _sweep(place: Path) -> None:
    """Remove what runs that no longer live left beside `place`; restore a folder caught mid-way."""
    for left in place.parent.glob(f".{place.name}.*-*.*"):
        owner, mark = left.name.split(".")[-2].split("-")[0], left.suffix
        if mark not in (f".{_MARK}", ".old") or not owner.isdigit() or lives(int(owner)):
            continue
        if mark == ".old" and not place.exists():
            left.rename(place)
        else:
            shutil.rmtree(left, ignore_errors=True)


def lives(pid: int) -> bool:
    """Whether a process of that number is there, ours or not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def umask() -> int:
    """The rights that new files do without."""
    now = os.umask(0)
    os.umask(now)
    return now


def _output_error(folder: Path, error: OSError) -> OutputError:
    if error.errno == errno.ENOSPC:
        return OutputError(f"No space is left where {folder} goes. Free some; nothing was written.")
    reason = error.strerror or type(error).__name__
    return OutputError(f"{folder} could not be written ({reason}); nothing was left behind.")


def private_write(path: Path, content: bytes) -> None:
    """Write a file that only its owner can read (mode 0600)."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
