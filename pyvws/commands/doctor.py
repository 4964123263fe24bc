"""pyvws doctor: list every engine and R package with version and path, or with advice."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Annotated, Final

import typer
from platformdirs import user_cache_path
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pyvws.errors import MissingDependencyError, OutputError, PyvwsError

_R_PACKAGES: Final = {
    "rstan": "the rstan engine",
    "BH": "compiling for rstan",
    "RcppEigen": "compiling for rstan",
    "RcppParallel": "compiling for rstan",
    "MASS": "the papers' simulated data",
    "survey": "the check of survey estimates",
}
_OF_A_RELEASE: Final = {"engine native": "fits", "opendp": "secret noise"}
_OF_RSTAN: Final = ("rstan", "BH", "RcppEigen", "RcppParallel")
_COMPILERS: Final = ("c++", "g++", "clang++")


@dataclass(frozen=True, slots=True)
class Check:
    """One engine or package that may be installed.

    `usable` says whether the part works. If not, `version` and `path` are empty, and `reason` says
    why and what to install.
    """

    name: str
    usable: bool
    version: str = ""
    path: str = ""
    reason: str = ""


def doctor(
    clear: Annotated[
        bool,
        typer.Option("--clear-cache", help="Remove compiled kernels and Stan programs instead."),
    ] = False,
) -> None:
    """List each engine and R package with its version and path, or why it is not usable.

    Nothing of a table is printed, so the list can go into a report of a mistake.

    Example: pyvws doctor
    """
    if clear:
        folder, size = clear_cache()
        print(f"{folder}: removed {size / 1e6:.1f} MB. The next run compiles again.")
        return
    render(examine(), Console(width=None if sys.stdout.isatty() else 120))


def clear_cache() -> tuple[Path, int]:
    """Remove what pyvws has compiled into the user's cache folder; the folder and bytes freed.

    Raises OutputError where a file stays. A NUMBA_CACHE_DIR of the user is left alone.
    """
    folder = user_cache_path("pyvws", appauthor=False)
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    size = sum(path.stat().st_size for path in files)
    try:
        if folder.is_symlink():
            raise OSError
        if folder.exists():
            shutil.rmtree(folder)
    except OSError:
        raise OutputError(f"{folder} cannot be removed whole. Check its rights.") from None
    return folder, size


def examine() -> list[Check]:
    """Check the engines and the parts that they need. Starts R if installed; never raises."""
    dp = partial(_distribution, "opendp", "opendp", "Needed for secret noise. ")
    looks: dict[str, Callable[[], tuple[str, str]]] = {
        "pyvws": partial(_distribution, "pyvws"),
        "engine native": _native,
        "numba": partial(_distribution, "numba"),
        "engine grid": _grid,
        "engine laplace": _native,
        "engine auto": _native,
        "C++ compiler": _compiler,
        "engine cmdstan": _cmdstan,
        "engine pystan": _pystan,
        "opendp": dp,
        "rpy2": partial(_distribution, "rpy2", "rpy2 'rpy2-rinterface<=3.6.5'"),
        "R": _r_program,
    }
    return [*(_guarded(name, look) for name, look in looks.items()), *_r()]


def render(checks: list[Check], console: Console) -> None:
    """Print a line for each check: a usable part's version and path, or the reason why not."""
    table = Table(title="pyvws doctor", title_justify="left")
    for heading in ("part", "usable", "version", "where, or what to do"):
        table.add_column(heading, overflow="fold")
    for check in checks:
        mark = "[green]yes[/green]" if check.usable else "[yellow]no[/yellow]"
        where = escape(check.path or check.reason)
        table.add_row(check.name, mark, escape(check.version), where)
    console.print(table)
    usable = {check.name for check in checks if check.usable}
    lacking = [f"{use} ({name})" for name, use in _OF_A_RELEASE.items() if name not in usable]
    console.print(
        f"This machine lacks what a release needs for {' and '.join(lacking)}."
        if lacking
        else "A release needs nothing more. The parts without a yes are for other engines and R."
    )


def _guarded(name: str, look: Callable[[], tuple[str, str]]) -> Check:
    """The check of a part; `look` raises if the part is missing or broken."""
    try:
        version, path = look()
    except PyvwsError as error:
        return Check(name, False, reason=str(error))
    except Exception as error:
        return Check(
            name, False, reason=f"It fails to load ({type(error).__name__}). Reinstall it."
        )
    return Check(name, True, version, path)


def _distribution(name: str, install: str = "", use: str = "") -> tuple[str, str]:
    try:
        installed = distribution(name)
    except PackageNotFoundError:
        raise MissingDependencyError(f"{use}Run: pip install {install or name}") from None
    return installed.version, str(installed.locate_file(""))


def _grid() -> tuple[str, str]:
    from pyvws._base.secret_noise import opendp_version

    return opendp_version(), str(distribution("opendp").locate_file("opendp"))


def _native() -> tuple[str, str]:
    from pyvws.engines import nuts
    from pyvws.engines.registry import engine_version

    nuts.evaluate_one_record()
    return engine_version("native"), str(nuts.__file__)


def _r_program() -> tuple[str, str]:
    path = shutil.which("R")
    if path is None:
        raise MissingDependencyError("Run: apt-get install r-base")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return " ".join(done.stdout.split()[2:3]), path


def _compiler() -> tuple[str, str]:
    path = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if path is None:
        raise MissingDependencyError("The Stan engines need one. Run: apt-get install g++ make")
    done = subprocess.run([path, "--version"], capture_output=True, text=True, check=False)
    return done.stdout.partition("\n")[0], path


def _cmdstan() -> tuple[str, str]:
    from pyvws.engines.cmdstan import cmdstan_folder, cmdstan_version

    return cmdstan_version(), str(cmdstan_folder())


def _pystan() -> tuple[str, str]:
    from pyvws.engines.pystan import pystan_folder, pystan_version

    return pystan_version(), str(pystan_folder())


def _r() -> list[Check]:
    """Check R's packages and the engine that needs them."""
    try:
        from pyvws.r.bridge import call

        answer = call("doctor", "installed", {"packages": list(_R_PACKAGES)})
    except PyvwsError as error:
        names = (*(f"R package {name}" for name in _R_PACKAGES), "engine rstan")
        return [Check(name, False, reason=str(error)) for name in names]
    packages = []
    for name, use, version, folder in zip(
        _R_PACKAGES, _R_PACKAGES.values(), answer["versions"], answer["folders"], strict=True
    ):
        how = f'apt-get install r-cran-{name.lower()}, or install.packages("{name}") in R.'
        packages.append(
            Check(f"R package {name}", True, str(version), str(folder))
            if folder
            else Check(f"R package {name}", False, reason=f"Needed for {use}. Run: {how}")
        )
    needed = [check for check, name in zip(packages, _R_PACKAGES, strict=True) if name in _OF_RSTAN]
    stands = next((check for check in needed if not check.usable), needed[0])
    return [*packages, replace(stands, name="engine rstan")]
