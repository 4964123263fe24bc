"""Files that travel with the package but are not Python: R scripts, Stan programs, papers."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Final

from pyvws.errors import InputError, MissingDependencyError

RESOURCES: Final = ("r_reference", "stan", "validation")

PACKAGE: Final = Path(__file__).resolve().parents[1]

REFERENCES: Final[dict[str, str]] = tomllib.loads(
    Path(__file__).with_name("references.toml").read_text(encoding="utf-8")
)
"""The papers that docstrings, cases and documents cite, by key."""


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
