"""A full disk is reported in one line, and nothing is left of the run."""

import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from platformdirs import user_cache_path
from real_runs import table_with_canaries
from run_here import run_here

from pyvws._base.folders import private_write, write_whole
from pyvws.errors import OutputError

_SIZE = "64k"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system that a release does not fit on."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = shutil.which("mount")
    if os.geteuid() != 0 or mount is None:
        pytest.skip("needs root, to mount a small file system")
    done = subprocess.run(
        [mount, "-t", "tmpfs", "-o", f"size={_SIZE}", "tmpfs", str(disk)],
        capture_output=True,
        check=False,
    )
    if done.returncode:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


@pytest.mark.parametrize("memory", ["2GB", "1B"])
@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_of_the_output(tmp_path: Path, small_disk: Path, suffix: str, memory: str) -> None:
    table = table_with_canaries(tmp_path / "table.csv", 20_000)
    if suffix == ".parquet":
        pl.read_csv(table).write_parquet(table := table.with_suffix(suffix))
    out = small_disk / "out"
    ended = run_here(
        "synthesize", str(table), "--out", str(out), "--outcome", "y", "--keep", "person",
         "--model", "poisson", "--mechanism", "unweighted", "--draws", "20", "--warmup", "100",
         "--chains", "1", "--datasets", "3", "--seed", "1", "--quiet", "--memory", memory,
    )  # fmt: skip
    assert ended.code == 1
    assert ended.err == (
        f"Error: No space is left where {out} goes. Free some; nothing was written.\n"
    )
    assert list(small_disk.iterdir()) == []


@pytest.mark.slow
def test_of_the_cache(tmp_path: Path, small_disk: Path) -> None:
    """What cannot be kept is compiled for this run alone."""
    table = table_with_canaries(tmp_path / "table.csv", 50)
    with pytest.raises(OSError, match="No space left"), (small_disk / "rest").open("wb") as rest:
        rest.write(b"1" * 10**6)
    words = [sys.executable, "-m", "pyvws", "risk", str(table), str(table), "--outcome", "y"]
    said = [
        subprocess.run(
            words,
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for cache in (small_disk, user_cache_path())
    ]
    assert said[0] == said[1]


@pytest.mark.parametrize("write", [lambda p: private_write(p, b"1" * 10**6),
                                   lambda p: write_whole(p, "1" * 10**6)])  # fmt: skip
def test_of_a_single_file(small_disk: Path, write: object) -> None:
    with pytest.raises(OSError) as caught:  # noqa: PT011 -- OutputError is one
        write(small_disk / "file")  # type: ignore[operator]
    full = isinstance(caught.value, OutputError) and "No space left" in str(caught.value)
    assert full or caught.value.errno == errno.ENOSPC
    assert list(small_disk.iterdir()) == []
