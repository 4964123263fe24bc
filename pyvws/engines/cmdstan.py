"""The CmdStan engine: cmdstanpy finds CmdStan and compiles, and each chain is a process.

CmdStan is in no package registry: `cmdstanpy.install_cmdstan()` builds one, and the variable
CMDSTAN points to one that is there already.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pyvws._base.private_folder import private_folder
from pyvws.engines._chains import run_chains
from pyvws.engines._engine import Progress
from pyvws.engines._remedies import failure_remedy
from pyvws.engines._stan_cache import compiled
from pyvws.engines._stan_csv import read_draws
from pyvws.engines._stan_run import (
    Log,
    StanRun,
    fit_shipped,
    stan_seed,
    variables,
)
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.errors import ConvergenceError, InputError, MissingDependencyError
from pyvws.posterior.draws import Posterior
from pyvws.posterior.pseudo_posterior import PseudoPosterior

__all__ = ["CmdStanEngine", "cmdstan_folder", "cmdstan_version"]

_PLAIN = "parameters { real x; } model { target += -x * x; }\n"
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
        previous: Posterior | None = None,
    ) -> Posterior:
        return fit_shipped(self, target, settings, seed=seed, progress=progress, previous=previous)

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
        with private_folder() as folder:
            with _quiet() as cmdstanpy:
                cmdstanpy.write_stan_json(str(folder / "data.json"), data)
                for chain, values in enumerate(initial or [], start=1):
                    cmdstanpy.write_stan_json(str(folder / f"initial{chain}.json"), values)
            commands = [
                _command(executable, chain, settings, stan_seed(seed), initial is not None)
                for chain in range(1, settings.chains + 1)
            ]
            began = time.perf_counter()
            codes = run_chains(commands, folder, settings, progress)
            seconds = time.perf_counter() - began
            if self.log is not None:
                for path in sorted(folder.glob("*.log")):
                    self.log(path.read_text(encoding="utf-8", errors="replace"))
            if any(codes):
                raise ConvergenceError(
                    f"CmdStan failed in {sum(map(bool, codes))} of {settings.chains} chains. Its "
                    f"words are in the engine's log. {failure_remedy(data.get('X'))}"
                )
            return _collect(folder, settings, keep, seconds)


def _command(
    executable: Path, chain: int, settings: SamplerSettings, seed: int, initial: bool
) -> list[str]:
    """The command line of one chain, as CmdStan's guide writes it."""
    return [
        str(executable),
        f"id={chain}",
        "random",
        f"seed={seed}",
        "data",
        "file=data.json",
        *([f"init=initial{chain}.json"] if initial else []),
        "output",
        f"file={chain}.csv",
        "refresh=100",
        f"sig_figs={_DIGITS}",
        "method=sample",
        f"num_samples={settings.draws}",
        f"num_warmup={settings.warmup}",
        "adapt",
        f"delta={settings.target_accept}",
    ]


def _collect(
    folder: Path, settings: SamplerSettings, keep: tuple[str, ...] | None, seconds: float
) -> StanRun:
    def wanted(name: str) -> bool:
        return name == "divergent__" or keep is None or name.partition(".")[0] in keep

    blocks = []
    for chain in range(1, settings.chains + 1):
        names, values = read_draws(folder / f"{chain}.csv", wanted)
        blocks.append(values)
    together = np.stack(blocks)
    return StanRun(
        draws=variables(names, together),
        divergences=int(together[..., names.index("divergent__")].sum()),
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
            except (ValueError, RuntimeError, OSError) as error:
                said = str(error).strip()[-2000:]
                if _translates(_PLAIN, folder) and not _translates(program, folder):
                    raise InputError(f"Stan does not accept the program. It says: {said}") from None
                raise MissingDependencyError(
                    f"The CmdStan in {cmdstan_folder()} compiles no program, this one or another. "
                    "Mend it, or install it anew: "
                    'python -c "import cmdstanpy; cmdstanpy.install_cmdstan(overwrite=True)". '
                    f"It says: {said}"
                ) from None
        if Path(made).name != "program":
            shutil.copy(made, folder / "program")

    return compiled(program, version=kind, build=build) / "program"


def _translates(program: str, folder: Path) -> bool:
    """Whether CmdStan's stanc turns a program into C++, which needs neither make nor a compiler."""
    source = folder / "translated.stan"
    source.write_text(program, encoding="utf-8")
    stanc = cmdstan_folder() / "bin" / ("stanc.exe" if sys.platform == "win32" else "stanc")
    try:
        done = subprocess.run(
            [stanc, f"--o={source.with_suffix('.hpp')}", source], capture_output=True, check=False
        )
    except OSError:
        return False
    return done.returncode == 0


@contextmanager
def _quiet() -> Iterator[Any]:
    """cmdstanpy without its log on the terminal."""
    import cmdstanpy

    with cmdstanpy.disable_logging():
        yield cmdstanpy
