"""Starts a command that ends when its parent process ends, so that no child samples on alone.

The script `_bound_process PARENT COMMAND...` asks Linux to kill this process when its parent ends,
and then becomes the command. On systems other than Linux the command runs without that bond.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def bound_command(command: list[str]) -> list[str]:
    """The command line that makes a command end with the thread that starts it and waits for it."""
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", __file__, str(os.getpid()), *command]


def main(parent: str, *command: str) -> None:
    """Become the command, unless the parent is gone already."""
    ctypes.CDLL(None).prctl(_PARENT_DEATH_SIGNAL, signal.SIGKILL)
    if os.getppid() == int(parent):
        os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
    sys.exit(1)
