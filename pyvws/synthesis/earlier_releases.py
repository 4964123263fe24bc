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
    statements = tuple(map(read_statement, files))
    for file, statement in zip(files, statements, strict=True):
        known = releases_known(statement)
        if known > len(statements):
            raise InputError(
                f"{file}: it adds up {known} releases of the table, more than are named: "
                f"{len(statements)}. Name the releases that it was made after as well."
            )
    return statements


def read_statement(path: str | Path) -> dict[str, Any]:
    """A release's statement; `path` is its file, the release folder, or a run's output folder.

    Raises InputError for a path without a statement, and for a statement without its costs.
    """
    file = _place(path)
    try:
        statement = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        statement = None
    if not isinstance(statement, dict) or not has_costs(statement):
        raise InputError(
            f"{file}: not a privacy statement of pyvws with its costs. Give the {STATEMENT_FILE} "
            "of a release as the run wrote it."
        )
    return statement


def _place(path: str | Path) -> Path:
    """The file of a release's statement; InputError where there is none."""
    given = Path(path)
    for file in (given, given / STATEMENT_FILE, given / "release" / STATEMENT_FILE):
        if file.is_file():
            return file
    raise InputError(f"{given}: no {STATEMENT_FILE} there. Name a release or its statement.")
