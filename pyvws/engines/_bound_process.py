"""A command that ends with the process that started it, killed or not: no child samples on alone.

Run as a script, `_bound_process PARENT COMMAND...`, it asks Linux for a kill at its parent's end
and becomes the command, which keeps that. Elsewhere the command runs as it is.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["bound_command", "main"]

_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of prctl(2)


def bound_command(command: list[str]) -> list[str]:
    """The command, to be started by this process and to end with it.

    It ends with the thread that starts it, so that thread waits for it.
    """
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
