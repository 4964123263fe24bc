"""The CmdStan engine, through cmdstanpy.

CmdStan is in no package registry: `cmdstanpy.install_cmdstan()` builds one, and the variable
CMDSTAN points to one that is there already.
"""

from __future__ import annotations

import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyvws.engines._engine import Posterior, Progress, SamplerSettings
from pyvws.engines._private_folder import private_folder
from pyvws.engines._stan_cache import compiled
from pyvws.engines._stan_run import (
    Log,
    StanRun,
    fit_target,
    iterations_done,
    shipped_program,
    stan_data,
    stan_seed,
    variables,
)
from pyvws.errors import ConvergenceError, InputError, MissingDependencyError
from pyvws.pseudo_posterior import PseudoPosterior

__all__ = ["CmdStanEngine", "cmdstan_folder", "cmdstan_version"]

_POLL_SECONDS = 0.2
_DIGITS = 18  # every bit of a draw survives the CSV file


def cmdstan_folder() -> Path:
    """The CmdStan that cmdstanpy finds. Raises MissingDependencyError."""
    try:
        with _quiet():
            import cmdstanpy

            return Path(cmdstanpy.cmdstan_path())
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "cmdstanpy is not installed. Run: pip install 'pyvws[cmdstan]', then "
            'python -c "import cmdstanpy; cmdstanpy.install_cmdstan()"'
        ) from None
    except ValueError:
        raise MissingDependencyError(
            "CmdStan is not installed. Run: "
            'python -c "import cmdstanpy; cmdstanpy.install_cmdstan()", or set CMDSTAN to its '
            "folder."
        ) from None


def cmdstan_version() -> str:
    """CmdStan's version. Raises MissingDependencyError where there is none."""
    makefile = cmdstan_folder() / "makefile"
    for line in makefile.read_text(encoding="utf-8").splitlines():
        if line.startswith("CMDSTAN_VERSION"):
            return line.partition("=")[2].strip()
    return "of unknown version"


@dataclass(frozen=True, slots=True)
class CmdStanEngine:
    """NUTS as CmdStan runs it. The first fit of a model compiles it, which takes a minute.

    `log` is called with the console text of each fit; it can hold data values.
    """

    name: str = "cmdstan"
    log: Log | None = None

    def sample(
        self,
        target: PseudoPosterior,
        settings: SamplerSettings,
        *,
        seed: int,
        progress: Progress | None = None,
    ) -> Posterior:
        data = {**stan_data(target), "censored": 0, "bound": 0.0, "write_log_lik": 0}
        return fit_target(
            self,
            shipped_program(target.model),
            data,
            target,
            settings,
            seed=seed,
            progress=progress,
        )

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
        executable = _executable(program)
        with private_folder() as folder, _quiet() as cmdstanpy:
            cmdstanpy.write_stan_json(str(folder / "data.json"), data)
            first = []
            for chain, values in enumerate(initial or [], start=1):
                first.append(str(folder / f"initial{chain}.json"))
                cmdstanpy.write_stan_json(first[-1], values)
            model = cmdstanpy.CmdStanModel(exe_file=str(executable))
            output = folder / "output"
            began = time.perf_counter()
            try:
                with _watched(output, settings, progress):
                    fit = model.sample(
                        data=str(folder / "data.json"),
                        chains=settings.chains,
                        parallel_chains=min(settings.chains, os.cpu_count() or 1),
                        seed=stan_seed(seed),
                        inits=first or None,
                        iter_warmup=settings.warmup,
                        iter_sampling=settings.draws,
                        adapt_delta=settings.target_accept,
                        output_dir=str(output),
                        sig_figs=_DIGITS,
                        refresh=100,
                        show_progress=False,
                        show_console=False,
                    )
                seconds = time.perf_counter() - began
                failed = False
            except RuntimeError:
                failed = True
            self._tell(output)
            if failed:  # cmdstanpy's own message quotes the console, which can hold data values
                raise ConvergenceError(
                    "CmdStan failed. Its words are in the engine's log; rescale the predictors if "
                    "it could not start."
                )
            return _collect(fit, keep, seconds)

    def _tell(self, output: Path) -> None:
        if self.log is not None:
            for path in sorted(output.glob("*.txt")):
                self.log(path.read_text(encoding="utf-8", errors="replace"))


def _collect(fit: Any, keep: tuple[str, ...] | None, seconds: float) -> StanRun:
    values = np.ascontiguousarray(np.swapaxes(fit.draws(), 0, 1))
    names = list(fit.column_names)
    draws = variables(names, values)
    return StanRun(
        draws={name: draws[name] for name in draws if keep is None or name in keep},
        divergences=int(values[..., names.index("divergent__")].sum()),
        seconds=seconds,
    )


@cache
def _executable(program: str) -> Path:
    """The compiled program; built when neither this process nor the cache has it."""
    kind = f"cmdstan {cmdstan_version()} {cmdstan_folder()}"

    def build(folder: Path) -> None:
        source = folder / "program.stan"
        source.write_text(program, encoding="utf-8")
        with _quiet() as cmdstanpy:
            try:
                made = cmdstanpy.compile_stan_file(source)
            except ValueError as error:
                raise InputError(
                    f"Stan does not accept the program. It says: {str(error).strip()[-2000:]}"
                ) from None
        if Path(made).name != "program":
            shutil.copy(made, folder / "program")

    return compiled(program, version=kind, build=build) / "program"


@contextmanager
def _quiet() -> Iterator[Any]:
    """cmdstanpy without its log on the terminal."""
    import cmdstanpy

    with cmdstanpy.disable_logging():
        yield cmdstanpy


@contextmanager
def _watched(output: Path, settings: SamplerSettings, progress: Progress | None) -> Iterator[None]:
    """Report progress from the chains' console files while cmdstanpy waits for them."""
    if progress is None:
        yield
        return
    total = settings.chains * (settings.draws + settings.warmup)
    over = threading.Event()
    watcher = threading.Thread(target=_watch, args=(output, total, progress, over.wait))
    watcher.start()
    try:
        yield
    finally:
        over.set()
        watcher.join()


def _watch(output: Path, total: int, progress: Progress, wait: Callable[[float], bool]) -> None:
    while not wait(_POLL_SECONDS):
        progress(iterations_done(sorted(output.glob("*.txt"))), total)
