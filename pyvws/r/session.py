"""The one thread in which R runs; the first job starts the thread.

R is not thread-safe, so every call is a job for this thread, and the caller waits for the job. The
session collects the console text of a job and shows it to no one, because an R message can hold
data. Objects of rpy2 stay in this thread too, since freeing such an object calls R.
"""

from __future__ import annotations

import atexit
import os
import shutil
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final

from pyvws._base.private_folder import private_folder
from pyvws.errors import MissingDependencyError, PyvwsError

_INSTALL: Final = "Run: pip install rpy2 'rpy2-rinterface<=3.6.5' and apt-get install r-base"
_STACK: Final = 64 * 2**20
_GRACE: Final = 5.0  # An interrupted R has so many seconds before the caller moves on.
# Another library (polars) can make the system restart interrupted waits. Python then sees Ctrl-C
# only when a wait ends, so waits are short.
_GLANCE: Final = 0.1
_OPTIONS: Final[tuple[str, ...]] = (
    "pyvws",
    "--quiet",
    "--no-save",
    "--no-restore",
    "--no-init-file",
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """The result of a job: its value, R's console text, and the text of a crash outside R code.

    Both texts may hold data values, so the package puts them in no message, log or report.
    """

    value: Any
    console: str
    crash: str | None


@dataclass(slots=True)
class _Task:
    job: Callable[[], Any]
    console: list[str] = field(default_factory=list)
    done: threading.Event = field(default_factory=threading.Event)
    value: Any = None
    refused: PyvwsError | None = None
    crash: str | None = None
    cancelled: bool = False


class Session:
    """R behind a queue of jobs; any thread may call `run`."""

    def __init__(self) -> None:
        self._tasks: SimpleQueue[_Task | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._thread: threading.Thread | None = None
        self._process = 0
        self._missing: str | None = None

    def start(self) -> str | None:
        """Start R unless R runs; return None, or the reason when R cannot start.

        Raises MissingDependencyError in a process that was forked after R had started.
        """
        with self._lock:
            if self._thread is None:
                self._process = os.getpid()
                before = threading.stack_size(_STACK)
                self._thread = threading.Thread(target=self._serve, name="R", daemon=True)
                self._thread.start()
                threading.stack_size(before)
        while not self._ready.wait(_GLANCE):
            pass
        if self._process != os.getpid():
            raise MissingDependencyError(
                "R was started before this process was forked, and R does not run in a forked "
                'process. Start worker processes with the "spawn" method.'
            )
        return self._missing

    def run(self, job: Callable[[], Any]) -> Outcome:
        """Run `job` in R's thread and wait for it.

        An interruption of the wait (Ctrl-C) stops R as well. The method raises
        MissingDependencyError when R cannot start, and the PyvwsError of a job that refused its
        input.
        """
        reason = self.start()
        if reason is not None:
            raise MissingDependencyError(reason)
        task = _Task(job)
        self._tasks.put(task)
        try:
            while not task.done.wait(_GLANCE):
                pass
        except BaseException:
            task.cancelled = True
            self._interrupt(1)
            task.done.wait(_GRACE)
            raise
        if task.refused is not None:
            raise task.refused
        return Outcome(task.value, "".join(task.console), task.crash)

    def _serve(self) -> None:
        try:
            with private_folder() as folder:  # R writes its files here.
                self._work(folder)
        except OSError as error:
            self._missing = f"R has no temporary folder ({error.strerror}). Set TMPDIR to one."
            self._ready.set()

    def _work(self, folder: Path) -> None:
        self._missing = start_r(folder)
        self._ready.set()
        if self._missing is not None:
            return
        atexit.register(self._end)
        while (task := self._tasks.get()) is not None:
            self._interrupt(0)
            if not task.cancelled:
                _perform(task)
            task.done.set()
            del task
        from rpy2.rinterface_lib import embedded

        embedded.endr(0)

    def _end(self) -> None:
        """Let R close its files and remove its temporary folder, in its own thread."""
        if self._thread is not None and self._process == os.getpid():
            self._tasks.put(None)
            self._thread.join(_GRACE)

    @staticmethod
    def _interrupt(pending: int) -> None:
        from rpy2.rinterface_lib import openrlib

        openrlib.rlib.R_interrupts_pending = pending


def start_r(folder: Path) -> str | None:
    """Load rpy2 and start R in this thread; on failure return a line that says what to install.

    R's temporary folder lies in `folder`. A later run removes the folder of a killed process.
    """
    if shutil.which("R") is None and "R_HOME" not in os.environ:
        return f"R is not installed. {_INSTALL}."
    try:
        import rpy2.rinterface as rinterface
        from rpy2.rinterface_lib import embedded
    except ModuleNotFoundError:
        return f"rpy2 is not installed. {_INSTALL}."
    except Exception as error:
        return (
            f"rpy2 does not fit the installed R ({type(error).__name__} at import). {_INSTALL}; "
            "the extra pins versions that fit."
        )
    environment = dict(os.environ)
    os.environ["TMPDIR"] = str(folder)
    try:
        if not embedded.isinitialized():
            embedded.set_initoptions(_OPTIONS)  # type: ignore[arg-type]
        with warnings.catch_warnings():
            # rpy2 warns that Ctrl-C is lost when a thread other than the main one starts R. But
            # Ctrl-C works, since rpy2 tells R to leave the signal handlers alone.
            warnings.filterwarnings("ignore", message="R is not initialized by the main thread")
            rinterface.initr()
        atexit.unregister(rinterface.endr)
        for category in ("LC_COLLATE", "LC_TIME", "LC_MONETARY"):
            rinterface.baseenv["Sys.setlocale"](category, "C")
    except Exception as error:
        return f"R does not start ({type(error).__name__}). {_INSTALL}."
    finally:
        _restore_environment(environment)
    return None


def _restore_environment(before: dict[str, str]) -> None:
    """Undo the variables that R's front end sets (PAGER, LD_LIBRARY_PATH, ...), except R_*."""
    for name in set(os.environ) - set(before):
        if not name.startswith("R_"):
            del os.environ[name]
    os.environ.update({name: value for name, value in before.items() if not name.startswith("R_")})


def _perform(task: _Task) -> None:
    """Run the job and send R's console text to the task; keep no traceback, which would hold R."""
    from rpy2.rinterface_lib import callbacks, openrlib

    console = {
        "consolewrite_print": task.console.append,
        "consolewrite_warnerror": task.console.append,
        "showmessage": task.console.append,
        "consoleread": lambda _prompt: "",
        "showfiles": lambda *_: None,
        "yesnocancel": lambda _question: 0,
        "choosefile": lambda _new: None,
    }
    with openrlib.rlock, ExitStack() as stack:
        for name, replacement in console.items():
            stack.enter_context(callbacks.replace_in_module(callbacks, name, replacement))
        try:
            task.value = task.job()
        except PyvwsError as error:
            error.__traceback__ = error.__context__ = error.__cause__ = None
            task.refused = error
        except Exception as error:
            task.crash = f"{type(error).__name__}: {error}"


SESSION: Final = Session()
