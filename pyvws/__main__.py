"""The program that `pyvws` and `python -m pyvws` call: quiet from its first import on."""

from __future__ import annotations

import signal


def run() -> None:
    """Run the command line; an interrupt while it loads ends the process without a traceback."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pyvws.commands.cli import main

    main()


if __name__ == "__main__":
    run()
