"""Engines by name, and one line of what to install where one is missing."""

import subprocess
import sys

import pytest
from refusals import refused

from pyvws.engines import cmdstan, pystan
from pyvws.engines.registry import ENGINES, engine_version, find_engine, find_stan_engine
from pyvws.errors import MissingDependencyError


def test_the_native_engine_is_always_there():
    assert find_engine("native").name == "native"
    assert engine_version("native").startswith("numba ")


def test_an_unknown_name_lists_the_known_ones():
    with refused("not-a-choice"):
        find_engine("jags")


def test_the_native_engine_runs_no_program():
    with refused("engine-without-programs"):
        find_stan_engine("native")


def test_a_missing_cmdstan_says_what_to_install(monkeypatch):
    def missing() -> str:
        raise ValueError("no CmdStan")

    cmdstanpy = pytest.importorskip("cmdstanpy")
    monkeypatch.setattr(cmdstanpy, "cmdstan_path", missing)
    with pytest.raises(MissingDependencyError, match=r"install_cmdstan\(\)") as caught:
        find_engine("cmdstan")
    assert "\n" not in str(caught.value)


def test_a_missing_cmdstanpy_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cmdstanpy", None)
    with pytest.raises(MissingDependencyError, match="pip install cmdstanpy"):
        cmdstan.cmdstan_folder()


def test_a_missing_pystan_says_what_to_install(monkeypatch):
    monkeypatch.setattr(pystan, "pystan_folder", lambda: None)
    with pytest.raises(MissingDependencyError, match="pip install pystan"):
        find_engine("pystan")


def test_listing_engines_loads_none_of_them():
    script = (
        "import sys, pyvws.engines.registry\n"
        "print(sorted({'rpy2', 'cmdstanpy', 'httpstan'} & set(sys.modules)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
    assert ENGINES[0] == "native"
