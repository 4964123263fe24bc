"""Call functions of the R references from Python.

R checks the package, samples in the engine rstan, or brings the data of a package of its own to a
study. No other result depends on R.

R is not thread-safe, so every call is a job for one thread, which the first job starts, and the
caller waits for the job. The session collects the console text of a job and shows it to no one,
because an R message can hold data. Objects of rpy2 stay in this thread too, since freeing such an
object calls R.
"""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import threading
import warnings
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache, wraps
from importlib.metadata import version
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from pyvws._base import resources as _resources
from pyvws._base.folders import private_folder
from pyvws.errors import InputError, MissingDependencyError, PyvwsError

_RPY2: Final = "Run: pip install rpy2 'rpy2-rinterface<=3.6.5'"
_INSTALL: Final = f"{_RPY2} and apt-get install r-base"
_STACK: Final = 64 * 2**20
_GRACE: Final = 5.0  # An interrupted R has so many seconds before the caller moves on.
# Another library (polars) can make the system restart interrupted waits. Python then sees Ctrl-C
# only when a wait ends, so waits are short.
_GLANCE: Final = 0.1
_SESSION_OF: Final = "R_SESSION_INITIALIZED"  # Set by whoever starts R in a process.
_ONE_AT_A_TIME: Final = threading.Lock()
P = ParamSpec("P")
T = TypeVar("T")
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
        if r_runs_this_python():
            return "R runs this Python, and a process has one R."
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
        return f"R is there, and it needs rpy2. {_RPY2}."
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


# This R code runs one function and catches every condition, so that R prints nothing of its own.
_HARNESS: Final = """
function(f, arguments) {
  known <- names(formals(f))
  strange <- setdiff(names(arguments), known)
  if (length(strange) > 0 && !("..." %in% known)) {
    return(list(error = paste("unknown argument:", strange)))
  }
  muffled <- function(w) {
    cat("Warning:", conditionMessage(w), "\\n")
    invokeRestart("muffleWarning")
  }
  tryCatch(
    list(value = withCallingHandlers(do.call(f, arguments), warning = muffled)),
    packageNotFoundError = function(e) list(missing = e$package),
    error = function(e) list(error = conditionMessage(e))
  )
}
"""
# This R code parses a script in an environment of its own, apart from the user's workspace.
_SOURCE: Final = """
function(lines) {
  home <- new.env(parent = parent.env(globalenv()))
  for (expression in parse(text = lines, keep.source = FALSE, encoding = "UTF-8")) {
    eval(expression, home)
  }
  home
}
"""
_VERSIONS: Final = """
function(packages) {
  found <- Filter(function(name) nzchar(system.file(package = name)), packages)
  names(found) <- found
  installed <- lapply(found, function(name) utils::packageDescription(name)$Version)
  c(list(R = as.character(getRversion())), installed)
}
"""
_LISTED: Final = ("MASS", "coda", "rstan", "survey")

_scripts: dict[tuple[str, str], Any] = {}  # Environments by path and hash, for R's thread only.


class RError(PyvwsError, RuntimeError):
    """An R function that failed.

    The message names the script and the function. `captured` has R's own words. These words can
    hold data values, so the package puts them in no message and no log.
    """

    def __init__(self, message: str, *, captured: str = "") -> None:
        super().__init__(message)
        self.captured = captured


def _in_a_process_of_its_own(function: Callable[P, T]) -> Callable[P, T]:
    """The function, whose calls go to another process where R runs this Python.

    R has one session a process: a second one, started by rpy2, would end both.
    """

    @wraps(function)
    def called(*arguments: P.args, **named: P.kwargs) -> T:
        if not r_runs_this_python():
            return function(*arguments, **named)
        return _answer_of(function.__name__, arguments, named)

    return called


def r_runs_this_python() -> bool:
    """Whether this Python is part of an R session, as R's package reticulate makes it."""
    return os.environ.get(_SESSION_OF, "").startswith(f"PID={os.getpid()}:")


def _answer_of(name: str, arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    """What a function of this module gives in the other process; its PyvwsError is raised here."""
    with _ONE_AT_A_TIME:
        calls = _other_process()
        try:
            calls.send((name, arguments, named))
            value, error = calls.recv()
        except (EOFError, OSError):
            _other_process.cache_clear()
            raise RError("R ended in its own process.") from None
        except BaseException:  # An answer that nobody has read must not be that of the next call.
            calls.close()
            _other_process.cache_clear()
            raise
    if error is not None:
        raise error
    return value


@cache
def _other_process() -> Connection:
    """The calls of a process with an R of its own, which ends when they do."""
    here, there = Pipe()
    get_context("spawn").Process(target=_answer_calls, args=(there,), daemon=True).start()
    there.close()
    return here


def _answer_calls(calls: Connection) -> None:
    while True:
        try:
            name, arguments, named = calls.recv()
        except EOFError:
            return
        try:
            calls.send((globals()[name](*arguments, **named), None))
        except PyvwsError as error:
            calls.send((None, error))
        except Exception as error:  # Its words may hold data values, and a traceback would too.
            calls.send((None, RError(f"R could not be asked ({type(error).__name__}).")))


@_in_a_process_of_its_own
def call(
    script: str, function: str, arguments: dict[str, Any], *, folder: Path | None = None
) -> Any:
    """The value of an R function of `r_reference/<script>.R`, or of a script in another `folder`.

    R reads a script into an environment of its own, once for each content. `arguments` go by the
    names of the function's parameters; `pyvws.r.convert` takes them and the value across, and one
    value comes back as an array. Raises RError if R fails, whose `captured` has R's words;
    InputError for no such script, or what cannot cross unchanged; MissingDependencyError where R,
    rpy2 or an R package of the script is missing.
    """
    path = (folder or _resources.folder("r_reference")) / f"{script}.R"
    if not script.isidentifier() or not path.is_file():
        raise InputError.by("r-no-script", script=script)
    text = path.read_text(encoding="utf-8")
    outcome = SESSION.run(lambda: _evaluate(path, text, function, arguments))
    where = f"{function}() of {script}.R"
    if outcome.crash is not None:
        raise RError(f"R could not run {where}.", captured=outcome.console + outcome.crash)
    value, error = outcome.value
    if error is not None:
        raise RError(f"R failed in {where}.", captured=outcome.console + error)
    return value


@_in_a_process_of_its_own
def r_available() -> tuple[bool, str]:
    """Start R; whether R runs here, and one line with the reason when R does not run."""
    try:
        reason = SESSION.start()
    except MissingDependencyError as error:
        reason = str(error)
    return reason is None, reason or ""


@_in_a_process_of_its_own
def r_versions() -> dict[str, str]:
    """Versions of R, rpy2 and the installed R packages that checks use.

    Raises MissingDependencyError if R or rpy2 is missing.
    """

    outcome = SESSION.run(_versions)
    if outcome.crash is not None:
        raise RError("R could not list its versions.", captured=outcome.crash)
    return {**outcome.value, **{name: version(name) for name in ("rpy2", "rpy2-rinterface")}}


def save_object(value: object, path: Path) -> None:
    """Write an rpy2 object to an RDS file.

    Raises InputError for anything else, or if R cannot write it; MissingDependencyError without R.
    """
    if r_runs_this_python():  # R hands fits over by their contents.
        raise InputError.by("r-path")
    outcome = SESSION.run(lambda: _save(value, path))
    if outcome.crash is not None:
        raise InputError.by("r-not-written")


def _versions() -> dict[str, str]:
    from pyvws.r.convert import from_r, text_vector

    listed = from_r(_compiled(_VERSIONS)(text_vector(_LISTED)))
    return {name: str(value[0]) for name, value in listed.items()}


def _evaluate(path: Path, text: str, function: str, arguments: dict[str, Any]) -> Any:
    """(value, None), or (None, R's error text) where R fails; runs in R's thread."""
    from pyvws.r.convert import from_r, named_list, to_r

    environment = _environment(path, text)
    if function not in environment:
        raise InputError.by("r-no-function", path=path.name, function=function)
    crossed = {}
    for name, value in arguments.items():
        try:
            crossed[name] = to_r(value)
        except InputError as error:
            raise InputError.by("r-argument", name=name, function=function, error=error) from None
    result = _compiled(_HARNESS)(environment[function], named_list(crossed))
    if result.names[0] == "missing":
        name = result[0][0]
        raise MissingDependencyError(
            f"R's package {name} is not installed. Run: apt-get install r-cran-{name.lower()}"
        )
    if result.names[0] == "error":
        return None, " ".join(result[0])
    return from_r(result[0]), None


def _environment(path: Path, text: str) -> Any:
    from pyvws.r.convert import text_vector

    key = (str(path), hashlib.sha256(text.encode("utf-8")).hexdigest())
    if key not in _scripts:
        _scripts[key] = _compiled(_SOURCE)(text_vector(text.splitlines()))
    return _scripts[key]


@cache
def _compiled(source: str) -> Any:
    """The R function of a source text of this module."""
    import rpy2.rinterface as rinterface

    return rinterface.evalr(source, envir=rinterface.baseenv["new.env"]())


def _save(value: object, path: Path) -> None:
    import rpy2.rinterface as rinterface

    if not isinstance(value, rinterface.Sexp):
        raise InputError.by("r-path")
    rinterface.baseenv["saveRDS"](value, str(path))
