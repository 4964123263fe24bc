"""Statements of earlier releases of a table, read from their files."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

from pyvws.errors import InputError
from pyvws.statement.releases import digest, has_costs, releases_unnamed

STATEMENT_FILE: Final = "privacy.json"


def read_earlier(paths: Iterable[str | Path]) -> tuple[dict[str, Any], ...]:
    """The statements of earlier releases, in their order.

    Raises InputError for a path without a statement, and for a release that is named twice.
    """
    files = [_place(path) for path in paths]
    statements = tuple(map(read_statement, files))
    names = [
        digest(statement) if "release_id" in statement else str(file.resolve())
        for file, statement in zip(files, statements, strict=True)
    ]
    for file, name in zip(files, names, strict=True):
        if names.count(name) > 1:
            raise InputError.by("release-named-twice", file=file)
    return statements


def read_statement(path: str | Path) -> dict[str, Any]:
    """A release's statement; `path` is its file, the release folder, or a run's output folder.

    Raises InputError for a path without a statement, for a statement without its costs, and for one
    that does not say which releases it was made after.
    """
    file = _place(path)
    try:
        statement = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        statement = None
    if not isinstance(statement, dict) or not has_costs(statement):
        raise InputError.by("statement-not-a-statement", file=file, statement_file=STATEMENT_FILE)
    if unnamed := releases_unnamed(statement):
        raise InputError.by("ledger-unnamed-releases", file=file, unnamed=unnamed)
    return statement


def _place(path: str | Path) -> Path:
    """The file of a release's statement; InputError where there is none."""
    given = Path(path)
    for file in (given, given / STATEMENT_FILE, given / "release" / STATEMENT_FILE):
        if file.is_file():
            return file
    raise InputError.by("statement-missing", given=given, statement_file=STATEMENT_FILE)
