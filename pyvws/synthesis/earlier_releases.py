"""Statements of earlier releases of a table, read from their files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pyvws.errors import InputError
from pyvws.statement.releases import has_costs, releases_known

STATEMENT_FILE: Final = "privacy.json"


def read_earlier(paths: Iterable[str | Path]) -> tuple[dict[str, Any], ...]:
    """The statements of earlier releases, in their order.

    Raises InputError for a path without a statement, for a release that is named twice, and where
    one of them was made after a release that is not named.
    """
    files = [_place(path) for path in paths]
    real = [file.resolve() for file in files]
    for file, own in zip(files, real, strict=True):
        if real.count(own) > 1:
            raise InputError(f"{file}: this release is named twice. Name each release once.")
    found = tuple(map(read_statement, files))
    for file, statement in zip(files, found, strict=True):
        known = releases_known(statement)
        if known > len(found):
            raise InputError(
                f"{file}: it adds up {known} releases of the table, more than are named: "
                f"{len(found)}. Name the releases that it was made after as well."
            )
    return found


def read_statement(path: str | Path) -> dict[str, Any]:
    """A release's statement; `path` is its file, the release folder, or a run's output folder.

    Raises InputError for a path without a statement, and for a statement without its costs.
    """
    file = _place(path)
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        found = None
    if not isinstance(found, dict) or not has_costs(found):
        raise InputError(
            f"{file}: not a privacy statement of pyvws with its costs. Give the {STATEMENT_FILE} "
            "of a release as the run wrote it."
        )
    return found


def _place(path: str | Path) -> Path:
    """The file of a release's statement; InputError where there is none."""
    given = Path(path)
    for file in (given, given / STATEMENT_FILE, given / "release" / STATEMENT_FILE):
        if file.is_file():
            return file
    raise InputError(f"{given}: no {STATEMENT_FILE} there. Name a release or its statement.")
