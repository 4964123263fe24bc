"""Folders that a process holds, private folders of a fit, and folders written whole or not at all.

The holder of a folder keeps a lock on it, and the folder's name has the holder's process number. So
other processes find the folders of a killed one: the system takes the lock away when the holder
dies. The number alone would not do, because processes of containers all get the same few numbers.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import secrets
import shutil
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyvws.errors import OutputError

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
    """A handle that holds a folder's lock, or None without locks; BlockingIOError where held."""
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


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new, empty folder of mode 0700 in the system's temporary folder, removed in the end."""
    sweep()
    name = f"{_prefix()}{os.getpid()}-{secrets.token_hex(4)}"
    folder = Path(tempfile.gettempdir()) / name
    try:
        with claimed_folder(folder):
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def sweep() -> int:
    """Remove the folders of this user's dead processes on this machine; return their number."""
    removed = 0
    name = re.compile(re.escape(_prefix()) + r"(\d+)-")
    for path in Path(tempfile.gettempdir()).glob(f"{_prefix()}*"):
        match = name.match(path.name)
        if match is not None and abandoned(path, int(match[1])):
            shutil.rmtree(path, ignore_errors=True)
            removed += not path.exists()
    return removed


def _prefix() -> str:
    """The start of folder names on this machine; keeps containers with one TMPDIR apart."""
    machine = hashlib.sha256(socket.gethostname().encode()).hexdigest()[:8]
    return f"pyvws-{machine}-"


_PARTIAL, _OLD = "partial", "old"
FILE_RIGHTS, _FOLDER_RIGHTS = 0o644, 0o755  # The most rights that a release has.


def check_folder(folder: Path, *, overwrite: bool, source: Path | None = None) -> None:
    """Raise OutputError now if `whole_folder` could not write there later.

    `source` is the input, a file or a folder of parts. A replaced folder must not contain an input
    file. An input folder must not contain the output.
    """
    try:
        _check(folder, overwrite, source)
    except OutputError:
        raise
    except (OSError, RuntimeError) as error:  # RuntimeError: links that lead in a circle
        raise _output_error(folder, error) from None


def _check(folder: Path, overwrite: bool, source: Path | None) -> None:
    place = folder.resolve()
    parent = place.parent
    if source is not None and source.is_dir():
        there = [path for path in (place, *place.parents) if path.exists()]
        if any(path.samefile(source) for path in there):
            raise OutputError(
                f"{folder} is in the input folder, whose parts the next run reads. Name another "
                "folder."
            )
    _sweep_beside(place)
    if folder.exists() and not folder.is_dir():
        raise OutputError(f"{folder} is a file. Name a folder for the output.")
    if folder.is_dir() and any(folder.iterdir()):
        if not overwrite:
            raise _not_empty(folder)
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

    A killed run leaves its private folder behind; the next check of a place beside it removes that
    folder. Several runs may fill one place at once. With `overwrite` the place holds the output of
    the last run that ends, without `overwrite` the output of the first.
    """
    place = folder.resolve()
    check_folder(folder, overwrite=overwrite)
    partial = _beside(place, _PARTIAL)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with claimed_folder(partial):
            yield partial
            _limit_rights(partial)
            with _uninterrupted():
                _put(partial, place, overwrite=overwrite)
    except OutputError:
        raise
    except Exception as error:
        if isinstance(error, OSError) or _is_full(error):
            raise _output_error(folder, error) from None
        raise
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _limit_rights(folder: Path) -> None:
    """Take away other users' rights to write; the folder itself gets the rights of the umask."""
    for parent, folders, files in os.walk(folder):
        for names, most in ((folders, _FOLDER_RIGHTS), (files, FILE_RIGHTS)):
            for name in names:
                path = Path(parent, name)
                path.chmod(path.stat().st_mode & most)
    folder.chmod(_FOLDER_RIGHTS & ~umask())


def _put(partial: Path, place: Path, *, overwrite: bool) -> None:
    """Rename `partial` to `place`, and remove any folder there, other runs' new ones too."""
    old: list[Path] = []
    try:
        while True:
            try:
                partial.rename(place)  # The rename replaces an empty folder.
                break
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                if not overwrite:
                    raise _not_empty(place) from None
            with suppress(FileNotFoundError):
                aside = _beside(place, _OLD)
                place.rename(aside)
                old.append(aside)
    except BaseException:
        for aside in old[-1:]:
            with suppress(OSError):
                aside.rename(place)
        raise
    for aside in old:
        _remove(aside)


def _remove(old: Path) -> None:
    """Remove a folder under a new name, so that a folder under the old name is always whole."""
    with suppress(OSError):
        rest = old.with_suffix(f".{_PARTIAL}")
        old.rename(rest)
        shutil.rmtree(rest, ignore_errors=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Hold signals back until the end of the `with` block, which renames folders."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, held)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _beside(place: Path, mark: str) -> Path:
    return place.parent / f".{place.name}.{os.getpid()}-{secrets.token_hex(4)}.{mark}"


def _sweep_beside(place: Path) -> None:
    """Remove the folders that dead runs left beside `place`; one replaced half-way comes back."""
    pattern = re.compile(rf"\.(.+)\.(\d+)-[0-9a-f]+\.({_PARTIAL}|{_OLD})", re.S)
    if not place.parent.is_dir():
        return
    for left in list(place.parent.iterdir()):
        match = pattern.fullmatch(left.name)
        if match is None:
            continue
        ours = match[1] == place.name
        if not (ours or match[3] == _PARTIAL):
            continue  # This folder may be the only copy of another output.
        if not abandoned(left, int(match[2]), surely=not ours):
            continue
        if match[3] == _OLD and not place.exists():
            with suppress(OSError):
                left.rename(place)
        elif match[3] == _OLD:
            _remove(left)
        else:
            shutil.rmtree(left, ignore_errors=True)


def umask() -> int:
    """The process's umask: the rights that new files do not get."""
    now = os.umask(0)
    os.umask(now)
    return now


def _not_empty(folder: Path) -> OutputError:
    return OutputError(
        f"{folder} is not empty. Name another folder, or use --overwrite (overwrite=True in "
        "Python) to replace it whole."
    )


def _is_full(error: Exception) -> bool:
    """Whether an error means a full disk; polars gives the error number in its words alone."""
    if getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT):
        return True
    return f"(os error {errno.ENOSPC})" in str(error)


def _output_error(folder: Path, error: Exception) -> OutputError:
    if _is_full(error):
        return OutputError(f"No space is left where {folder} goes. Free some; nothing was written.")
    reason = getattr(error, "strerror", None) or type(error).__name__
    return OutputError(
        f"{folder} could not be written ({reason}); nothing was left behind. Name another folder, "
        "or mend the cause."
    )


def private_write(path: Path, content: bytes) -> None:
    """Write a new file that only its owner can read (mode 0600), whole or not at all."""
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
    except BaseException:
        path.unlink(missing_ok=True)
        raise


def write_whole(path: Path, content: str | bytes, *, private: bool = False) -> None:
    """Write a file under another name and rename it, whole; a `private` one has mode 0600."""
    rights = 0o600 if private else FILE_RIGHTS
    partial = path.with_name(f".{path.name}.{secrets.token_hex(4)}.{_PARTIAL}")
    try:
        handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, rights)
        with os.fdopen(handle, "wb") as file:
            file.write(content.encode("utf-8") if isinstance(content, str) else content)
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
    except OSError as error:
        raise OutputError(
            f"{path} could not be written ({error.strerror}). Name another file, or mend the cause."
        ) from None
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
