"""Chains of Stan do not outlive the process that started them, however it ends."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from pyvws.engines.stan_run import bound_command

_RUN = """
import sys
from pathlib import Path
from pyvws.engines.stan_run import run_chains
from pyvws.engines.sampler_settings import SamplerSettings
chain = [sys.executable, "-c", "import os, time; print(os.getpid(), flush=True); time.sleep(600)"]
run_chains([chain, chain], Path(sys.argv[1]), SamplerSettings(chains=2), None)
"""


def _running(pid: int) -> bool:
    """Whether a process is there and does more than wait to be counted as dead."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux ends them")
@pytest.mark.parametrize("end", ["kill", "terminate"])
def test_chains_end_with_a_killed_run(tmp_path: Path, end: str) -> None:
    logs = [tmp_path / f"{chain}.console.log" for chain in (1, 2)]
    with subprocess.Popen([sys.executable, "-c", _RUN, str(tmp_path)]) as run:
        try:
            while not all(log.exists() and log.read_text().endswith("\n") for log in logs[:1]):
                assert run.poll() is None
                time.sleep(0.05)
            chains = [int(log.read_text()) for log in logs if log.exists() and log.read_text()]
            assert all(map(_running, chains))
        finally:
            getattr(run, end)()
    while any(map(_running, chains)):
        time.sleep(0.05)


def test_a_command_whose_parent_is_gone_is_not_started() -> None:
    command = bound_command([sys.executable, "-c", "print(1)"])
    orphan = [str(os.getppid()) if word == str(os.getpid()) else word for word in command]
    done = subprocess.run(orphan, capture_output=True)
    assert (done.returncode, done.stdout) == (1, b"")
    done = subprocess.run(command, capture_output=True)
    assert (done.returncode, done.stdout.strip()) == (0, b"1")
