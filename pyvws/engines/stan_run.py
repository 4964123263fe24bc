"""The code that Stan engines share: data, first values, chains as processes, and named draws.

Compiled programs are kept in the user's cache, one folder for each program and Stan version.

Stan draws parameters and nothing else. The log-likelihood comes from
`pyvws.posterior.log_likelihood`.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
from platformdirs import user_cache_path

from pyvws._base import resources as _resources
from pyvws._base.checks import Floats
from pyvws._base.cores import usable_cores
from pyvws._base.folders import abandoned, claimed_folder, private_folder
from pyvws._base.kernels import compiling
from pyvws.engines.engine import Progress, failure_remedy
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, InputError, OutputError
from pyvws.models.model import Model
from pyvws.posterior.draws import Posterior, diagnose
from pyvws.posterior.pseudo_posterior import PseudoPosterior

Log = Callable[[str], None]
"""Takes the console text of a fit. Stan's messages can hold data values: keep it confidential."""

_INDEXED = re.compile(r"^(?P<name>\w+)(?:[.\[](?P<places>[\d.,]+)\]?)?$")
_JITTER = 1.0


@dataclass(frozen=True, slots=True)
class StanRun:
    """Stan's draws after warm-up by variable, (chains, draws, ...) each; and `divergences`."""

    draws: dict[str, Floats]
    divergences: int
    seconds: float


class ProgramDensities(NamedTuple):
    """Of a program at P unconstrained points: log densities (P,) with Stan's Jacobians up to a
    constant, their gradients (P, D), and the constrained variables (P, ...).
    """

    value: Floats
    gradient: Floats
    written: dict[str, Floats]


@dataclass(frozen=True, slots=True)
class StanJob:
    """A program to sample: its data, first values for each chain (Stan's own where there are none),
    and the variables to return (all where `keep` is None).
    """

    program: str
    data: dict[str, Any]
    settings: SamplerSettings
    seed: int
    initial: list[dict[str, Any]]
    keep: tuple[str, ...] | None
    progress: Progress | None


@dataclass(frozen=True, slots=True)
class StanEngine(ABC):
    """NUTS as one Stan runs it; `log` gets the console text of each fit."""

    name: ClassVar[str]
    log: Log | None = None

    @abstractmethod
    def run_job(self, job: StanJob) -> StanRun:
        """Compile the program unless it is in the cache, and sample it."""

    def run(
        self,
        program: str,
        data: dict[str, Any],
        settings: SamplerSettings,
        *,
        seed: int,
        initial: list[dict[str, Any]] | None = None,
        keep: tuple[str, ...] | None = None,
        progress: Progress | None = None,
    ) -> StanRun:
        """Run `run_job` on a job made of these entries, with a seed that every Stan takes."""
        return self.run_job(
            StanJob(program, data, settings, stan_seed(seed), initial or [], keep, progress)
        )

    def target_program(self, target: PseudoPosterior) -> tuple[str, dict[str, Any]]:
        """The text of the program that samples a target, without log_lik, and its data."""
        data = {**stan_data(target), **clamp_data(target), "write_log_lik": 0}
        return shipped_program(target.model), data

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
        previous: Posterior | None = None,
    ) -> Posterior:
        model, K = target.model, target.cells.n_coefficients
        settings = settings.after(previous, share=1.0)
        total = settings.chains * (settings.draws + settings.warmup)
        run = self.run(
            *self.target_program(target),
            settings,
            seed=seed,
            initial=_initial(target, settings.chains, seed, previous),
            keep=tuple(model.constrain(np.zeros((1, target.dimension)), K)),
            progress=progress,
        )
        if progress is not None:
            progress(total, total)
        flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in run.draws.items()}
        q = model.unconstrain(flat)
        if not np.isfinite(q).all():
            raise ConvergenceError(
                "Stan returned draws at the edge of the parameter space. "
                + failure_remedy(target.cells.rows)
            )
        compared = model.diagnosed(q, K).reshape(settings.chains, settings.draws, -1)
        found = diagnose(compared, run.divergences)
        return Posterior(model.constrain(q, K), settings.chains, found, run.seconds, self.name)


def shipped_program(model: Model) -> str:
    """Text of the model's program in today's Stan language."""
    return _text(_resources.folder("stan"), model)


def paper_program(model: Model, *, censored: bool = False) -> str:
    """Text of the model's program in the papers' Stan dialect; InputError where there is none."""
    folder = _resources.folder("r_reference") / "stan"
    return _text(folder, model, "_censored" if censored else "")


def _text(folder: Path, model: Model, ending: str = "") -> str:
    path = folder / f"{model.name.replace('-', '_')}{ending}.stan"
    if not path.is_file() and not ending:
        raise InputError.by("no-stan-program-of-family", model=model.name)
    if not path.is_file():
        raise InputError.by("rstan-not-censored", model=model.name)
    return path.read_text(encoding="utf-8")


def stan_data(target: PseudoPosterior) -> dict[str, Any]:
    """n, K, y (n,), X (n, K) and weights (n,) in the papers' names, and what the model needs."""
    cells = target.cells
    each = cells.one_by_one()
    cell = cells.cell_of_record[each]
    y = cells.outcome[cell]
    return {
        "n": cells.total_records,
        "K": cells.n_coefficients,
        "y": y.astype(np.int64) if target.model.whole_numbers else y,
        "X": cells.rows[cells.row_of_cell[cell]],
        "weights": target.weights[each],
        **target.model.stan_settings(cells),
    }


def stan_seed(seed: int) -> int:
    """A seed that every Stan release takes (1 to 2^31 - 1), made from a seed of any size."""
    return 1 + int(np.random.SeedSequence(seed).generate_state(1)[0] % (2**31 - 1))


def variables(names: list[str], values: Floats) -> dict[str, Floats]:
    """Columns such as `L_beta.2.1` or `L_beta[2,1]` as arrays by variable, without Stan's own.

    values (..., columns) gives arrays (..., *the variable's own shape).
    """
    places: dict[str, list[tuple[tuple[int, ...], int]]] = {}
    for column, label in enumerate(names):
        match = _INDEXED.match(label)
        if match is None or match["name"].endswith("__"):
            continue
        index = tuple(int(part) - 1 for part in re.findall(r"\d+", match["places"] or ""))
        places.setdefault(match["name"], []).append((index, column))
    by_name = {}
    for name, entries in places.items():
        shape = tuple(1 + np.max([index for index, _ in entries], axis=0)) if entries[0][0] else ()
        array = np.empty((*shape, *values.shape[:-1]))
        for index, column in entries:
            array[index] = values[..., column]
        by_name[name] = np.moveaxis(array, range(len(shape)), range(-len(shape), 0))
    return by_name


def clamp_data(target: PseudoPosterior) -> dict[str, Any]:
    """The data that tell Stan programs whether and where to clamp terms, and their `shift` (n,)."""
    cells, clamp = target.cells, target.clamp
    if clamp is None:
        return {"censored": 0, "low": 0.0, "high": 0.0, "shift": np.zeros(cells.total_records)}
    shift = clamp.shift(target.model, cells)[cells.cell_of_record[cells.one_by_one()]]
    return {"censored": 1, "low": clamp.window[0], "high": clamp.window[1], "shift": shift}


def _initial(
    target: PseudoPosterior, chains: int, seed: int, previous: Posterior | None
) -> list[dict[str, Any]]:
    """First values of each chain: a draw of the previous fit, else near a rough fit of beta."""
    rng = np.random.default_rng(seed)
    z = rng.uniform(-_JITTER, _JITTER, (chains, target.dimension))
    draws = target.model.constrain(target.start().scattered(z), target.cells.n_coefficients)
    if previous is not None:
        picked = rng.integers(previous.n_draws, size=chains)
        drawn = {name: previous.draws[name][picked] for name in draws}
        if np.isfinite(target.model.unconstrain(drawn)).all():
            draws = drawn
    return [{name: values[c] for name, values in draws.items()} for c in range(chains)]


_POLL_SECONDS = 0.05
# Asks Linux to kill this process when its parent ends, and then becomes the command.
_BOUND = """
import ctypes, os, signal, sys
ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG of prctl(2)
if os.getppid() == int(sys.argv[1]):
    os.execv(sys.argv[2], sys.argv[2:])
sys.exit(1)
"""


@dataclass(frozen=True, slots=True)
class ChainEngine(StanEngine):
    """A Stan engine that runs each chain as a process in the private folder of a fit.

    As many run at once as there are processors, and they are killed when the caller stops.
    """

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


def bound_command(command: list[str]) -> list[str]:
    """The command line that makes a command end with the thread that starts it and waits for it.

    On systems other than Linux the command runs without that bond.
    """
    if sys.platform != "linux":
        return command
    return [sys.executable, "-I", "-S", "-c", _BOUND, str(os.getpid()), *command]


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


_MARK = "ok"
_UNUSED_DAYS = 180
_WAIT_SECONDS = 0.2


def cache_folder() -> Path:
    """The folder of compiled programs; made with mode 0700 when a caller first asks for it."""
    folder = user_cache_path("pyvws", appauthor=False) / "stan"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise OutputError(
            f"{folder} cannot be made ({error.strerror}); compiled Stan programs are kept there. "
            "Set XDG_CACHE_HOME to a folder that can be written to."
        ) from None
    return folder


def compiled(program: str, *, version: str, build: Callable[[Path], None]) -> Path:
    """The complete folder that holds the program compiled by a `version` of Stan, built unless
    there.

    `build` writes into a folder that has `program.stan`. The folder's mark is written last, so a
    build that was cut short does not count. Where another process builds it, this one waits.
    """
    key = json.dumps([version, platform.system(), platform.machine(), program])
    folder = cache_folder() / hashlib.sha256(key.encode()).hexdigest()
    if not _complete(folder):
        compiling()
    while not _complete(folder) and _others_build(folder):
        time.sleep(_WAIT_SECONDS)
    if not _complete(folder):
        _prune(folder.parent)
        building = folder.with_name(f"{_build_of(folder)}.{os.getpid()}-{secrets.token_hex(4)}")
        try:
            with claimed_folder(building):
                (building / "program.stan").write_text(program, encoding="utf-8")
                build(building)
                _place(building, folder)
        finally:
            shutil.rmtree(building, ignore_errors=True)
    os.utime(folder / _MARK)
    return folder


def _complete(folder: Path) -> bool:
    return (folder / _MARK).is_file()


def _build_of(folder: Path) -> str:
    """How the names of a program's builds begin, before the number of the process."""
    return folder.name[:16]


def _others_build(folder: Path) -> bool:
    """Whether another process builds the program; of two that begin at once both build."""
    builds = [(build, _owner(build)) for build in folder.parent.glob(f"{_build_of(folder)}.*-*")]
    return any(owner != os.getpid() and not abandoned(build, owner) for build, owner in builds)


def _owner(build: Path) -> int:
    """The number of the process that a build's name gives; 0 for no number."""
    text = build.suffix[1:].partition("-")[0]
    return int(text) if text.isdigit() else 0


def _place(build: Path, folder: Path) -> None:
    """Move a build to its place; a build that another process finished meanwhile stays there."""
    if _complete(folder):
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        build.rename(folder)
    except OSError:
        if not folder.is_dir():
            raise
    (folder / _MARK).touch()


def _prune(parent: Path) -> None:
    """Remove programs that nobody used for a long time, and the files that killed builds left."""
    oldest = time.time() - _UNUSED_DAYS * 86400
    for mark in parent.glob(f"*/{_MARK}"):
        if mark.stat().st_mtime < oldest:
            shutil.rmtree(mark.parent, ignore_errors=True)
    for left in parent.glob("*.*-*"):
        owner = _owner(left)
        if owner and abandoned(left, owner, surely=True):
            shutil.rmtree(left, ignore_errors=True)
