"""R runs in one thread, says nothing aloud, and can be missing."""

import logging
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from refusals import refused

from pyvws._base import resources as _resources
from pyvws.errors import MissingDependencyError, PyvwsError
from pyvws.r import bridge
from pyvws.r.bridge import RError, Session, call, r_available, r_versions

HERE = Path(__file__).parent
SECRET = 4711.25
INSTALL = "Run: pip install rpy2 'rpy2-rinterface<=3.6.5' and apt-get install r-base."


def in_fresh_python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        capture_output=True,
        text=True,
        timeout=120,
        cwd=HERE,
    )


@pytest.mark.r
def test_reference_gives_its_value() -> None:
    assert call("rarith", "arithmetic_sum", {"x": np.array([1.0, 2.0])}).tolist() == [3.0]


@pytest.mark.r
def test_defaults_of_r_apply() -> None:
    assert call("probes", "needs", {"first": 1.0}, folder=HERE).tolist() == [3.0]


@pytest.mark.r
def test_each_script_has_an_environment_of_its_own() -> None:
    assert call("probes", "workspace", {}, folder=HERE).tolist() == []
    with refused("r-no-function", function="same"):
        call("rarith", "same", {"x": 1})


@pytest.mark.r
def test_a_changed_script_is_read_again(tmp_path: Path) -> None:
    script = tmp_path / "changing.R"
    for number in (1, 2):
        script.write_text(f"value <- function() {number}\n", encoding="utf-8")
        assert call("changing", "value", {}, folder=tmp_path).tolist() == [number]


@pytest.mark.r
def test_partial_argument_names_are_refused() -> None:
    with pytest.raises(RError):
        call("probes", "needs", {"fir": 1.0}, folder=HERE)


@pytest.mark.parametrize("script", ["absent", "../r/probes", ""])
def test_unknown_script(script: str) -> None:
    with refused("r-no-script"):
        call(script, "f", {})


@pytest.mark.r
def test_four_threads_get_their_own_answers() -> None:
    def sums(start: int) -> list[float]:
        return [
            call("rarith", "arithmetic_sum", {"x": np.array([start, step], dtype=float)})[0]
            for step in range(25)
        ]

    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(sums, range(0, 400, 100)))
    assert answers == [[start + step for step in range(25)] for start in range(0, 400, 100)]


@pytest.mark.r
def test_r_stays_in_its_thread() -> None:
    names = {bridge.SESSION.run(lambda: threading.current_thread().name).value for _ in range(3)}
    assert names == {"R"}


# What R says


@pytest.mark.r
def test_console_reaches_nobody(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        assert call("probes", "shout", {"secret": SECRET}, folder=HERE).tolist() == [SECRET + 1]
    out, err = capfd.readouterr()
    assert out == ""
    assert err == ""
    assert caplog.text == ""


@pytest.mark.r
def test_error_text_stays_in_its_attribute(
    capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG), pytest.raises(RError) as caught:
        call("probes", "fail", {"secret": SECRET}, folder=HERE)
    error = caught.value
    assert str(error) == "R failed in fail() of probes.R."
    assert isinstance(error, PyvwsError)
    assert str(SECRET) not in repr(error) + str(error.args)
    assert error.__cause__ is None
    assert error.__context__ is None
    assert "the value is 4711.25" in error.captured
    assert "[1] 4711.25" in error.captured
    assert capfd.readouterr() == ("", "")
    assert caplog.text == ""


@pytest.mark.r
def test_broken_script(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broken.R").write_text("f <- function( {\n", encoding="utf-8")
    with pytest.raises(RError, match=r"R could not run f\(\) of broken\.R\.") as caught:
        call("broken", "f", {}, folder=tmp_path)
    assert "unexpected" in caught.value.captured
    assert capfd.readouterr() == ("", "")


@pytest.mark.r
def test_endless_recursion_is_an_error_and_r_goes_on() -> None:
    with pytest.raises(RError):
        call("probes", "deeper", {"n": 1.0}, folder=HERE)
    assert call("probes", "same", {"x": 1.0}, folder=HERE).tolist() == [1.0]


@pytest.mark.r
def test_versions() -> None:
    versions = r_versions()
    assert r_available() == (True, "")
    assert versions["R"].count(".") == 2
    assert {"R", "rpy2", "rpy2-rinterface"} <= set(versions)


# Interruption, processes, start and end

_INTERRUPTED = """
import os, signal, threading, time
from pathlib import Path
import numpy as np
from pyvws.r.bridge import call

here = Path.cwd()
assert call("probes", "same", {"x": 1.0}, folder=here)[0] == 1.0
before = signal.getsignal(signal.SIGINT)
for wait in (lambda: time.sleep(30), lambda: call("probes", "endless", {}, folder=here)):
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    start = time.monotonic()
    try:
        wait()
    except KeyboardInterrupt:
        assert time.monotonic() - start < 10
        print("interrupted")
    assert call("probes", "same", {"x": 2.0}, folder=here)[0] == 2.0
assert signal.getsignal(signal.SIGINT) is before is signal.default_int_handler
print("done")
"""


@pytest.mark.r
def test_ctrl_c_works_once_r_has_started() -> None:
    result = in_fresh_python(_INTERRUPTED)
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout.split() == ["interrupted", "interrupted", "done"]


_FORKED = """
import os, sys, warnings
from pyvws.errors import MissingDependencyError
from pyvws.r.bridge import call, r_available

assert r_available() == (True, "")
warnings.simplefilter("ignore", DeprecationWarning)  # later Pythons warn of any fork with threads
child = os.fork()
if child == 0:
    available, reason = r_available()
    try:
        call("rarith", "arithmetic_sum", {"x": 1.0})
    except MissingDependencyError as error:
        os._exit(0 if not available and "forked" in reason and "spawn" in str(error) else 1)
    os._exit(2)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert call("rarith", "arithmetic_sum", {"x": 1.0})[0] == 1.0
"""


@pytest.mark.r
def test_a_forked_child_is_told_and_the_parent_goes_on() -> None:
    result = in_fresh_python(_FORKED)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


_SURROUNDINGS = """
import locale, os, threading
from pyvws.r.bridge import call, r_available

environment = {k: v for k, v in os.environ.items() if not k.startswith("R_")}
places = [locale.setlocale(getattr(locale, name)) for name in ("LC_TIME", "LC_COLLATE")]
found = []
worker = threading.Thread(target=lambda: found.append(r_available()))  # not the main thread
worker.start()
worker.join()
assert found == [(True, "")]
assert environment == {k: v for k, v in os.environ.items() if not k.startswith("R_")}
assert places == [locale.setlocale(getattr(locale, name)) for name in ("LC_TIME", "LC_COLLATE")]
"""


@pytest.mark.r
def test_starting_r_leaves_the_process_as_it_was() -> None:
    result = in_fresh_python(_SURROUNDINGS)
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")


def test_importing_the_package_loads_no_rpy2() -> None:
    code = (
        "import sys, pyvws, pyvws.r.bridge, pyvws.r.convert, pyvws_validation.runner\n"
        "assert not [name for name in sys.modules if name.startswith('rpy2')]"
    )
    result = in_fresh_python(code)
    assert (result.returncode, result.stderr) == (0, "")


# Missing parts


def test_missing_r_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "SESSION", Session())
    monkeypatch.setattr(bridge.shutil, "which", lambda _name: None)
    monkeypatch.delenv("R_HOME", raising=False)
    assert r_available() == (False, f"R is not installed. {INSTALL}")
    with pytest.raises(MissingDependencyError) as caught:
        call("rarith", "arithmetic_sum", {"x": 1.0})
    assert str(caught.value) == f"R is not installed. {INSTALL}"
    with pytest.raises(MissingDependencyError):
        r_versions()


def test_missing_rpy2_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bridge, "SESSION", Session())
    monkeypatch.setattr(bridge.shutil, "which", lambda _name: "/usr/bin/R")
    for name in [name for name in sys.modules if name.split(".")[0] == "rpy2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "rpy2", None)
    assert r_available() == (
        False,
        "R is there, and it needs rpy2. Run: pip install rpy2 'rpy2-rinterface<=3.6.5'.",
    )


def test_rpy2_that_does_not_fit_r(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unfit:
        def find_spec(self, name: str, *_: object) -> None:
            if name == "rpy2":
                raise RuntimeError("symbol not found")

    monkeypatch.setattr(bridge, "SESSION", Session())
    monkeypatch.setattr(bridge.shutil, "which", lambda _name: "/usr/bin/R")
    for name in [name for name in sys.modules if name.split(".")[0] == "rpy2"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [Unfit(), *sys.meta_path])
    available, reason = r_available()
    assert not available
    assert reason.startswith("rpy2 does not fit the installed R (RuntimeError at import).")


# Resources


def test_resources_are_found_and_named() -> None:
    assert (_resources.folder("r_reference") / "weights.R").is_file()
    with refused("unknown-resource"):
        _resources.folder("secrets")


def test_an_incomplete_installation_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(_resources, "PACKAGE", tmp_path / "pyvws")
    with pytest.raises(MissingDependencyError, match="The folder stan is neither"):
        _resources.folder("stan")
    packaged = tmp_path / "pyvws" / "_resources_data" / "stan"
    packaged.mkdir(parents=True)
    assert _resources.folder("stan") == packaged
