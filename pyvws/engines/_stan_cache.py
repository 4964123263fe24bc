"""Compiled Stan programs in the user's cache, one folder for each program and Stan version."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import secrets
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from platformdirs import user_cache_path

from pyvws._base.folders import abandoned, claimed_folder
from pyvws._base.kernels import compiling
from pyvws.errors import OutputError

_MARK = "ok"
_UNUSED_DAYS = 180
_WAIT_SECONDS = 0.2


def cache_folder() -> Path:
    """The folder of compiled programs; made with mode 0700 when a caller first asks for it."""
    folder = user_cache_path("pyvws", appauthor=False) / "stan"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be made ({error.strerror}); compiled Stan programs are kept there. "
            "Set XDG_CACHE_HOME to a folder that can be written to."
        ) from None
    return folder


def compiled(program: str, *, version: str, build: Callable[[Path], None]) -> Path:
    """The complete folder that holds the program compiled by a `version` of Stan, built unless
    there.

    `build` writes into an empty folder. The folder's mark is written last, so a build that was cut
    short does not count. Where another process builds the program, this one waits.
    """
    key = json.dumps([version, platform.system(), platform.machine(), program])
    folder = cache_folder() / hashlib.sha256(key.encode()).hexdigest()
    if not _complete(folder):
        compiling()
    while not _complete(folder) and _others_build(folder):
        time.sleep(_WAIT_SECONDS)
    if not _complete(folder):
        _prune(folder.parent)
        building = folder.with_name(f"{_build_of(folder)}.{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with claimed_folder(building):
                build(building)
                _place(building, folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    os.utime(folder / _MARK)
    return folder


def _complete(folder: Path) -> bool:
    return (folder / _MARK).is_file()


def _build_of(folder: Path) -> str:
    """How the names of a program's builds begin, before the number of the process."""
    return folder.name[:16]


def _others_build(folder: Path) -> bool:
    """Whether another process builds the program; of two that begin at once both build."""
    builds = [(build, _owner(build)) for build in folder.parent.glob(f"{_build_of(folder)}.*-*")]
    return any(owner != os.getpid() and not abandoned(build, owner) for build, owner in builds)


def _owner(build: Path) -> int:
    """The number of the process that a build's name gives; 0 for no number."""
    text = build.suffix[1:].partition("-")[0]
    return int(text) if text.isdigit() else 0


def _place(build: Path, folder: Path) -> None:
    """Move a build to its place; a build that another process finished meanwhile stays there."""
    if _complete(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        build.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    (folder / _MARK).touch()


def _prune(parent: Path) -> None:
    """Remove programs that nobody used for a long time, and the files that killed builds left."""
    oldest = time.time() - _UNUSED_DAYS * 86400
    for mark in parent.glob(f"*/{_MARK}"):
        if mark.stat().st_mtime < oldest:
            shutil.rmtree(mark.parent, ignore_errors=True)
    for left in parent.glob("*.*-*"):
        owner = _owner(left)
        if owner and abandoned(left, owner, surely=True):
            shutil.rmtree(left, ignore_errors=True)
