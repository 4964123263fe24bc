"""The environment of a validation: versions, machine, SHA-256 of every reference and program."""

from __future__ import annotations

import hashlib
import os
import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from pyvws_studies.own_process import processor

from pyvws import __version__
from pyvws._base import resources as _resources
from pyvws.engines.registry import engine_version
from pyvws.errors import PyvwsError
from pyvws.r import bridge
from pyvws.tables.files.read import file_digest
from pyvws_validation.expected import LONG_DOUBLE_BITS

NOT_INSTALLED: Final = "not installed"

_PYTHON: Final = (
    *("numpy", "scipy", "numba", "llvmlite", "arviz-stats", "pandas", "polars"),
    *("narwhals", "pyarrow", "formulaic", "rpy2", "rpy2-rinterface", "cmdstanpy", "pystan"),
    *("httpstan", "scikit-learn", "opendp"),
)
_R: Final = ("rstan", "StanHeaders", "MASS", "coda", "BH", "RcppEigen", "RcppParallel")
_FILES: Final = {
    "r_reference": ("*.R", "stan/*.stan"),
    "stan": ("*.stan",),
    "validation": ("cases.toml", "errata.toml", "expected/*.json", "reproduce/*.py"),
}


def versions() -> dict[str, dict[str, str]]:
    """Versions by group (Python, R, Stan) and name; "not installed" if a part is missing."""
    return {
        "Python": {
            "Python": platform.python_version(),
            "pyvws": __version__,
            **{name: _installed(version, name) for name in _PYTHON},
        },
        "R": r_versions(),
        "Stan": {
            "rstan": _installed(engine_version, "rstan"),
            "PyStan": _installed(engine_version, "pystan"),
            "CmdStan": _installed(engine_version, "cmdstan"),
        },
    }


def machine() -> dict[str, str]:
    """Operating system, C library and processor, on which last bits can depend. No host name."""
    return {
        "system": f"{platform.system()} {platform.release()}",
        "distribution": _distribution(),
        "C library": " ".join(platform.libc_ver()).strip(),
        "architecture": platform.machine(),
        "processor": processor(),
        "processors": str(os.cpu_count()),
        "bits of long double": str(LONG_DOUBLE_BITS),
    }


def hashes() -> dict[str, str]:
    """SHA-256 by file of R references, Stan programs, stored results and errata; the last entry
    covers every Python file, as the digest of what ``sha256sum`` prints of them.
    """
    digests = {}
    for name, patterns in _FILES.items():
        folder = _resources.folder(name)
        for pattern in patterns:
            for path in sorted(folder.glob(pattern)):
                digests[f"{name}/{path.relative_to(folder).as_posix()}"] = file_digest(path)
    package = Path(bridge.__file__).resolve().parents[1]
    files = sorted(package.rglob("*.py"), key=lambda path: path.relative_to(package).as_posix())
    lines = [f"{file_digest(path)}  {path.relative_to(package).as_posix()}\n" for path in files]
    digest = hashlib.sha256("".join(lines).encode()).hexdigest()
    digests[f"pyvws/ ({len(files)} Python files)"] = digest
    return digests


def _installed(look: Callable[[str], str], name: str) -> str:
    try:
        return look(name)
    except (PackageNotFoundError, PyvwsError):
        return NOT_INSTALLED


def r_versions() -> dict[str, str]:
    try:
        answer = bridge.call("doctor", "installed", {"packages": list(_R)})
    except PyvwsError:
        return {"R": NOT_INSTALLED}
    own = (str(version) or NOT_INSTALLED for version in answer["versions"])
    return {"R": bridge.r_versions()["R"], **dict(zip(_R, own, strict=True))}


def _distribution() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", "")
    except OSError:
        return ""
