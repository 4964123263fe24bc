"""The command line: the same steps as the Python functions."""

from __future__ import annotations

import os
import signal
import sys
import traceback
from typing import Annotated, Any

import typer

from pyvws.commands.combine import combine
from pyvws.commands.demo import demo
from pyvws.commands.doctor import doctor
from pyvws.commands.init import init
from pyvws.commands.report import report
from pyvws.commands.risk import risk
from pyvws.commands.study import study
from pyvws.commands.synthesize import synthesize
from pyvws.commands.utility import utility
from pyvws.commands.validate import validate
from pyvws.errors import PyvwsError

__all__ = ["app", "main"]

_INTERRUPTED = 130

_EXIT_CODES = (
    "Exit codes: 0 done; 1 the input, the output folder or a search stopped the run, or a "
    "validation row failed; 2 wrong usage, or a validation that could not run; 130 interrupted. "
    "Errors are one line on stderr; results go to stdout."
)

app = typer.Typer(
    name="pyvws",
    help="Synthetic microdata with a privacy statement, checked against R.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
)


@app.callback()
def _options(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error. It may hold data values."),
    ] = False,
) -> None:
    """Synthetic microdata with a privacy statement, checked against R."""
    if debug:
        os.environ["PYVWS_DEBUG"] = "1"


app.command()(synthesize)
app.command()(init)
app.command()(risk)
app.command()(utility)
app.command()(combine)
app.command()(report)
app.command()(demo)
app.add_typer(study, name="study")
app.command()(validate)
app.command()(doctor)


def main() -> None:
    """Run the command line and leave with its exit code."""
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    try:
        code = app(standalone_mode=False)
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as error:
        if os.environ.get("PYVWS_DEBUG"):
            traceback.print_exc()
        if hasattr(error, "format_message"):  # a usage error of typer's own
            _fail(error.format_message() or "Name a command; --help lists them.", 2)
        if isinstance(error, PyvwsError):
            _fail(str(error), 1)
        if type(error).__name__ == "Abort":
            _fail("Interrupted; nothing was written.", _INTERRUPTED)
        _fail(
            f"An unexpected {type(error).__name__} stopped the run; nothing was written. Run "
            "pyvws --debug ... to see where; what it shows may hold data values.",
            1,
        )
    if code == _INTERRUPTED:
        _fail("Interrupted; nothing was written.", _INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _interrupt(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def _fail(message: str, code: int) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)


if __name__ == "__main__":
    main()
