"""Engines by the name that the command line takes. Nothing is loaded before it is asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from pyvws._base.checks import choice
from pyvws.engines.engine import Engine, table_engine
from pyvws.engines.stan_run import Log, StanEngine
from pyvws.errors import InputError

_ENGINES: Final = {
    "native": ("pyvws.engines.nuts:NativeEngine", "pyvws.engines.nuts:native_version"),
    "grid": ("pyvws.engines.grid:GridEngine", "pyvws._base.secret_noise:opendp_version"),
    "laplace": ("pyvws.engines.laplace:LaplaceEngine", "pyvws.engines.nuts:native_version"),
    "auto": ("pyvws.engines.laplace:AutoEngine", "pyvws.engines.nuts:native_version"),
    "cmdstan": ("pyvws.engines.cmdstan:CmdStanEngine", "pyvws.engines.cmdstan:cmdstan_version"),
    "rstan": ("pyvws.engines.rstan:RStanEngine", "pyvws.engines.rstan:rstan_version"),
    "pystan": ("pyvws.engines.pystan:PyStanEngine", "pyvws.engines.pystan:pystan_version"),
}
STAN_ENGINES: Final = ("cmdstan", "rstan", "pystan")
ENGINES: Final = tuple(_ENGINES)
_OURS = ("pyvws", "pyvws_studies", "pyvws_validation")  # The packages of this distribution.


def is_own(engine: str | Engine) -> bool:
    """Whether the engine is a user's own: the package does not check such an engine's draws."""
    return not isinstance(engine, str) and type(engine).__module__.split(".")[0] not in _OURS


def is_exact(engine: str | Engine) -> bool:
    """Whether the package's engine draws from a clamped target independently, without chains."""
    return not is_own(engine) and bool(getattr(_kind(engine), "exact", False))


def check_dp(engine: str | Engine, strict: bool) -> None:
    """Refuse an engine that may draw from an approximation, where a run's guarantee is "dp"."""
    if strict and getattr(_kind(engine), "approximate", False):
        raise InputError.by("dp-by-approximate-engine")


def check_table(engine: str | Engine) -> None:
    """Refuse an engine that cannot sample a table's columns as one target, as its clamp asks."""
    table_engine(_kind(engine), engine if isinstance(engine, str) else engine.name)


def find_engine(name: str, *, log: Log | None = None) -> Engine:
    """The engine of that name, ready to sample; all sample the same density.

    `log` is called with the console text of Stan, which can hold data values. Raises InputError for
    another name, and MissingDependencyError for one that is not installed.
    """
    if name in STAN_ENGINES:
        return find_stan_engine(name, log=log)
    engine_version(name)
    engine: Engine = _named(name, 0)()
    return engine


def find_stan_engine(name: str, *, log: Log | None = None) -> StanEngine:
    """The engine of that name, as `find_engine`, among engines that can run any Stan program."""
    choice(name, "engine", ENGINES)
    if name not in STAN_ENGINES:
        raise InputError.by("engine-without-programs", name=name)
    engine_version(name)
    engine: StanEngine = _named(name, 0)(log=log)
    return engine


def engine_version(name: str) -> str:
    """The engine's software and its version; MissingDependencyError where it is missing."""
    choice(name, "engine", ENGINES)
    software: str = _named(name, 1)()
    return software


def _named(name: str, place: int) -> Any:
    """An engine's class (place 0) or the function that gives its version (1), loaded now."""
    module, attribute = _ENGINES[name][place].split(":")
    return getattr(import_module(module), attribute)


def _kind(engine: str | Engine) -> object:
    """The engine, or the class of that name."""
    return _named(engine, 0) if isinstance(engine, str) else engine
