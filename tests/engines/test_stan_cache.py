"""A program is compiled once for each Stan version, and a broken build never counts."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pyvws._base.folders import claimed_folder
from pyvws.engines import stan_run
from pyvws.engines.stan_run import compiled
from pyvws.errors import OutputError


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setattr(stan_run, "user_cache_path", lambda *_, **__: tmp_path)
    return tmp_path / "stan"


class Builder:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self, folder) -> None:
        self.times += 1
        (folder / "model").write_text("machine code")


def test_the_second_time_nothing_is_built():
    build = Builder()
    first = compiled("model {}", version="Stan 2.35", build=build)
    again = compiled("model {}", version="Stan 2.35", build=build)
    assert first == again
    assert build.times == 1
    assert (first / "model").read_text() == "machine code"


def test_another_program_or_version_is_another_folder():
    build = Builder()
    folders = {
        compiled(program, version=version, build=build)
        for program in ("model {}", "model { }")
        for version in ("Stan 2.35", "Stan 2.36")
    }
    assert len(folders) == build.times == 4


def test_a_build_that_fails_leaves_nothing(cache):
    def build(folder) -> None:
        (folder / "half").write_text("x")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        compiled("model {}", version="Stan 2.35", build=build)
    assert list(cache.iterdir()) == []


def test_a_folder_without_its_mark_is_built_again():
    build = Builder()
    folder = compiled("model {}", version="Stan 2.35", build=build)
    (folder / "ok").unlink()
    (folder / "model").write_text("half")
    assert compiled("model {}", version="Stan 2.35", build=build) == folder
    assert (folder / "model").read_text() == "machine code"


def test_a_build_that_another_process_finished_first_is_used():
    def other(folder) -> None:
        compiled("model {}", version="Stan 2.35", build=Builder())
        (folder / "model").write_text("late")

    folder = compiled("model {}", version="Stan 2.35", build=other)
    assert (folder / "model").read_text() == "machine code"


_ANOTHER = """
import sys, time
from pathlib import Path
from pyvws.engines import stan_run

stan_run.user_cache_path = lambda *_, **__: Path(sys.argv[1])

def build(folder):
    print("begun", flush=True)
    sys.stdin.read()
    (folder / "model").write_text(sys.argv[2])
    if sys.argv[2] == "nothing":
        raise SystemExit

stan_run.compiled("model {}", version="Stan 2.35", build=build)
"""


@pytest.mark.runs
@pytest.mark.parametrize(("leaves", "built_here"), [("code", 0), ("nothing", 1)])
def test_a_build_that_another_process_is_at_is_waited_for(cache, leaves, built_here):
    command = [sys.executable, "-c", _ANOTHER, str(cache.parent), leaves]
    build = Builder()
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout.readline() == b"begun\n"
        threading.Timer(1.0, other.stdin.close).start()
        folder = compiled("model {}", version="Stan 2.35", build=build)
    assert build.times == built_here
    assert (folder / "model").read_text() == ("machine code" if built_here else leaves)


def test_programs_unused_for_long_are_removed():
    old = compiled("old", version="Stan 2.35", build=Builder())
    os.utime(old / "ok", (0, 0))
    compiled("new", version="Stan 2.35", build=Builder())
    assert not old.exists()


def test_only_its_owner_can_read_the_cache(cache):
    compiled("model {}", version="Stan 2.35", build=Builder())
    assert cache.stat().st_mode & 0o077 == 0


def test_what_a_killed_build_left_is_removed_by_the_next(cache):
    compiled("old", version="Stan 2.35", build=Builder())
    left = cache / f"{'0' * 16}.999999999-abcd"
    left.mkdir()
    (left / "program.stan").write_text("model {}")
    with claimed_folder(cache / f"{'0' * 16}.999999999-beef"):
        compiled("new", version="Stan 2.35", build=Builder())
        assert (cache / f"{'0' * 16}.999999999-beef").exists()
    assert not left.exists()


def test_a_cache_that_cannot_be_made_says_so(monkeypatch):
    monkeypatch.setattr(stan_run, "user_cache_path", lambda *_, **__: Path(os.devnull))
    with pytest.raises(OutputError, match="Set XDG_CACHE_HOME to a folder"):
        compiled("model {}", version="Stan 2.35", build=Builder())
