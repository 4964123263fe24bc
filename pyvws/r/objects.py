"""Objects of the caller's own rpy2 session, handed on as files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyvws.errors import InputError
from pyvws.r.session import SESSION

__all__ = ["save_object"]


def save_object(value: Any, path: Path) -> None:
    """Write an rpy2 object to an RDS file.

    Raises
    ------
    InputError
        For anything but an rpy2 object, or if R cannot write it.
    MissingDependencyError
        If R or rpy2 is missing.
    """
    outcome = SESSION.run(lambda: _save(value, path))
    if outcome.crash is not None:
        raise InputError("R could not write the object. Save it yourself with saveRDS().")


def _save(value: Any, path: Path) -> None:
    import rpy2.rinterface as rinterface

    if not isinstance(value, rinterface.Sexp):
        raise InputError("Give the path of an RDS file, or an rpy2 object.")
    rinterface.baseenv["saveRDS"](value, str(path))
