"""Engines by the name that the command line takes. Nothing is loaded before it is asked for."""

from __future__ import annotations

from importlib.metadata import version
from typing import Final

from pyvws._base.checks import choice
from pyvws.engines._engine import Engine
from pyvws.engines._stan_run import Log, StanEngine
from pyvws.errors import InputError

__all__ = ["ENGINES", "STAN_ENGINES", "engine_version", "find_engine", "find_stan_engine"]

STAN_ENGINES: Final = ("cmdstan", "rstan", "pystan")
ENGINES: Final = ("native", "ensemble", *STAN_ENGINES)


def find_engine(name: str, *, log: Log | None = None) -> Engine:
    """The engine of that name, ready to sample.

    Parameters
    ----------
    name : {"native", "ensemble", "cmdstan", "rstan", "pystan"}
        All sample the same density.
    log : callable, optional
        Called with the console text of each fit by Stan. It can hold data values: keep it with
        the confidential files.

    Returns
    -------
    Engine
        Its first fit of a model compiles a program, unless it is native.

    Raises
    ------
    InputError
        For another name.
    MissingDependencyError
        If the engine is not installed; the message says what to install.
    """
    if choice(name, "engine", ENGINES) == "native":
        from pyvws.engines.nuts import NativeEngine

        return NativeEngine()
    if name == "ensemble":
        from pyvws.engines.ensemble import EnsembleEngine

        engine_version(name)
        return EnsembleEngine()
    return find_stan_engine(name, log=log)


def find_stan_engine(name: str, *, log: Log | None = None) -> StanEngine:
    """As `find_engine`, for the engines that can run any Stan program."""
    choice(name, "engine", ENGINES)
    if name not in STAN_ENGINES:
        raise InputError(f"The {name} engine runs no Stan program. Use cmdstan, rstan or pystan.")
    engine_version(name)
    if name == "cmdstan":
        from pyvws.engines.cmdstan import CmdStanEngine

        return CmdStanEngine(log=log)
    if name == "rstan":
        from pyvws.engines.rstan import RStanEngine

        return RStanEngine(log=log)
    from pyvws.engines.pystan import PyStanEngine

    return PyStanEngine(log=log)


def engine_version(name: str) -> str:
    """What the engine runs, with its version. Raises MissingDependencyError where it is missing.

    Asking for rstan starts R.
    """
    choice(name, "engine", ENGINES)
    if name == "ensemble":
        from pyvws.engines.ensemble import emcee_version

        return emcee_version()
    if name == "cmdstan":
        from pyvws.engines.cmdstan import cmdstan_version

        return cmdstan_version()
    if name == "rstan":
        from pyvws.engines.rstan import rstan_version

        return rstan_version()
    if name == "pystan":
        from pyvws.engines.pystan import pystan_version

        return pystan_version()
    return f"nutpie {version('nutpie')}"
