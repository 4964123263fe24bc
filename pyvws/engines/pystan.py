"""The PyStan engine: Stan as PyStan's own package (httpstan) compiles it, from PyPI and offline."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from pyvws._base.checks import Floats
from pyvws.engines._pystan_process import load_module
from pyvws.engines.stan_run import (
    ChainEngine,
    ProgramDensities,
    StanJob,
    bound_command,
    compiled,
    variables,
)
from pyvws.errors import InputError, MissingDependencyError
from pyvws.posterior.draws import Y_REP

_VERSION = ("MAJOR", "MINOR", "PATCH")
_DEFAULTS = {
    "init_radius": 2.0,
    "num_thin": 1,
    "save_warmup": False,
    "refresh": 100,
    "stepsize": 1.0,
    "stepsize_jitter": 0.0,
    "max_depth": 10,
    "gamma": 0.05,
    "kappa": 0.75,
    "t0": 10.0,
    "init_buffer": 75,
    "term_buffer": 50,
    "window": 25,
}


def pystan_version() -> str:
    """Versions of httpstan and of the Stan in it. Raises MissingDependencyError."""
    folder = pystan_folder()
    if folder is None:
        raise MissingDependencyError(
            "PyStan is not installed. Run: pip install pystan (it needs a C++ compiler)."
        )
    header = (folder / "include" / "stan" / "version.hpp").read_text(encoding="utf-8")
    parts = [re.findall(rf"define STAN_{part} (\d+)", header)[0] for part in _VERSION]
    return f"{version('httpstan')} (Stan {'.'.join(parts)})"


@dataclass(frozen=True, slots=True)
class PyStanEngine(ChainEngine):
    """NUTS as PyStan 3 runs it; `log` gets each fit's console text, which can hold data values."""

    name: ClassVar[str] = "pystan"

    def commands(self, job: StanJob, folder: Path) -> list[list[str]]:
        settings = job.settings
        arguments = {
            **_DEFAULTS,
            "random_seed": job.seed,
            "num_warmup": settings.warmup,
            "num_samples": settings.draws,
            "delta": settings.target_accept,
        }
        job_file = {"module": str(_module_path(job.program)), "arguments": arguments}
        (folder / "job.json").write_text(json.dumps(job_file))
        np.savez(folder / "data.npz", **job.data)
        for chain in range(settings.chains):
            values = job.initial[chain] if job.initial else {}
            np.savez(folder / f"initial{chain + 1}.npz", **values)
        return [
            [sys.executable, "-m", "pyvws.engines._pystan_process", "chain", str(chain + 1)]
            for chain in range(settings.chains)
        ]

    def chain(
        self, folder: Path, chain: int, keep: tuple[str, ...] | None
    ) -> tuple[list[str], Floats]:
        stored = _stored(folder / f"{chain}.npz")
        return [str(name) for name in stored["names"]], stored["values"]

    def seconds(self, folder: Path, running: float) -> float:
        """From the first chain's start to the last one's end, without that of their processes."""
        times = np.array([_stored(path)["times"] for path in folder.glob("[0-9]*.npz")])
        return float(times[:, 1].max() - times[:, 0].min())


def _stored(path: Path) -> dict[str, Any]:
    with np.load(path) as stored:
        return dict(stored)


def densities(program: str, data: dict[str, Any], points: Floats) -> ProgramDensities:
    """The densities of a program at unconstrained points (P, D)."""
    module = load_module(_module_path(program))
    rows = [list(map(float, point)) for point in points]
    values = [module.log_prob(data, row, True) for row in rows]
    gradients = [module.log_prob_grad(data, row, True) for row in rows]
    written = [module.write_array(data, row, True, True) for row in rows]
    names = list(module.constrained_param_names(data))
    return ProgramDensities(
        np.array(values), np.array(gradients), variables(names, np.array(written))
    )


def unconstrained(program: str, data: dict[str, Any], draws: list[dict[str, Any]]) -> Floats:
    """Draws of a program, each a dict of its variables, as unconstrained points (P, D)."""
    module = load_module(_module_path(program))
    return np.array([module.transform_inits(data, draw) for draw in draws])


def predictions(program: str, data: dict[str, Any], draws: list[dict[str, Any]]) -> Floats:
    """y_rep (P, n) of a program at draws of it, from the same random numbers for any data."""
    return densities(program, data, unconstrained(program, data, draws)).written[Y_REP]


def pystan_folder() -> Path | None:
    """Folder of the installed httpstan, None where it is missing."""
    spec = find_spec("httpstan")
    return Path(spec.origin).parent if spec is not None and spec.origin else None


@cache
def _module_path(program: str) -> Path:
    """Path of the compiled program; built when neither this process nor the cache has one."""
    # The compiled module links to libraries in httpstan's folder, so the folder is in the key.
    kind = f"httpstan {pystan_version()} {pystan_folder()} {sys.version}"

    def build(folder: Path) -> None:
        words = ["-m", "pyvws.engines._pystan_process", "build", f"{folder}/program.stan"]
        build_it = bound_command([sys.executable, *words, str(folder)])
        done = subprocess.run(build_it, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise InputError.by("stan-rejects-own-program", strip=done.stderr.strip()[-2000:])

    return compiled(program, version=kind, build=build) / "model.so"
