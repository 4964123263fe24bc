"""Chains as processes: as many at once as there are processors, killed when the caller stops."""

from __future__ import annotations

import re
import subprocess
import time
from abc import abstractmethod
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws._base.folders import private_folder
from pyvws.engines._bound_process import bound_command
from pyvws.engines.engine import Progress
from pyvws.engines.remedies import failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import StanEngine, StanJob, StanRun, variables
from pyvws.errors import ConvergenceError

_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ChainEngine(StanEngine):
    """A Stan engine that runs each chain as a process in the private folder of a fit."""

    @abstractmethod
    def commands(self, job: StanJob, folder: Path) -> list[list[str]]:
        """Write the chains' input files into the folder; return the command of each chain."""

    @abstractmethod
    def chain(
        self, folder: Path, chain: int, keep: tuple[str, ...] | None
    ) -> tuple[list[str], Floats]:
        """Names and values (draws, columns) that a chain, counted from 1, left in the folder."""

    def seconds(self, folder: Path, running: float) -> float:
        """Seconds that sampling took, out of the seconds that the processes were running."""
        return running

    def run_job(self, job: StanJob) -> StanRun:
        chains = job.settings.chains
        with private_folder() as folder:
            commands = self.commands(job, folder)
            began = time.perf_counter()
            codes = run_chains(commands, folder, job.settings, job.progress)
            running = time.perf_counter() - began
            if self.log is not None:
                for path in sorted(folder.glob("*.log")):
                    self.log(path.read_text(encoding="utf-8", errors="replace"))
            if any(codes):
                raise ConvergenceError(
                    f"Stan failed in {sum(map(bool, codes))} of {chains} chains. Its "
                    f"words are in the engine's log. {failure_remedy(job.data.get('X'))}"
                )
            read = [self.chain(folder, at + 1, job.keep) for at in range(chains)]
            seconds = self.seconds(folder, running)
        names, values = read[0][0], np.stack([drawn for _, drawn in read])
        draws = variables(names, values)
        return StanRun(
            draws={name: draws[name] for name in draws if job.keep is None or name in job.keep},
            divergences=int(values[..., names.index("divergent__")].sum()),
            seconds=seconds,
        )


def run_chains(
    commands: list[list[str]], folder: Path, settings: SamplerSettings, progress: Progress | None
) -> list[int]:
    """Run one command a chain in `folder`; chain c prints to c.console.log; their exit codes.

    Any exception kills the chains that still run, which also end with this process.
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
        counts = re.findall(r"Iteration:\s+(\d+) /", path.read_text(errors="replace"))
        done += int(counts[-1]) if counts else 0
    return done
