"""The command line: the same steps as the Python functions."""

from __future__ import annotations

import atexit
import errno
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from pyvws._base.checks import near
from pyvws.commands.audit import audit
from pyvws.commands.combine import combine
from pyvws.commands.compare import compare
from pyvws.commands.doctor import doctor
from pyvws.commands.example import example
from pyvws.commands.init import init
from pyvws.commands.ledger import ledger
from pyvws.commands.options import DeclaredCommand, PlainCommand
from pyvws.commands.report import report
from pyvws.commands.reproduce import reproduce
from pyvws.commands.risk import risk
from pyvws.commands.schema import schema
from pyvws.commands.synthesize import synthesize
from pyvws.commands.tabulate import tabulate
from pyvws.commands.utility import utility
from pyvws.commands.verify import verify
from pyvws.errors import PyvwsError, UsageError

_INTERRUPT = "Interrupted; nothing was left half-written."
_INTERRUPTED = 130
_AGAIN_SECONDS = 0.05

_EXIT_CODES = (
    "Exit code 0 means that all is done. Code 1 means that an error stopped the run, or that a "
    "validation row or a reproduced dataset differs. Code 2 means wrong usage, or a validation "
    "that could not run. Code 130 means an interrupt. Errors are one line on stderr."
)

_EVIDENCE = {
    "demo": "pyvws_studies.demo",
    "study": "pyvws_studies.command",
    "validate": "pyvws_validation.command",
}


class _Commands(TyperGroup):
    """The product's commands, and those of the evidence, which are imported when asked for."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*super().list_commands(ctx), *_EVIDENCE]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in _EVIDENCE:
            return super().get_command(ctx, cmd_name)
        beside: typer.Typer = import_module(_EVIDENCE[cmd_name]).app
        return typer.main.get_command(beside)


app = typer.Typer(
    name="pyvws",
    cls=_Commands,
    help="Synthetic microdata with a privacy statement, checked against R.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    add_completion=True,
)


def _version(asked: bool) -> None:
    if asked:
        print(f"pyvws {version('pyvws')}")
        raise typer.Exit


@app.callback()
def _options(
    debug: Annotated[
        bool,
        typer.Option("--debug", help="Show the traceback of an error. It may hold data values."),
    ] = False,
    _asked: Annotated[
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Synthetic microdata with a privacy statement, checked against R."""
    if debug:
        os.environ["PYVWS_DEBUG"] = "1"


_COMMANDS: tuple[Callable[..., None], ...] = (
    *(example, init, schema, risk, utility, combine, tabulate, report, reproduce, verify),
    *(ledger, doctor),
)

for _declared in (synthesize, compare, audit):
    app.command(cls=DeclaredCommand, epilog=_EXIT_CODES)(_declared)
for _command in _COMMANDS:
    app.command(cls=PlainCommand)(_command)


def main() -> None:
    """Run the command line and leave with its exit code."""
    _take_signals()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except KeyboardInterrupt:
        code = _INTERRUPTED
    except Exception as error:
        if os.environ.get("PYVWS_DEBUG"):
            traceback.print_exc()
        _fail(*_message(error))
    if code == _INTERRUPTED:
        _fail(_INTERRUPT, _INTERRUPTED)
    sys.exit(code if isinstance(code, int) else 0)


def _message(error: Exception) -> tuple[str, int]:
    """An error's message and exit code."""
    kind, code = type(error).__name__, 1
    if hasattr(error, "format_message"):  # typer's own usage error
        message, code = error.format_message(), 2
        if kind == "NoArgsIsHelpError":
            print(message)
            return "Name a command; --help lists them.", code
        message = _with_nearest(error, message.replace(": Value error, ", ": "))
    elif isinstance(error, PyvwsError):
        message, code = str(error), 2 if isinstance(error, UsageError) else 1
    elif kind == "Abort":
        message, code = _INTERRUPT, _INTERRUPTED
    elif isinstance(error, MemoryError):
        message = (
            "The run needs more memory than there is. Take fewer draws or datasets, or a smaller "
            "--memory, so that the table is read in steps."
        )
    elif isinstance(error, OSError) and error.errno == errno.ENOSPC:
        message = (
            f"No space is left for {error.filename or 'what is written'}. Free some; TMPDIR moves "
            "temporary files, XDG_CACHE_HOME compiled programs. Nothing was left half-written."
        )
    elif isinstance(error, OSError) and error.strerror and error.filename:
        message = (
            f"{error.filename}: {error.strerror}. Check its name and its rights. Nothing was left "
            "half-written."
        )
    else:
        message = (
            f"An unexpected {kind} stopped the run; nothing was left half-written. Run "
            "pyvws --debug ... to see where; what it shows may hold data values."
        )
    return message, code


def _with_nearest(error: Exception, message: str) -> str:
    """A usage error's message, which offers the command, option or word nearest to a wrong one."""
    message = re.sub(r" ?(?:\(Possible options: .*\)|Did you mean .*)$", "", message)
    given = re.search(r"'([^']*)' is not one of |No such (?:command|option):? '?([\w-]*)", message)
    if given is None:
        return f"{message} --help shows what it takes." if "Missing" in message else message
    if given[1] is not None:
        words = re.findall(r"'([^']*)'", message[given.end() :])
    elif "command" in given[0]:
        words = error.ctx.command.list_commands(error.ctx)  # type: ignore[attr-defined]
    else:
        words = list(getattr(error, "possibilities", None) or ())
    hint = near(given[1] or given[2], words)
    if not hint and given[1] is None:
        hint = " --help lists what there is."
    return f"{message.rstrip('.')}.{hint}"


def _take_signals() -> None:
    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), _interrupt)
    sys.unraisablehook = _pass_on


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def _pass_on(lost: sys.UnraisableHookArgs) -> None:
    """Raise an interrupt again at once if Python lost the interrupt in a finalizer."""
    if not issubclass(lost.exc_type, KeyboardInterrupt) or not hasattr(signal, "setitimer"):
        sys.__unraisablehook__(lost)
        return
    signal.signal(signal.SIGALRM, _interrupt)
    signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)
    atexit.register(signal.setitimer, signal.ITIMER_REAL, 0.0)  # A run that ends first is whole.


def _fail(message: str, code: int) -> None:
    for word in sys.argv[1:]:  # A file's name may hold a line break.
        for name in (word, os.path.basename(word)):
            if not name.isprintable():
                message = message.replace(name, name.encode("unicode_escape").decode())
    print(f"Error: {message}", file=sys.stderr)
    # Python ends `python -m` by the signal, whatever the exit code, where an interrupt left a text
    # that `exec` ran, as Numba's do. The next text that `exec` runs takes that back.
    exec("")
    sys.exit(code)
