"""Files that travel with the package but are not Python: R references, Stan programs, results."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pyvws.errors import InputError, MissingDependencyError

RESOURCES: Final = ("r_reference", "stan", "validation")

PACKAGE: Final = Path(__file__).resolve().parents[1]


def folder(name: str) -> Path:
    """The existing folder `name` of `RESOURCES`: a wheel's packaged copy, else the checkout's.

    It may be read-only. Raises InputError for another name, and MissingDependencyError where an
    incomplete installation has neither.
    """
    if name not in RESOURCES:
        raise InputError.by("unknown-resource", resources=", ".join(RESOURCES), name=name)
    for place in (PACKAGE / "_resources_data" / name, PACKAGE.parent / name):
        if place.is_dir():
            return place
    raise MissingDependencyError(
        f"The folder {name} is neither in the installed package nor beside it. "
        "Reinstall pyvws, or install it in editable mode from a checkout."
    )
