"""The doctor names every engine, and says what to do where one is missing."""

import io

import pytest
from rich.console import Console
from run_here import run_here

from pyvws.commands import doctor
from pyvws.commands.doctor import Check, examine, render
from pyvws.engines import cmdstan, pystan
from pyvws.engines.registry import ENGINES
from pyvws.errors import MissingDependencyError
from pyvws.r import bridge


@pytest.fixture
def nothing(monkeypatch):
    """A machine without R, Stan or a compiler."""

    def missing(*_: object, **__: object) -> str:
        raise MissingDependencyError("It is not installed. Run: install it")

    monkeypatch.setattr(cmdstan, "cmdstan_version", missing)
    monkeypatch.setattr(pystan, "pystan_version", missing)
    monkeypatch.setattr(bridge, "call", missing)
    monkeypatch.setattr(doctor.shutil, "which", lambda _: None)


def test_every_engine_is_listed_once():
    names = [check.name for check in examine()]
    assert len(set(names)) == len(names)
    assert {f"engine {name}" for name in ENGINES} <= set(names)


def test_what_is_usable_has_version_and_path_and_what_is_not_a_reason():
    for check in examine():
        if check.usable:
            assert check.version
            assert check.path
            assert not check.reason
        else:
            assert check.reason
            assert not check.version


@pytest.mark.usefixtures("nothing")
def test_without_anything_the_native_engine_is_left():
    checks = {check.name: check for check in examine()}
    assert checks["engine native"].usable
    for name in ("engine cmdstan", "engine pystan", "engine rstan", "R", "C++ compiler"):
        assert not checks[name].usable
        assert "Run: " in checks[name].reason


def test_missing_extras_are_named(monkeypatch):
    def none(name):
        raise doctor.PackageNotFoundError(name)

    monkeypatch.setattr(doctor, "distribution", none)
    reasons = {check.name: check.reason for check in examine()}
    assert reasons["rpy2"] == "Run: pip install rpy2 'rpy2-rinterface<=3.6.5'"
    assert reasons["opendp"] == "Needed for secret noise. Run: pip install opendp"


def test_an_r_without_rpy2_is_found(monkeypatch, tmp_path):
    """R itself is there, and each part that needs rpy2 says so."""
    own = doctor.distribution

    def without(name):
        if name == "rpy2":
            raise doctor.PackageNotFoundError(name)
        return own(name)

    def missing(*_: object, **__: object) -> str:
        raise MissingDependencyError("R is there, and it needs rpy2. Run: pip install rpy2")

    program = tmp_path / "R"
    program.write_text("#!/bin/sh\necho 'R version 4.2.2 Patched (2022-11-10 r83330)'\n")
    program.chmod(0o755)
    which = doctor.shutil.which
    monkeypatch.setattr(doctor, "distribution", without)
    monkeypatch.setattr(bridge, "call", missing)
    monkeypatch.setattr(
        doctor.shutil, "which", lambda name: str(program) if name == "R" else which(name)
    )
    checks = {check.name: check for check in examine()}
    assert checks["R"] == Check("R", True, "4.2.2", str(program))
    assert checks["rpy2"].reason == "Run: pip install rpy2 'rpy2-rinterface<=3.6.5'"
    for name in ("engine rstan", "R package MASS"):
        assert not checks[name].usable
        assert checks[name].reason == "R is there, and it needs rpy2. Run: pip install rpy2"


def test_a_part_that_breaks_is_reported_and_not_raised(monkeypatch):
    def broken() -> str:
        raise OSError("a shared library is missing")

    monkeypatch.setattr(pystan, "pystan_version", broken)
    check = next(check for check in examine() if check.name == "engine pystan")
    assert check.reason == "It fails to load (OSError). Reinstall it."


def test_the_table_shows_paths_and_reasons():
    checks = [
        Check("engine native", True, "numba 1", "/somewhere"),
        Check("R", False, reason="Run: pip install rpy2 'rpy2-rinterface<=3.6.5'"),
    ]
    sink = io.StringIO()
    render(checks, Console(file=sink, width=120))
    assert "/somewhere" in sink.getvalue()
    assert "pip install rpy2 'rpy2-rinterface<=3.6.5'" in sink.getvalue()
    assert "secret noise (opendp)" in sink.getvalue()
    sink = io.StringIO()
    render([*checks, Check("opendp", True, "0.12", "/there")], Console(file=sink, width=120))
    assert "secret noise" not in sink.getvalue()


def test_the_cache_is_cleared_and_nothing_beside_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kept, compiled = tmp_path / "other" / "file", tmp_path / "pyvws" / "numba" / "a" / "kernel"
    for path in (kept, compiled):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"x" * 1000)
    (tmp_path / "pyvws" / "link").symlink_to(kept)
    assert doctor.clear_cache() == (tmp_path / "pyvws", 1000)
    assert [path.name for path in tmp_path.iterdir()] == ["other"]
    assert kept.stat().st_size == 1000
    assert doctor.clear_cache() == (tmp_path / "pyvws", 0)
    run = run_here("doctor", "--clear-cache")
    assert (run.code, len(run.out.splitlines())) == (0, 1)
    (tmp_path / "pyvws").symlink_to(kept.parent)
    run = run_here("doctor", "--clear-cache")
    assert (run.code, run.out) == (1, "")
    assert kept.exists()
