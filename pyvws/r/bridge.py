"""Call functions of the R references from Python.

R checks the package, samples in the engine rstan, or brings the data of a package of its own to a
study. No other result depends on R.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from pyvws._base import resources as _resources
from pyvws.errors import InputError, MissingDependencyError, PyvwsError
from pyvws.r.session import SESSION

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


def r_available() -> tuple[bool, str]:
    """Start R; whether R runs here, and one line with the reason when R does not run."""
    try:
        reason = SESSION.start()
    except MissingDependencyError as error:
        reason = str(error)
    return reason is None, reason or ""


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
