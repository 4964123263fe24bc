"""Compiled kernels are those of the sources that are there."""

import errno
import gc
import io
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import event
from rich.console import Console

import pyvws
from pyvws._base import kernels as _kernels
from pyvws._base.kernels import announce_compiling, compiling, kernel, sources_digest
from pyvws.commands.output import fit_listener


def test_each_state_of_the_sources_has_its_own_name(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in ("a.py", "sub/b.py"):
        (tmp_path / name).write_text("from pyvws._base.kernels import kernel\n")
    names = {sources_digest(tmp_path)}
    (tmp_path / "notes.txt").write_text("no source: _kernels")
    (tmp_path / "plain.py").write_text("x = 1\n")
    assert {sources_digest(tmp_path)} == names
    (tmp_path / "sub" / "b.py").write_text("from pyvws._base.kernels import kernel as k\n")
    names.add(sources_digest(tmp_path))
    (tmp_path / "sub" / "b.py").rename(tmp_path / "b.py")
    names.add(sources_digest(tmp_path))
    assert len(names) == 3


def test_kernels_are_cached_under_that_name(tmp_path: Path) -> None:
    program = (
        "import os\nos.environ.pop('NUMBA_CACHE_DIR', None)\n"
        "from pyvws.risks.balls import count_inside\n"
        "from pyvws.risks import _ball_kernels\n"
        "import numpy as np\n"
        "one = np.ones((1, 2))\n"
        "_ball_kernels.boxes_around(one, one, one, np.array([0]), np.array([1]))\n"
    )
    cache = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", program], env=cache, check=True)
    package = Path(pyvws.__file__).parent
    (folder,) = (tmp_path / "pyvws" / "numba").iterdir()
    assert folder.name == sources_digest(package)
    assert list(folder.rglob("*.nbi"))


def test_a_kernel_that_cannot_be_kept_is_used_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", full)

    def double(x: float) -> float:
        return 2.0 * x

    assert kernel(double)(21.0) == 42.0


_WITHIN = """
from numba.core.codegen import JITCPUCodegen
from pyvws._base.kernels import inlined_kernel, kernel, summing_kernel
added, add = [], JITCPUCodegen._add_module
JITCPUCodegen._add_module = lambda self, module: (added.append(module.name), add(self, module))[1]
@kernel
def double(x):
    return 2.0 * x
@inlined_kernel
def more(x):
    return x + 1.0
@summing_kernel
def sum_of(x):
    return x + x
@kernel
def whole(x):
    return sum_of(more(double(x)))
assert whole(3.0) == 14.0
"""


@pytest.mark.parametrize(
    ("more", "kept"),
    [("", {"whole"}), ("assert double(3.0) == 6.0\n", {"whole", "double"})],
    ids=["calls of kernels alone", "a call from Python"],
)
def test_a_kernel_is_kept_with_those_that_it_calls(
    more: str, kept: set[str], tmp_path: Path
) -> None:
    """So these get machine code of their own, and a layer for Python, only where Python calls."""
    program = tmp_path / "program.py"
    own = "{name for name in added if name in ('double', 'more', 'sum_of', 'whole')}"
    program.write_text(f"{_WITHIN}{more}assert {own} == {kept}, added\n")
    cache = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, program], env=cache, check=True)
    assert {path.name.split("-")[0].split(".")[-1] for path in tmp_path.rglob("*.nbi")} == kept


_FIT = """
import sys
import numpy as np
import numba.core.compiler as compiler
from pyvws._base import kernels as _kernels
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.nuts import NativeEngine
from pyvws.synthesis.fit_sources import ModelSource
from pyvws.tables.design.cells import make_cells
from pyvws.models.registry import MODELS

compiled = []
compile_core = compiler.CompilerBase._compile_core
compiler.CompilerBase._compile_core = lambda self: (
    compiled.append(self.state.func_id.modname),
    compile_core(self),
)[1]
seed, n = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(seed)
cells = make_cells(rng.poisson(6.0, n).astype(float), np.ones((n, 1)))
source = ModelSource(MODELS["poisson"], cells, NativeEngine())
settings = SamplerSettings(draws=50, warmup=100, chains=1)
source.sample(rng.uniform(0.2, 1.0, n), settings, seed=seed, progress=None)
print(sum(name.startswith("pyvws") for name in compiled))
print(sum("unicode" in name for name in compiled))
"""


def test_other_data_of_a_family_compile_nothing(tmp_path: Path) -> None:
    """And the first data compile no text: numba's strings, for a message, take seconds."""
    place = {"XDG_CACHE_HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    if "PYTHONPATH" in os.environ:
        place["PYTHONPATH"] = os.environ["PYTHONPATH"]
    counts = [
        [
            int(count)
            for count in subprocess.run(
                [sys.executable, "-c", _FIT, *data], env=place, check=True, capture_output=True
            ).stdout.split()
        ]
        for data in (("1", "40"), ("2", "75"))
    ]
    assert 5 < counts[0][0] < 45
    assert counts[0][1] == 0
    assert counts[1] == [0, 0]


_DOUBLED = """
from pyvws._base.kernels import kernel
def double(x):
    return 2.0 * x
assert kernel(double)(21.0) == 42.0
"""


@pytest.mark.parametrize("home", [os.devnull, None], ids=["a file", "none"])
def test_kernels_need_no_home(home: str | None, tmp_path: Path) -> None:
    """A home that cannot be written to; or none, nor a user to look one up for."""
    nobody = "import pwd\ndef none(_): raise KeyError\npwd.getpwuid = none\n"
    program = (nobody if home is None else "") + _DOUBLED
    given = {name: os.environ[name] for name in ("PATH", "PYTHONPATH") if name in os.environ}
    if home is not None:
        given["HOME"] = home
    subprocess.run([sys.executable, "-c", program], env=given, check=True, cwd=tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_native_engine_needs_no_home(tmp_path: Path) -> None:
    """With kernels that are compiled already, wherever they are."""
    table = tmp_path / "table.csv"
    table.write_text("y\n" + "".join(f"{number % 7}\n" for number in range(60)))
    words = ["--outcome", "y", "--model", "poisson", "--mechanism", "unweighted", "--seed", "1"]
    words += ["--draws", "100", "--warmup", "100", "--chains", "1", "--datasets", "1"]
    given = {**os.environ, "HOME": os.devnull, "NUMBA_CACHE_DIR": str(_kernels._cache_folder())}
    given.pop("XDG_CACHE_HOME", None)
    run = subprocess.run(
        [sys.executable, "-m", "pyvws", "synthesize", table, *words, "--out", tmp_path / "out"],
        env=given,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert "Traceback" not in run.stderr
    assert (tmp_path / "out" / "release" / "privacy.json").exists()


def test_compiling_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it begins, and not where the machine code is on disk."""
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path))
    told: list[int] = []

    def made() -> Any:
        def twice_of_a_test(x: float) -> float:
            return 2.0 * x

        twice_of_a_test.__qualname__ = "twice_of_a_test"
        return _kernels.callback(twice_of_a_test, "float64(float64)", cached=True)

    with announce_compiling(lambda: told.append(1)):
        assert made().ctypes(21.0) == 42.0
        assert told == [1]
        assert made().ctypes(21.0) == 42.0
        assert told == [1]
    (tmp_path / "other").mkdir()
    monkeypatch.setattr("numba.config.CACHE_DIR", str(tmp_path / "other"))
    assert made().ctypes(21.0) == 42.0
    assert told == [1]


@pytest.mark.parametrize(("silent", "lines"), [(False, 1), (True, 0)])
def test_the_terminal_says_so(silent: bool, lines: int) -> None:
    console = Console(file=io.StringIO())
    with fit_listener(console, silent=silent):
        compiling()
        compiling()
    compiling()
    said = console.file.getvalue()  # type: ignore[attr-defined]
    assert said.count("\n") == said.count("compiling, once") == lines


@pytest.mark.parametrize("wanted", [True, False])
def test_no_garbage_is_collected_while_numba_compiles(wanted: bool) -> None:
    """Also where one kernel is compiled for another; afterwards all is as it was before."""
    seen: list[bool] = []

    class Look(event.Listener):
        def on_start(self, event: Any) -> None:
            seen.append(gc.isenabled())

        def on_end(self, event: Any) -> None:
            seen.append(gc.isenabled())

    inner = numba.njit(lambda x: x + 1.0)
    outer = numba.njit(lambda x: inner(x) * 2.0 + inner(x))
    if not wanted:
        gc.disable()
    try:
        with event.install_listener("numba:run_pass", Look()):
            assert outer(1.0) == 6.0
        assert gc.isenabled() == wanted
    finally:
        gc.enable()
    assert seen
    assert not any(seen)
