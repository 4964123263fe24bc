"""A folder for confidential files of one fit: readable by its owner, gone when the fit ends."""

from __future__ import annotations

import hashlib
import os
import re
import secrets
import shutil
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyvws._base.claims import abandoned, claimed_folder


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new, empty folder of mode 0700 in the system's temporary folder, removed in the end.

    A killed process leaves it behind, and the next run on the same machine removes it.
    """
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
