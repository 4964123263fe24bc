"""Chains as processes: as many at once as there are processors, killed when the caller stops."""

from __future__ import annotations

import re
import subprocess
import time
from pathlib import Path

from pyvws._base.cores import usable_cores
from pyvws.engines._bound_process import bound_command
from pyvws.engines._engine import Progress
from pyvws.engines.sampler_settings import SamplerSettings

__all__ = ["iterations_done", "run_chains"]

_POLL_SECONDS = 0.05


def run_chains(
    commands: list[list[str]],
    folder: Path,
    settings: SamplerSettings,
    progress: Progress | None,
) -> list[int]:
    """Run one command a chain in `folder`; what chain c prints goes to c.console.log there.

    Returns the exit codes in the order of the commands. An exception, an interrupt included, kills
    the chains that still run and is passed on; a kill of this process takes them along.
    """
    total = settings.chains * (settings.draws + settings.warmup)
    waiting = list(enumerate(commands))
    running: dict[int, subprocess.Popen[bytes]] = {}
    codes: dict[int, int] = {}
    cores = usable_cores()
    try:
        while waiting or running:
            while waiting and len(running) < cores:
                at, command = waiting.pop(0)
                with (folder / f"{at + 1}.console.log").open("wb") as console:
                    running[at] = subprocess.Popen(
                        bound_command(command),
                        cwd=folder,
                        stdin=subprocess.DEVNULL,
                        stdout=console,
                        stderr=subprocess.STDOUT,
                    )
            time.sleep(_POLL_SECONDS)
            for at, process in list(running.items()):
                if process.poll() is not None:
                    codes[at] = running.pop(at).returncode
            if progress is not None:
                progress(iterations_done(sorted(folder.glob("*.log"))), total)
    finally:
        for process in running.values():
            process.kill()
            process.wait()
    return [codes[at] for at in sorted(codes)]


def iterations_done(logs: list[Path]) -> int:
    """Iterations that the chains' console texts report, summed over chains."""
    done = 0
    for path in logs:
        found = re.findall(r"Iteration:\s+(\d+) /", path.read_text(errors="replace"))
        done += int(found[-1]) if found else 0
    return done
