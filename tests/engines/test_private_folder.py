"""Confidential files of a fit do not outlive it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile

import pytest

from pyvws.engines._private_folder import private_folder, sweep


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
        "from pyvws.engines._private_folder import private_folder\n"
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
