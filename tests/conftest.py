"""Tests marked `r` need R, and those that ask for `need(engine)` a Stan engine.

Without it they skip, or fail where that is forbidden: by PYVWS_REQUIRE_R=1, by PYVWS_REQUIRE_STAN,
which lists engines, for example "rstan,pystan", and by PYVWS_REQUIRE_MODULES, which lists modules
that a test imports if they are there, for example "opendp,sklearn".

A warning of convergence is no error in tests marked `draws`.

`make quick` takes the tests of pure functions and of the architecture: those in QUICK_ROOMS, but
for tests with a mark or a fixture of NOT_QUICK. A quick test that samples, starts R or compiles a
Stan program fails. Under `make quick` a property test tries five examples.
"""

import os
import re
import resource
import shutil
import subprocess
import sys
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import is_hypothesis_test, settings

from pyvws.engines.nuts import Chain
from pyvws.engines.registry import engine_version
from pyvws.errors import MissingDependencyError
from pyvws.posterior import prediction
from pyvws.r.bridge import RError, Session, r_available
from pyvws.release import large
from pyvws.tables.files import write as table_writers

QUICK_ROOMS = (
    *("architecture", "r_numbers", "tables", "models", "posterior", "bounds", "risks", "weights"),
    *("mechanisms", "statement", "evaluation"),
)
NOT_QUICK = ("runs", "slow", "r", "draws", "need", "rscript")
LONG_FILES = (
    *("test_strict_claims.py", "test_staged_loss.py", "test_pages.py", "test_cases.py"),
    *("test_mutations.py", "test_missing_and_rules.py"),
)
SAMPLERS = ("stan", "httpstan", "cmdstanpy")

# A first call compiles, and a busy machine is slow: no example has a deadline.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")

# As in the Makefile: each process that a test starts else compiles what it imports, for 7 s.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """make quick reads no file that it would take nothing from."""
    elsewhere = collection_path.suffix == ".py" and collection_path.parent.name not in QUICK_ROOMS
    return True if config.getoption("markexpr") == "quick" and elsewhere else None


def pytest_collection_modifyitems(items: list[pytest.Item], config: pytest.Config) -> None:
    """Slow files come first, so that neither of two processes ends with one.

    Those that compile Stan programs take turns with the others: of two at once that need the same
    program, one waits. Of few draws a diagnostic may fall short on one machine and not on another.
    """
    stan = dict.fromkeys(item.path for item in items if _needs_stan(item))
    slow = dict.fromkeys(item.path for item in items if _is_slow(item) and item.path not in stan)
    places = {path: 2 * place for place, path in enumerate(stan)}
    places |= {path: 2 * place + 1 for place, path in enumerate(slow)}
    last = 2 * len(items)
    items.sort(key=lambda item: places.get(item.path, last))
    few_draws = pytest.mark.filterwarnings("ignore::pyvws.errors.ConvergenceWarning")
    for item in items:
        if item.get_closest_marker("draws") is not None:
            item.add_marker(few_draws)
        names = {mark.name for mark in item.iter_markers()} | set(getattr(item, "fixturenames", ()))
        if item.path.parent.name in QUICK_ROOMS and names.isdisjoint(NOT_QUICK):
            item.add_marker("quick")
            if config.getoption("markexpr") == "quick":
                _try_fewer_examples(getattr(item, "obj", None))


def _needs_stan(item: pytest.Item) -> bool:
    return "need" in getattr(item, "fixturenames", ())


def _is_slow(item: pytest.Item) -> bool:
    """Whether the test takes more than ten seconds, or its file more than half a minute."""
    return item.get_closest_marker("slow") is not None or item.path.name in LONG_FILES


def _try_fewer_examples(test: Any) -> None:
    """A parametrized property test is one function, whose examples are cut once."""
    if is_hypothesis_test(test) and not hasattr(test, "all_examples"):
        test.all_examples = test._hypothesis_internal_use_settings
        fewer = min(test.all_examples.max_examples, 5)
        test._hypothesis_internal_use_settings = settings(test.all_examples, max_examples=fewer)


def _refuse(name: str) -> NoReturn:
    pytest.fail(f"A quick test uses {name}. Mark it `runs`, and make quick leaves it out.")


class _NoSampler:
    """Among the finders of modules: who imports a sampler fails."""

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name in SAMPLERS:
            _refuse(name)


@pytest.fixture
def only_computing(monkeypatch: pytest.MonkeyPatch) -> Generator[None, None, None]:
    """Whatever samples, starts R or compiles a Stan program fails."""
    monkeypatch.setattr(Session, "start", lambda _: _refuse("R"))
    monkeypatch.setattr(Chain, "run", lambda _: _refuse("the native engine"))
    for name in SAMPLERS:
        monkeypatch.delitem(sys.modules, name, raising=False)
    finder: Any = _NoSampler
    sys.meta_path.insert(0, finder)  # In place: an import may add a finder that has to stay.
    yield
    sys.meta_path.remove(finder)


@pytest.fixture(autouse=True)
def _quick_tests_only_compute(request: pytest.FixtureRequest) -> None:
    if request.node.get_closest_marker("quick") is not None:
        request.getfixturevalue("only_computing")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """The processor time of `make quick`, of the processes that its tests started too."""
    if config.getoption("markexpr") == "quick":
        used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
        seconds = sum(one.ru_utime + one.ru_stime for one in used)
        terminalreporter.write_line(f"{seconds:.1f} s of processor time")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """A skip for want of a module that PYVWS_REQUIRE_MODULES lists is a failure.

    A report of a failure in R shows R's words. A test's records are made up.
    """
    report = yield
    error = call.excinfo.value if call.excinfo else None
    while error is not None:
        if isinstance(error, RError):
            report.sections.append((f"R's words: {error}", error.captured))
        error = error.__cause__ or error.__context__
    if report.skipped and isinstance(report.longrepr, tuple):
        lacking = re.search(r"could not import '([^.']+)", report.longrepr[2])
        if lacking and lacking[1] in os.environ.get("PYVWS_REQUIRE_MODULES", "").split(","):
            report.outcome = "failed"
    return report


def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("r") is None:
        return
    available, reason = r_available()
    if available:
        return
    if os.environ.get("PYVWS_REQUIRE_R") == "1":
        pytest.fail(f"PYVWS_REQUIRE_R=1, but: {reason}", pytrace=False)
    pytest.skip(reason)


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Sets how many records are read and synthesized at once, in memory and in steps."""

    def records(most: int) -> None:
        monkeypatch.setattr(large, "AT_ONCE", most)
        monkeypatch.setattr(prediction, "AT_ONCE", most)
        monkeypatch.setattr(table_writers, "AT_ONCE", most)

    return records


@pytest.fixture
def need() -> Callable[[str], str]:
    """Skip unless the named engine is installed; its version."""

    def check(engine: str) -> str:
        try:
            return engine_version(engine)
        except MissingDependencyError as missing:
            if engine in os.environ.get("PYVWS_REQUIRE_STAN", "").split(","):
                pytest.fail(f"PYVWS_REQUIRE_STAN names {engine}, but: {missing}", pytrace=False)
            pytest.skip(str(missing))

    return check


@pytest.fixture(scope="session")
def rscript() -> Callable[[str, Path], subprocess.CompletedProcess[str]]:
    """A function that runs R code in a folder, this Python behind reticulate."""
    found = shutil.which("Rscript")
    look = [str(found), "-e", "cat(nzchar(system.file(package = 'reticulate')))"]
    done = subprocess.run(look, capture_output=True, text=True, check=False) if found else None
    if done is None or done.stdout != "TRUE":
        reason = "R's package reticulate is not installed. Run: apt-get install r-cran-reticulate"
        if os.environ.get("PYVWS_REQUIRE_R") == "1":
            pytest.fail(f"PYVWS_REQUIRE_R=1, but: {reason}", pytrace=False)
        pytest.skip(reason)

    def run(code: str, folder: Path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(found), "-e", code],
            cwd=folder,
            env={**os.environ, "RETICULATE_PYTHON": sys.executable},
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )

    return run


@pytest.fixture(scope="session")
def browser() -> str:
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    for name in names:
        path = shutil.which(name)
        if path is not None:
            return path
    if os.environ.get("PYVWS_REQUIRE_BROWSER") == "1":
        pytest.fail("PYVWS_REQUIRE_BROWSER=1, but no browser is there", pytrace=False)
    pytest.skip(f"needs a browser: {', '.join(names)}")


@pytest.fixture(scope="class")  # Of each function where there is no class.
def rare_values_too() -> Generator[None, None, None]:
    """Proposals list values that few records have, so that a test of kinds can have few records."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pyvws.tables.proposal.often._LEAST_ACCEPTED", float("inf"))
        yield
