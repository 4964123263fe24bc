"""The CmdStan engine: cmdstanpy finds CmdStan and compiles, and each chain is a process.

CmdStan is in no package registry: `cmdstanpy.install_cmdstan()` builds CmdStan, and the variable
CMDSTAN points to a CmdStan that is installed already. Its CSV files have settings in comments, a
row of names, and a row a draw.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import polars as pl

from pyvws._base.checks import Floats
from pyvws.engines.sampler_settings import SamplerSettings
from pyvws.engines.stan_run import ChainEngine, StanJob, compiled
from pyvws.errors import InputError, MissingDependencyError

_PLAIN = "parameters { real x; } model { target += -x * x; }\n"
_DIGITS = 18  # every bit of a draw survives the CSV file


def cmdstan_folder() -> Path:
    """Folder of the CmdStan that cmdstanpy finds. Raises MissingDependencyError."""
    try:
        with _quiet():
            import cmdstanpy

            return Path(cmdstanpy.cmdstan_path())
    except ModuleNotFoundError:
        raise MissingDependencyError(
            "cmdstanpy is not installed. Run: pip install cmdstanpy, then "
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
class CmdStanEngine(ChainEngine):
    """NUTS as CmdStan runs it; `log` gets each fit's console text, which can hold data values."""

    name: ClassVar[str] = "cmdstan"

    def commands(self, job: StanJob, folder: Path) -> list[list[str]]:
        executable = built(job.program)
        with _quiet() as cmdstanpy:
            cmdstanpy.write_stan_json(str(folder / "data.json"), job.data)
            for chain, values in enumerate(job.initial, start=1):
                cmdstanpy.write_stan_json(str(folder / f"initial{chain}.json"), values)
        return [
            _command(executable, chain, job.settings, job.seed, bool(job.initial))
            for chain in range(1, job.settings.chains + 1)
        ]

    def chain(
        self, folder: Path, chain: int, keep: tuple[str, ...] | None
    ) -> tuple[list[str], Floats]:
        def wanted(name: str) -> bool:
            return name == "divergent__" or keep is None or name.partition(".")[0] in keep

        return read_draws(folder / f"{chain}.csv", wanted)


def _command(
    executable: Path, chain: int, settings: SamplerSettings, seed: int, initial: bool
) -> list[str]:
    """The command line of one chain, as CmdStan's guide writes it."""
    first = f" init=initial{chain}.json" if initial else ""
    words = (
        f"id={chain} random seed={seed} data file=data.json{first} output file={chain}.csv "
        f"refresh=100 sig_figs={_DIGITS} method=sample num_samples={settings.draws} "
        f"num_warmup={settings.warmup} adapt delta={settings.target_accept}"
    )
    return [str(executable), *words.split()]


@cache
def built(program: str) -> Path:
    """Path of the compiled program; built when neither this process nor the cache has one."""
    kind = f"cmdstan {cmdstan_version()} {cmdstan_folder()}"

    def build(folder: Path) -> None:
        with _quiet() as cmdstanpy:
            try:
                program_file = cmdstanpy.compile_stan_file(folder / "program.stan")
            except (ValueError, RuntimeError, OSError) as error:
                message = str(error).strip()[-2000:]
                if _translates(_PLAIN, folder) and not _translates(program, folder):
                    raise InputError.by("stan-rejects-program", message=message) from None
                raise MissingDependencyError(
                    f"The CmdStan in {cmdstan_folder()} compiles no program, this one or another. "
                    "Mend it, or install it anew: "
                    'python -c "import cmdstanpy; cmdstanpy.install_cmdstan(overwrite=True)". '
                    f"It says: {message}"
                ) from None
        if Path(program_file).name != "program":
            shutil.copy(program_file, folder / "program")

    return compiled(program, version=kind, build=build) / "program"


def _translates(program: str, folder: Path) -> bool:
    """Whether CmdStan's stanc turns a program into C++; stanc needs neither make nor a compiler."""
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


def read_draws(path: Path, wanted: Callable[[str], bool]) -> tuple[list[str], Floats]:
    """Names and values (draws, columns) of the wanted columns of one chain, warm-up left out.

    Raises InputError for a file that is missing or was cut short.
    """
    if not path.is_file():
        raise InputError.by("program-file-missing", path=path)
    if path.stat().st_size == 0:
        raise InputError.by("csv-empty", path=path.name)
    settings, header = _head(path)
    names = [name for name in header if wanted(name)]
    if not names:
        return [], np.empty((0, 0))
    try:
        table = pl.read_csv(
            path,
            comment_prefix="#",
            columns=names,
            schema_overrides=dict.fromkeys(names, pl.Float64),
        ).select(names)
    except pl.exceptions.PolarsError:
        table = pl.DataFrame()
    kept = _draws(settings, "num_samples")
    warmup = _draws(settings, "num_warmup") or 0
    if settings.get("save_warmup", "0") not in ("1", "true"):
        warmup = 0
    complete = table.height > warmup and not any(table.null_count().row(0)) and _ended(path)
    if not complete or (kept is not None and table.height != warmup + kept):
        raise InputError.by("csv-incomplete", path=path.name)
    return names, np.ascontiguousarray(table.to_numpy()[warmup:], dtype=np.float64)


def _head(path: Path) -> tuple[dict[str, str], list[str]]:
    """The settings and column names at the start of a CSV file."""
    settings: dict[str, str] = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if not line.startswith("#"):
                return settings, line.strip().split(",")
            name, equals, value = line[1:].partition("=")
            if equals:
                settings[name.strip()] = value.replace("(Default)", "").strip()
    return settings, []


def _ended(path: Path) -> bool:
    """Whether the last line is whole; a number that was cut short still reads as a number."""
    with path.open("rb") as raw:
        raw.seek(-1, os.SEEK_END)
        return raw.read() == b"\n"


def _draws(settings: dict[str, str], name: str) -> int | None:
    """Number of rows that a file's settings announce after thinning; None where they do not."""
    if name not in settings:
        return None
    return -(-int(settings[name]) // int(settings.get("thin", "1")))
