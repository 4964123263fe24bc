"""Confidential files of a fit do not outlive it."""

import os
import signal
import subprocess
import sys
import tempfile
import warnings

import polars as pl
import pytest

import pyvws as vws
from pyvws._base import folders
from pyvws._base.folders import private_folder, sweep


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    return tmp_path


def test_only_its_owner_can_read_it(place):
    with private_folder() as folder:
        assert folder.parent == place
        assert folder.stat().st_mode & 0o777 == 0o700
        (folder / "data.json").write_text("{}")
    assert list(place.iterdir()) == []


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_it_goes_on_failure_and_interrupt(place, error):
    def fail() -> None:
        with private_folder() as folder:
            (folder / "data.json").write_text("{}")
            raise error

    with pytest.raises(error):
        fail()
    assert list(place.iterdir()) == []


def test_what_a_killed_process_left_is_swept(place):
    script = (
        "import time\n"
        "from pyvws._base.folders import private_folder\n"
        "with private_folder() as folder:\n"
        "    (folder / 'data.json').write_text('{}')\n"
        "    print(folder, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
        left = process.stdout.readline().decode().strip()
        assert sweep() == 0
        assert os.path.isdir(left)
        process.send_signal(signal.SIGKILL)
    with private_folder() as folder:
        assert list(place.iterdir()) == [folder]


def test_other_folders_stay(place):
    (place / "pyvws-other-99999999-x").mkdir()
    (place / "elsewhere").mkdir()
    assert sweep() == 0
    assert len(list(place.iterdir())) == 2


def _left_by_a_killed_run(place, name="x"):
    left = place / f"{folders._prefix()}999999999-{name}"
    left.mkdir()
    (left / "data.json").write_text("{}")
    return left


@pytest.mark.parametrize("mechanism", ["unweighted", "perturbed-histogram"])
def test_a_native_run_sweeps_too(place, mechanism):
    left = _left_by_a_killed_run(place)
    more = {"perturbed-histogram": {"epsilon": 1.0, "range": (0, 9)}}.get(mechanism, {})
    table = pl.DataFrame({"y": [1, 4, 2, 3, 0, 5] * 5})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", vws.ConvergenceWarning)
        vws.synthesize(
            *(table,), outcome="y", model="poisson", mechanism=mechanism, seed=1, datasets=1,
            draws=20, warmup=100, chains=1, **more,
        )  # fmt: skip
    assert not left.exists()


def test_a_run_in_steps_sweeps_too(place, tmp_path):
    left = _left_by_a_killed_run(place)
    with pytest.raises(vws.InputError):
        vws.Synthesizer(outcome="y", mechanism="lw").fit_to(
            tmp_path / "none.csv", tmp_path / "out", seed=1
        )
    assert not left.exists()


def test_what_another_user_left_stays(place, monkeypatch):
    left = _left_by_a_killed_run(place)
    me = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: me + 1)
    assert sweep() == 0
    monkeypatch.undo()
    assert (left / "data.json").exists()


def test_a_link_is_neither_followed_nor_removed(place):
    (place / "elsewhere").mkdir()
    (place / "elsewhere" / "kept").write_text("1")
    link = place / f"{folders._prefix()}999999999-x"
    link.symlink_to(place / "elsewhere")
    assert sweep() == 0
    assert link.is_symlink()
    assert (place / "elsewhere" / "kept").exists()
